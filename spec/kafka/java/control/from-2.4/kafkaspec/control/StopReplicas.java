package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerBrokerRequestBatch;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.StopReplicaRequest;

/** StopReplica until 2.5: one flag for all its partitions, and no epochs. */
final class StopReplicas {
    private static final int NO_EPOCH = -1;

    private StopReplicas() { }

    static void put(ArrayNode fields, StopReplicaRequest request) {
        boolean delete = request.deletePartitions();
        fields.add(delete);
        ArrayNode states = fields.addArray();
        request.partitions().forEach(partition -> states.add(state(partition, delete)));
    }

    static Iterable<TopicPartition> partitions(StopReplicaRequest request) {
        return request.partitions();
    }

    /** The pending part of a batch. */
    static void put(ObjectNode left, ControllerBrokerRequestBatch batch) {
        Scala.forEach(batch.stopReplicaRequestMap(), (broker, stopping) -> Scala.forEach(stopping, each -> left.set(
            each.replica().topicPartition() + "@" + broker,
            state(each.replica().topicPartition(), each.deletePartition()))));
    }

    private static ArrayNode state(TopicPartition partition, boolean delete) {
        return Json.array().add(partition.topic()).add(partition.partition()).add(NO_EPOCH).add(delete);
    }
}
