package kafkaspec.receiver;

import kafka.controller.KafkaController;
import kafkaspec.Fields;

/** The epoch of a broker's registration, which its controller remembers since Kafka 2.2. */
final class Registration {
    private Registration() { }

    static void set(KafkaController controller, long epoch) {
        Fields.set(controller, "_brokerEpoch", epoch);
    }
}
