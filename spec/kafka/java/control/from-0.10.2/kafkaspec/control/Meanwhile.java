package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.List;
import java.util.function.Predicate;
import kafkaspec.Json;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.Request;
import org.apache.zookeeper.ZooKeeper.Verdict;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * What happens while the controller changes states: requests of a batch before which others write or the session
 * ends, and requests of a batch that are lost with the connection.
 * A batch is a call of handleRequests. A call that repeats requests after a lost connection belongs to the same
 * batch.
 */
final class Meanwhile implements ZooKeeper.Owner {
    private static final int AGAIN = -1;
    private final Ensemble ensemble;
    private final Predicate<JsonNode> others;
    private final Predicate<Request> counts;
    private ZooKeeper handle;
    private JsonNode script = Json.object();
    private ArrayNode asked = Json.array();
    private int batch = -1;
    private int request;
    private int answered;
    private int carriedOut;
    private boolean begins;
    private boolean repeats;
    private boolean beginsAgain;
    private boolean isLost;

    Meanwhile(Ensemble ensemble) {
        this(ensemble, ensemble::perform, sent -> true);
    }

    /**
     * @param others carries out a command of others; returns whether the command was such
     * @param counts which requests count; the others are served, whatever the batch
     */
    Meanwhile(Ensemble ensemble, Predicate<JsonNode> others, Predicate<Request> counts) {
        this.ensemble = ensemble;
        this.others = others;
        this.counts = counts;
    }

    /**
     * Begins a change of states.
     *
     * @param command may have `meanwhile`: rows of a batch, a request of it, and a command, with -1 for the moment
     *     before requests are repeated after a lost connection; and `lost`: rows of a batch, the number of answers
     *     that arrive, and the number of its requests that are carried out.
     */
    void begin(JsonNode command) {
        script = command;
        asked = Json.array();
        batch = -1;
    }

    /** The requests, batch by batch: operation and path of each. */
    ArrayNode asked() {
        return asked;
    }

    /** The client is about to send a batch of requests. The batch counts from its first request that counts. */
    void batchBegins() {
        repeats = isLost;
        isLost = false;
        begins = !repeats;
        beginsAgain = repeats;
    }

    private void nextBatch() {
        begins = false;
        request = 0;
        batch++;
        asked.addArray();
        answered = Integer.MAX_VALUE;
        carriedOut = Integer.MAX_VALUE;
        for (JsonNode lost : script.path("lost")) {
            if (lost.get(0).asInt() == batch) {
                answered = lost.get(1).asInt();
                carriedOut = lost.get(2).asInt();
            }
        }
    }

    /** Pending events reach the client. */
    void deliver() {
        handle.deliver();
    }

    void endSession() {
        server().endSession(handle.connection().getSessionId(), List.of());
    }

    // The client's requests.

    @Override
    public SynchronousServer server() {
        return ensemble.server();
    }

    @Override
    public void opens(ZooKeeper opening) {
        handle = opening;
    }

    @Override
    public Verdict sends(Request sent) {
        if (repeats) {
            if (beginsAgain) {
                beginsAgain = false;
                happensBefore(AGAIN);
            }
            return Verdict.SERVE;
        }
        if (!counts.test(sent)) {
            return Verdict.SERVE;
        }
        if (begins) {
            nextBatch();
        }
        happensBefore(request);
        ((ArrayNode) asked.get(batch)).add(sent.path());
        int place = request++;
        if (place < answered) {
            return Verdict.SERVE;
        }
        isLost |= server().isAlive(handle.connection().getSessionId());
        return place < carriedOut ? Verdict.LOSE_REPLY : Verdict.LOSE_REQUEST;
    }

    private void happensBefore(int which) {
        for (JsonNode row : script.path("meanwhile")) {
            if (row.get(0).asInt() == batch && row.get(1).asInt() == which) {
                happens(row.get(2));
            }
        }
    }

    private void happens(JsonNode command) {
        if (Json.field(command, "do").asText().equals("expire")) {
            endSession();
        } else if (!others.test(command)) {
            throw new Json.Malformed("not allowed in `meanwhile`: " + command);
        }
    }

    /** The connection is restored; the next request finds out whether the session still exists. */
    @Override
    public void waitsForConnection() {
        if (server().isAlive(handle.connection().getSessionId())) {
            handle.reconnect();
        } else {
            handle.mayFindOut();
        }
    }

    @Override
    public void served(Request served) { }

    @Override
    public void waitsForEver() {
        throw new IllegalStateException("a callback of Kafka's client failed");
    }

    @Override
    public boolean learnsOfExpiry() {
        return false;
    }
}
