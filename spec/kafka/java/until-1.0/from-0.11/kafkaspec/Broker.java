package kafkaspec;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.Request;
import org.apache.zookeeper.ZooKeeper.Verdict;

/**
 * A broker of Kafka until 1.0, which has three threads. One does the controller thread's work, and the start; one
 * calls listeners, in place of ZkEventThread; and ZooKeeper's own thread calls the client, which sends no requests
 * then.
 */
final class Broker extends AnyBroker {
    /** The listeners' requests that are steps of their own. */
    private static final Set<String> REGISTERS = Set.of("RegisterBroker", "CheckRegistration");
    /** Requests that are not repeated in another session. */
    private static final Set<String> CREATES = Set.of("CreateController", "CheckController");

    private final Turns listener;
    private final ExecutorService client;
    /** The step before the pending request, which is repeated in another session. */
    private String stepBefore;

    Broker(int id, Cluster cluster, Release release) {
        super(id, cluster, release);
        listener = new Turns("broker-" + id + "-listeners");
        client = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, "broker-" + id + "-client");
            thread.setDaemon(true);
            return thread;
        });
    }

    @Override
    List<Turns> workers() {
        return List.of(turns, listener);
    }

    @Override
    void settle() {
        endIfItFailed();
    }

    /** The events that its listeners have yet to process, and the request before which one of them waits. */
    @Override
    void putListeners(ObjectNode its) {
        ArrayNode posted = its.putArray("posted");
        process.posted().forEach(posted::add);
        its.put("listening", listener.pause() == null ? IDLE : listener.pause().step());
    }

    // Placement of the partition.

    @Override
    void putPartitionOffline() {
        process.putPartitionOffline(replica(registered()));
    }

    // Its session and its connection.

    void connect() {
        require(CONNECT);
        turns.resume(Verdict.SERVE);
        settle();
    }

    /** Another session opens at once, and pending requests are repeated in it. */
    void learnOfExpiry() {
        if (handle == null || handle.connection() == null || server().isAlive(session())) {
            throw new Refusal("the broker's session has not ended");
        }
        handle.expire();
        awaitClient();
        if (pause() != null && !CREATES.contains(pause().step())) {
            lastStep = stepBefore;
            turns.resume(Verdict.SERVE);
        }
        settle();
    }

    // Its requests and its events.

    @Override
    Turns at(String step) {
        Turns waiting = REGISTERS.contains(step) ? listener : turns;
        if (waiting.pause() == null || !waiting.pause().step().equals(step)) {
            throw new Refusal("the specification is at " + step + ", Kafka at " + doing());
        }
        return waiting;
    }

    @Override
    void deliverEvent() {
        if (handle == null || handle.connection() == null) {
            throw new Refusal("the broker has no session");
        }
        handle.deliver();
    }

    @Override
    void listen() {
        if (!isRunning() || listener.pause() != null || process.posted().isEmpty()) {
            throw new Refusal("no event for a listener can be delivered now");
        }
        listener.run(() -> unlessItFails(process::tellListener));
        settle();
    }

    // Called by Kafka's threads.

    /** A process's first session is a step; the client's thread opens the others, without a wait. */
    @Override
    public void opens(ZooKeeper opening) {
        handle = opening;
        if (turns.isOnWorker() && turns.waitAt(CONNECT, List.of()) == Verdict.DIE) {
            throw new ProcessEnded();
        }
        client.execute(opening::tellConnected);
    }

    @Override
    public Verdict sends(Request request) {
        sendsTooLate();
        boolean listens = listener.isOnWorker();
        String step = cluster.steps().of(request, id(), listens ? Steps.ANY : lastStep);
        if (step == null || listens && !REGISTERS.contains(step)) {
            cluster.passedSilently();
            return Verdict.SERVE;
        }
        if (!listens) {
            stepBefore = lastStep;
            lastStep = step;
        }
        Verdict verdict = (listens ? listener : turns).waitAt(step, request.writes());
        if (verdict == Verdict.DIE) {
            throw new ProcessEnded();
        }
        if (!server().isAlive(session())) {
            handle.deliver();  // pending events arrive before the answer that the session has ended
        }
        if (verdict != Verdict.FAIL) {
            layOut(step);
        }
        return verdict;
    }

    @Override
    public void sendsTooLate() {
        if (!isRunning()) {
            throw new ProcessEnded();
        }
    }

    /** Runs on the client's thread, as in ZkClient, which refuses requests on the thread that calls it. */
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

    @Override
    public boolean learnsOfExpiry() {
        return false;
    }
}
