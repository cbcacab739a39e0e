package kafkaspec.control;

import kafka.controller.ControllerContext;
import kafka.controller.TopicDeletionManager;
import org.apache.kafka.common.TopicPartition;
import scala.collection.Iterable;
import scala.collection.Seq;
import scala.collection.Set;

/** The knowledge of a controller of Kafka 2.2, where it differs from 1.1. */
final class Contexts {
    private Contexts() { }

    static Iterable<TopicPartition> partitions(ControllerContext context) {
        return context.allPartitions();
    }

    static Seq<Object> replicas(ControllerContext context, TopicPartition partition) {
        return context.partitionReplicaAssignment(partition);
    }

    static Set<String> topicsWithDeletionStarted(TopicDeletionManager deletion) {
        return deletion.topicsWithDeletionStarted();
    }
}
