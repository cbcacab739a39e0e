package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;

/**
 * The acts of brokers, administrators and other controllers in ZooKeeper that affect a whole controller.
 * The commands are methods of `ScriptedCluster` in spec/kafka/scripted_cluster.py.
 */
final class ScriptedCluster {
    static final String CONTROLLER = "/controller";
    static final String BROKERS = "/brokers/ids";

    private static final int OTHER_CONTROLLER = 8;
    private static final String DELETIONS = "/admin/delete_topics";
    private static final String REASSIGNMENT = "/admin/reassign_partitions";
    private static final String PREFERRED = "/admin/preferred_replica_election";
    private static final String ISR_CHANGES = "/isr_change_notification";
    private static final String LOG_DIR_EVENTS = "/log_dir_event_notification";
    private static final List<String> SEEN = List.of(
        Ensemble.CONTROLLER_EPOCH, CONTROLLER, "/brokers/topics", "/config/topics", "/admin", ISR_CHANGES,
        LOG_DIR_EVENTS);

    private final Ensemble ensemble;
    private final ArrayNode registered = Json.array();

    ScriptedCluster(Ensemble ensemble) {
        this.ensemble = ensemble;
        for (String path : List.of(BROKERS, "/admin", DELETIONS, ISR_CHANGES, LOG_DIR_EVENTS)) {
            ensemble.create(path, new byte[0]);
        }
    }

    static String registration(int broker) {
        return BROKERS + "/" + broker;
    }

    /**
     * Carries out a command that is not for the controller.
     *
     * @return whether the command was such
     */
    boolean perform(JsonNode command) {
        switch (Json.field(command, "do").asText()) {
            case "register" -> Json.field(command, "brokers").forEach(broker -> register(broker.asInt()));
            case "die" -> Json.field(command, "brokers").forEach(broker -> remove(registration(broker.asInt())));
            case "bounce" -> Json.field(command, "brokers").forEach(broker -> bounce(broker.asInt()));
            case "create_topic" -> createTopic(Json.field(command, "topic").asText(), command);
            case "extend_topic" -> extendTopic(Json.field(command, "topic").asText(), command);
            case "ask_deletion" -> createNew(DELETIONS + "/" + Json.field(command, "topic").asText(), new byte[0]);
            case "notify_isr" -> notifyIsr(Json.field(command, "partitions"));
            case "fail_log_dir" -> failLogDir(Json.field(command, "broker").asInt());
            case "reassign_by_node" -> createNew(REASSIGNMENT, reassignment(Json.field(command, "targets")));
            case "write_reassignment" -> write(REASSIGNMENT, reassignment(Json.field(command, "targets")));
            case "elect_by_node" -> elect(Json.field(command, "partitions"));
            case "withdraw" -> remove(Json.field(command, "path").asText());
            case "vacate" -> remove(CONTROLLER);
            case "depose" -> depose();
            case "write_controller" -> write(CONTROLLER, controller(Json.field(command, "broker")));
            case "write_epoch" ->
                write(Ensemble.CONTROLLER_EPOCH, Ensemble.utf8(Json.field(command, "epoch").asText()));
            case "delete_epoch" -> remove(Ensemble.CONTROLLER_EPOCH);
            case "wait" -> { }
            default -> {
                return ensemble.perform(command);
            }
        }
        return true;
    }

    private void createNew(String path, byte[] data) {
        if (!ensemble.has(path)) {
            ensemble.create(path, data);
        }
    }

    private void remove(String path) {
        if (ensemble.has(path)) {
            ensemble.delete(path);
        }
    }

    // Brokers.

    private void register(int broker) {
        ObjectNode data = Json.object()
            .put("version", 4)
            .put("host", "localhost")
            .put("port", 9092)
            .put("jmx_port", -1)
            .put("timestamp", "0");
        data.putArray("endpoints").add("PLAINTEXT://localhost:9092");
        data.putObject("listener_security_protocol_map").put("PLAINTEXT", "PLAINTEXT");
        if (!ensemble.has(registration(broker))) {
            ensemble.create(registration(broker), Json.bytes(data));
            isRegistered(broker);
        }
    }

