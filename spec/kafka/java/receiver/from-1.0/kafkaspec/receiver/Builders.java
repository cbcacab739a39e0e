package kafkaspec.receiver;

import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;

/** Requests until Kafka 2.1: none of them names a broker's registration. */
final class Builders {
    private Builders() { }

    static LeaderAndIsrRequest.Builder leaderAndIsr(
            int controller, int epoch, long brokerEpoch,
            Map<TopicPartition, LeaderAndIsrRequest.PartitionState> states, Set<Node> leaders) {
        return new LeaderAndIsrRequest.Builder(
            ApiKeys.LEADER_AND_ISR.latestVersion(), controller, epoch, states, leaders);
    }

    static StopReplicaRequest.Builder stopReplica(
            int controller, int epoch, long brokerEpoch, boolean delete, Set<TopicPartition> partitions) {
        return new StopReplicaRequest.Builder(controller, epoch, delete, partitions);
    }

    static UpdateMetadataRequest.Builder updateMetadata(
            int controller, int epoch, long brokerEpoch,
            Map<TopicPartition, UpdateMetadataRequest.PartitionState> states,
            Set<UpdateMetadataRequest.Broker> brokers) {
        return new UpdateMetadataRequest.Builder(
            ApiKeys.UPDATE_METADATA.latestVersion(), controller, epoch, states, brokers);
    }
}
