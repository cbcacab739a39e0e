package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.cluster.Broker;
import kafka.controller.ControllerContext;
import org.apache.kafka.common.TopicPartition;

/** Gives a ControllerContext of 1.1 its brokers and assignments. */
final class Knowledge {
    private Knowledge() { }

    /** Sets the live brokers, and those of them that are shutting down. */
    static void ofBrokers(ControllerContext context, JsonNode live, JsonNode shuttingDown) {
        scala.collection.mutable.Set<Broker> brokers = new scala.collection.mutable.HashSet<>();
        live.forEach(id -> brokers.add(Values.broker(id.asInt())));
        context.liveBrokers_$eq(brokers);
        context.shuttingDownBrokerIds().clear();
        shuttingDown.forEach(id -> context.shuttingDownBrokerIds().add(id.asInt()));
    }

    /** Assigns these replicas to a partition, without a reassignment. */
    static void assign(ControllerContext context, TopicPartition partition, JsonNode replicas) {
        context.partitionReplicaAssignment().put(partition, Values.ids(replicas));
    }
}
