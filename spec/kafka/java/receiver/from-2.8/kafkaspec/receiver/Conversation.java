package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import kafka.cluster.Broker;
import kafka.controller.QueueItem;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractControlRequest;
import scala.runtime.BoxedUnit;

/**
 * The channels of a controller, and the brokers at their other ends.
 *
 * <p>A command's `do` is one of these; a request is identified by its `controllerEpoch`:
 *
 * <ul>
 * <li>`startup` with channels to `brokers`, `shutdown`; `add` or `remove` the channel of a `broker`
 * <li>`send`: `request` and `content` as for Receivers
 * <li>`answer`: the broker answers the request that it holds with this `error`
 * <li>`break`: it hangs up instead, and again on the next `unread` connections, before it has read from them
 * <li>`misanswer`: its answer belongs to another request
 * <li>`stop`: its process ends, nothing listens there; `start`: it listens again
 * </ul>
 *
 * <p>Then it waits until each thread with something to send has sent it to a listening broker. The observation after
 * each command: the requests that wait in `queues`; those that each broker has `received` since the last one; those
 * `answered`, with the answers; the number `not_sent`; whether Kafka `refused`; and whether it is `stuck`: an awaited
 * event has not come, and no further command runs.
 */
final class Conversation implements AutoCloseable {
    private static final int PATIENCE_S = 10;

    private record Answer(int broker, int number, String error) { }

    private final Manager manager = new Manager();
    private final Map<Integer, ListeningBroker> brokers = new HashMap<>();
    /** The number of requests put into a channel and not answered. */
    private final Map<Integer, Integer> outstanding = new TreeMap<>();
    private final BlockingQueue<Answer> callbacks = new LinkedBlockingQueue<>();
    private final Map<Integer, List<Integer>> received = new TreeMap<>();
    private final List<Answer> answered = new ArrayList<>();

    /** The observation after each command. */
    static ArrayNode of(JsonNode commands) throws Exception {
        ArrayNode seen = Json.array();
        try (Conversation conversation = new Conversation()) {
            for (JsonNode command : commands) {
                ObjectNode observed = Json.object().put("stuck", false).put("refused", false);
                seen.add(observed);
                try {
                    conversation.carryOut(command);
                    conversation.settle();
                } catch (NoSuchElementException refused) {
                    observed.put("refused", true);
                } catch (SocketTimeoutException stuck) {
                    observed.put("stuck", true);
                    break;
                } finally {
                    conversation.observe(observed);
                }
            }
        }
        return seen;
    }

    private void carryOut(JsonNode command) throws IOException, InterruptedException {
        String does = Json.field(command, "do").asText();
        switch (does) {
            case "startup" -> startUp(Json.field(command, "brokers"));
            case "shutdown" -> {
                manager.shutdown();
                for (int broker : List.copyOf(outstanding.keySet())) {
                    ended(broker);
                }
            }
            default -> carryOut(does, Json.field(command, "broker").asInt(), command);
        }
    }

    private void carryOut(String does, int id, JsonNode command) throws IOException, InterruptedException {
        ListeningBroker broker = broker(id);
        switch (does) {
            case "add" -> {
                manager.addBroker(broker.asKafka());
                outstanding.putIfAbsent(id, 0);
            }
            case "remove" -> {
                manager.removeBroker(id);
                ended(id);
            }
            case "send" -> send(id, command);
            case "answer" -> {
                broker.answer(Errors.valueOf(Json.field(command, "error").asText()));
                outstanding.merge(id, -1, Integer::sum);
                awaitCallback();
            }
            case "break" -> broker.breakOff(Json.field(command, "unread").asInt());
            case "misanswer" -> broker.misanswer();
            case "stop" -> broker.stop();
            case "start" -> broker.start();
            default -> throw new Json.Malformed("no such command: " + does);
        }
    }

    private ListeningBroker broker(int id) throws IOException {
        if (!brokers.containsKey(id)) {
            brokers.put(id, new ListeningBroker(id));
        }
        return brokers.get(id);
    }

    private void startUp(JsonNode ids) throws IOException {
        List<Broker> started = new ArrayList<>();
        for (JsonNode id : ids) {
            started.add(broker(id.asInt()).asKafka());
            outstanding.put(id.asInt(), 0);
        }
        manager.startUp(started);
    }

    private void send(int id, JsonNode command) {
        AbstractControlRequest.Builder<? extends AbstractControlRequest> request = ControlRequests.builder(command);
        manager.sendRequest(id, request, response -> {
            callbacks.add(new Answer(id, number(request), Responses.error(response).name()));
            return BoxedUnit.UNIT;
        });
        outstanding.computeIfPresent(id, (broker, count) -> count + 1);
    }

    private void awaitCallback() throws InterruptedException, SocketTimeoutException {
        Answer answer = callbacks.poll(PATIENCE_S, TimeUnit.SECONDS);
        if (answer == null) {
            throw new SocketTimeoutException("no callback");
        }
        answered.add(answer);
    }

    /** A channel has ended; only requests already sent can still arrive. */
    private void ended(int id) throws IOException {
        outstanding.remove(id);
        ListeningBroker broker = broker(id);
        for (AbstractControlRequest late; (late = broker.remainder()) != null; ) {
            note(id, late);
        }
    }

    private void settle() throws IOException {
        for (int id : outstanding.keySet()) {
            ListeningBroker broker = brokers.get(id);
            if (outstanding.get(id) > 0 && broker.isUp() && !broker.holdsRequest()) {
                note(id, broker.receive());
            } else if (outstanding.get(id) > 0 && !broker.isUp()) {
                awaitTaken(id);
            }
        }
    }

    /** If nothing listens, the only sign of a thread's work is that it has taken its request. */
    private void awaitTaken(int id) throws SocketTimeoutException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
        while (manager.queue(id).size() >= outstanding.get(id)) {
            if (System.nanoTime() > deadline) {
                throw new SocketTimeoutException("not taken");
            }
            Thread.yield();
        }
    }

    private void note(int id, AbstractControlRequest request) {
        received.computeIfAbsent(id, broker -> new ArrayList<>()).add(request.controllerEpoch());
    }

    private void observe(ObjectNode seen) {
        ObjectNode queues = seen.putObject("queues");
        for (int id : outstanding.keySet()) {
            ArrayNode waiting = queues.putArray(String.valueOf(id));
            for (QueueItem item : manager.queue(id)) {
                waiting.add(number(item.request()));
            }
        }
        ObjectNode requests = seen.putObject("received");
        received.forEach((id, numbers) -> numbers.forEach(requests.putArray(String.valueOf(id))::add));
        received.clear();
        callbacks.drainTo(answered);  // none should be there
        ArrayNode answers = seen.putArray("answered");
        answered.forEach(each -> answers.addArray().add(each.broker()).add(each.number()).add(each.error()));
        answered.clear();
        seen.put("not_sent", manager.notSent());
    }

    private static int number(AbstractControlRequest.Builder<? extends AbstractControlRequest> request) {
        return (Integer) Fields.get(request, "controllerEpoch");
    }

    @Override
    public void close() throws IOException {
        manager.shutdown();
        for (ListeningBroker broker : brokers.values()) {
            broker.close();
        }
    }
}
