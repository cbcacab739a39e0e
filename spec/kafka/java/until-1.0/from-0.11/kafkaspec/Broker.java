package kafkaspec;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import kafka.server.KafkaConfig;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.Request;
import org.apache.zookeeper.ZooKeeper.Verdict;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * One broker of Kafka until 1.0: at most one process at a time, and three threads. One does what the controller's
 * thread does, and the start; one tells listeners, in place of ZkEventThread; and ZooKeeper's own calls the client,
 * which makes no requests there.
 * The methods named as the specification's steps are called by the driver, and return when the process has come to
 * rest: each of the first two threads before its next request that has a step, or idle. Those of `ZooKeeper.Owner`
 * are called by Kafka's threads.
 */
final class Broker implements ZooKeeper.Owner {
    /** Ends a thread of Kafka. No Exception: ZkClient would make its request once more, for ever. */
    private static final class ProcessEnded extends Error {
        private static final long serialVersionUID = 1;
    }

    private static final String START = "Start";
    private static final String IDLE = "Idle";
    private static final String CONNECT = "Connect";
    private static final String READ_BROKERS = "ReadBrokers";
    private static final String BROKER_CHANGE = "BrokerChange";
    /** The requests of listeners that are steps of their own. */
    private static final Set<String> REGISTERS = Set.of("RegisterBroker", "CheckRegistration");
    /** What is not made once more in another session. */
    private static final Set<String> CREATES = Set.of("CreateController", "CheckController");

    private final int id;
    private final Cluster cluster;
    private final Release release;
    private final KafkaConfig config;
    private final Turns controller;
    private final Turns listener;
    private final ExecutorService client;
    private final List<Long> registrations = new ArrayList<>();

    private KafkaProcess process;
    private ZooKeeper handle;
    private String failure;
    private String handling;
    private String lastStep;

