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
 * A broker's process of Kafka 1.1, the first whose new session waits for Expire, and 2.0.
 * Their controllers increment the epoch in their failover.
 * Its arguments are those of KafkaServer, without security.
 */
public class BrokerProcess extends ControllerProcess {
    static final List<Steps.Row> STEPS = EarlierSteps.UNTIL_2_0;

    public BrokerProcess(KafkaConfig config, Consumer<String> sent) {
        super(config, sent);
    }

    @Override
    protected KafkaController register(KafkaZkClient client, BrokerInfo info) {
        client.registerBrokerInZk(info);
        return new KafkaController(config(), client, Time.SYSTEM, METRICS, info, null, Option.empty());
    }
}
