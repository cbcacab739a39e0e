package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.cluster.Partition;
import kafka.server.HostedPartition;
import kafka.server.KafkaConfig;
import kafkaspec.Configuration;
import kafkaspec.Fields;
import kafkaspec.Json;
import kafkaspec.pure.Call;
import org.apache.kafka.common.TopicPartition;
import scala.collection.JavaConverters;

/**
 * A follower whose leader answers that the logs diverge. Its logs are real files; Kafka's own fetcher runs once.
 *
 * <p>A case: `commands` to one broker that starts with nothing, registered under `broker_epoch`. A command's
 * `do` is one of these:
 *
 * <ul>
 * <li>`receive`: a request, as in Receivers
 * <li>`append`: the broker appends `count` records to the log of a `partition` that it leads
 * <li>`fetch`: it fetches all that it follows `leader` in. Other commands run `meanwhile`. The answer is about a
 *     `partition`: the logs diverge at `diverging` (epoch, end offset), and the leader's begins at `log_start`
 * </ul>
 *
 * <p>The answer: after each command the end of each log, and the partitions that have `failed`.
 */
public final class Followers implements Call {
    private static final int BROKER = 1;

    private final KafkaConfig config = Configuration.of(BROKER);
    private final Apis apis = new Apis(config);

    @Override
    public JsonNode answer(JsonNode given) throws Exception {
        apis.register(Json.field(given, "broker_epoch").asLong());
        ArrayNode seen = Json.array();
        try (LogDirectories directories = new LogDirectories(config)) {
            ReceivingBroker broker = new ReceivingBroker(directories);
            AnsweredFetchers fetchers = new AnsweredFetchers(broker);
            Fields.set(broker, "replicaFetcherManager", fetchers);
            apis.serve(broker);
            for (JsonNode command : Json.field(given, "commands")) {
                does(broker, fetchers, command);
                seen.add(observe(broker, fetchers));
            }
        }
        return seen;
    }

    private void does(ReceivingBroker broker, AnsweredFetchers fetchers, JsonNode command) {
        String does = Json.field(command, "do").asText();
        switch (does) {
            case "receive" -> apis.handle(ControlRequests.builder(command));
            case "append" -> Led.append(led(broker, command), Json.field(command, "count").asInt());
            case "fetch" -> fetchers.fetch(
                command, () -> Json.field(command, "meanwhile").forEach(each -> does(broker, fetchers, each)));
            default -> throw new Json.Malformed("no such command: " + does);
        }
    }

    private static Partition led(ReceivingBroker broker, JsonNode command) {
        TopicPartition partition = new TopicPartition("t", Json.field(command, "partition").asInt());
        return ((HostedPartition.Online) broker.getPartition(partition)).partition();
    }

    private static ObjectNode observe(ReceivingBroker broker, AnsweredFetchers fetchers) {
        ObjectNode seen = Json.object();
        ObjectNode ends = seen.putObject("log_ends");
        ArrayNode failed = seen.putArray("failed");
        JavaConverters.asJavaIterable(broker.allPartitions()).forEach(each -> {
            Partition known = ((HostedPartition.Online) each._2()).partition();
            ends.put(each._1().toString(), known.localLogOrException().logEndOffset());
            if (fetchers.failedPartitions().contains(each._1())) {
                failed.add(each._1().toString());
            }
        });
        return seen;
    }
}
