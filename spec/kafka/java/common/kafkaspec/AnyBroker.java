package kafkaspec;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import kafka.server.KafkaConfig;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.Request;
import org.apache.zookeeper.ZooKeeper.Verdict;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * What brokers of all releases have in common: at most one process of Kafka's at a time, the thread on which its
 * controller runs, and the request that this waits before. A `Broker` says what else there is in its releases.
 * The methods named as the specification's steps are called by the driver, and return when the process has come to
 * rest: before its next request that has a step, or idle. Those of `ZooKeeper.Owner` are called by Kafka's threads.
 */
abstract class AnyBroker implements ZooKeeper.Owner {
    /** Ends a thread of Kafka. No Exception: after one, a client would connect or ask once more, for ever. */
    static final class ProcessEnded extends Error {
        private static final long serialVersionUID = 1;
    }

    // What a broker does where it waits before no request.
    static final String START = "Start";
    static final String IDLE = "Idle";
    static final String CONNECT = "Connect";
    static final String AWAY = "Away";
    static final String HANGS = "Hangs";

    private static final String BROKER_CHANGE = "BrokerChange";
    private static final String READ_BROKERS = "ReadBrokers";

    final Cluster cluster;
    final Turns turns;
    KafkaProcess process;
    ZooKeeper handle;
    String lastStep;
    /** The event that the controller handles, or null. */
    String handling;
    /** Whether that is one that the specification has not. */
    boolean inPassing;

    private final int id;
    private final Release release;
    private final KafkaConfig config;
    private final List<Long> registrations = new ArrayList<>();
    private String failure;

    AnyBroker(int id, Cluster cluster, Release release) {
        this.id = id;
        this.cluster = cluster;
        this.release = release;
        config = Configuration.of(id);
        turns = new Turns("broker-" + id);
    }

    // What differs between generations.

    /** Its threads that wait before requests. */
    abstract List<Turns> workers();

    /** At rest: is there something that follows by itself? */
    abstract void settle();

    /** The partition has no leader, when a controller has read which brokers there are. */
    abstract void putPartitionOffline();

    // Where the partition is.

    /** What the step leaves open of the partition is put there before Kafka reads it. */
    final void layOut(String step) {
        if (!process.hasController()) {
            return;
        }
        Set<Integer> known = step.equals(READ_BROKERS) ? registered() : process.liveBrokers().keySet();
        int replica = replica(known);
        cluster.layOut(step, replica, known.contains(replica));
    }

    /** The partition is at this broker, unless it has not registered, and the controller knows only others. */
    final int replica(Set<Integer> known) {
        return known.contains(id()) || known.isEmpty() ? id() : known.iterator().next();
    }

    final Set<Integer> registered() {
        Set<Integer> there = new TreeSet<>();
        cluster.brokers().stream().map(Broker::id).filter(this::isRegistered).forEach(there::add);
        return there;
    }

    private boolean isRegistered(int broker) {
        return server().stat(Znodes.registration(broker)) != null;
    }

    // What is to be seen of it.

    final int id() {
        return id;
    }

    final boolean isRunning() {
        return process != null;
    }

    /** Its process, or null. */
    final KafkaProcess process() {
        return process;
    }

    /** The handle of its process's client, or null. */
    final ZooKeeper handle() {
        return handle;
    }

    /** What it waits before, or null. */
    final Turns.Pause pause() {
        return turns.pause();
    }

    /** Why its last start failed, or null. */
    final String failure() {
        return failure;
    }

    final String doing() {
        if (!isRunning()) {
            return START;
        }
        return pause() == null ? IDLE : pause().step();
    }

    final boolean isIn(long session) {
        return handle != null && handle.connection() != null && session() == session;
    }

    /** Whether its controller hears of brokers that come and go. */
    final boolean listens() {
        return process.listens();
    }

    final long session() {
        return handle.connection().getSessionId();
    }

    /** Whether its client watches the children of a path, by what the servers know. */
    final boolean watchesChildren(String path) {
        return handle != null && handle.connection() != null && server().watchesChildren(session(), path);
    }

    /** How many registrations of this broker there were, up to the one of this zxid; 0 if that is none of its. */
    final int registration(long zxid) {
        return registrations.indexOf(zxid) + 1;
    }

    /** What its listeners have still to hear, where they have a thread. */
    void putListeners(ObjectNode its) { }

    // The process.

    final void start() {
        require(START);
        failure = null;
        lastStep = START;
        process = release.process(config, request -> cluster.sent(id, request));
        turns.run(() -> unlessItFails(() -> {
            process.start();
            handleNext();
        }));
        settle();
    }

    interface Task {
        void run() throws Exception;
    }

