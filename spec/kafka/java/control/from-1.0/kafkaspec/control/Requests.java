package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.List;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.BasePartitionState;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;

/**
 * The three requests of a controller of Kafka 1.0 to 2.2 as JSON: their fields in the order of
 * `statemachines.control_requests`, with neutral values for the fields of later releases.
 */
final class Requests {
    private static final int NO_EPOCH = -1;
    private static final int RECOVERED = 0;

    private Requests() { }

    static ArrayNode request(AbstractRequest request) {
        ArrayNode fields = Json.array()
            .add(request.getClass().getSimpleName())
            .add((Integer) Fields.get(request, "controllerId"))
            .add((Integer) Fields.get(request, "controllerEpoch"))
            .add(BrokerEpochs.of(request));
        if (request instanceof LeaderAndIsrRequest leaderAndIsr) {
            ArrayNode states = fields.addArray();
            leaderAndIsr.partitionStates().forEach((partition, state) -> states.add(state(partition, state)));
            ArrayNode leaders = fields.addArray();
            leaderAndIsr.liveLeaders().forEach(leader -> leaders.add(leader.id()));
        } else if (request instanceof UpdateMetadataRequest updateMetadata) {
            ArrayNode states = fields.addArray();
            updateMetadata.partitionStates().forEach((partition, state) -> states.add(state(partition, state)));
            ArrayNode brokers = fields.addArray();
            updateMetadata.liveBrokers().forEach(broker -> brokers.add(broker.id));
        } else if (request instanceof StopReplicaRequest stopReplica) {
            boolean delete = stopReplica.deletePartitions();
            fields.add(delete);
            ArrayNode states = fields.addArray();
            stopReplica.partitions().forEach(partition -> states.add(stopped(partition, delete)));
        }
        return fields;
    }

    static ArrayNode state(TopicPartition partition, LeaderAndIsrRequest.PartitionState state) {
        ArrayNode fields = state(partition, state.basePartitionState);
        fields.addArray();
        fields.addArray();
        return fields.add(state.isNew).add(RECOVERED);
    }

    static ArrayNode state(TopicPartition partition, UpdateMetadataRequest.PartitionState state) {
        ArrayNode fields = state(partition, state.basePartitionState);
        put(fields.addArray(), state.offlineReplicas);
        return fields;
    }

    private static ArrayNode state(TopicPartition partition, BasePartitionState state) {
        ArrayNode fields = Json.array().add(partition.topic()).add(partition.partition()).add(state.controllerEpoch);
        fields.add(state.leader).add(state.leaderEpoch);
        put(fields.addArray(), state.isr);
        fields.add(state.zkVersion);
        put(fields.addArray(), state.replicas);
        return fields;
    }

    static ArrayNode stopped(TopicPartition partition, boolean delete) {
        return Json.array().add(partition.topic()).add(partition.partition()).add(NO_EPOCH).add(delete);
    }

    private static void put(ArrayNode array, List<Integer> brokers) {
        brokers.forEach(array::add);
    }
}
