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
import scala.collection.Set;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import scala.util.Try;

/**
 * A whole controller of Kafka 0.11 or 1.0 with ZooKeeper and its other clients. None of its threads starts: listeners
 * are called, then the controller's queued events are processed, until nothing is left to do.
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
        if (!settles()) {
            return seen.put("endless", true);
        }
        observation.begin(seen);
        observation.put("znodes", cluster.observe());
        observe();
        seen.set("sent", controller.takeSent());
        seen.set("answers", answers);
        answers = Json.array();
        return seen;
    }

    /** Whether the work comes to an end. */
    private boolean settles() {
        meanwhile.deliver();
        Queue<?> queue = (Queue<?>) Fields.get(controller.eventManager(), "queue");
        int events = 0;
        while (!listeners.waiting().isEmpty() || !queue.isEmpty()) {
            if (events == ENDLESS) {
                return false;
            }
            if (listeners.waiting().isEmpty()) {
                events++;
                if (isStopped) {
                    queue.poll();
                    continue;
                }
                thread.doWork();
                checks.take();
                controller.sent().forget(controller.controllerContext());
            } else {
                tell();
            }
            meanwhile.deliver();
        }
        return true;
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
