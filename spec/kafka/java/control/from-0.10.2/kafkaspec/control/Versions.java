package kafkaspec.control;

import kafka.api.LeaderAndIsr;

/**
 * Kafka's name until 2.2 for the version of a partition's state; it does not record how a leader was elected.
 */
final class Versions {
    private static final int RECOVERED = 0;

    private Versions() { }

    static int partitionEpoch(LeaderAndIsr state) {
        return state.zkVersion();
    }

    static int leaderRecoveryState(LeaderAndIsr state) {
        return RECOVERED;
    }
}
