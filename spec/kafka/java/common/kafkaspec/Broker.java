package kafkaspec;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import kafka.server.KafkaConfig;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.Request;
import org.apache.zookeeper.ZooKeeper.Verdict;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * One broker: at most one process of Kafka's at a time, the thread it runs on, and the request it waits before.
 * The methods named as the specification's steps are called by the driver, and return when the process has come to
 * rest: before its next request that has a step, or idle. Those of `ZooKeeper.Owner` are called by Kafka's threads.
 */
final class Broker implements ZooKeeper.Owner {
    /** Ends a thread of Kafka. No Exception: after one, the expiry thread would connect again, for ever. */
    private static final class ProcessEnded extends Error {
        private static final long serialVersionUID = 1;
    }

    // What a broker does where it waits before no request.
    private static final String START = "Start";
    private static final String IDLE = "Idle";
    private static final String CONNECT = "Connect";
    private static final String AWAY = "Away";
    private static final String HANGS = "Hangs";

    // Kafka's names of the events that are asked for here.
    private static final String EXPIRE = "Expire";
    private static final String REGISTER = "RegisterBrokerAndReelect";
    private static final String BROKER_CHANGE = "BrokerChange";
    private static final String ISR_CHANGE = "IsrChangeNotification";

    private final int id;
    private final Cluster cluster;
    private final Release release;
    private final KafkaConfig config;
    private final Turns turns;
    private final List<Long> registrations = new ArrayList<>();

    private KafkaProcess process;
    private ZooKeeper handle;
    private String failure;
    private String lastStep;
    private String handling;
    private boolean inPassing;

    Broker(int id, Cluster cluster, Release release) {
        this.id = id;
        this.cluster = cluster;
        this.release = release;
        config = Configuration.of(id);
        turns = new Turns("broker-" + id);
    }

    // What is to be seen of it.

    int id() {
        return id;
    }

    boolean isRunning() {
        return process != null;
    }

    /** Its process, or null. */
    KafkaProcess process() {
        return process;
    }

    /** The handle of its process's client, or null. */
    ZooKeeper handle() {
        return handle;
    }

    /** What it waits before, or null. */
    Turns.Pause pause() {
        return turns.pause();
    }

    /** Why its last start failed, or null. */
    String failure() {
        return failure;
    }

    String doing() {
        if (!isRunning()) {
            return START;
        }
        return pause() == null ? IDLE : pause().step();
    }

    boolean isIn(long session) {
        return handle != null && handle.connection() != null && session() == session;
    }

    /** Whether its controller hears of brokers that come and go. */
    boolean listens() {
        return process.listens();
    }

    private long session() {
        return handle.connection().getSessionId();
    }

    /** Whether its client watches the children of a path, by what the servers know. */
    boolean watchesChildren(String path) {
        return handle != null && handle.connection() != null && server().watchesChildren(session(), path);
    }

    /** How many registrations of this broker there were, up to the one of this zxid; 0 if that is none of its. */
    int registration(long zxid) {
        return registrations.indexOf(zxid) + 1;
    }

    // The process.

    void start() {
        require(START);
        failure = null;
        lastStep = START;
        process = release.process(config, request -> cluster.sent(id, request));
        turns.run(this::runStart);
        settle();
    }

    private void runStart() {
        KafkaProcess starting = process;
        try {
            starting.start();
            handleNext();
        } catch (Throwable problem) {
            if (process == starting) {  // else it has been ended, and that is why
                failure = problem.toString();
            }
        }
    }

    void crash() {
        if (!isRunning()) {
            throw new Refusal("the broker is not running");
        }
        end();
    }

    /** All of the process goes. What still waits is told that its session has ended; that ends it, or a new error. */
    private void end() {
        KafkaProcess ended = process;
        process = null;
        if (handle != null) {
            handle.die();
        }
        if (pause() != null) {
            turns.resume(Verdict.DIE);
        }
        handle = null;
        ended.close();
    }

    void forget() {
        if (isRunning()) {
            end();
        }
        registrations.clear();
        failure = null;
    }

    // Its session and its connection.

    /** The session is opened that it waits for. In a process that had one before, Kafka's expiry thread does so. */
    void connect() {
        require(CONNECT);
        boolean starts = pause().onWorker();
        turns.resume(Verdict.SERVE);
        if (!starts) {
            process.awaitEvent(REGISTER);
            turns.run(this::handleNext);
        }
        settle();
    }

    void learnOfExpiry() {
        require(IDLE);
        if (cluster.server().isAlive(session())) {
            throw new Refusal("the broker's session has not ended");
        }
        beginAnew();
    }

    /** Expire is handled, and then the expiry thread waits to open another session. [ZooKeeperClient 3.9.1, 364] */
    private void beginAnew() {
        handle.expire();
        process.awaitEvent(EXPIRE);
        turns.run(this::handleNext);
        turns.awaitOther();
    }

    /** Expire is handled although the session lives, and the broker registers anew in it. [KAFKA-13461] */
    void failAuthentication() {
        require(IDLE);
        if (handle.isAway() || !cluster.server().isAlive(session())) {
            throw new Refusal("the broker's client has no connection");
        }
        if (!process.beginsAnewWithoutAuthentication()) {
            throw new Refusal("in this release nothing comes of a failed authentication while the session lives");
        }
        handle.failAuthentication();
        process.awaitEvent(EXPIRE);
        turns.run(this::handleNext);
        process.awaitEvent(REGISTER);
        turns.run(this::handleNext);
        settle();
    }

