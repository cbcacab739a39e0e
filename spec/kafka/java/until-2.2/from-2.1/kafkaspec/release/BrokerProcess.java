package kafkaspec.release;

import java.util.List;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import kafkaspec.Steps;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/**
 * A broker's process of Kafka 2.1, the first whose multi creates /controller and increments its epoch.
 * Its arguments are those of KafkaServer, without security.
 */
public class BrokerProcess extends ControllerProcess {
    static final List<Steps.Row> STEPS = EarlierSteps.OF_2_1;

    public BrokerProcess(KafkaConfig config, Consumer<String> sent) {
        super(config, sent);
    }

    @Override
    protected KafkaController register(KafkaZkClient client, BrokerInfo info) {
        client.registerBroker(info);
        return new KafkaController(config(), client, Time.SYSTEM, METRICS, info, null, Option.empty());
    }
}
