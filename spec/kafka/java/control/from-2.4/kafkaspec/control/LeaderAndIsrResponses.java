package kafkaspec.control;

import org.apache.kafka.common.message.LeaderAndIsrResponseData;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;

/** The form of a response to LeaderAndIsr since Kafka 2.4. */
final class LeaderAndIsrResponses {
    private LeaderAndIsrResponses() { }

    static LeaderAndIsrResponse of(LeaderAndIsrResponseData data) {
        return new LeaderAndIsrResponse(data);
    }
}
