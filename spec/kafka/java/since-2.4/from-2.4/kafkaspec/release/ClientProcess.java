package kafkaspec.release;

import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import kafkaspec.KafkaProcess;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** A broker's process of Kafka 2.4, as far as it opens its client. */
abstract class ClientProcess extends KafkaProcess {
    ClientProcess(KafkaConfig config) {
        super(config);
    }

    @Override
    protected KafkaZkClient openClient() {
        return KafkaZkClient.apply(
            config().zkConnect(), false, config().zkSessionTimeoutMs(), config().zkConnectionTimeoutMs(),
            config().zkMaxInFlightRequests(), Time.SYSTEM, "kafka.server", "SessionExpireListener", Option.empty());
    }
}
