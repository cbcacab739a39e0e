package kafkaspec;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import kafkaspec.release.Adapter;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.zookeeper.Version;

/**
 * Lines of JSON in, lines of JSON out: for each run of the specification, Kafka's observation after each of its
 * steps. In: {"brokers": 2, "outliving": false, "steps": [{"action": "start", "broker": 0}, ...]}.
 * Out: {"seen": [...], "error": null}, where `seen` has the results of `Observation`, and a failed step is the last.
 * The first line of output names the versions.
 */
public final class Main {
    static final int MALFORMED = 2;
    static final int HANGS = 3;
    private static final long PATIENCE_SECONDS = Long.getLong("kafkaspec.patience.seconds", 20);

    private final PrintStream out;
    private final Cluster cluster;
    private final Watchdog watchdog = new Watchdog(PATIENCE_SECONDS, this::hangs);
    private volatile ArrayNode seen = Json.array();
    private volatile String at = "";

    private Main(PrintStream out) {
        this.out = out;
        cluster = new Cluster(new Adapter());
    }

    public static void main(String[] arguments) throws IOException {
        setUpZooKeeper();
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // what libraries print must not look like an answer
        try {
            new Main(out).answerAll(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        } catch (Json.Malformed malformed) {
            System.err.println(oneLine("malformed: " + malformed.getMessage()));
            System.exit(MALFORMED);
        }
        System.exit(0);  // threads of Kafka may still run
    }

    /** ZooKeeper reads these when its classes load: no digests of the tree, no checks of permissions. */
    private static void setUpZooKeeper() {
        System.setProperty("zookeeper.digest.enabled", "false");
        System.setProperty("zookeeper.skipACL", "yes");
    }

    private void answerAll(BufferedReader in) throws IOException {
        print(Json.object()
            .put("ready", AppInfoParser.getVersion())
            .put("zookeeper", Version.getVersion())
            .put("java", System.getProperty("java.version")));
        for (String line; (line = in.readLine()) != null; ) {
            print(answer(Json.read(Znodes.utf8(line))));
        }
    }

    private ObjectNode answer(JsonNode run) {
        seen = Json.array();
        at = "the beginning of a run";
        watchdog.begins();
        cluster.begin(Json.field(run, "brokers").asInt(), Json.field(run, "outliving").asBoolean());
        String error = null;
        for (JsonNode step : Json.field(run, "steps")) {
            at = step.toString();
            watchdog.begins();
            error = perform(step);
            seen.add(cluster.observe());
            if (error != null) {
                break;
            }
        }
        watchdog.rests();
        return answer(error);
    }

    private String perform(JsonNode step) {
        try {
            cluster.perform(step);
            return null;
        } catch (Refusal refusal) {
            return oneLine(refusal.getMessage());
        }
    }

    private ObjectNode answer(String error) {
        ObjectNode answer = Json.object();
        answer.set("seen", seen);
        return answer.put("error", error);
    }

    private void hangs() {
        print(answer("Kafka hangs at " + at));
    }

    private void print(ObjectNode line) {
        out.println(Znodes.text(Json.bytes(line)));
        out.flush();
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\s+", " ");
    }
}