    /** A broker has just registered. */
    void isRegistered(int broker) {
        registered.add(ensemble.server().stat(registration(broker)).getCzxid());
    }

    private void bounce(int broker) {
        if (ensemble.has(registration(broker))) {
            remove(registration(broker));
            register(broker);
        }
    }

    /** The leaders of these partitions have changed their ISRs. */
    private void notifyIsr(JsonNode partitions) {
        ensemble.createNext(ISR_CHANGES + "/isr_change_", Json.bytes(partitionsOf(partitions)));
    }

    private void failLogDir(int broker) {
        ObjectNode data = Json.object().put("version", 1).put("broker", broker).put("event", 1);
        ensemble.createNext(LOG_DIR_EVENTS + "/log_dir_event_", Json.bytes(data));
    }

    private static ObjectNode partitionsOf(JsonNode partitions) {
        ObjectNode data = Json.object().put("version", 1);
        partitions.forEach(name -> put(data.withArray("partitions").addObject(), name.asText()));
        data.withArray("partitions");
        return data;
    }

    private static ObjectNode put(ObjectNode data, String name) {
        TopicPartition partition = Scala.partition(name);
        return data.put("topic", partition.topic()).put("partition", partition.partition());
    }

    // Administrators.

    private void createTopic(String topic, JsonNode command) {
        ObjectNode data = Json.object();
        data.set("partitions", Json.field(command, "partitions"));
        data.putObject("adding_replicas");
        data.putObject("removing_replicas");
        Topics.complete(data, topic);
        createNew(Ensemble.topic(topic), Json.bytes(data));
    }

    private void extendTopic(String topic, JsonNode command) {
        byte[] data = ensemble.server().data(Ensemble.topic(topic));
        if (data != null) {
            ObjectNode extended = (ObjectNode) Json.read(data);
            ObjectNode partitions = (ObjectNode) Json.field(extended, "partitions");
            Json.field(command, "partitions").fields().forEachRemaining(each -> {
                if (!partitions.has(each.getKey())) {
                    partitions.set(each.getKey(), each.getValue());
                }
            });
            ensemble.set(Ensemble.topic(topic), Json.bytes(extended));
        }
    }

    private static byte[] reassignment(JsonNode targets) {
        ObjectNode data = Json.object().put("version", 1);
        data.putArray("partitions");
        targets.fields().forEachRemaining(each ->
            put(data.withArray("partitions").addObject(), each.getKey()).set("replicas", each.getValue()));
        return Json.bytes(data);
    }

    private void elect(JsonNode partitions) {
        createNew(PREFERRED, Json.bytes(partitionsOf(partitions)));
    }

    // Controllers.

    /** Another broker is elected. */
    private void depose() {
        remove(CONTROLLER);
        ensemble.create(CONTROLLER, controller(IntNode.valueOf(OTHER_CONTROLLER)));
        ensemble.increaseEpoch();
    }

    /** The data of /controller for this broker; for null, bytes that no release can read. */
    private static byte[] controller(JsonNode broker) {
        if (broker.isNull()) {
            return Ensemble.utf8("?");
        }
        return Json.bytes(Json.object().put("version", 1).put("brokerid", broker.asInt()).put("timestamp", "0"));
    }

    private void write(String path, byte[] data) {
        if (ensemble.has(path)) {
            ensemble.set(path, data);
        } else {
            ensemble.create(path, data);
        }
    }

    // Observation.

    /** All compared nodes, with versions and data. */
    ObjectNode observe() {
        return ensemble.observe(SEEN);
    }

    /** The zxids of brokers' registrations, in order. */
    ArrayNode registered() {
        return registered.deepCopy();
    }
}
