package kafkaspec.control;

import kafka.server.KafkaConfig;
import kafkaspec.release.BrokerProcess;

/** The node of features, without which a controller since Kafka 2.8 would set it up first. */
final class Features {
    static final String PATH = "/feature";

    private Features() { }

    static void create(Ensemble ensemble, KafkaConfig config) {
        ensemble.create(PATH, BrokerProcess.features(config));
    }
}
