package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import kafkaspec.Json;
import org.apache.kafka.common.message.StopReplicaRequestData.StopReplicaPartitionState;
import org.apache.kafka.common.message.StopReplicaRequestData.StopReplicaTopicState;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.StopReplicaRequest;

/** StopReplica since Kafka 2.6: each partition has a leader epoch and a delete flag of its own. */
final class Stops {
    private Stops() { }

    static StopReplicaRequest.Builder stopReplica(int controller, int epoch, long brokerEpoch, JsonNode content) {
        Map<String, StopReplicaTopicState> topics = new HashMap<>();
        for (JsonNode state : Json.field(content, "partitionStates")) {
            String topic = Json.field(state, "topicName").asText();
            topics.computeIfAbsent(topic, name -> new StopReplicaTopicState().setTopicName(name))
                .partitionStates().add(new StopReplicaPartitionState()
                    .setPartitionIndex(Json.field(state, "partitionIndex").asInt())
                    .setLeaderEpoch(Json.field(state, "leaderEpoch").asInt())
                    .setDeletePartition(Json.field(state, "deletePartition").asBoolean()));
        }
        return new StopReplicaRequest.Builder(
            ApiKeys.STOP_REPLICA.latestVersion(), controller, epoch, brokerEpoch, false,
            new ArrayList<>(topics.values()));
    }
}
