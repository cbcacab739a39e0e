package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.admin.RackAwareMode;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import scala.Option;

/**
 * What an administrator does, with one release's tools: `kafka-topics.sh`, `kafka-reassign-partitions.sh` and
 * `kafka-preferred-replica-election.sh`; or, where they have no such checks, with the class of Kafka below them.
 * Since 3.0 there are no tools that write to ZooKeeper, and all is done with the class that brokers use.
 */
final class Administrator {
    private static final String UNCLEAN = "unclean.leader.election.enable";
    private static final RackAwareMode MODE = RackAwareMode.Enforced$.MODULE$;

    private final Object client;
    /** AdminUtils until 1.0, and later an AdminZkClient. */
    private final Object admin;

    private Administrator(Object client, Object admin) {
        this.client = client;
        this.admin = admin;
    }

    static Administrator of(Object client) {
        String later = "kafka.zk.AdminZkClient";
        return new Administrator(client, Reflection.exists(later)
            ? Reflection.create(later, client, Option.empty())
            : Reflection.module("kafka.admin.AdminUtils"));
    }

    void perform(JsonNode command) {
        switch (Json.field(command, "do").asText()) {
            case "create" -> create(topic(command), Json.field(command, "partitions"));
            case "place" -> Reflection.call(
                admin, "createTopic", client, topic(command), Json.field(command, "count").asInt(),
                Json.field(command, "replicas").asInt(), new Properties(), MODE, false);
            case "add" -> add(topic(command), Json.field(command, "count").asInt());
            case "delete" -> delete(topic(command));
            case "permit_unclean" -> permitUnclean(topic(command));
            case "reassign" -> Reflection.call(
                Reflection.module("kafka.admin.ReassignPartitionsCommand"), "executeAssignment",
                client, Option.empty(), text(command, "plan"), noThrottle(), -1L);
            case "elect" -> elect(text(command, "plan"));
            default -> throw new Json.Malformed("no command in " + command);
        }
    }

    private void create(String topic, JsonNode partitions) {
        Map<Object, Object> assignment = new HashMap<>();
        partitions.fields().forEachRemaining(
            each -> assignment.put(Integer.valueOf(each.getKey()), Scala.ids(each.getValue())));
        if (Reflection.has(admin, "createTopicWithAssignment")) {
            boolean validate = true;
            Reflection.call(
                admin, "createTopicWithAssignment", topic, new Properties(), Scala.map(assignment), validate, false);
        } else {
            boolean update = false;
            Reflection.call(
                admin, "createOrUpdateTopicPartitionAssignmentPathInZK",
                client, topic, Scala.map(assignment), new Properties(), update);
        }
    }

    private void add(String topic, int count) {
        if (hasTools()) {
            ofTopics("alterTopic", "--alter", "--topic", literally(topic), "--partitions", String.valueOf(count));
            return;
        }
        Map<Object, Object> existing = new HashMap<>();
        Scala.forEach(
            (scala.collection.Map<?, ?>) Reflection.call(
                client, "getFullReplicaAssignmentForTopics", Scala.set(topic)),
            (partition, replicas) -> existing.put(((TopicPartition) partition).partition(), replicas));
        Reflection.call(
            admin, "addPartitions", topic, Scala.map(existing),
            Reflection.call(admin, "getBrokerMetadatas", MODE, Option.empty()), count, Option.empty(), false);
    }

    private void delete(String topic) {
        if (hasTools()) {
            ofTopics("deleteTopic", "--delete", "--topic", literally(topic));
        } else {
            Reflection.call(admin, "deleteTopic", topic);
        }
    }

    private void permitUnclean(String topic) {
        if (hasTools()) {
            ofTopics("alterTopic", "--alter", "--topic", literally(topic), "--config", UNCLEAN + "=true");
        } else {
            Properties configuration =
                (Properties) Reflection.call(admin, "fetchEntityConfig", "topics", topic);
            configuration.put(UNCLEAN, "true");
            Reflection.call(admin, "changeTopicConfig", topic, configuration);
        }
    }

    private void elect(String plan) {
        String tool = "kafka.admin.PreferredReplicaLeaderElectionCommand";
        Object partitions = Reflection.call(Reflection.module(tool), "parsePreferredReplicaElectionData", plan);
        Reflection.call(Reflection.create(tool, client, partitions), "moveLeaderToPreferredReplica");
    }

    /** `kafka-topics.sh` with these options. */
    private void ofTopics(String method, String... options) {
        String service = "kafka.admin.TopicCommand$ZookeeperTopicService";
        Object tool = Reflection.exists(service)
            ? Reflection.create(service, client)
            : Reflection.module("kafka.admin.TopicCommand");
        Reflection.call(
            tool, method, client, Reflection.create("kafka.admin.TopicCommand$TopicCommandOptions", (Object) options));
    }

    private static boolean hasTools() {
        return Reflection.exists("kafka.admin.TopicCommand");
    }

    /** Since 0.11 a throttle is an object. */
    private static Object noThrottle() {
        Object tool = Reflection.module("kafka.admin.ReassignPartitionsCommand");
        return Reflection.has(tool, "NoThrottle") ? Reflection.call(tool, "NoThrottle") : -1L;
    }

    /** A regular expression for this topic alone. */
    private static String literally(String topic) {
        return topic.replace(".", "\\.");
    }

    private static String topic(JsonNode command) {
        return Json.field(command, "topic").asText();
    }

    private static String text(JsonNode command, String name) {
        return new String(Json.bytes(Json.field(command, name)), StandardCharsets.UTF_8);
    }
}
