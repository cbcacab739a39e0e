package kafkaspec.release;

import java.util.function.Consumer;
import kafka.controller.ControllerChannelManager;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.server.BrokerFeatures;
import kafka.server.FinalizedFeatureCache;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.FeatureZNode;
import kafka.zk.FeatureZNodeStatus;
import kafka.zk.KafkaZkClient;
import kafkaspec.Fields;
import org.apache.kafka.common.feature.Features;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.zookeeper.client.ZKClientConfig;
import scala.Option;

/**
 * A broker's process of Kafka 2.8.
 * Its arguments are those of KafkaServer for a cluster in ZooKeeper mode, without security.
 */
final class BrokerProcess extends ControllerProcess {
    private static final Metrics METRICS = new Metrics();

    private final KafkaConfig config;
    private final Consumer<String> sent;

    BrokerProcess(KafkaConfig config, Consumer<String> sent) {
        super(config);
        this.config = config;
        this.sent = sent;
    }

    /** The data of /feature, without which a controller of this release would set it up first. */
    static byte[] features(KafkaConfig config) {
        return FeatureZNode.encode(FeatureZNode.apply(
            FeatureZNodeStatus.Enabled$.MODULE$, Features.emptyFinalizedFeatures()));
    }

    @Override
    protected KafkaZkClient openClient() {
        KafkaZkClient client = KafkaZkClient.apply(
            config.zkConnect(), false, config.zkSessionTimeoutMs(), config.zkConnectionTimeoutMs(),
            config.zkMaxInFlightRequests(), Time.SYSTEM, "kafka.server", "SessionExpireListener",
            Option.apply("Kafka server"), Option.apply(new ZKClientConfig()));
        surviveAuthenticationFailures(Fields.get(client, "zooKeeperClient"));
        return client;
    }

    /** A failure is survived after the first SyncConnected, of which no client is told here. */
    private static void surviveAuthenticationFailures(Object zooKeeperClient) {
        Fields.set(zooKeeperClient, "isFirstConnectionEstablished", true);
        Fields.set(zooKeeperClient, "reinitializeScheduler", new ImpatientScheduler());
    }

    @Override
    protected KafkaController register(KafkaZkClient client, BrokerInfo info) {
        BrokerFeatures features = BrokerFeatures.createDefault();
        FinalizedFeatureCache cache = new FinalizedFeatureCache(features);
        cache.updateOrThrow(Features.emptyFinalizedFeatures(), 0);
        long brokerEpoch = client.registerBroker(info);
        return new KafkaController(
            config, client, Time.SYSTEM, METRICS, info, brokerEpoch, null, features, cache, Option.empty());
    }

    @Override
    ControllerChannelManager channels(KafkaController starting) {
        return new CapturedRequests(starting.controllerContext(), config, METRICS, sent);
    }

    @Override
    protected boolean beginsAnewWithoutAuthentication() {
        return true;
    }

    @Override
    int version(LeaderIsrAndControllerEpoch state) {
        return state.leaderAndIsr().zkVersion();
    }
}
