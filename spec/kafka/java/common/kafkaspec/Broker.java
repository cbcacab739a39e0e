package kafkaspec;

import java.util.List;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.Request;
import org.apache.zookeeper.ZooKeeper.Verdict;

/**
 * A broker since Kafka 1.1: one thread makes all requests, except that Kafka's expiry thread opens new sessions.
 */
final class Broker extends AnyBroker {
    // Kafka's names of the events that are handled specially here.
    private static final String EXPIRE = "Expire";
    private static final String REGISTER = "RegisterBrokerAndReelect";
    private static final String ISR_CHANGE = "IsrChangeNotification";

    Broker(int id, Cluster cluster, Release release) {
        super(id, cluster, release);
    }

    @Override
    List<Turns> workers() {
        return List.of(turns);
    }

    @Override
    void putPartitionOffline() {
        process.putPartitionOffline();
    }

    // Its session and its connection.

    /** Opens the awaited session. In a process that had one before, Kafka's expiry thread does it. */
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
        if (server().isAlive(session())) {
            throw new Refusal("the broker's session has not ended");
        }
        beginAnew();
    }

    /** Expire is handled; then the expiry thread waits to open another session. [ZooKeeperClient 3.9.1, 364] */
    private void beginAnew() {
        handle.expire();
        process.awaitEvent(EXPIRE);
        turns.run(this::handleNext);
        turns.awaitOther();
    }

    /** Expire is handled although the session lives, and the broker registers again in it. [KAFKA-13461] */
    @Override
    void failAuthentication() {
        require(IDLE);
        if (handle.isAway() || !server().isAlive(session())) {
            throw new Refusal("the broker's client has no connection");
        }
        if (!process.beginsAnewWithoutAuthentication()) {
            super.failAuthentication();
        }
        handle.failAuthentication();
        process.awaitEvent(EXPIRE);
        turns.run(this::handleNext);
        process.awaitEvent(REGISTER);
        turns.run(this::handleNext);
        settle();
    }

    @Override
    void endSession(List<String> order, int seen) {
        super.endSession(order, seen);
        goOnIfAway();
    }

    @Override
    void reconnect() {
        super.reconnect();
        goOnIfAway();
    }

    private void goOnIfAway() {
        if (doing().equals(AWAY)) {
            turns.resume(Verdict.SERVE);
            settle();
        }
    }

    /** Pending events arrive first. */
    @Override
    void handleEvent() {
        require(IDLE);
        handle.deliver();
        super.handleEvent();
    }

    /** Handles a failed start, or a request that found the session ended. */
    @Override
    void settle() {
        if (pause() != null) {
            return;
        }
        endIfItFailed();
        if (isRunning() && handle.isDead()) {
            beginAnew();
        }
    }

    // Called by Kafka's threads.

    @Override
    public void opens(ZooKeeper opening) {
        handle = opening;
        if (turns.waitAt(CONNECT, List.of()) == Verdict.DIE) {
            throw new ProcessEnded();
        }
    }

    @Override
    public Verdict sends(Request request) {
        String step = cluster.steps().of(request, id(), lastStep);
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
            layOut(step);
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

    @Override
    public boolean learnsOfExpiry() {
        return !inPassing;
    }
}
