package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import kafkaspec.Json;
import kafkaspec.pure.Call;

/**
 * Request delivery to brokers: ControllerChannelManager with its RequestSendThreads, over connections on loopback.
 *
 * <p>A case: `sequences` of commands, each for channels of its own, all at once, since a thread pauses before it
 * sends again. See Conversation for the commands and their answers.
 */
public final class Channels implements Call {
    @Override
    public JsonNode answer(JsonNode given) throws Exception {
        ArrayNode answers = Json.array();
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<Future<ArrayNode>> conversations = new ArrayList<>();
            Json.field(given, "sequences").forEach(
                commands -> conversations.add(threads.submit(() -> Conversation.of(commands))));
            for (Future<ArrayNode> each : conversations) {
                answers.add(each.get());
            }
        } finally {
            threads.shutdownNow();
        }
        return answers;
    }
}
