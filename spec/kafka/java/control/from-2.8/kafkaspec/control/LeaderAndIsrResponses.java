package kafkaspec.control;

import org.apache.kafka.common.message.LeaderAndIsrResponseData;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;

/** How an answer to LeaderAndIsr is made since Kafka 2.8. */
final class LeaderAndIsrResponses {
    /** The last version that names topics, and has no ids. */
    private static final short BY_NAME = 4;

    private LeaderAndIsrResponses() { }

    static LeaderAndIsrResponse of(LeaderAndIsrResponseData data) {
        return new LeaderAndIsrResponse(data, BY_NAME);
    }
}
