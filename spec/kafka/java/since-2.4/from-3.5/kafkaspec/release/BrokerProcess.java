package kafkaspec.release;

import java.util.Map;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.server.BrokerFeatures;
import kafka.server.KafkaConfig;
import kafka.server.metadata.ZkMetadataCache;
import kafka.zk.BrokerInfo;
import kafka.zk.FeatureZNode;
import kafka.zk.FeatureZNodeStatus;
import kafka.zk.KafkaZkClient;
import kafkaspec.Partition;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.immutable.Map$;

/**
 * A broker's process of Kafka 3.5 and 3.9.
 * Its arguments are those of KafkaServer for a cluster in ZooKeeper mode, without security, that does not migrate.
 */
public class BrokerProcess extends ControllerProcess {
    public BrokerProcess(KafkaConfig config, Consumer<String> sent) {
        super(config, sent);
    }

    /** Without /feature a controller of this release would create it first. */
    public static Map<String, byte[]> znodes(KafkaConfig config) {
        return Map.of("/feature", FeatureZNode.encode(FeatureZNode.apply(
            config.interBrokerProtocolVersion(), FeatureZNodeStatus.Enabled$.MODULE$, Map$.MODULE$.empty())));
    }

    @Override
    protected KafkaController register(KafkaZkClient client, BrokerInfo info) {
        BrokerFeatures features = BrokerFeatures.createEmpty();
        ZkMetadataCache cache = cache(features);
        cache.updateFeaturesOrThrow(Map$.MODULE$.empty(), 0);
        long brokerEpoch = client.registerBroker(info);
        return new KafkaController(
            config(), client, Time.SYSTEM, METRICS, info, brokerEpoch, null, features, cache, Option.empty());
    }

    /** No migration to KRaft: Kafka's default for the last argument, in 3.5 a list and in 3.9 a flag. */
    private ZkMetadataCache cache(BrokerFeatures features) {
        return new ZkMetadataCache(
            config().brokerId(), config().interBrokerProtocolVersion(), features,
            ZkMetadataCache.$lessinit$greater$default$4());
    }

    @Override
    Option<LeaderIsrAndControllerEpoch> state() {
        return context().partitionLeadershipInfo(Partition.ID);
    }

    @Override
    int version(LeaderIsrAndControllerEpoch state) {
        return state.leaderAndIsr().partitionEpoch();
    }
}
