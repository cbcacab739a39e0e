package kafkaspec;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kafka.server.KafkaConfig;
import org.apache.jute.Record;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.DeleteRequest;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.server.SynchronousConnection;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * The participants of a run: a ZooKeeper server, brokers and an operator; and the specification's names for sessions.
 * The brokers' threads outlive a run; everything else is new in each.
 */
final class Cluster {
    private static final int OPERATORS_SESSION_TIMEOUT = 1_000_000;

    private final Release release;
    private final KafkaConfig configuration = Configuration.of(0);
    private final Steps steps;
    private final Set<String> requests;
    private final List<Broker> everyBroker = new ArrayList<>();
    private List<Broker> brokers = List.of();
    private final Map<String, Long> sessions = new TreeMap<>();
    private final Map<Long, String> names = new HashMap<>();
    private final SortedSet<String> sent = new TreeSet<>();
    private final SortedSet<Integer> underWay = new TreeSet<>();
    private SynchronousServer server;
    private SynchronousConnection operator;
    private Partition partition;
    private Notifications notifications;
    private boolean leaderIsAlive;
    private int silent;

    Cluster(Release release) {
        this.release = release;
        steps = new Steps(release.steps());
        requests = release.steps().stream().map(Steps.Row::step).collect(Collectors.toSet());
        ZooKeeper.ownedBy(connectString -> brokers.get(Integer.parseInt(connectString)));
    }

    /**
     * Begins a run: the cluster is set up, and no broker has run.
     *
     * @param count the number of brokers
     * @param outliving the servers have a fault: ephemeral nodes outlive their session
     */
    void begin(int count, boolean outliving) {
        everyBroker.forEach(Broker::forget);
        while (everyBroker.size() < count) {
            everyBroker.add(new Broker(everyBroker.size(), this, release));
        }
        brokers = everyBroker.subList(0, count);
        sessions.clear();
        names.clear();
        sent.clear();
        underWay.clear();
        silent = 0;
        setUp(outliving);
    }

    private void setUp(boolean outliving) {
        server = new SynchronousServer(outliving);
        operator = server.connect(OPERATORS_SESSION_TIMEOUT);
        partition = new Partition(server);
        notifications = new Notifications(server, brokers);
        Znodes.create(server);
        partition.create();
        release.znodes(configuration).forEach(server::create);
    }

    /**
     * Makes one step of the specification.
     *
     * @throws Refusal Kafka is elsewhere
     * @throws Json.Malformed it is no step
     */
    void perform(JsonNode step) {
        sent.clear();
        silent = 0;
        String action = Json.field(step, "action").asText();
        switch (action) {
            case "operator_deletes_controller" -> delete(Znodes.CONTROLLER);
            case "expire" -> expire(step);
            case "delete_outliving_ephemerals" -> deleteAtLast(Json.field(step, "path").asText());
            case "deliver_request" -> deliverRequest(Json.field(step, "epoch").asInt());
            case "client_creates", "client_sets", "client_deletes" -> clientAsks(action, step);
            default -> perform(action, brokerOf(step), step);
        }
        brokers.forEach(Broker::noteRegistration);
    }

    private void perform(String action, Broker broker, JsonNode step) {
        switch (action) {
            case "start" -> broker.start();
            case "connect" -> connect(broker, Json.field(step, "session").asText());
            case "crash" -> broker.crash();
            case "learn_of_expiry" -> learnOfExpiry(broker, step.path("session"));
            case "deliver_event" -> broker.deliverEvent();
            case "listen" -> broker.listen();
            case "handle_event" -> broker.handleEvent();
            case "fail", "fail_to_elect" -> broker.fail();
            case "lose_connection" -> broker.loseConnection(Json.field(step, "heard").asBoolean());
            case "reconnect" -> broker.reconnect();
            case "notify_isr_change" -> notifications.tell(broker);
            case "fail_authentication" -> broker.failAuthentication();
            default -> request(broker, nameOf(action), step);
        }
    }

    private void request(Broker broker, String name, JsonNode step) {
        if (!requests.contains(name)) {
            throw new Refusal("no request of this release is the step " + name);
        }
        if (name.equals("ReadStates")) {
            leaderIsAlive = Json.field(step, "leader").asText().equals("alive");
        }
        if (step.path("reply").asText().equals("lost")) {
            broker.loseReply(name, Json.field(step, "away").asBoolean());
        } else {
            broker.request(name);
        }
    }

    /** An action's name in the form of `statemachines.agenda.Do`: read_epoch is ReadEpoch. */
    private static String nameOf(String action) {
        return Stream.of(action.split("_"))
            .map(word -> Character.toUpperCase(word.charAt(0)) + word.substring(1))
            .collect(Collectors.joining());
    }

