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
import kafkaspec.Configuration;
import kafkaspec.Json;
import kafkaspec.pure.Call;
import org.apache.zookeeper.ZooKeeper;
import scala.Console$;
import scala.runtime.AbstractFunction0;

/**
 * Kafka's administrator tools, with Kafka's own client of ZooKeeper. A case is a tree and one call, such as
 * {"tree": {"/brokers/topics/t": "{...}"}, "do": "delete", "topic": "t"}; parents come before their children.
 * The answer has the tree afterwards, what the tool printed, and the exceptions if it threw, each with its cause.
 */
public final class Tools implements Call {
    private static final int BROKER = 9;
    private static final List<String> ROOTS = List.of("/admin", "/brokers/topics", "/config/changes", "/config/topics");

    @Override
    public JsonNode answer(JsonNode given) {
        Ensemble ensemble = new Ensemble();
        for (Iterator<Map.Entry<String, JsonNode>> nodes = Json.field(given, "tree").fields(); nodes.hasNext(); ) {
            Map.Entry<String, JsonNode> node = nodes.next();
            ensemble.create(node.getKey(), Ensemble.utf8(node.getValue().asText()));
        }
        Meanwhile meanwhile = new Meanwhile(ensemble);
        meanwhile.begin(Json.object());
        ZooKeeper.ownedBy(connectString -> meanwhile);
        var client = BatchedClient.connect(Configuration.of(BROKER), meanwhile);
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ArrayNode thrown = Json.array();
        try {
            Console$.MODULE$.withOut(new PrintStream(printed, true, StandardCharsets.UTF_8), new AbstractFunction0<>() {
                @Override
                public Object apply() {  // in Scala 2.11 not a lambda
                    Administrator.of(client).perform(given);
                    return null;
                }
            });
        } catch (Reflection.Thrown refused) {
            for (Throwable each = refused.getCause(); each != null; each = each.getCause()) {
                thrown.addArray().add(each.getClass().getSimpleName()).add(String.valueOf(each.getMessage()));
            }
        } finally {
            client.close();
        }
        ObjectNode answer = Json.object().put("printed", printed.toString(StandardCharsets.UTF_8));
        answer.set("thrown", thrown);
        answer.set("tree", ensemble.observe(ROOTS));
        return answer;
    }
}
