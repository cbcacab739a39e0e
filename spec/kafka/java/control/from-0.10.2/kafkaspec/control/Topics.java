package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** The nodes of topics until Kafka 2.7: topics have no ids. */
final class Topics {
    private static final int VERSION = 2;

    private Topics() { }

    /** The content of a topic's node, besides its partitions. */
    static void complete(ObjectNode data, String topic) {
        data.put("version", VERSION);
    }
}