    /** The servers end its session; of the events that come of it, its client still hears so many. */
    void endSession(List<String> order, int seen) {
        Queue<WatchedEvent> events = handle.connection().events();
        List<WatchedEvent> kept = new ArrayList<>(events);
        int earlier = kept.size();
        cluster.server().endSession(session(), order);
        events.stream().skip(earlier).filter(Znodes::counts).limit(seen).forEach(kept::add);
        handle.connection().close();
        events.clear();
        events.addAll(kept);
        handle.mayFindOut();
        goOnIfAway();
    }

    void loseConnection(boolean heard) {
        if (handle == null || handle.connection() == null || handle.isAway()) {
            throw new Refusal("the broker's client has no connection");
        }
        if (heard) {
            handle.deliver();
        }
        handle.loseConnection();
    }

    /** Its client is told at once that the children of a path have changed. */
    void hears(String path) {
        if (!handle.deliverChildrenOf(path)) {
            throw new Refusal("the broker does not watch the children of " + path);
        }
    }

    /** Its client is not told that the children of a path have changed, and watches them still. */
    void watchesOn(String path) {
        if (handle != null && handle.connection() != null) {
            handle.watchChildrenOn(path);
        }
    }

    void reconnect() {
        if (handle == null || !handle.isAway()) {
            throw new Refusal("the broker's client has a connection");
        }
        handle.reconnect();
        goOnIfAway();
    }

    private void goOnIfAway() {
        if (doing().equals(AWAY)) {
            turns.resume(Verdict.SERVE);
            settle();
        }
    }

    // Its requests and its events.

    /** The request is served that it waits before. */
    void request(String step) {
        require(step);
        turns.resume(Verdict.SERVE);
        settle();
    }

    /** The request is served that it waits before, and its reply is lost with the connection. */
    void loseReply(String step, boolean away) {
        require(step);
        turns.resume(Verdict.LOSE_REPLY);
        if (away) {
            settle();
        } else {
            reconnect();
        }
    }

    void fail() {
        if (pause() == null || Set.of(CONNECT, AWAY, HANGS).contains(doing())) {
            throw new Refusal("there is no request that could fail, Kafka is at " + doing());
        }
        turns.resume(Verdict.FAIL);
        settle();
    }

    /** The oldest event that counts is handled, and before it, in passing, those that the specification has not. */
    void handleEvent() {
        require(IDLE);
        handle.deliver();
        do {
            String event = process.nextEvent();
            if (event == null) {
                throw new Refusal("the broker has no event to handle");
            }
            inPassing = !Observation.EVENTS.contains(event);
            turns.run(this::handleNext);
        } while (inPassing && pause() == null);
        if (inPassing) {
            throw new Refusal("an event that the specification has not makes the broker " + doing());
        }
        settle();
    }

    // What only ZkClient does, until 1.0.

    void deliverEvent() {
        throw new Refusal("events reach a client with its requests, or when it turns to one");
    }

    void listen() {
        throw new Refusal("there are no listeners");
    }

    void putListeners(ObjectNode its) { }

    private void handleNext() {
        KafkaProcess its = process;
        handling = its.nextEvent();
        its.handleEvent();
        handling = null;
        its.putPartitionOnline();
    }

    // What it comes to.

    /** At rest: has its start failed? has a request found that the session has ended? */
    private void settle() {
        if (pause() != null || !isRunning()) {
            return;
        }
        if (failure != null) {
            shutDown();
        } else if (handle.isDead()) {
            beginAnew();
        }
    }

    /** A start that fails ends the process, in order: its session is closed. [KafkaServer.startup, 3.9.1: 679] */
    private void shutDown() {
        if (handle != null) {
            handle.close();
        }
        end();
    }

    private void require(String step) {
        if (!doing().equals(step)) {
            throw new Refusal("the specification is at " + step + ", Kafka at " + doing());
        }
    }

    /** After each step: if it has registered anew, that registration has the next number. */
    void noteRegistration() {
        Stat stat = cluster.server().stat(Znodes.registration(id));
        if (stat != null && !registrations.contains(stat.getCzxid())) {
            registrations.add(stat.getCzxid());
        }
    }

    // What Kafka's threads ask.

    @Override
    public SynchronousServer server() {
        return cluster.server();
    }

    @Override
    public void opens(ZooKeeper opening) {
        handle = opening;
        if (turns.waitAt(CONNECT, List.of()) == Verdict.DIE) {
            throw new ProcessEnded();
        }
    }

    @Override
    public Verdict sends(Request request) {
        String step = cluster.steps().of(request, id, lastStep);
        if (step == null) {
            cluster.passedSilently();
            if (request.path().equals(Notifications.PATH)) {
                cluster.layOutNotifications(ISR_CHANGE.equals(handling));
            }
            return Verdict.SERVE;
        }
        lastStep = step;
        Verdict verdict = turns.waitAt(step, request.writes());
        if (verdict == Verdict.SERVE || verdict == Verdict.LOSE_REPLY) {
            cluster.layOut(step, id);
        }
        return verdict;
    }

    @Override
    public void waitsForConnection() {
        if (turns.isOnWorker()) {
            turns.waitAt(AWAY, List.of());
        }
    }

    @Override
    public void waitsForEver() {
        if (isRunning()) {
            turns.waitAt(HANGS, List.of());
        }
        throw new ProcessEnded();
    }

    /** The specification has a broker's coming and going always lead to an election: so the partition needs one. */
    @Override
    public void served(Request request) {
        boolean readsBrokers = request.operation().equals("getChildren") && request.path().equals(Znodes.BROKER_IDS);
        if (readsBrokers && BROKER_CHANGE.equals(handling)) {
            process.putPartitionOffline();
        }
    }

    @Override
    public boolean learnsOfExpiry() {
        return !inPassing;
    }
}
