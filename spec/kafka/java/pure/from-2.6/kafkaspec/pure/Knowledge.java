package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.cluster.Broker;
import kafka.controller.ControllerContext;
import kafka.controller.ReplicaAssignment;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;

/** Gives a ControllerContext since 2.6 its brokers and assignments. */
final class Knowledge {
    private Knowledge() { }

    /** Sets the live brokers, and those of them that are shutting down. */
    static void ofBrokers(ControllerContext context, JsonNode live, JsonNode shuttingDown) {
        scala.collection.mutable.Map<Broker, Object> epochs = new scala.collection.mutable.HashMap<>();
        live.forEach(id -> epochs.put(Values.broker(id.asInt()), 1L));
        context.setLiveBrokers(epochs);
        context.shuttingDownBrokerIds().clear();
        shuttingDown.forEach(id -> context.shuttingDownBrokerIds().add(id.asInt()));
    }

    /** Assigns these replicas to a partition, without a reassignment. */
    static void assign(ControllerContext context, TopicPartition partition, JsonNode replicas) {
        context.updatePartitionFullReplicaAssignment(partition, new ReplicaAssignment(
            Values.ids(replicas), Values.ids(Json.array()), Values.ids(Json.array())));
    }
}
