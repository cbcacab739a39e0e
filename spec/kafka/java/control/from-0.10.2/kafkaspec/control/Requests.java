package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Collection;
import java.util.Map;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.PartitionState;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;

/**
 * The three requests of a controller until Kafka 0.11 as JSON: their fields in the order of
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
            .add(NO_EPOCH);
        if (request instanceof LeaderAndIsrRequest leaderAndIsr) {
            put(fields.addArray(), leaderAndIsr.partitionStates()).forEach(state -> {
                ((ArrayNode) state).addArray();
                ((ArrayNode) state).addArray();
                ((ArrayNode) state).add(false).add(RECOVERED);
            });
            ArrayNode leaders = fields.addArray();
            leaderAndIsr.liveLeaders().forEach(leader -> leaders.add(leader.id()));
        } else if (request instanceof UpdateMetadataRequest updateMetadata) {
            put(fields.addArray(), updateMetadata.partitionStates()).forEach(state -> ((ArrayNode) state).addArray());
            ArrayNode brokers = fields.addArray();
            updateMetadata.liveBrokers().forEach(broker -> brokers.add(broker.id));
        } else if (request instanceof StopReplicaRequest stopReplica) {
            boolean delete = stopReplica.deletePartitions();
            fields.add(delete);
            ArrayNode states = fields.addArray();
            stopReplica.partitions().forEach(partition -> states.addArray()
                .add(partition.topic()).add(partition.partition()).add(NO_EPOCH).add(delete));
        }
        return fields;
    }

    private static ArrayNode put(ArrayNode states, Map<TopicPartition, PartitionState> partitions) {
        partitions.forEach((partition, state) -> {
            ArrayNode fields = states.addArray();
            fields.add(partition.topic()).add(partition.partition()).add(state.controllerEpoch);
            fields.add(state.leader).add(state.leaderEpoch);
            put(fields.addArray(), state.isr);
            fields.add(state.zkVersion);
            put(fields.addArray(), state.replicas);
        });
        return states;
    }

    private static void put(ArrayNode array, Collection<Integer> brokers) {
        brokers.forEach(array::add);
    }
}
