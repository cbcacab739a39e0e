package kafkaspec.release;

import java.util.Map;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.server.BrokerFeatures;
import kafka.server.FinalizedFeatureCache;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.FeatureZNode;
import kafka.zk.FeatureZNodeStatus;
import kafka.zk.KafkaZkClient;
import kafkaspec.Partition;
import org.apache.kafka.common.feature.Features;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/**
 * A broker's process of Kafka 2.8 and 3.0.
 * Its arguments are those of KafkaServer for a cluster in ZooKeeper mode, without security.
 */
public class BrokerProcess extends ControllerProcess {
    public BrokerProcess(KafkaConfig config, Consumer<String> sent) {
        super(config, sent);
    }

    /** Without /feature a controller of this release would create it first. */
    public static Map<String, byte[]> znodes(KafkaConfig config) {
        return Map.of("/feature", FeatureZNode.encode(FeatureZNode.apply(
            FeatureZNodeStatus.Enabled$.MODULE$, Features.emptyFinalizedFeatures())));
    }

    @Override
    protected KafkaController register(KafkaZkClient client, BrokerInfo info) {
        BrokerFeatures features = BrokerFeatures.createDefault();
        FinalizedFeatureCache cache = new FinalizedFeatureCache(features);
        cache.updateOrThrow(Features.emptyFinalizedFeatures(), 0);
        long brokerEpoch = client.registerBroker(info);
        return new KafkaController(
            config(), client, Time.SYSTEM, METRICS, info, brokerEpoch, null, features, cache, Option.empty());
    }

    @Override
    Option<LeaderIsrAndControllerEpoch> state() {
        return context().partitionLeadershipInfo(Partition.ID);
    }

    @Override
    int version(LeaderIsrAndControllerEpoch state) {
        return state.leaderAndIsr().zkVersion();
    }
}
