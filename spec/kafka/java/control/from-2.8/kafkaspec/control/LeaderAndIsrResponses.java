package kafkaspec.control;

import org.apache.kafka.common.message.LeaderAndIsrResponseData;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;

/** The form of a response to LeaderAndIsr since Kafka 2.8. */
final class LeaderAndIsrResponses {
    /** The last version with topic names instead of ids. */
    private static final short BY_NAME = 4;

    private LeaderAndIsrResponses() { }

    static LeaderAndIsrResponse of(LeaderAndIsrResponseData data) {
        return new LeaderAndIsrResponse(data, BY_NAME);
    }
}
