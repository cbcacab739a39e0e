package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import kafka.cluster.Broker;
import kafka.server.KafkaConfig;
import kafkaspec.Json;
import kafkaspec.release.UnstartedChannels;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/** A controller's channels, of which what would be sent is kept, until a broker answers. */
final class CapturedChannels extends UnstartedChannels {
    private record Unanswered(AbstractControlRequest request, Function1<AbstractResponse, BoxedUnit> callback) { }

    private final Map<Integer, List<Unanswered>> unanswered = new HashMap<>();
    private ObjectNode sent = Json.object();

    CapturedChannels(KafkaConfig config) {
        super(config);
    }

    /** The requests since this was last asked, in order, broker by broker. */
    ObjectNode take() {
        ObjectNode taken = sent;
        sent = Json.object();
        return taken;
    }

    /** A broker answers all that it has been sent. */
    void answer(int broker, JsonNode errors) {
        List<Unanswered> requests = unanswered.remove(broker);
        if (requests != null) {
            requests.forEach(each -> {
                AbstractResponse response = Responses.to(each.request, errors);
                if (response != null && each.callback != null) {
                    each.callback.apply(response);
                }
            });
        }
    }

    @Override
    public void sendRequest(
            int broker,
            AbstractControlRequest.Builder<? extends AbstractControlRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        AbstractControlRequest request = builder.build(builder.latestAllowedVersion());
        sent.withArray(String.valueOf(broker)).add(Requests.request(request));
        unanswered.computeIfAbsent(broker, none -> new ArrayList<>()).add(new Unanswered(request, callback));
    }

    @Override
    public void addBroker(Broker broker) { }

    @Override
    public void removeBroker(int broker) {
        unanswered.remove(broker);
    }

    @Override
    public void shutdown() {
        unanswered.clear();
    }
}
