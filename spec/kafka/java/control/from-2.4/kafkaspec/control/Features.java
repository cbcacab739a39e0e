package kafkaspec.control;

import kafka.server.KafkaConfig;

/** Kafka 2.4 has no node of features. */
final class Features {
    static final String PATH = "/feature";

    private Features() { }

    static void create(Ensemble ensemble, KafkaConfig config) { }
}