    private Broker brokerOf(JsonNode step) {
        int id = Json.field(step, "broker").asInt(-1);
        if (id < 0 || id >= brokers.size()) {
            throw new Json.Malformed("no such broker in " + step);
        }
        return brokers.get(id);
    }

    private void connect(Broker broker, String name) {
        ZooKeeper handle = broker.handle();
        broker.connect();
        name(handle, name);
    }

    /** Until 1.0 a client that learns of an ended session has another at once. */
    private void learnOfExpiry(Broker broker, JsonNode name) {
        broker.learnOfExpiry();
        if (name.isTextual()) {
            name(broker.handle(), name.asText());
        }
    }

    private void name(ZooKeeper handle, String name) {
        long session = handle.connection().getSessionId();
        names.remove(sessions.put(name, session));
        names.put(session, name);
    }

    private void expire(JsonNode step) {
        Long session = sessions.get(Json.field(step, "session").asText());
        if (session == null) {
            throw new Json.Malformed("no such session in " + step);
        }
        if (!server.isAlive(session)) {
            throw new Refusal("the session has ended before");
        }
        List<String> order = new ArrayList<>();
        Json.field(step, "order").forEach(path -> order.add(path.asText()));
        int seen = Json.field(step, "seen").asInt();
        Broker client = clientOf(session);
        if (client == null) {
            server.endSession(session, order);
        } else {
            client.endSession(order, seen);
        }
    }

    /** A request arrives at a broker that does not run here; its effect there is ignored. */
    private void deliverRequest(int epoch) {
        if (!underWay.remove(epoch)) {
            throw new Refusal("no controller sent a request under epoch " + epoch);
        }
    }

    private void deleteAtLast(String path) {
        Stat stat = server.stat(path);
        if (stat == null || server.isAlive(stat.getEphemeralOwner())) {
            throw new Refusal(path + " was not left by an ended session");
        }
        delete(path);
    }

    private void delete(String path) {
        operatorAsks(OpCode.delete, new DeleteRequest(path, -1), "there is no " + path);
    }

    /** A client other than a broker writes to any node. */
    private void clientAsks(String action, JsonNode step) {
        String path = Json.field(step, "node").asText();
        byte[] data = Znodes.utf8(step.path("data").asText());
        switch (action) {
            case "client_creates" -> create(path, data);
            case "client_sets" -> set(path, data);
            default -> delete(path);
        }
    }

    private void create(String path, byte[] data) {
        int flags = CreateMode.PERSISTENT.toFlag();
        Record create = new CreateRequest(path, data, Ids.OPEN_ACL_UNSAFE, flags);
        operatorAsks(OpCode.create, create, path + " cannot be created");
    }

    private void set(String path, byte[] data) {
        operatorAsks(OpCode.setData, new SetDataRequest(path, data, -1), "there is no " + path);
    }

    private void operatorAsks(int type, Record request, String refusal) {
        if (!server.serve(operator, type, request).isOk()) {
            throw new Refusal(refusal);
        }
    }

    /**
     * Chooses what the step leaves open of the partition, before Kafka reads it.
     *
     * @param replica the broker that hosts the partition
     * @param alive whether the controller considers that broker alive
     */
    void layOut(String step, int replica, boolean alive) {
        switch (step) {
            case "ReadBrokers" -> partition.assignTo(replica);
            case "ReadStates" -> partition.isLedBy(replica, leaderIsAlive, alive);
            case "ReadPartitionState" -> partition.isLedBy(replica, false, alive);
            default -> { }
        }
    }

    /** Likewise for leaders' notifications: a broker is about to read them, and finds one if it was notified. */
    void layOutNotifications(boolean wasNotified) {
        notifications.layOut(wasNotified);
    }

    // Called by brokers.

    void sent(int broker, String request) {
        sent.add(broker + " " + request);
        underWay.add(Integer.valueOf(request.substring(request.lastIndexOf(' ') + 1)));
    }

    void passedSilently() {
        silent++;
    }

    // Observation.

    Steps steps() {
        return steps;
    }

    SynchronousServer server() {
        return server;
    }

    List<Broker> brokers() {
        return brokers;
    }

    /** The opened sessions, by name, in order; under a reused name, the last one. */
    Map<String, Long> sessions() {
        return sessions;
    }

    /** The name of a session, or null. */
    String nameOf(long session) {
        return names.get(session);
    }

    /** A session's client: the broker whose handle has the session, or null. */
    Broker clientOf(long session) {
        return brokers.stream().filter(broker -> broker.isIn(session)).findFirst().orElse(null);
    }

    /** The controller epochs of requests that were sent and have not arrived. */
    SortedSet<Integer> underWay() {
        return underWay;
    }

    ObjectNode observe() {
        return new Observation(this).toJson(sent, silent);
    }
}
