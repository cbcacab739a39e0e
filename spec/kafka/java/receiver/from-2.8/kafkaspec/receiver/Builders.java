package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import kafkaspec.Json;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataBroker;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataPartitionState;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;

/** Requests about topics with ids, since Kafka 2.8. */
final class Builders {
    private static final short LAST_WITHOUT_TOPIC_IDS = 4;

    private Builders() { }

    static LeaderAndIsrRequest.Builder leaderAndIsr(
            JsonNode command, int controller, int epoch, long brokerEpoch, List<LeaderAndIsrPartitionState> states,
            List<Node> leaders) {
        Map<String, Uuid> ids = ids(command);
        return new LeaderAndIsrRequest.Builder(
            ids.isEmpty() ? LAST_WITHOUT_TOPIC_IDS : ApiKeys.LEADER_AND_ISR.latestVersion(), controller, epoch,
            brokerEpoch, states, ids, leaders);
    }

    static UpdateMetadataRequest.Builder updateMetadata(
            JsonNode command, int controller, int epoch, long brokerEpoch, List<UpdateMetadataPartitionState> states,
            List<UpdateMetadataBroker> brokers) {
        return new UpdateMetadataRequest.Builder(
            ApiKeys.UPDATE_METADATA.latestVersion(), controller, epoch, brokerEpoch, states, brokers, ids(command));
    }

    private static Map<String, Uuid> ids(JsonNode command) {
        Map<String, Uuid> ids = new HashMap<>();
        topics(command).forEach((id, topic) -> ids.put(topic, id));
        return ids;
    }

    /** The topics that have an id; zero means that there is none. */
    static Map<Uuid, String> topics(JsonNode command) {
        Map<Uuid, String> topics = new HashMap<>();
        Json.field(command, "topic_ids").fields().forEachRemaining(
            each -> topics.put(new Uuid(each.getKey().hashCode(), each.getValue().asLong()), each.getKey()));
        return topics;
    }
}
