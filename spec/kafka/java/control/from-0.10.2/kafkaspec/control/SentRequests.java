package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerContext;
import kafkaspec.Json;
import org.apache.kafka.common.requests.AbstractRequest;

/** What a controller until Kafka 1.0 would send; who is not registered has no queue. */
final class SentRequests {
    private ObjectNode sent = Json.object();

    void add(ControllerContext context, int broker, AbstractRequest.Builder<? extends AbstractRequest> request) {
        if (context.liveOrShuttingDownBrokerIds().contains(broker)) {
            sent.withArray(String.valueOf(broker)).add(Requests.request(request.build()));
        }
    }

    /** The requests since this was last asked, in order, broker by broker. */
    ObjectNode take() {
        ObjectNode taken = sent;
        sent = Json.object();
        return taken;
    }
}
