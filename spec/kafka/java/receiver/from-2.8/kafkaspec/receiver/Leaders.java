package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import kafka.cluster.Partition;
import kafka.server.HostedPartition;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaManager;
import kafkaspec.Configuration;
import kafkaspec.Fields;
import kafkaspec.Json;
import kafkaspec.pure.Call;
import org.apache.kafka.common.TopicPartition;
import scala.collection.JavaConverters;

/**
 * A leader that answers fetches, learns from them, and shrinks its ISRs. Its logs are real files.
 *
 * <p>A case: `commands` to one broker that starts with nothing, registered under `broker_epoch`. A command's
 * `do` is one of these:
 *
 * <ul>
 * <li>`receive`: a request, as in Receivers
 * <li>`append`: the broker appends `count` records to the log of a `partition` that it leads
 * <li>`start_at`: the records below an `offset` are deleted
 * <li>`fetch`: `follower` fetches a partition from an `offset`; the epoch of its last record is `last_fetched_epoch`
 * <li>`expire`: the scheduled task that shrinks ISRs runs; every lagging follower has lagged for too long
 * </ul>
 *
 * <p>The answer: after each command the observation of the partitions that it leads, in Kafka's order. For a request
 * also its `error`; for a fetch an `error`, the point where the logs are `diverging` (epoch, end offset), or the
 * `bytes` of records; for the task how it has `failed`, if it has, and the `asked` ISRs.
 */
public final class Leaders implements Call {
    private static final int BROKER = 1;
    private static final long AT_ONCE = -1;

    private final KafkaConfig config = Configuration.of(BROKER);
    private final Apis apis = new Apis(config);
    private final Map<String, List<Integer>> asked = new HashMap<>();

    @Override
    public JsonNode answer(JsonNode given) throws Exception {
        apis.register(Json.field(given, "broker_epoch").asLong());
        ArrayNode seen = Json.array();
        try (LogDirectories directories = new LogDirectories(config)) {
            ReceivingBroker broker = new ReceivingBroker(directories);
            Led.ask(broker, asked);
            apis.serve(broker);
            for (JsonNode command : Json.field(given, "commands")) {
                asked.clear();
                seen.add(observe(broker, does(broker, command)));
            }
        }
        return seen;
    }

    private ObjectNode does(ReceivingBroker broker, JsonNode command) throws Exception {
        ObjectNode answered = Json.object();
        String does = Json.field(command, "do").asText();
        switch (does) {
            case "receive" -> answered.put(
                "error", Responses.error(apis.handle(ControlRequests.builder(command))).name());
            case "append" -> Led.append(led(broker, command), Json.field(command, "count").asInt());
            case "start_at" -> Led.startAt(led(broker, command), Json.field(command, "offset").asLong());
            case "fetch" -> Led.fetch(broker, led(broker, command), command, answered);
            case "expire" -> expire(broker, answered);
            default -> throw new Json.Malformed("no such command: " + does);
        }
        return answered;
    }

    private static Partition led(ReplicaManager broker, JsonNode command) {
        TopicPartition partition = new TopicPartition("t", Json.field(command, "partition").asInt());
        return ((HostedPartition.Online) broker.getPartition(partition)).partition();
    }

    private static List<Partition> all(ReplicaManager broker) {
        List<Partition> all = new ArrayList<>();
        JavaConverters.asJavaIterable(broker.allPartitions()).forEach(
            each -> all.add(((HostedPartition.Online) each._2()).partition()));
        return all;
    }

    private void expire(ReplicaManager broker, ObjectNode answered) throws IllegalAccessException {
        all(broker).forEach(partition -> Fields.set(partition, "replicaLagTimeMaxMs", AT_ONCE));
        Method task = Arrays.stream(ReplicaManager.class.getDeclaredMethods())
            .filter(method -> method.getName().endsWith("maybeShrinkIsr") && method.getParameterCount() == 0)
            .findAny().orElseThrow();
        task.setAccessible(true);
        try {
            task.invoke(broker);
        } catch (InvocationTargetException failed) {
            answered.put("failed", failed.getCause().getClass().getSimpleName());
        }
        ObjectNode isrs = answered.putObject("asked");
        asked.forEach((partition, isr) -> isr.forEach(isrs.putArray(partition)::add));
    }

    private static ObjectNode observe(ReplicaManager broker, ObjectNode seen) {
        ObjectNode led = seen.putObject("led");
        for (Partition partition : all(broker)) {
            var log = partition.localLogOrException();
            ObjectNode its = led.putObject(partition.topicPartition().toString())
                .put("log_start", log.logStartOffset())
                .put("high_watermark", log.highWatermark())
                .put("log_end", log.logEndOffset());
            Led.putFollowers(partition, its.putObject("followers"));
        }
        return seen;
    }
}
