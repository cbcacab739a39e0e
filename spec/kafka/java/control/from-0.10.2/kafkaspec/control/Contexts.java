package kafkaspec.control;

import kafka.common.TopicAndPartition;
import kafka.controller.ControllerContext;
import scala.collection.Set;
import scala.collection.mutable.HashMap;
import scala.collection.mutable.Map;

/** The knowledge that a controller until Kafka 0.11 does not have. */
final class Contexts {
    private Contexts() { }

    /** No log directory fails alone. */
    static Map<Object, Set<TopicAndPartition>> failedDirectories(ControllerContext context) {
        return new HashMap<>();
    }
}
