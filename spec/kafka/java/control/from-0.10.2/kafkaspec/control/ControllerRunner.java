package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import kafka.controller.ControllerContext;
import kafka.server.KafkaConfig;
import kafka.server.ZookeeperLeaderElector;
import kafka.utils.ZkUtils;
import kafkaspec.Configuration;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.I0Itec.zkclient.ZkEventThread;

/**
 * A whole controller of Kafka 0.10 with ZooKeeper and its other clients. None of its threads starts: listeners are
 * called, and after each the deletion of topics does its work, until nothing is left to do.
 */
final class ControllerRunner implements AutoCloseable {
    private static final int CONTROLLER = 9;
    private static final int ENDLESS = 200;
    /** Kafka's defaults since 1.0 and 0.11, and automatic rebalancing. */
    private static final Map<String, String> AS_LATER = Map.of(
        "delete.topic.enable", "true",
        "unclean.leader.election.enable", "false",
        "auto.leader.rebalance.enable", "true");

    private final Ensemble ensemble = new Ensemble();
    private final ScriptedCluster cluster = new ScriptedCluster(ensemble);
    private final Meanwhile meanwhile = new Meanwhile(ensemble, cluster::perform, sent -> true);
    private final Observation observation = new Observation();
    private final ShownMetrics metrics = new ShownMetrics();
    private final ZkUtils client;
    private final CapturedBatch.Controller controller;
    private final ZkEventThread listeners;
    private final ScheduledChecks checks;
    private ArrayNode answers = Json.array();
    private ArrayNode asked = Json.array();

    ControllerRunner() {
        KafkaConfig config = Configuration.of(CONTROLLER, AS_LATER);
        client = BatchedClient.connect(config, meanwhile);
        listeners = ZkEventThread.of(config.zkConnect());
        controller = new CapturedBatch.Controller(config, client);
        cluster.perform(Json.object().put("do", "register").set("brokers", Json.array().add(CONTROLLER)));
        checks = new ScheduledChecks(Fields.get(controller, "autoRebalanceScheduler"));
        step(controller::startup);
    }

    @Override
    public void close() {
        client.close();
    }

    /** Carries out a command and all its consequences; returns the observation afterwards. */
    ObjectNode perform(JsonNode command) {
        ObjectNode seen = Json.object();
        asked = Json.array();
        if (!cluster.perform(command)) {
            step(() -> perform(Json.field(command, "do").asText(), command));
        }
        if (!settles()) {
            return seen.put("endless", true);
        }
        observation.begin(seen);
        observation.put("znodes", cluster.observe());
        observe();
        seen.set("sent", controller.takeSent());
        seen.set("asked", asked);
        seen.set("answers", answers);
        answers = Json.array();
        return controller.deletion().hasFailed() ? seen.put("stuck", true) : seen;
    }

    /** Whether the work comes to an end. */
    private boolean settles() {
        meanwhile.deliver();
        for (int steps = 0; steps < ENDLESS; steps++) {
            if (controller.deletion().hasWork()) {
                step(controller.deletion()::goOn);
            } else if (!listeners.waiting().isEmpty()) {
                step(this::tell);
            } else {
                return true;
            }
        }
        return false;
    }

    /** Runs a task. Its requests to ZooKeeper are one list of paths; the resulting events wait. */
    private void step(Runnable what) {
        meanwhile.begin(Json.object());
        what.run();
        ArrayNode paths = asked.addArray();
        meanwhile.asked().forEach(batch -> batch.forEach(paths::add));
        checks.take();
        controller.sent().forget(controller.controllerContext());
        meanwhile.deliver();
    }

    /** ZkClient would log a listener's exception. */
    private void tell() {
        try {
            listeners.tell();
        } catch (Exception logged) {
            return;
        }
    }

    private void perform(String what, JsonNode command) {
        switch (what) {
            case "answer" -> controller.sent().answer(
                Json.field(command, "broker").asInt(), Json.field(command, "errors"));
            case "shut_down" -> answers.add(shutDown(Json.field(command, "broker").asInt()));
            case "check_is_due" -> checks.makeFirst();
            case "stop" -> controller.shutdown();
            case "rebalance" -> controller.kafka$controller$KafkaController$$checkAndTriggerPartitionRebalance();
            default -> throw new Json.Malformed("no command " + what);
        }
    }

    private JsonNode shutDown(int broker) {
        ObjectNode answer = Json.object();
        try {
            answer.set("leads", Observation.texts(controller.shutdownBroker(broker)));
        } catch (RuntimeException refused) {
            answer.put("failed", refused.getClass().getSimpleName());
        }
        return answer;
    }

    private void observe() {
        ControllerContext context = controller.controllerContext();
        Machines.observe(observation, controller, BrokerEpochs.live(context));
        observation.put("being_reassigned", Observation.texts(context.partitionsBeingReassigned().keySet()));
        observation.put("being_elected", Observation.texts(context.partitionsUndergoingPreferredReplicaElection()));
        metrics.observe(observation);
        observation.put("checks", checks.observe());
        observation.put("active", Json.array()
            .add(controller.isActive())
            .add(((ZookeeperLeaderElector) Fields.get(controller, "controllerElector")).leaderId()));
    }
}
