package kafkaspec.release;

import java.util.function.Consumer;
import kafka.controller.ControllerChannelManager;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.server.BrokerFeatures;
import kafka.server.KafkaConfig;
import kafka.server.metadata.ZkMetadataCache;
import kafka.zk.BrokerInfo;
import kafka.zk.FeatureZNode;
import kafka.zk.FeatureZNodeStatus;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.zookeeper.client.ZKClientConfig;
import scala.Option;
import scala.collection.Seq;
import scala.collection.immutable.List$;
import scala.collection.immutable.Map$;

/**
 * A broker's process of Kafka 3.5.
 * Its arguments are those of KafkaServer for a cluster in ZooKeeper mode, without security.
 */
final class BrokerProcess extends ControllerProcess {
    private static final Metrics METRICS = new Metrics();
    private static final Seq<Node> NO_KRAFT_CONTROLLERS = List$.MODULE$.<Node>empty();

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
            config.interBrokerProtocolVersion(), FeatureZNodeStatus.Enabled$.MODULE$, Map$.MODULE$.empty()));
    }

    @Override
    protected KafkaZkClient openClient() {
        return KafkaZkClient.apply(
            config.zkConnect(), false, config.zkSessionTimeoutMs(), config.zkConnectionTimeoutMs(),
            config.zkMaxInFlightRequests(), Time.SYSTEM, "Kafka server", new ZKClientConfig(), "kafka.server",
            "SessionExpireListener", false);
    }

    @Override
    protected KafkaController register(KafkaZkClient client, BrokerInfo info) {
        BrokerFeatures features = BrokerFeatures.createEmpty();
        ZkMetadataCache cache = new ZkMetadataCache(
            config.brokerId(), config.interBrokerProtocolVersion(), features, NO_KRAFT_CONTROLLERS);
        cache.updateFeaturesOrThrow(Map$.MODULE$.empty(), 0);
        long brokerEpoch = client.registerBroker(info);
        return new KafkaController(
            config, client, Time.SYSTEM, METRICS, info, brokerEpoch, null, features, cache, Option.empty());
    }

    @Override
    ControllerChannelManager channels(KafkaController starting) {
        return new CapturedRequests(config, METRICS, sent);
    }

    @Override
    int version(LeaderIsrAndControllerEpoch state) {
        return state.leaderAndIsr().partitionEpoch();
    }
}
