package kafkaspec.control;

import org.apache.kafka.common.Uuid;

/** The nodes of topics since Kafka 2.8: a topic has an id, or the controller gives it one. */
final class Topics {
    static final int VERSION = 3;

    private Topics() { }

    /** Each topic has the same id whenever it is created. */
    static String id(String topic) {
        return uuid(topic).toString();
    }

    /** The topic of this id; topics are single letters. */
    static String name(Uuid id) {
        return String.valueOf((char) id.getLeastSignificantBits());
    }

    static Uuid uuid(String topic) {
        return new Uuid(1, topic.hashCode());
    }
}
