package kafkaspec.control;

import kafka.api.LeaderAndIsr;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;

/** The name in Kafka 2.4 to 2.8 for the version of a partition's state. They do not record how leaders came about. */
final class Versions {
    private static final int RECOVERED = 0;

    private Versions() { }

    static int partitionEpoch(LeaderAndIsr state) {
        return state.zkVersion();
    }

    static int partitionEpoch(LeaderAndIsrPartitionState state) {
        return state.zkVersion();
    }

    static int leaderRecoveryState(LeaderAndIsr state) {
        return RECOVERED;
    }

    static int leaderRecoveryState(LeaderAndIsrPartitionState state) {
        return RECOVERED;
    }
}
