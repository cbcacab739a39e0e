package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.List;
import kafkaspec.Json;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataPartitionState;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;

/** The three requests of a controller as JSON: their fields in the order of `statemachines.control_requests`. */
final class Requests {
    private Requests() { }

    static ArrayNode request(AbstractRequest request) {
        AbstractControlRequest control = (AbstractControlRequest) request;
        ArrayNode fields = Json.array()
            .add(request.getClass().getSimpleName())
            .add(control.controllerId())
            .add(control.controllerEpoch())
            .add(control.brokerEpoch());
        if (request instanceof LeaderAndIsrRequest leaderAndIsr) {
            ArrayNode states = fields.addArray();
            leaderAndIsr.partitionStates().forEach(state -> states.add(state(state)));
            ArrayNode leaders = fields.addArray();
            leaderAndIsr.liveLeaders().forEach(leader -> leaders.add(leader.brokerId()));
        } else if (request instanceof UpdateMetadataRequest updateMetadata) {
            ArrayNode states = fields.addArray();
            updateMetadata.partitionStates().forEach(state -> states.add(state(state)));
            ArrayNode brokers = fields.addArray();
            updateMetadata.liveBrokers().forEach(broker -> brokers.add(broker.id()));
        } else if (request instanceof StopReplicaRequest stopReplica) {
            StopReplicas.put(fields, stopReplica);
        }
        return fields;
    }

    static ArrayNode state(LeaderAndIsrPartitionState state) {
        ArrayNode fields = Json.array().add(state.topicName()).add(state.partitionIndex());
        fields.add(state.controllerEpoch()).add(state.leader()).add(state.leaderEpoch());
        put(fields.addArray(), state.isr());
        fields.add(Versions.partitionEpoch(state));
        put(fields.addArray(), state.replicas());
        put(fields.addArray(), state.addingReplicas());
        put(fields.addArray(), state.removingReplicas());
        return fields.add(state.isNew()).add(Versions.leaderRecoveryState(state));
    }

    static ArrayNode state(UpdateMetadataPartitionState state) {
        ArrayNode fields = Json.array().add(state.topicName()).add(state.partitionIndex());
        fields.add(state.controllerEpoch()).add(state.leader()).add(state.leaderEpoch());
        put(fields.addArray(), state.isr());
        fields.add(state.zkVersion());
        put(fields.addArray(), state.replicas());
        put(fields.addArray(), state.offlineReplicas());
        return fields;
    }

    private static void put(ArrayNode array, List<Integer> brokers) {
        brokers.forEach(array::add);
    }
}
