package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.StreamSupport;
import kafkaspec.Json;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.StopReplicaRequestData.StopReplicaPartitionState;
import org.apache.kafka.common.message.StopReplicaRequestData.StopReplicaTopicState;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataBroker;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataEndpoint;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataPartitionState;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/** A controller's requests from JSON, whose fields have the names of `statemachines.control_requests`. */
final class ControlRequests {
    private static final short LAST_WITHOUT_TOPIC_IDS = 4;
    private static final ListenerName LISTENER = new ListenerName("PLAINTEXT");

    private ControlRequests() { }

    static AbstractControlRequest of(JsonNode command) {
        return builder(command).build();
    }

    static AbstractControlRequest.Builder<? extends AbstractControlRequest> builder(JsonNode command) {
        JsonNode told = Json.field(command, "told");
        int controller = Json.field(told, "controllerId").asInt();
        int epoch = Json.field(told, "controllerEpoch").asInt();
        long brokerEpoch = Json.field(told, "brokerEpoch").asLong();
        Map<String, Uuid> ids = new HashMap<>();
        topics(command).forEach((id, topic) -> ids.put(topic, id));
        JsonNode states = Json.field(told, "partitionStates");
        String name = Json.field(command, "request").asText();
        return switch (name) {
            case "LeaderAndIsrRequest" -> new LeaderAndIsrRequest.Builder(
                ids.isEmpty() ? LAST_WITHOUT_TOPIC_IDS : ApiKeys.LEADER_AND_ISR.latestVersion(), controller, epoch,
                brokerEpoch, list(states, ControlRequests::leaderAndIsr), ids,
                list(Json.field(told, "liveLeaders"), leader -> new Node(leader.asInt(), "localhost", 9092)));
            case "StopReplicaRequest" -> new StopReplicaRequest.Builder(
                ApiKeys.STOP_REPLICA.latestVersion(), controller, epoch, brokerEpoch, false, stopped(states));
            case "UpdateMetadataRequest" -> new UpdateMetadataRequest.Builder(
                ApiKeys.UPDATE_METADATA.latestVersion(), controller, epoch, brokerEpoch,
                list(states, ControlRequests::metadata),
                list(Json.field(told, "liveBrokers"), ControlRequests::broker), ids);
            default -> throw new Json.Malformed("no request " + name);
        };
    }

    /** The topics that have an id: not zero, for that is none. */
    static Map<Uuid, String> topics(JsonNode command) {
        Map<Uuid, String> topics = new HashMap<>();
        Json.field(command, "topic_ids").fields().forEachRemaining(
            each -> topics.put(new Uuid(each.getKey().hashCode(), each.getValue().asLong()), each.getKey()));
        return topics;
    }

    private static LeaderAndIsrPartitionState leaderAndIsr(JsonNode state) {
        LeaderAndIsrPartitionState told = new LeaderAndIsrPartitionState()
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
            told, Json.field(state, "partitionEpoch").asInt(),
            (byte) Json.field(state, "leaderRecoveryState").asInt());
    }

    private static List<StopReplicaTopicState> stopped(JsonNode states) {
        Map<String, StopReplicaTopicState> topics = new HashMap<>();
        for (JsonNode state : states) {
            String topic = Json.field(state, "topicName").asText();
            topics.computeIfAbsent(topic, name -> new StopReplicaTopicState().setTopicName(name))
                .partitionStates().add(new StopReplicaPartitionState()
                    .setPartitionIndex(Json.field(state, "partitionIndex").asInt())
                    .setLeaderEpoch(Json.field(state, "leaderEpoch").asInt())
                    .setDeletePartition(Json.field(state, "deletePartition").asBoolean()));
        }
        return new ArrayList<>(topics.values());
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

    /** What the metadata cache has of a partition, by the same names. */
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
