package kafkaspec.receiver;

import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;

/** Requests of Kafka 2.2 and 2.3. */
final class Builders {
    private Builders() { }

    static LeaderAndIsrRequest.Builder leaderAndIsr(
            int controller, int epoch, long brokerEpoch,
            Map<TopicPartition, LeaderAndIsrRequest.PartitionState> states, Set<Node> leaders) {
        return new LeaderAndIsrRequest.Builder(
            ApiKeys.LEADER_AND_ISR.latestVersion(), controller, epoch, brokerEpoch, states, leaders);
    }

    static StopReplicaRequest.Builder stopReplica(
            int controller, int epoch, long brokerEpoch, boolean delete, Set<TopicPartition> partitions) {
        return new StopReplicaRequest.Builder(
            ApiKeys.STOP_REPLICA.latestVersion(), controller, epoch, brokerEpoch, delete, partitions);
    }

    static UpdateMetadataRequest.Builder updateMetadata(
            int controller, int epoch, long brokerEpoch,
            Map<TopicPartition, UpdateMetadataRequest.PartitionState> states,
            Set<UpdateMetadataRequest.Broker> brokers) {
        return new UpdateMetadataRequest.Builder(
            ApiKeys.UPDATE_METADATA.latestVersion(), controller, epoch, brokerEpoch, states, brokers);
    }
}
