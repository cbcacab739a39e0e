package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import kafkaspec.Json;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.zookeeper.Version;

/**
 * Lines of JSON in, lines of JSON out: functions of Kafka applied to many cases.
 * In: {"call": "Elections", "cases": [...]}, where the call is a class of this package, or of the package given as
 * the argument. Out: {"answers": [...]}, one for each case. The first line of output names the versions.
 */
public final class Main {
    private static final int MALFORMED = 2;

    private final Map<String, Call> calls = new HashMap<>();
    private final PrintStream out;
    private final String where;

    private Main(PrintStream out, String where) {
        this.out = out;
        this.where = where;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);  // what libraries print must not look like an answer
        String where = arguments.length == 0 ? Main.class.getPackageName() : arguments[0];
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            new Main(out, where).answerAll(in);
        } catch (Json.Malformed malformed) {
            System.err.println(("malformed: " + malformed.getMessage()).replaceAll("\\s+", " "));
            System.exit(MALFORMED);
        }
    }

    private void answerAll(BufferedReader in) throws Exception {
        print(Json.object()
            .put("ready", AppInfoParser.getVersion())
            .put("zookeeper", Version.getVersion())
            .put("java", System.getProperty("java.version")));
        for (String line; (line = in.readLine()) != null; ) {
            print(answer(Json.read(line.getBytes(StandardCharsets.UTF_8))));
        }
    }

    private ObjectNode answer(JsonNode question) throws Exception {
        Call call = call(Json.field(question, "call").asText());
        ObjectNode answer = Json.object();
        ArrayNode answers = answer.putArray("answers");
        for (JsonNode given : Json.field(question, "cases")) {
            answers.add(call.answer(given));
        }
        return answer;
    }

    private Call call(String name) throws ReflectiveOperationException {
        Call call = calls.get(name);
        if (call == null) {
            call = make(name);
            calls.put(name, call);
        }
        return call;
    }

    private Call make(String name) throws ReflectiveOperationException {
        try {
            Class<?> call = Class.forName(where + "." + name);
            return (Call) call.getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException unknown) {
            throw new Json.Malformed("no call " + name);
        }
    }

    private void print(ObjectNode line) {
        out.println(new String(Json.bytes(line), StandardCharsets.UTF_8));
        out.flush();
    }
}
