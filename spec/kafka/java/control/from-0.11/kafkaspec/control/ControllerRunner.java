package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Queue;
import kafka.common.TopicAndPartition;
import kafka.controller.ControllerContext;
import kafka.controller.ControllerEventManager;
import kafka.server.KafkaConfig;
import kafka.utils.ZkUtils;
import kafkaspec.Configuration;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.I0Itec.zkclient.ZkEventThread;
import scala.Product;
import scala.collection.Iterable;
import scala.collection.Set;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import scala.util.Try;

/**
 * A whole controller of Kafka 0.11 or 1.0 with ZooKeeper and its other clients. None of its threads starts: listeners
 * are called, then the controller's queued events are processed, until nothing is left to do, or as many events are
 * handled as the command says.
 */
final class ControllerRunner implements AutoCloseable {
    private static final int CONTROLLER = 9;
    private static final int ENDLESS = 200;

    private final Ensemble ensemble = new Ensemble();
    private final ScriptedCluster cluster = new ScriptedCluster(ensemble);
    private final Meanwhile meanwhile = new Meanwhile(ensemble, cluster::perform, sent -> true);
    private final Observation observation = new Observation();
    private final ShownMetrics metrics = new ShownMetrics();
    private final ZkUtils client;
    private final CapturedBatch.Controller controller;
    private final ZkEventThread listeners;
    private final ControllerEventManager.ControllerEventThread thread;
    private final ScheduledChecks checks;
    private ArrayNode answers = Json.array();
    private boolean isStopped;

    ControllerRunner() {
        KafkaConfig config = Configuration.of(
            CONTROLLER, Map.of("delete.topic.enable", "true", "auto.leader.rebalance.enable", "true"));
        client = BatchedClient.connect(config, meanwhile);
        listeners = ZkEventThread.of(config.zkConnect());
        controller = new CapturedBatch.Controller(config, client);
        ControllerEventManager events = controller.eventManager();
        thread = events.new ControllerEventThread("never started") {
            @Override
            public synchronized void start() { }

            @Override
            public void awaitShutdown() { }
        };
        Fields.set(events, "thread", thread);
        cluster.perform(Json.object().put("do", "register").set("brokers", Json.array().add(CONTROLLER)));
        checks = new ScheduledChecks(controller.kafkaScheduler());
        controller.startup();
    }

    @Override
    public void close() {
        client.close();
    }

    /** Carries out a command and all its consequences; returns the observation afterwards. */
    ObjectNode perform(JsonNode command) {
        ObjectNode seen = Json.object();
        meanwhile.begin(Json.object());
        if (!cluster.perform(command)) {
            perform(Json.field(command, "do").asText(), command);
        }
        if (!settles(command.path("handle").asInt(ENDLESS))) {
            return seen.put("endless", true);
        }
        observation.begin(seen);
        observation.put("znodes", cluster.observe());
        observation.put("queue", waiting());
        observe();
        seen.set("sent", controller.takeSent());
        seen.set("answers", answers);
        answers = Json.array();
        return seen;
    }

    /**
     * Runs all listeners, handles an event, and so on, until nothing is left to do or so many events are handled.
     *
     * @return whether that many are fewer than ENDLESS
     */
    private boolean settles(int events) {
        int handled = 0;
        meanwhile.deliver();
        while (true) {
            if (isStopped) {
                queue().clear();
            }
            if (!listeners.waiting().isEmpty()) {
                tell();
            } else if (queue().isEmpty() || handled == events) {
                return handled < ENDLESS;
            } else {
                handled++;
                thread.doWork();
                checks.take();
                controller.sent().forget(controller.controllerContext());
            }
            meanwhile.deliver();
        }
    }

    private Queue<?> queue() {
        return (Queue<?>) Fields.get(controller.eventManager(), "queue");
    }

    private void tell() {
        try {
            listeners.tell();
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
    }

    private void perform(String what, JsonNode command) {
        switch (what) {
            case "answer" -> controller.sent().answer(
                Json.field(command, "broker").asInt(), Json.field(command, "errors"));
            case "shut_down" -> controller.shutdownBroker(
                Json.field(command, "broker").asInt(),
                new AbstractFunction1<Try<Set<TopicAndPartition>>, BoxedUnit>() {
                    @Override
                    public BoxedUnit apply(Try<Set<TopicAndPartition>> result) {
                        answers.add(led(result));
                        return BoxedUnit.UNIT;
                    }
                });
            case "check_is_due" -> checks.makeFirst();
            case "stop" -> {
                isStopped = true;
                controller.shutdown();
                checks.take();
            }
            case "rebalance" -> controller.eventManager().put(controller.AutoPreferredReplicaLeaderElection());
            default -> throw new Json.Malformed("no command " + what);
        }
    }

    private static JsonNode led(Try<Set<TopicAndPartition>> result) {
        ObjectNode answer = Json.object();
        if (result.isFailure()) {
            return answer.put("failed", result.failed().get().getClass().getSimpleName());
        }
        answer.set("leads", Observation.texts(result.get()));
        return answer;
    }

    /** The events in the queue: the name of each, with what it holds. */
    private ArrayNode waiting() {
        ArrayNode events = Json.array();
        queue().forEach(event -> events.add(described((Product) event)));
        return events;
    }

    /** Responses and callbacks are left out. */
    private static ArrayNode described(Product event) {
        ArrayNode description = Json.array().add(event.productPrefix());
        Scala.forEach(event.productIterator().toList(), part -> {
            if (part instanceof Iterable<?> several) {
                description.add(Observation.texts(several));
            } else if (part instanceof Integer || part instanceof String || part instanceof TopicAndPartition) {
                description.add(Scala.name(part));
            }
        });
        return description;
    }

    private void observe() {
        ControllerContext context = controller.controllerContext();
        Machines.observe(observation, controller, BrokerEpochs.live(context));
        observation.put("being_reassigned", Observation.texts(context.partitionsBeingReassigned().keySet()));
        observation.put("checks", checks.observe());
        metrics.observe(observation, controller);
        observation.put("active", Json.array()
            .add(controller.isActive())
            .add((Integer) Fields.get(controller, "activeControllerId")));
    }
}
