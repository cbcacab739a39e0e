package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashSet;
import java.util.Set;
import kafka.server.KafkaConfig;
import kafkaspec.Configuration;
import kafkaspec.Json;
import kafkaspec.release.BrokerProcess;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.Request;

/**
 * A whole controller with ZooKeeper, whose events are processed one by one, each batch by batch. Between two batches
 * of its state machines, or of its writes for a leader, others act, and everything is observed.
 */
final class PathRunner implements AutoCloseable {
    private static final int CONTROLLER = 9;
    private static final KafkaConfig CONFIG = Configuration.of(CONTROLLER);
    private static final StackWalker STACK = StackWalker.getInstance();

    private final Ensemble ensemble = new Ensemble();
    private final ScriptedCluster cluster = new ScriptedCluster(ensemble);
    private final Meanwhile meanwhile = new Meanwhile(ensemble, this::isDoneByOthers, PathRunner::changesStates);
    private final Observation observation = new Observation();
    private final WholeController controller;
    private final Asking asking;
    private final ArrayNode looks = Json.array();

    PathRunner() {
        ZooKeeper.ownedBy(connectString -> meanwhile);
        BrokerProcess.znodes(CONFIG).forEach(ensemble::create);
        controller = new WholeController(CONFIG, meanwhile);
        controller.start();
        cluster.isRegistered(CONTROLLER);
        asking = new Asking(controller.asked(), ensemble, answer -> { });
    }

    /** Whether a request changes states: all other requests are served within the step that makes them. */
    private static boolean changesStates(Request sent) {
        return STACK.walk(frames -> frames.anyMatch(PathRunner::changesStates));
    }

    /** A method of a state machine, or the handler of a leader's request: processAlterIsr in 2.7 and 2.8. */
    private static boolean changesStates(StackWalker.StackFrame frame) {
        String method = frame.getMethodName();
        return frame.getClassName().startsWith("kafka.controller.")
            && (frame.getClassName().contains("StateMachine")
                || method.contains("rocessAlterPartition") || method.contains("rocessAlterIsr"));
    }

    @Override
    public void close() {
        controller.asked().shutdown();
        controller.close();
    }

    /**
     * Carries all of this out: acts of others, requests to the controller, `look`, and `process`: the newest event of
     * these names, before all that wait, with the commands of `meanwhile` between its batches. Ends early if there is
     * no such event.
     *
     * @return the changed parts of the observation at each look, with the number of its step
     */
    ArrayNode perform(JsonNode happens) {
        for (JsonNode each : happens) {
            if (each.has("process")) {
                meanwhile.begin(each);
                if (!controller.handle(names(each.get("process")))) {
                    break;
                }
            } else if (!isDoneByOthers(each)) {
                asking.perform(Json.field(each, "do").asText(), each);
            }
            meanwhile.deliver();
        }
        return looks;
    }

    private static Set<String> names(JsonNode events) {
        Set<String> names = new HashSet<>();
        events.forEach(name -> names.add(name.asText()));
        return names;
    }

    /** Carries out a command that is not for the controller; returns whether it was such. */
    private boolean isDoneByOthers(JsonNode command) {
        if (!Json.field(command, "do").asText().equals("look")) {
            return cluster.perform(command);
        }
        ObjectNode seen = looks.addObject().put("step", Json.field(command, "step").asInt());
        look(command.path("only_zookeeper").asBoolean(), seen);
        return true;
    }

    private void look(boolean onlyZooKeeper, ObjectNode seen) {
        observation.begin(seen);
        observation.put("znodes", cluster.observe());
        if (!onlyZooKeeper) {
            controller.observe(observation);
            seen.set("asked", meanwhile.asked().deepCopy());
            seen.set("sent", controller.sent().take());
        }
    }
}
