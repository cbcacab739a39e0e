package kafkaspec.receiver;

import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;

/** A controller's state of a partition since Kafka 3.3. */
final class Versions {
    private Versions() { }

    static LeaderAndIsrPartitionState with(LeaderAndIsrPartitionState told, int partitionEpoch, byte recovery) {
        return told.setPartitionEpoch(partitionEpoch).setLeaderRecoveryState(recovery);
    }
}