    final void unlessItFails(Task task) {
        KafkaProcess its = process;
        try {
            task.run();
        } catch (Throwable problem) {
            if (process == its) {  // else it has been ended, and that is why
                failure = problem.toString();
            }
        }
    }

    final void crash() {
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
        for (Turns each : workers()) {
            if (each.pause() != null) {
                each.resume(Verdict.DIE);
            }
        }
        handle = null;
        ended.close();
    }

    final void forget() {
        if (isRunning()) {
            end();
        }
        registrations.clear();
        failure = null;
    }

    /** A start that failed ends the process, in order: its session is closed. [KafkaServer.startup, 3.9.1: 679] */
    final void endIfItFailed() {
        if (isRunning() && failure != null) {
            if (handle != null) {
                handle.close();
            }
            end();
        }
    }

    // Its session and its connection.

    void failAuthentication() {
        throw new Refusal("in this release nothing comes of a failed authentication while the session lives");
    }

    /** The servers end its session; of the events that come of it, its client still hears so many. */
    void endSession(List<String> order, int seen) {
        Queue<WatchedEvent> events = handle.connection().events();
        List<WatchedEvent> kept = new ArrayList<>(events);
        int earlier = kept.size();
        server().endSession(session(), order);
        events.stream().skip(earlier).filter(Znodes::counts).limit(seen).forEach(kept::add);
        handle.connection().close();
        events.clear();
        events.addAll(kept);
        handle.mayFindOut();
    }

    final void loseConnection(boolean heard) {
        if (handle == null || handle.connection() == null || handle.isAway()) {
            throw new Refusal("the broker's client has no connection");
        }
        if (heard) {
            handle.deliver();
        }
        handle.loseConnection();
    }

    void reconnect() {
        if (handle == null || !handle.isAway()) {
            throw new Refusal("the broker's client has a connection");
        }
        handle.reconnect();
    }

    /** Its client is told at once that the children of a path have changed. */
    final void hears(String path) {
        if (!handle.deliverChildrenOf(path)) {
            throw new Refusal("the broker does not watch the children of " + path);
        }
    }

    /** Its client is not told that the children of a path have changed, and watches them still. */
    final void watchesOn(String path) {
        if (handle != null && handle.connection() != null) {
            handle.watchChildrenOn(path);
        }
    }

    // Its requests and its events.

    /** The worker that waits before this step. */
    Turns at(String step) {
        require(step);
        return turns;
    }

    /** The request is served that it waits before. */
    final void request(String step) {
        at(step).resume(Verdict.SERVE);
        settle();
    }

    /** The request is served that it waits before, and its reply is lost with the connection. */
    final void loseReply(String step, boolean away) {
        at(step).resume(Verdict.LOSE_REPLY);
        if (!away) {
            reconnect();
        }
        settle();
    }

    final void fail() {
        if (pause() == null || Set.of(CONNECT, AWAY, HANGS).contains(doing())) {
            throw new Refusal("there is no request that could fail, Kafka is at " + doing());
        }
        turns.resume(Verdict.FAIL);
        settle();
    }

    /** The oldest event that counts is handled, and before it, in passing, those that the specification has not. */
    void handleEvent() {
        require(IDLE);
        do {
            String event = process.nextEvent();
            if (event == null) {
                throw new Refusal("the broker has no event to handle");
            }
            inPassing = !process.counts(event);
            turns.run(this::handleNext);
        } while (inPassing && pause() == null);
        if (inPassing) {
            throw new Refusal("an event that the specification has not makes the broker " + doing());
        }
        settle();
    }

    void deliverEvent() {
        throw new Refusal("events reach a client with its requests, or when it turns to one");
    }

    void listen() {
        throw new Refusal("there are no listeners");
    }

    final void handleNext() {
        KafkaProcess its = process;
        handling = its.nextEvent();
        its.handleEvent();
        handling = null;
        its.putPartitionOnline();
    }

    final void require(String step) {
        if (!doing().equals(step)) {
            throw new Refusal("the specification is at " + step + ", Kafka at " + doing());
        }
    }

    /** After each step: if it has registered anew, that registration has the next number. */
    final void noteRegistration() {
        Stat stat = server().stat(Znodes.registration(id));
        if (stat != null && !registrations.contains(stat.getCzxid())) {
            registrations.add(stat.getCzxid());
        }
    }

    // What Kafka's threads ask.

    @Override
    public final SynchronousServer server() {
        return cluster.server();
    }

    /** The specification has a broker's coming and going always lead to an election: so the partition needs one. */
    @Override
    public final void served(Request request) {
        boolean readsBrokers = request.operation().equals("getChildren") && request.path().equals(Znodes.BROKER_IDS);
        if (readsBrokers && BROKER_CHANGE.equals(handling) && turns.isOnWorker()) {
            putPartitionOffline();
        }
    }
}
