package kafkaspec.control;

import kafka.api.LeaderAndIsr;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;

/** What Kafka 2.4 to 2.8 call the version of a partition's state; how a leader was elected they do not know. */
final class Versions {
    private static final int RECOVERED = 0;

    private Versions() { }

    static int partitionEpoch(LeaderAndIsr state) {
        return state.zkVersion();
    }

    static int partitionEpoch(LeaderAndIsrPartitionState told) {
        return told.zkVersion();
    }

    static int leaderRecoveryState(LeaderAndIsr state) {
        return RECOVERED;
    }

    static int leaderRecoveryState(LeaderAndIsrPartitionState told) {
        return RECOVERED;
    }
}
