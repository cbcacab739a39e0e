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
 * The common part of brokers of all releases: at most one process of Kafka's at a time, the thread that runs its
 * controller, and the request before which this thread waits. A `Broker` adds the rest for its releases.
 * The driver calls the methods named after the specification's steps. They return when the process is at rest: before
 * its next request that is a step, or idle. Kafka's threads call the methods of `ZooKeeper.Owner`.
 */
abstract class AnyBroker implements ZooKeeper.Owner {
    /** Ends a thread of Kafka. Not an Exception: after one, a client would connect or send again, for ever. */
    static final class ProcessEnded extends Error {
        private static final long serialVersionUID = 1;
    }

    // What a broker does if it waits before no request.
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
    /** Whether that event is unknown to the specification. */
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

    // Differences between generations.

    /** Its threads that wait before requests. */
    abstract List<Turns> workers();

    /** At rest: takes the steps that follow by themselves. */
    abstract void settle();

    /** Marks the partition as leaderless, after a controller has read the brokers. */
    abstract void putPartitionOffline();

    // Placement of the partition.

    /** Chooses what the step leaves open of the partition, before Kafka reads it. */
    final void layOut(String step) {
        if (!process.hasController()) {
            return;
        }
        Set<Integer> known = step.equals(READ_BROKERS) ? registered() : process.liveBrokers().keySet();
        int replica = replica(known);
        cluster.layOut(step, replica, known.contains(replica));
    }

    /** The partition's replica: this broker, unless it is not registered and the controller knows only others. */
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

    // Observation.

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

    /** The request before which it waits, or null. */
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

    /** Whether its controller watches the brokers' registrations. */
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

    /** The number of the registration with this zxid among those of this broker; 0 if it is another broker's. */
    final int registration(long zxid) {
        return registrations.indexOf(zxid) + 1;
    }

    /** Adds what its listeners have yet to process, in releases that give them a thread. */
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
            if (process == its) {  // otherwise the process was ended, and that is the cause
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

    /** Removes the process. Its waiting threads resume with the verdict DIE, and end. */
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

    /** Ends the process after a failed start, in order: its session is closed. [KafkaServer.startup, 3.9.1: 679] */
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
        throw new Refusal("in this release a failed authentication has no effect while the session lives");
    }

    /** The servers end its session; its client still receives so many of the resulting events. */
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

    /** Its client receives at once that the children of a path have changed. */
    final void hears(String path) {
        if (!handle.deliverChildrenOf(path)) {
            throw new Refusal("the broker does not watch the children of " + path);
        }
    }

    /** Its client does not receive that the children of a path have changed, and still watches them. */
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

    /** Serves the request before which it waits. */
    final void request(String step) {
        at(step).resume(Verdict.SERVE);
        settle();
    }

    /** Serves the request before which it waits; its reply is lost with the connection. */
    final void loseReply(String step, boolean away) {
        at(step).resume(Verdict.LOSE_REPLY);
        if (!away) {
            reconnect();
        }
        settle();
    }

    final void fail() {
        if (pause() == null || Set.of(CONNECT, AWAY, HANGS).contains(doing())) {
            throw new Refusal("there is no request that could fail; Kafka is at " + doing());
        }
        turns.resume(Verdict.FAIL);
        settle();
    }

    /** Handles the oldest event that counts, after the earlier ones that the specification does not have. */
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
            throw new Refusal("an event unknown to the specification makes the broker " + doing());
        }
        settle();
    }

    void deliverEvent() {
        throw new Refusal("events reach a client with replies, or when it processes an event");
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

    /** After each step: numbers a new registration. */
    final void noteRegistration() {
        Stat stat = server().stat(Znodes.registration(id));
        if (stat != null && !registrations.contains(stat.getCzxid())) {
            registrations.add(stat.getCzxid());
        }
    }

    // Called by Kafka's threads.

    @Override
    public final SynchronousServer server() {
        return cluster.server();
    }

    /** In the specification a change of brokers always causes an election, so the partition must need one. */
    @Override
    public final void served(Request request) {
        boolean readsBrokers = request.operation().equals("getChildren") && request.path().equals(Znodes.BROKER_IDS);
        if (readsBrokers && BROKER_CHANGE.equals(handling) && turns.isOnWorker()) {
            putPartitionOffline();
        }
    }
}
