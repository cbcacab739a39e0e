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
 * What happens while the controller changes states: before which request of which batch others write or its session
 * ends, and which requests of a batch its connection does not survive.
 * A batch is a call of handleRequests; the one that repeats what a lost connection left open is no other batch.
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
     * @param others does what others do, and says whether a command is such
     * @param counts which requests count: the others are served, in whichever batch they are
     */
    Meanwhile(Ensemble ensemble, Predicate<JsonNode> others, Predicate<Request> counts) {
        this.ensemble = ensemble;
        this.others = others;
        this.counts = counts;
    }

    /**
     * A change of states begins.
     *
     * @param command has, if anything happens, `meanwhile`: rows of a batch, a request of it, and a command, or -1
     *     for what happens before that is repeated which a lost connection left open; and `lost`: rows of a batch,
     *     how many answers come, and how many of its requests are carried out.
     */
    void begin(JsonNode command) {
        script = command;
        asked = Json.array();
        batch = -1;
    }

    /** What was asked for, batch by batch: operation and path of each request. */
    ArrayNode asked() {
        return asked;
    }

    /** The client is about to make a batch of requests. It counts with the first request of it that does. */
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

    /** What has happened on its way to the client arrives there. */
    void deliver() {
        handle.deliver();
    }

    void endSession() {
        server().endSession(handle.connection().getSessionId(), List.of());
    }

    // What the client asks.

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
            throw new Json.Malformed("nothing that happens meanwhile: " + command);
        }
    }

    /** The connection is back; but whether the session is still there, only a request finds out. */
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
