package kafkaspec.release;

import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import kafkaspec.KafkaProcess;
import org.apache.kafka.common.utils.Time;
import org.apache.zookeeper.client.ZKClientConfig;

/** A broker's process of Kafka 3.0 to 3.5, as far as it opens its client. */
abstract class ClientProcess extends KafkaProcess {
    ClientProcess(KafkaConfig config) {
        super(config);
    }

    @Override
    protected KafkaZkClient openClient() {
        return KafkaZkClient.apply(
            config().zkConnect(), false, config().zkSessionTimeoutMs(), config().zkConnectionTimeoutMs(),
            config().zkMaxInFlightRequests(), Time.SYSTEM, "Kafka server", new ZKClientConfig(), "kafka.server",
            "SessionExpireListener", false);
    }
}
