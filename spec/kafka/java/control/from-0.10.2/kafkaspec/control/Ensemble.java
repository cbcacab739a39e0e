package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Consumer;
import kafkaspec.Json;
import org.apache.jute.Record;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.DeleteRequest;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.server.DataNode;
import org.apache.zookeeper.server.SynchronousConnection;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * ZooKeeper and its other clients besides the controller: leaders, administrators, a newer controller.
 */
final class Ensemble {
    static final String CONTROLLER_EPOCH = "/controller_epoch";

    private static final int LONG = 1_000_000;
    private static final List<String> ROOTS = List.of("/brokers/topics", "/config/topics");

    private final SynchronousServer server = new SynchronousServer(false);
    private final SynchronousConnection others = server.connect(LONG);

    Ensemble() {
        for (String path : List.of("/brokers", "/brokers/topics", "/config", "/config/topics")) {
            create(path, new byte[0]);
        }
        create(CONTROLLER_EPOCH, utf8("0"));
    }

    SynchronousServer server() {
        return server;
    }

    // Paths.

    static String topic(String topic) {
        return "/brokers/topics/" + topic;
    }

    static String state(String partition) {
        int dash = partition.lastIndexOf('-');
        return topic(partition.substring(0, dash)) + "/partitions/" + partition.substring(dash + 1) + "/state";
    }

    // Commands.

    /**
     * Carries out a command that is not for the controller.
     *
     * @return whether the command was such
     */
    boolean perform(JsonNode command) {
        switch (Json.field(command, "do").asText()) {
            case "configure" -> configure(Json.field(command, "topic").asText(), Json.field(command, "unclean"));
            case "leader_writes" -> leaderWrites(Json.field(command, "partition").asText(), command);
            case "delete_state" -> delete(state(Json.field(command, "partition").asText()));
            case "newer_controller" -> increaseEpoch();
            case "newer_controller_writes" -> newerControllerWrites(Json.field(command, "partition").asText());
            default -> {
                return false;
            }
        }
        return true;
    }

    /** An administrator enables or disables unclean elections of a topic; null leaves the default. */
    private void configure(String topic, JsonNode unclean) {
        ObjectNode data = Json.object().put("version", 1);
        ObjectNode config = data.putObject("config");
        if (!unclean.isNull()) {
            config.put("unclean.leader.election.enable", unclean.asText());
        }
        String path = "/config/topics/" + topic;
        if (server.stat(path) == null) {
            create(path, Json.bytes(data));
        } else {
            set(path, Json.bytes(data));
        }
    }

    /** A leader changes its ISR, if there is a state, and marks itself recovered if the state has such a mark. */
    private void leaderWrites(String partition, JsonNode command) {
        change(partition, state -> {
            state.set("isr", Json.field(command, "isr"));
            if (!command.path("keeps_recovery_state").asBoolean()) {
                state.put("leader_recovery_state", 0);
            }
        });
    }

    private void newerControllerWrites(String partition) {
        if (has(CONTROLLER_EPOCH)) {
            change(partition, state -> state.put("controller_epoch", epoch() + 1));
        }
    }

    private void change(String partition, Consumer<ObjectNode> how) {
        String path = state(partition);
        byte[] data = server.data(path);
        if (data != null) {
            ObjectNode state = (ObjectNode) Json.read(data);
            how.accept(state);
            set(path, Json.bytes(state));
        }
    }

    int epoch() {
        return Integer.parseInt(new String(server.data(CONTROLLER_EPOCH), StandardCharsets.UTF_8));
    }

    /** Another controller is elected. */
    void increaseEpoch() {
        if (has(CONTROLLER_EPOCH)) {
            set(CONTROLLER_EPOCH, utf8(String.valueOf(epoch() + 1)));
        }
    }

    /** Creates a topic's node, unless it exists. */
    void createTopic(String topic) {
        if (server.stat(topic(topic)) == null) {
            create(topic(topic), new byte[0]);
        }
    }

    /** Deletes a topic's node with everything below it. */
    void deleteTopic(String topic) {
        deleteAll(topic(topic));
    }

    /** Deletes a node with everything below it. */
    void deleteAll(String path) {
        List<String> paths = new ArrayList<>();
        collect(path, paths);
        for (int last = paths.size() - 1; last >= 0; last--) {
            delete(paths.get(last));
        }
    }

    boolean has(String path) {
        return server.stat(path) != null;
    }

    void create(String path, byte[] data) {
        create(path, data, CreateMode.PERSISTENT);
    }

    /** The next sequential node, with the number that ZooKeeper appends to the path. */
    void createNext(String path, byte[] data) {
        create(path, data, CreateMode.PERSISTENT_SEQUENTIAL);
    }

    private void create(String path, byte[] data, CreateMode mode) {
        serve(OpCode.create, new CreateRequest(path, data, Ids.OPEN_ACL_UNSAFE, mode.toFlag()));
    }

    void set(String path, byte[] data) {
        serve(OpCode.setData, new SetDataRequest(path, data, -1));
    }

    void delete(String path) {
        serve(OpCode.delete, new DeleteRequest(path, -1));
    }

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private void serve(int operation, Record request) {
        server.serve(others, operation, request);
    }

    // Observation.

    /** The epoch, and all nodes of topics, with versions and data. */
    ObjectNode observe() {
        ObjectNode seen = observe(ROOTS);
        put(seen, CONTROLLER_EPOCH);
        return seen;
    }

    /** All nodes at or below these paths, with versions and data. */
    ObjectNode observe(List<String> roots) {
        ObjectNode seen = Json.object();
        List<String> paths = new ArrayList<>();
        roots.forEach(root -> collect(root, paths));
        paths.forEach(path -> put(seen, path));
        return seen;
    }

    private void put(ObjectNode seen, String path) {
        Stat stat = server.stat(path);
        byte[] data = server.data(path);
        ArrayNode node = seen.putArray(path).add(stat.getVersion());
        if (data == null || data.length == 0 || new String(data, StandardCharsets.UTF_8).equals("?")) {
            node.addNull();
        } else {
            node.add(Json.read(data));
        }
    }

    /** A node and everything below it, in order; empty if it does not exist. */
    private void collect(String path, List<String> paths) {
        DataNode node = server.getZKDatabase().getDataTree().getNode(path);
        if (node != null) {
            paths.add(path);
            new TreeSet<>(node.getChildren()).forEach(child -> collect(path + "/" + child, paths));
        }
    }
}
