package kafkaspec.control;

import kafka.controller.ControllerContext;
import kafka.controller.TopicDeletionManager;
import org.apache.kafka.common.TopicPartition;
import scala.collection.Iterable;
import scala.collection.Seq;
import scala.collection.Set;
import scala.collection.immutable.Set$;

/** The knowledge of a controller of Kafka 1.1, where it differs from 2.2. */
final class Contexts {
    private Contexts() { }

    static Iterable<TopicPartition> partitions(ControllerContext context) {
        return context.partitionReplicaAssignment().keySet();
    }

    static Seq<Object> replicas(ControllerContext context, TopicPartition partition) {
        return context.partitionReplicaAssignment().apply(partition);
    }

    /** Kafka 1.1 does not record that the deletion of a topic has begun. */
    static Set<String> topicsWithDeletionStarted(TopicDeletionManager deletion) {
        return Set$.MODULE$.empty();
    }
}
