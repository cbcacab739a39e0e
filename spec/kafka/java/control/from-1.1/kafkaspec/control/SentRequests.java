package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import kafkaspec.Json;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/**
 * A controller's requests, kept until a broker answers. A request is built when it is observed: in Kafka the sending
 * threads build it, and the controller does not wait for that.
 */
final class SentRequests {
    private record Unanswered(
            AbstractRequest.Builder<? extends AbstractRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        AbstractRequest request() {
            return builder.build(builder.latestAllowedVersion());
        }
    }

    private final Map<Integer, List<Unanswered>> unanswered = new HashMap<>();
    private final Map<Integer, List<Unanswered>> sent = new LinkedHashMap<>();

    void add(
            int broker,
            AbstractRequest.Builder<? extends AbstractRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        Unanswered request = new Unanswered(builder, callback);
        sent.computeIfAbsent(broker, none -> new ArrayList<>()).add(request);
        unanswered.computeIfAbsent(broker, none -> new ArrayList<>()).add(request);
    }

    /** The requests since the last call, in order, by broker. */
    ObjectNode take() {
        ObjectNode taken = Json.object();
        sent.forEach((broker, requests) -> {
            ArrayNode written = taken.putArray(String.valueOf(broker));
            requests.forEach(each -> written.add(Requests.request(each.request())));
        });
        sent.clear();
        return taken;
    }

    /** Drops the sent requests unobserved. */
    void forget() {
        sent.clear();
    }

    /** A broker answers every request that it has received. */
    void answer(int broker, JsonNode errors) {
        List<Unanswered> requests = unanswered.remove(broker);
        if (requests != null) {
            requests.forEach(each -> {
                AbstractResponse response = Responses.to(each.request(), errors);
                if (response != null && each.callback != null) {
                    each.callback.apply(response);
                }
            });
        }
    }

    /** A broker is removed, with its queue. */
    void remove(int broker) {
        unanswered.remove(broker);
    }

    /** The controller resigns, and all queues are emptied. */
    void clear() {
        unanswered.clear();
    }
}
