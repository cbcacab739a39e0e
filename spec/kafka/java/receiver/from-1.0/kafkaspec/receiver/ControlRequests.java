package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import kafkaspec.Json;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/**
 * A controller's requests from JSON, with the field names of Kafka's schemas.
 * Until Kafka 2.3 a request maps partitions to states.
 */
final class ControlRequests {
    private ControlRequests() { }

    static AbstractRequest.Builder<? extends AbstractRequest> builder(JsonNode command) {
        JsonNode content = Json.field(command, "content");
        int controller = Json.field(content, "controllerId").asInt();
        int epoch = Json.field(content, "controllerEpoch").asInt();
        long brokerEpoch = Json.field(content, "brokerEpoch").asLong();
        JsonNode states = Json.field(content, "partitionStates");
        String name = Json.field(command, "request").asText();
        return switch (name) {
            case "LeaderAndIsrRequest" -> Builders.leaderAndIsr(
                controller, epoch, brokerEpoch, byPartition(states, ControlRequests::leaderAndIsr), set(
                    Json.field(content, "liveLeaders"), leader -> new Node(leader.asInt(), "localhost", 9092)));
            case "StopReplicaRequest" -> Builders.stopReplica(
                controller, epoch, brokerEpoch, Json.field(content, "deletePartitions").asBoolean(),
                set(states, ControlRequests::partition));
            case "UpdateMetadataRequest" -> Builders.updateMetadata(
                controller, epoch, brokerEpoch, byPartition(states, ControlRequests::metadata),
                set(Json.field(content, "liveBrokers"), ControlRequests::broker));
            default -> throw new Json.Malformed("no request " + name);
        };
    }

    private static TopicPartition partition(JsonNode state) {
        return new TopicPartition(
            Json.field(state, "topicName").asText(), Json.field(state, "partitionIndex").asInt());
    }

    private static LeaderAndIsrRequest.PartitionState leaderAndIsr(JsonNode state) {
        return new LeaderAndIsrRequest.PartitionState(
            Json.field(state, "controllerEpoch").asInt(), Json.field(state, "leader").asInt(),
            Json.field(state, "leaderEpoch").asInt(), brokers(state, "isr"),
            Json.field(state, "partitionEpoch").asInt(), brokers(state, "replicas"),
            Json.field(state, "isNew").asBoolean());
    }

    private static UpdateMetadataRequest.PartitionState metadata(JsonNode state) {
        return new UpdateMetadataRequest.PartitionState(
            Json.field(state, "controllerEpoch").asInt(), Json.field(state, "leader").asInt(),
            Json.field(state, "leaderEpoch").asInt(), brokers(state, "isr"), Json.field(state, "zkVersion").asInt(),
            brokers(state, "replicas"), brokers(state, "offlineReplicas"));
    }

    /** The metadata cache's state of a partition, by the same names. */
    static ObjectNode fields(String topic, int partition, UpdateMetadataRequest.PartitionState state) {
        ObjectNode fields = Json.object()
            .put("topicName", topic)
            .put("partitionIndex", partition)
            .put("controllerEpoch", state.basePartitionState.controllerEpoch)
            .put("leader", state.basePartitionState.leader)
            .put("leaderEpoch", state.basePartitionState.leaderEpoch)
            .put("zkVersion", state.basePartitionState.zkVersion);
        state.basePartitionState.isr.forEach(fields.putArray("isr")::add);
        state.basePartitionState.replicas.forEach(fields.putArray("replicas")::add);
        state.offlineReplicas.forEach(fields.putArray("offlineReplicas")::add);
        return fields;
    }

    private static UpdateMetadataRequest.Broker broker(JsonNode id) {
        SecurityProtocol plain = SecurityProtocol.PLAINTEXT;
        return new UpdateMetadataRequest.Broker(
            id.asInt(),
            List.of(new UpdateMetadataRequest.EndPoint(
                "localhost", 9092, plain, ListenerName.forSecurityProtocol(plain))),
            null);
    }

    private static List<Integer> brokers(JsonNode state, String name) {
        return stream(Json.field(state, name), JsonNode::asInt).toList();
    }

    private static <T> Set<T> set(JsonNode array, Function<JsonNode, T> element) {
        Set<T> set = new HashSet<>();
        stream(array, element).forEach(set::add);
        return set;
    }

    private static <T> Map<TopicPartition, T> byPartition(JsonNode states, Function<JsonNode, T> state) {
        Map<TopicPartition, T> map = new HashMap<>();
        states.forEach(each -> map.put(partition(each), state.apply(each)));
        return map;
    }

    private static <T> Stream<T> stream(JsonNode array, Function<JsonNode, T> element) {
        return StreamSupport.stream(array.spliterator(), false).map(element);
    }
}
