package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.NoSuchElementException;
import kafkaspec.Configuration;
import kafkaspec.Json;
import org.apache.kafka.common.errors.ControllerMovedException;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * The part of a controller that changes states (`Machines`), with Kafka's own client of ZooKeeper; and beside it
 * ZooKeeper with its other clients.
 */
final class StateMachineRunner implements AutoCloseable {
    private static final int CONTROLLER = 9;
    /** Kafka's defaults since 1.0 and 0.11. */
    private static final Map<String, String> AS_LATER =
        Map.of("delete.topic.enable", "true", "unclean.leader.election.enable", "false");

    private final Ensemble ensemble = new Ensemble();
    private final Meanwhile meanwhile = new Meanwhile(ensemble);
    private final FailureLog log = new FailureLog(CONTROLLER);
    private final Observation observation = new Observation();
    private final Machines machines;

    StateMachineRunner() {
        ZooKeeper.ownedBy(connectString -> meanwhile);
        machines = new Machines(Configuration.of(CONTROLLER, AS_LATER), meanwhile, log);
    }

    @Override
    public void close() {
        machines.close();
        log.close();
    }

    /** Carries out a command; returns the parts of the observation that have changed. */
    ObjectNode perform(JsonNode command) {
        ObjectNode seen = Json.object();
        meanwhile.begin(command);
        if (!ensemble.perform(command)) {
            try {
                perform(Json.field(command, "do").asText(), command, seen);
            } catch (ControllerMovedException moved) {
                seen.put("moved", true);
            } catch (NoSuchElementException | IllegalStateException refused) {
                seen.set("thrown", FailureLog.cause(refused));
            }
        }
        observation.begin(seen);
        observation.put("znodes", ensemble.observe());
        machines.observe(observation);
        seen.set("asked", meanwhile.asked());
        seen.set("sent", machines.takeSent());
        seen.set("log", log.take());
        return seen;
    }

    private void perform(String what, JsonNode command, ObjectNode seen) {
        switch (what) {
            case "expire" -> meanwhile.endSession();
            case "fail_over" -> failOver();
            case "assign" -> {
                ensemble.createTopic(Scala.partition(Json.field(command, "partition").asText()).topic());
                machines.perform(what, command, seen);
            }
            case "assign_all" -> Json.field(command, "assigned").forEach(each -> perform("assign", each, seen));
            case "remove_topic" -> {
                machines.perform(what, command, seen);
                ensemble.deleteTopic(Json.field(command, "topic").asText());
            }
            default -> machines.perform(what, command, seen);
        }
    }

    /** The controller is elected, and reads the states of all partitions, not knowing their earlier states. */
    private void failOver() {
        ensemble.increaseEpoch();
        machines.begin(ensemble.epoch(), ensemble.server().stat(Ensemble.CONTROLLER_EPOCH).getVersion());
        machines.partitions().forEach(this::read);
    }

    private void read(String partition) {
        String path = Ensemble.state(partition);
        Stat stat = ensemble.server().stat(path);
        if (stat != null) {
            machines.learn(partition, ensemble.server().data(path), stat);
        }
    }
}
