package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.function.Function;
import java.util.stream.StreamSupport;
import kafkaspec.Json;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataBroker;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataEndpoint;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataPartitionState;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/**
 * A controller's requests from JSON, with the field names of Kafka's schemas.
 * Since Kafka 2.4 they consist of messages.
 */
final class ControlRequests {
    private static final ListenerName LISTENER = new ListenerName("PLAINTEXT");

    private ControlRequests() { }

    static AbstractControlRequest.Builder<? extends AbstractControlRequest> builder(JsonNode command) {
        JsonNode content = Json.field(command, "content");
        int controller = Json.field(content, "controllerId").asInt();
        int epoch = Json.field(content, "controllerEpoch").asInt();
        long brokerEpoch = Json.field(content, "brokerEpoch").asLong();
        JsonNode states = Json.field(content, "partitionStates");
        String name = Json.field(command, "request").asText();
        return switch (name) {
            case "LeaderAndIsrRequest" -> Builders.leaderAndIsr(
                command, controller, epoch, brokerEpoch, list(states, ControlRequests::leaderAndIsr),
                list(Json.field(content, "liveLeaders"), leader -> new Node(leader.asInt(), "localhost", 9092)));
            case "StopReplicaRequest" -> Stops.stopReplica(controller, epoch, brokerEpoch, content);
            case "UpdateMetadataRequest" -> Builders.updateMetadata(
                command, controller, epoch, brokerEpoch, list(states, ControlRequests::metadata),
                list(Json.field(content, "liveBrokers"), ControlRequests::broker));
            default -> throw new Json.Malformed("no request " + name);
        };
    }

    private static LeaderAndIsrPartitionState leaderAndIsr(JsonNode state) {
        LeaderAndIsrPartitionState leaderAndIsr = new LeaderAndIsrPartitionState()
            .setTopicName(Json.field(state, "topicName").asText())
            .setPartitionIndex(Json.field(state, "partitionIndex").asInt())
            .setControllerEpoch(Json.field(state, "controllerEpoch").asInt())
            .setLeader(Json.field(state, "leader").asInt())
            .setLeaderEpoch(Json.field(state, "leaderEpoch").asInt())
            .setIsr(brokers(state, "isr"))
            .setReplicas(brokers(state, "replicas"))
            .setAddingReplicas(brokers(state, "addingReplicas"))
            .setRemovingReplicas(brokers(state, "removingReplicas"))
            .setIsNew(Json.field(state, "isNew").asBoolean());
        return Versions.with(
            leaderAndIsr, Json.field(state, "partitionEpoch").asInt(),
            (byte) Json.field(state, "leaderRecoveryState").asInt());
    }

    private static UpdateMetadataPartitionState metadata(JsonNode state) {
        return new UpdateMetadataPartitionState()
            .setTopicName(Json.field(state, "topicName").asText())
            .setPartitionIndex(Json.field(state, "partitionIndex").asInt())
            .setControllerEpoch(Json.field(state, "controllerEpoch").asInt())
            .setLeader(Json.field(state, "leader").asInt())
            .setLeaderEpoch(Json.field(state, "leaderEpoch").asInt())
            .setIsr(brokers(state, "isr"))
            .setZkVersion(Json.field(state, "zkVersion").asInt())
            .setReplicas(brokers(state, "replicas"))
            .setOfflineReplicas(brokers(state, "offlineReplicas"));
    }

    /** The metadata cache's state of a partition, by the same names. */
    static ObjectNode fields(UpdateMetadataPartitionState state) {
        ObjectNode fields = Json.object()
            .put("topicName", state.topicName())
            .put("partitionIndex", state.partitionIndex())
            .put("controllerEpoch", state.controllerEpoch())
            .put("leader", state.leader())
            .put("leaderEpoch", state.leaderEpoch())
            .put("zkVersion", state.zkVersion());
        state.isr().forEach(fields.putArray("isr")::add);
        state.replicas().forEach(fields.putArray("replicas")::add);
        state.offlineReplicas().forEach(fields.putArray("offlineReplicas")::add);
        return fields;
    }

    private static UpdateMetadataBroker broker(JsonNode id) {
        return new UpdateMetadataBroker().setId(id.asInt()).setEndpoints(List.of(new UpdateMetadataEndpoint()
            .setHost("localhost")
            .setPort(9092)
            .setListener(LISTENER.value())
            .setSecurityProtocol(SecurityProtocol.PLAINTEXT.id)));
    }

    private static List<Integer> brokers(JsonNode state, String name) {
        return list(Json.field(state, name), JsonNode::asInt);
    }

    private static <T> List<T> list(JsonNode array, Function<JsonNode, T> element) {
        return StreamSupport.stream(array.spliterator(), false).map(element).toList();
    }
}
