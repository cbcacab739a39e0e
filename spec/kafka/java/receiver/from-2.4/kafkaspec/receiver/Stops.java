package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.StopReplicaRequest;

/** StopReplica until Kafka 2.5: it has only the name of each partition. */
final class Stops {
    private Stops() { }

    static StopReplicaRequest.Builder stopReplica(int controller, int epoch, long brokerEpoch, JsonNode content) {
        List<TopicPartition> partitions = new ArrayList<>();
        Json.field(content, "partitionStates").forEach(state -> partitions.add(new TopicPartition(
            Json.field(state, "topicName").asText(), Json.field(state, "partitionIndex").asInt())));
        return new StopReplicaRequest.Builder(
            ApiKeys.STOP_REPLICA.latestVersion(), controller, epoch, brokerEpoch,
            Json.field(content, "deletePartitions").asBoolean(), partitions);
    }
}
