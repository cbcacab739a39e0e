package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataBroker;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataPartitionState;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;

/** Requests about topics without ids, until Kafka 2.7. */
final class Builders {
    private Builders() { }

    static LeaderAndIsrRequest.Builder leaderAndIsr(
            JsonNode command, int controller, int epoch, long brokerEpoch, List<LeaderAndIsrPartitionState> states,
            List<Node> leaders) {
        return new LeaderAndIsrRequest.Builder(
            ApiKeys.LEADER_AND_ISR.latestVersion(), controller, epoch, brokerEpoch, states, leaders);
    }

    static UpdateMetadataRequest.Builder updateMetadata(
            JsonNode command, int controller, int epoch, long brokerEpoch, List<UpdateMetadataPartitionState> states,
            List<UpdateMetadataBroker> brokers) {
        return new UpdateMetadataRequest.Builder(
            ApiKeys.UPDATE_METADATA.latestVersion(), controller, epoch, brokerEpoch, states, brokers);
    }
}
