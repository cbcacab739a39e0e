package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import kafka.server.KafkaConfig;
import kafkaspec.Configuration;
import kafkaspec.Json;
import kafkaspec.release.BrokerProcess;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.Request;

/** A whole controller with ZooKeeper and its other clients. */
final class ControllerRunner implements AutoCloseable {
    private static final int CONTROLLER = 9;
    private static final String FEATURES = "/feature";
    private static final double A_SECOND = 1e9;
    private static final KafkaConfig CONFIG =
        Configuration.of(CONTROLLER, Map.of("auto.leader.rebalance.enable", "true"));

    private final Ensemble ensemble = new Ensemble();
    private final ScriptedCluster cluster = new ScriptedCluster(ensemble);
    private final Meanwhile meanwhile = new Meanwhile(ensemble, cluster::perform, ControllerRunner::counts);
    private final Observation observation = new Observation();
    private final WholeController controller;
    private final Asking asking;
    private final ScheduledChecks checks;
    private ArrayNode answers = Json.array();
    private boolean isStopped;

    ControllerRunner() {
        ZooKeeper.ownedBy(connectString -> meanwhile);
        BrokerProcess.znodes(CONFIG).forEach(ensemble::create);
        controller = new WholeController(CONFIG, meanwhile);
        controller.start();
        cluster.isRegistered(CONTROLLER);
        checks = new ScheduledChecks(controller.asked().kafkaScheduler());
        asking = new Asking(controller.asked(), ensemble, answer -> answers.add(answer));
    }

    /** Features do not count, nor do the reads of brokers' nodes that watch for new addresses. */
    private static boolean counts(Request sent) {
        return !sent.path().equals(FEATURES)
            && !(sent.operation().equals("exists") && sent.path().startsWith(ScriptedCluster.BROKERS));
    }

    @Override
    public void close() {
        controller.asked().shutdown();
        controller.close();
    }

    /**
     * Carries out a command, and processes events; returns the parts of the observation that have changed. With
     * `quiet` it returns only the time that the events took.
     */
    ObjectNode perform(JsonNode command) {
        ObjectNode seen = Json.object();
        meanwhile.begin(command);
        if (!cluster.perform(command)) {
            perform(Json.field(command, "do").asText(), command);
        }
        meanwhile.deliver();
        ArrayNode handled = seen.putArray("handled");
        long began = System.nanoTime();
        for (int left = command.path("handle").asInt(); left > 0; left--) {
            JsonNode event = isStopped ? null : controller.handleOldest();
            if (event == null) {
                break;
            }
            handled.add(event);
            meanwhile.deliver();
            checks.take();
        }
        seen.put("seconds", (System.nanoTime() - began) / A_SECOND);
        if (command.path("quiet").asBoolean()) {
            controller.sent().forget();
            return seen;
        }
        observation.begin(seen);
        observation.put("znodes", cluster.observe());
        observation.put("registered", cluster.registered());
        controller.observe(observation);
        observation.put("checks", checks.observe());
        seen.set("asked", meanwhile.asked());
        seen.set("sent", controller.sent().take());
        seen.set("answers", answers);
        answers = Json.array();
        return seen;
    }

    private void perform(String what, JsonNode command) {
        switch (what) {
            case "answer" ->
                controller.sent().answer(Json.field(command, "broker").asInt(), Json.field(command, "errors"));
            case "check_is_due" -> checks.makeFirst();
            case "stop" -> {
                isStopped = true;
                controller.asked().shutdown();
                checks.take();
            }
            default -> asking.perform(what, command);
        }
    }
}
