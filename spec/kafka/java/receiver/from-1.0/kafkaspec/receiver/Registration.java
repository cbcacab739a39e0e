package kafkaspec.receiver;

import kafka.controller.KafkaController;

/** Until Kafka 2.1 a broker's registration has no epoch. */
final class Registration {
    private Registration() { }

    static void set(KafkaController controller, long epoch) { }
}
