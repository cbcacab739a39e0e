package kafkaspec.receiver;

import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;

/** A controller's state of a partition since Kafka 3.3. */
final class Versions {
    private Versions() { }

    static LeaderAndIsrPartitionState with(LeaderAndIsrPartitionState state, int partitionEpoch, byte recovery) {
        return state.setPartitionEpoch(partitionEpoch).setLeaderRecoveryState(recovery);
    }
}
