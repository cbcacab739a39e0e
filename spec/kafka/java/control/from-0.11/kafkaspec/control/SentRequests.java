package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import kafka.controller.ControllerContext;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.StopReplicaResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/** What a controller of Kafka 0.11 or 1.0 would send, until a broker answers; who is not registered has no queue. */
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

    /** The requests since this was last asked, in order, broker by broker. */
    ObjectNode take() {
        ObjectNode taken = sent;
        sent = Json.object();
        return taken;
    }

    /** A broker answers all that it has been sent. */
    void answer(int broker, JsonNode errors) {
        List<Unanswered> requests = unanswered.remove(broker);
        for (Unanswered each : requests == null ? List.<Unanswered>of() : requests) {
            AbstractResponse response = response(each.request(), errors);
            if (response != null && each.callback() != null) {
                each.callback().apply(response);
            }
        }
    }

    /** What has been sent to a broker is gone with its channel, and all of it with the manager of channels. */
    void forget(ControllerContext context) {
        if (context.controllerChannelManager() != channels) {
            channels = context.controllerChannelManager();
            unanswered.clear();
        }
        unanswered.keySet().removeIf(broker -> !context.liveOrShuttingDownBrokerIds().contains(broker));
    }

    private static AbstractResponse response(AbstractRequest request, JsonNode errors) {
        if (request instanceof LeaderAndIsrRequest leaderAndIsr) {
            return new LeaderAndIsrResponse(
                error(errors, "all"), errors(leaderAndIsr.partitionStates().keySet(), errors));
        }
        if (request instanceof StopReplicaRequest stopReplica) {
            return new StopReplicaResponse(error(errors, "all"), errors(stopReplica.partitions(), errors));
        }
        return null;
    }

    private static Map<TopicPartition, Errors> errors(Iterable<TopicPartition> partitions, JsonNode errors) {
        Map<TopicPartition, Errors> told = new LinkedHashMap<>();
        partitions.forEach(partition -> told.put(partition, error(errors, partition.toString())));
        return told;
    }

    private static Errors error(JsonNode errors, String name) {
        return Errors.forCode((short) errors.path(name).asInt());
    }
}
