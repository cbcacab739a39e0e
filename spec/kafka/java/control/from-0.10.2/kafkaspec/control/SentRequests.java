package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import kafka.controller.ControllerContext;
import kafkaspec.Json;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/** The requests of a controller until Kafka 1.0, until a broker answers; unregistered brokers have no queue. */
final class SentRequests {
    private record Unanswered(AbstractRequest request, Function1<AbstractResponse, BoxedUnit> callback) { }

    private final Map<Integer, List<Unanswered>> unanswered = new HashMap<>();
    private ObjectNode sent = Json.object();
    private Object channels;

    void add(
            ControllerContext context,
            int broker,
            AbstractRequest.Builder<? extends AbstractRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        forget(context);
        if (context.liveOrShuttingDownBrokerIds().contains(broker)) {
            AbstractRequest request = builder.build();
            sent.withArray(String.valueOf(broker)).add(Requests.request(request));
            unanswered.computeIfAbsent(broker, none -> new ArrayList<>()).add(new Unanswered(request, callback));
        }
    }

    /** The requests since the last call, in order, by broker. */
    ObjectNode take() {
        ObjectNode taken = sent;
        sent = Json.object();
        return taken;
    }

    /** A broker answers every request that it has received. */
    void answer(int broker, JsonNode errors) {
        List<Unanswered> requests = unanswered.remove(broker);
        for (Unanswered each : requests == null ? List.<Unanswered>of() : requests) {
            AbstractResponse response = Responses.to(each.request(), errors);
            if (response != null && each.callback() != null) {
                each.callback().apply(response);
            }
        }
    }

    /** Drops the requests to a broker with its channel, and all of them with the channel manager. */
    void forget(ControllerContext context) {
        if (context.controllerChannelManager() != channels) {
            channels = context.controllerChannelManager();
            unanswered.clear();
        }
        unanswered.keySet().removeIf(broker -> !context.liveOrShuttingDownBrokerIds().contains(broker));
    }
}
