package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerBrokerRequestBatch;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.StopReplicaRequestData.StopReplicaPartitionState;
import org.apache.kafka.common.requests.StopReplicaRequest;
import scala.collection.mutable.Map;

/** StopReplica since 2.6: each partition has an epoch and a flag. */
final class StopReplicas {
    private StopReplicas() { }

    static void put(ArrayNode fields, StopReplicaRequest request) {
        fields.add(request.data().deletePartitions());
        ArrayNode states = fields.addArray();
        request.partitionStates().forEach((partition, state) -> states.add(state(partition, state)));
    }

    static Iterable<TopicPartition> partitions(StopReplicaRequest request) {
        return request.partitionStates().keySet();
    }

    /** The pending part of a batch. */
    @SuppressWarnings("unchecked")
    static void put(ObjectNode left, ControllerBrokerRequestBatch batch) {
        var waiting = (Map<Object, Map<TopicPartition, StopReplicaPartitionState>>)
            Fields.get(batch, "stopReplicaRequestMap");
        Scala.forEach(waiting, (broker, states) -> Scala.forEach(
            states, (partition, state) -> left.set(partition + "@" + broker, state(partition, state))));
    }

    private static ArrayNode state(TopicPartition partition, StopReplicaPartitionState state) {
        return Json.array()
            .add(partition.topic())
            .add(partition.partition())
            .add(state.leaderEpoch())
            .add(state.deletePartition());
    }
}
