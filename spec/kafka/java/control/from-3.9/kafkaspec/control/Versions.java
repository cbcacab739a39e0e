package kafkaspec.control;

import kafka.api.LeaderAndIsr;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;

/** Kafka 3.9's name for the version of a partition's state, and its record of how a leader was elected. */
final class Versions {
    private Versions() { }

    static int partitionEpoch(LeaderAndIsr state) {
        return state.partitionEpoch();
    }

    static int partitionEpoch(LeaderAndIsrPartitionState state) {
        return state.partitionEpoch();
    }

    static int leaderRecoveryState(LeaderAndIsr state) {
        return state.leaderRecoveryState().value();
    }

    static int leaderRecoveryState(LeaderAndIsrPartitionState state) {
        return state.leaderRecoveryState();
    }
}
