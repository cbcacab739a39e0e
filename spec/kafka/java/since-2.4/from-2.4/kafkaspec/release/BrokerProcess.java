package kafkaspec.release;

import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import kafkaspec.Partition;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/**
 * A broker's process of Kafka 2.4.
 * Its arguments are those of KafkaServer without security.
 */
public class BrokerProcess extends ControllerProcess {
    public BrokerProcess(KafkaConfig config, Consumer<String> sent) {
        super(config, sent);
    }

    @Override
    protected KafkaController register(KafkaZkClient client, BrokerInfo info) {
        long brokerEpoch = client.registerBroker(info);
        return new KafkaController(config(), client, Time.SYSTEM, METRICS, info, brokerEpoch, null, Option.empty());
    }

    @Override
    Option<LeaderIsrAndControllerEpoch> state() {
        return context().partitionLeadershipInfo().get(Partition.ID);
    }

    @Override
    int version(LeaderIsrAndControllerEpoch state) {
        return state.leaderAndIsr().zkVersion();
    }
}
