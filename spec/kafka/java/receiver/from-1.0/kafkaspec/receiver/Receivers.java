package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.server.KafkaConfig;
import kafkaspec.Configuration;
import kafkaspec.Json;
import kafkaspec.pure.Call;

/**
 * A broker that receives a controller's requests: KafkaApis passes them to ReplicaManager, whose logs are real files.
 *
 * <p>A case: `commands` to one broker that starts with nothing, registered under `broker_epoch`. A command's
 * `do` is one of these:
 *
 * <ul>
 * <li>`receive`: a `request` by name, its `content`, and `topic_ids`, a number for each topic that has an id. Logs
 *     of `failing` partitions can be neither created nor deleted; the configuration of `unread` topics cannot be
 *     read
 * <li>`fail_directory`: the log directory of this `number` fails
 * <li>`restart`: the process starts anew, with the logs
 * <li>`register`: the broker has registered again, under this `epoch`
 * <li>`shut_down`: the process is shutting down
 * </ul>
 *
 * <p>The answer: after each command the observation of the broker, see ReceivingBroker, and the response to a
 * request: an `error`, those of `partitions`, and the partitions that the broker leads or follows from now on.
 */
public final class Receivers implements Call {
    private static final int BROKER = 1;

    private final KafkaConfig config = Configuration.of(BROKER);
    private final Apis apis = new Apis(config);

    @Override
    public JsonNode answer(JsonNode given) throws Exception {
        apis.register(Json.field(given, "broker_epoch").asLong());
        ArrayNode seen = Json.array();
        try (LogDirectories directories = new LogDirectories(config)) {
            ReceivingBroker broker = start(directories);
            for (JsonNode command : Json.field(given, "commands")) {
                ObjectNode answered = Json.object();
                String does = Json.field(command, "do").asText();
                switch (does) {
                    case "receive" -> receive(command, directories, answered);
                    case "fail_directory" -> broker.failDirectory(
                        directories.fail(Json.field(command, "number").asInt()));
                    case "restart" -> {
                        directories.restart();
                        broker = start(directories);
                    }
                    case "shut_down" -> broker.shutDown();
                    case "register" -> apis.register(Json.field(command, "epoch").asLong());
                    default -> throw new Json.Malformed("no such command: " + does);
                }
                seen.add(broker.observe(answered));
            }
        }
        return seen;
    }

    private ReceivingBroker start(LogDirectories directories) {
        ReceivingBroker broker = new ReceivingBroker(directories);
        apis.serve(broker);
        return broker;
    }

    private void receive(JsonNode command, LogDirectories directories, ObjectNode answered) throws Exception {
        directories.failAt(Json.field(command, "failing"), Json.field(command, "unread"));
        Responses.put(apis.handle(ControlRequests.builder(command)), command, answered);
    }
}
