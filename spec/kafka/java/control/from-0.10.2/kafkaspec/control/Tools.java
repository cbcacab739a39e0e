package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import kafka.server.KafkaConfig;
import kafkaspec.Configuration;
import kafkaspec.Json;
import kafkaspec.pure.Call;
import org.apache.zookeeper.ZooKeeper;
import scala.Console$;
import scala.runtime.AbstractFunction0;

/**
 * What administrators do (`Administrator`), with Kafka's own client of ZooKeeper. A case is a tree and one action,
 * such as {"tree": {"/brokers/topics/t": "{...}"}, "do": "delete", "topic": "t"}; parents come before their children.
 * The answer has the tree afterwards; what a tool printed; and the refusals: exceptions, each with its cause, or the
 * errors of a response.
 */
public final class Tools implements Call {
    private static final int BROKER = 9;
    private static final List<String> COMPARED =
        List.of("/admin", "/brokers/topics", "/config/changes", "/config/topics");
    private static final List<String> ALL =
        List.of("/admin", "/brokers", "/cluster", "/config", "/controller", "/controller_epoch", "/feature");

    private final Ensemble ensemble = new Ensemble();
    private final Meanwhile meanwhile = new Meanwhile(ensemble);
    private final Administrator administrator;

    public Tools() {
        KafkaConfig config = Configuration.of(BROKER);
        ZooKeeper.ownedBy(connectString -> meanwhile);
        administrator = new Administrator(config, BatchedClient.connect(config, meanwhile));
    }

    @Override
    public JsonNode answer(JsonNode given) {
        ALL.forEach(ensemble::deleteAll);
        for (Iterator<Map.Entry<String, JsonNode>> nodes = Json.field(given, "tree").fields(); nodes.hasNext(); ) {
            Map.Entry<String, JsonNode> node = nodes.next();
            ensemble.create(node.getKey(), Ensemble.utf8(node.getValue().asText()));
        }
        meanwhile.begin(Json.object());
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ObjectNode answer = Json.object();
        answer.set("refused", refused(given, new PrintStream(printed, true, StandardCharsets.UTF_8)));
        answer.put("printed", printed.toString(StandardCharsets.UTF_8));
        answer.set("tree", ensemble.observe(COMPARED));
        return answer;
    }

    private ArrayNode refused(JsonNode given, PrintStream out) {
        try {
            return Console$.MODULE$.withOut(out, new AbstractFunction0<ArrayNode>() {  // in Scala 2.11 not a lambda
                @Override
                public ArrayNode apply() {
                    return administrator.perform(given);
                }
            });
        } catch (Reflection.Thrown thrown) {
            ArrayNode refusals = Json.array();
            for (Throwable each = thrown.getCause(); each != null; each = each.getCause()) {
                refusals.addArray().add(each.getClass().getSimpleName()).add(String.valueOf(each.getMessage()));
            }
            return refusals;
        }
    }
}
