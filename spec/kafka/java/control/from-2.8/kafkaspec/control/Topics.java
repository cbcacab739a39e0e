package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.Uuid;

/** The nodes of topics since Kafka 2.8: a topic has an id, or the controller assigns one. */
final class Topics {
    private static final int VERSION = 3;

    private Topics() { }

    /** The content of a topic's node, besides its partitions. A topic has the same id whenever it is created. */
    static void complete(ObjectNode data, String topic) {
        data.put("topic_id", uuid(topic).toString());
        data.put("version", VERSION);
    }

    /** The topic with this id; topics are single letters. */
    static String name(Uuid id) {
        return String.valueOf((char) id.getLeastSignificantBits());
    }

    static Uuid uuid(String topic) {
        return new Uuid(1, topic.hashCode());
    }
}
