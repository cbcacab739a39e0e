package kafkaspec.control;

import kafka.api.LeaderAndIsr;

/**
 * What Kafka until 2.2 calls the version of a partition's state; how a leader was elected it does not know.
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
