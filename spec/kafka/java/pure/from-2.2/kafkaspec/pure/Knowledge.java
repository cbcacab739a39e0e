package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import kafka.cluster.Broker;
import kafka.controller.ControllerContext;
import org.apache.kafka.common.TopicPartition;

/** What a ControllerContext is told of brokers and of assignments, in 2.2. */
final class Knowledge {
    private Knowledge() { }

    /** These brokers and no others are live, and of these some are shutting down. */
    static void ofBrokers(ControllerContext context, JsonNode live, JsonNode shuttingDown) {
        scala.collection.immutable.Map<Broker, Object> brokers = new scala.collection.immutable.HashMap<>();
        for (JsonNode id : live) {
            brokers = brokers.updated(Values.broker(id.asInt()), 1L);
        }
        context.setLiveBrokerAndEpochs(brokers);
        context.shuttingDownBrokerIds().clear();
        shuttingDown.forEach(id -> context.shuttingDownBrokerIds().add(id.asInt()));
    }

    /** A partition has these replicas, which no reassignment changes. */
    static void assign(ControllerContext context, TopicPartition partition, JsonNode replicas) {
        context.updatePartitionReplicaAssignment(partition, Values.ids(replicas));
    }
}
