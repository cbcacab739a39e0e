package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.cluster.Broker;
import kafka.controller.ControllerContext;
import org.apache.kafka.common.TopicPartition;

/** Gives a ControllerContext of 2.2 its brokers and assignments. */
final class Knowledge {
    private Knowledge() { }

    /** Sets the live brokers, and those of them that are shutting down. */
    static void ofBrokers(ControllerContext context, JsonNode live, JsonNode shuttingDown) {
        scala.collection.immutable.Map<Broker, Object> brokers = new scala.collection.immutable.HashMap<>();
        for (JsonNode id : live) {
            brokers = brokers.updated(Values.broker(id.asInt()), 1L);
        }
        context.setLiveBrokerAndEpochs(brokers);
        context.shuttingDownBrokerIds().clear();
        shuttingDown.forEach(id -> context.shuttingDownBrokerIds().add(id.asInt()));
    }

    /** Assigns these replicas to a partition, without a reassignment. */
    static void assign(ControllerContext context, TopicPartition partition, JsonNode replicas) {
        context.updatePartitionReplicaAssignment(partition, Values.ids(replicas));
    }
}