    Broker(int id, Cluster cluster, Release release) {
        this.id = id;
        this.cluster = cluster;
        this.release = release;
        config = Configuration.of(id);
        controller = new Turns("broker-" + id);
        listener = new Turns("broker-" + id + "-listeners");
        client = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, "broker-" + id + "-client");
            thread.setDaemon(true);
            return thread;
        });
    }

    // What is to be seen of it.

    int id() {
        return id;
    }

    boolean isRunning() {
        return process != null;
    }

    KafkaProcess process() {
        return process;
    }

    ZooKeeper handle() {
        return handle;
    }

    Turns.Pause pause() {
        return controller.pause();
    }

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

    boolean watchesChildren(String path) {
        return handle != null && handle.connection() != null && server().watchesChildren(session(), path);
    }

    int registration(long zxid) {
        return registrations.indexOf(zxid) + 1;
    }

    /** What its listeners have still to hear, and what one of them waits before. */
    void putListeners(ObjectNode its) {
        ArrayNode posted = its.putArray("posted");
        process.posted().forEach(posted::add);
        its.put("listening", listener.pause() == null ? IDLE : listener.pause().step());
    }

    // The process.

    void start() {
        require(START);
        failure = null;
        lastStep = START;
        process = release.process(config, request -> cluster.sent(id, request));
        controller.run(() -> unlessItFails(() -> {
            process.start();
            handleNext();
        }));
        settle();
    }

    private interface Task {
        void run() throws Exception;
    }

    private void unlessItFails(Task task) {
        KafkaProcess its = process;
        try {
            task.run();
        } catch (Throwable problem) {
            if (process == its) {  // else it has been ended, and that is why
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

    private void end() {
        KafkaProcess ended = process;
        process = null;
        if (handle != null) {
            handle.die();
        }
        for (Turns turns : List.of(controller, listener)) {
            if (turns.pause() != null) {
                turns.resume(Verdict.DIE);
            }
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

    /** A start that fails ends the process, in order: its session is closed. [KafkaServer.startup, 1.0.2] */
    private void settle() {
        if (isRunning() && failure != null) {
            if (handle != null) {
                handle.close();
            }
            end();
        }
    }

    // Its session and its connection.

    void connect() {
        require(CONNECT);
        controller.resume(Verdict.SERVE);
        settle();
    }

    /** Another session is opened at once, and requests that were under way are made there. */
    void learnOfExpiry() {
        if (handle == null || handle.connection() == null || server().isAlive(session())) {
            throw new Refusal("the broker's session has not ended");
        }
        handle.expire();
        awaitClient();
        if (pause() != null && !CREATES.contains(pause().step())) {
            controller.resume(Verdict.SERVE);
        }
        settle();
    }

    void failAuthentication() {
        throw new Refusal("in this release nothing comes of a failed authentication while the session lives");
    }

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

    void loseConnection(boolean heard) {
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

    void hears(String path) {
        if (!handle.deliverChildrenOf(path)) {
            throw new Refusal("the broker does not watch the children of " + path);
        }
    }

    void watchesOn(String path) {
        if (handle != null && handle.connection() != null) {
            handle.watchChildrenOn(path);
        }
    }

    // Its requests and its events.

    void request(String step) {
        at(step).resume(Verdict.SERVE);
        settle();
    }

    void loseReply(String step, boolean away) {
        at(step).resume(Verdict.LOSE_REPLY);
        if (!away) {
            reconnect();
        }
        settle();
    }

    private Turns at(String step) {
        Turns turns = REGISTERS.contains(step) ? listener : controller;
        if (turns.pause() == null || !turns.pause().step().equals(step)) {
            throw new Refusal("the specification is at " + step + ", Kafka at " + doing());
        }
        return turns;
    }

    void fail() {
        if (pause() == null || doing().equals(CONNECT)) {
            throw new Refusal("there is no request that could fail, Kafka is at " + doing());
        }
        controller.resume(Verdict.FAIL);
        settle();
    }

    void deliverEvent() {
        if (handle == null || handle.connection() == null) {
            throw new Refusal("the broker has no session");
        }
        handle.deliver();
    }

    void listen() {
        if (!isRunning() || listener.pause() != null || process.posted().isEmpty()) {
            throw new Refusal("no listener is to be told anything now");
        }
        listener.run(() -> unlessItFails(process::tellListener));
        settle();
    }

    /** The oldest event that counts is handled, and before it, in passing, those that the specification has not. */
    void handleEvent() {
        require(IDLE);
        boolean counts;
        do {
            String event = process.nextEvent();
            if (event == null) {
                throw new Refusal("the broker has no event to handle");
            }
            counts = process.queue().contains(event);
            controller.run(this::handleNext);
        } while (!counts && pause() == null);
        if (!counts) {
            throw new Refusal("an event that the specification has not makes the broker " + doing());
        }
        settle();
    }

    private void handleNext() {
        KafkaProcess its = process;
        handling = its.nextEvent();
        its.handleEvent();
        handling = null;
        its.putPartitionOnline();
    }

    private void require(String step) {
        if (!doing().equals(step)) {
            throw new Refusal("the specification is at " + step + ", Kafka at " + doing());
        }
    }

    void noteRegistration() {
        Stat stat = server().stat(Znodes.registration(id));
        if (stat != null && !registrations.contains(stat.getCzxid())) {
            registrations.add(stat.getCzxid());
        }
    }

    // What Kafka's threads ask.

    @Override
    public SynchronousServer server() {
        return cluster.server();
    }

    /** A process's first session is a step; the others are opened by the client's thread, which is not waited for. */
    @Override
    public void opens(ZooKeeper opening) {
        handle = opening;
        if (controller.isOnWorker() && controller.waitAt(CONNECT, List.of()) == Verdict.DIE) {
            throw new ProcessEnded();
        }
        client.execute(opening::tellConnected);
    }

    @Override
    public Verdict sends(Request request) {
        sendsTooLate();
        boolean listens = listener.isOnWorker();
        String step = cluster.steps().of(request, id, listens ? Steps.ANY : lastStep);
        if (step == null || listens && !REGISTERS.contains(step)) {
            cluster.passedSilently();
            return Verdict.SERVE;
        }
        if (!listens) {
            lastStep = step;
        }
        Verdict verdict = (listens ? listener : controller).waitAt(step, request.writes());
        if (verdict == Verdict.DIE) {
            throw new ProcessEnded();
        }
        if (!server().isAlive(session())) {
            handle.deliver();  // what was on its way arrives before the answer that the session has ended
        }
        if (verdict != Verdict.FAIL) {
            cluster.layOut(step, replica(step.equals(READ_BROKERS) ? registered() : process.liveBrokers().keySet()));
        }
        return verdict;
    }

    @Override
    public void sendsTooLate() {
        if (!isRunning()) {
            throw new ProcessEnded();
        }
    }

    /** By the client's thread, as ZkClient asks, which refuses requests on the thread that calls it. */
    @Override
    public void tell(Runnable call) {
        if (Thread.currentThread().getName().endsWith("-client")) {
            call.run();
        } else {
            await(client.submit(call));
        }
    }

    private void awaitClient() {
        await(client.submit(() -> { }));
    }

    private static void await(Future<?> done) {
        try {
            done.get();
        } catch (InterruptedException | ExecutionException problem) {
            throw new IllegalStateException(problem);
        }
    }

    @Override
    public void waitsForConnection() { }

    @Override
    public void waitsForEver() {
        throw new ProcessEnded();
    }

    /** The specification has a broker's coming and going always lead to an election: so the partition needs one. */
    @Override
    public void served(Request request) {
        boolean readsBrokers = request.operation().equals("getChildren") && request.path().equals(Znodes.BROKER_IDS);
        if (readsBrokers && BROKER_CHANGE.equals(handling) && controller.isOnWorker()) {
            process.putPartitionOffline(replica(registered()));
        }
    }

    /** Where the partition is: at this broker, unless it has not registered, and the controller knows only others. */
    private int replica(Set<Integer> known) {
        return known.contains(id) || known.isEmpty() ? id : known.iterator().next();
    }

    private Set<Integer> registered() {
        Set<Integer> there = new TreeSet<>();
        cluster.brokers().stream().map(Broker::id).filter(this::isRegistered).forEach(there::add);
        return there;
    }

    private boolean isRegistered(int broker) {
        return server().stat(Znodes.registration(broker)) != null;
    }

    @Override
    public boolean learnsOfExpiry() {
        return false;
    }
}
