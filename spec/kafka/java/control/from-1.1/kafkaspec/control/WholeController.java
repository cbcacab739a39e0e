package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.KafkaController;
import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import kafkaspec.Json;
import kafkaspec.release.BrokerProcess;
import org.apache.kafka.common.TopicPartition;
import scala.Product;

/** A whole KafkaController, whose events are processed on request. */
final class WholeController extends BrokerProcess {
    /** The event that ends its thread. */
    private static final String END = "ShutdownEventThread";

    private final Meanwhile meanwhile;
    private final SentRequests sent = new SentRequests();
    private final ShownMetrics metrics = new ShownMetrics();

    WholeController(KafkaConfig config, Meanwhile meanwhile) {
        super(config, request -> { });
        this.meanwhile = meanwhile;
    }

    @Override
    protected KafkaZkClient openClient() {
        return BatchedClient.connect(config(), meanwhile);
    }

    @Override
    protected void captureRequests(KafkaController starting) {
        send(starting, new CapturedChannels(config(), sent));
    }

    SentRequests sent() {
        return sent;
    }

    KafkaController asked() {
        return controller();
    }

    // Its events.

    /** Processes the oldest event, if there is one; returns it. */
    JsonNode handleOldest() {
        Queue<Object> queue = queued();
        if (queue.isEmpty()) {
            return null;
        }
        JsonNode oldest = event(queue.peek());
        handleEvent();
        return oldest;
    }

    /** Processes the newest event of these names, before all that wait; returns whether there is one. */
    boolean handle(Set<String> names) {
        Queue<Object> queue = queued();
        List<Object> waiting = new ArrayList<>(queue);
        int place = waiting.size() - 1;
        while (place >= 0 && !names.contains(event(waiting.get(place)).get(0).asText())) {
            place--;
        }
        if (place < 0) {
            return false;
        }
        waiting.add(0, waiting.remove(place));
        queue.clear();
        queue.addAll(waiting);
        handleEvent();
        return true;
    }

    private Queue<Object> queued() {
        return field(controller().eventManager(), "queue");
    }

    /** An event's name, with its topics, partitions and brokers. */
    private ArrayNode event(Object queued) {
        Object event = eventIn(queued);
        ArrayNode description = Json.array().add(event.getClass().getSimpleName().replace("$", ""));
        var parts = ((Product) event).productIterator();
        while (parts.hasNext()) {
            Object part = parts.next();
            if (part instanceof Integer number) {
                description.add(number);
            } else if (part instanceof String || part instanceof TopicPartition) {
                description.add(part.toString());
            }
        }
        return description;
    }

    // Observation.

    void observe(Observation seen) {
        ContextObservation.put(seen, controller());
        ArrayNode queue = Json.array();
        for (Object each : queued()) {
            if (!event(each).get(0).asText().equals(END)) {
                queue.add(event(each));
            }
        }
        seen.put("queue", queue);
        metrics.observe(seen, controller());
        seen.put("active", Json.array().add(isActive()).add(activeControllerId()));
        ObjectNode left = Json.object();
        List<Object> batches = batches(controller());
        for (int number = 0; number < batches.size(); number++) {
            left.set(
                String.valueOf(number),
                BatchObservation.of((ControllerBrokerRequestBatch) batches.get(number)));
        }
        seen.put("left_in_batches", left);
    }
}
