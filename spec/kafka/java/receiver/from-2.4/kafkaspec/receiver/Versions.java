package kafkaspec.receiver;

import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;

/** A controller's state of a partition until Kafka 3.1: the epoch has another name, and no leader recovers. */
final class Versions {
    private Versions() { }

    static LeaderAndIsrPartitionState with(LeaderAndIsrPartitionState state, int partitionEpoch, byte recovery) {
        return state.setZkVersion(partitionEpoch);
    }
}
