package kafkaspec.control;

import kafka.common.TopicAndPartition;
import kafka.controller.ControllerContext;
import scala.collection.Set;
import scala.collection.mutable.Map;

/** The knowledge that a controller of Kafka 1.0 has, and no earlier one. */
final class Contexts {
    private Contexts() { }

    static Map<Object, Set<TopicAndPartition>> failedDirectories(ControllerContext context) {
        return context.replicasOnOfflineDirs();
    }
}
