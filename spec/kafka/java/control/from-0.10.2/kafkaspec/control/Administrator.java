package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.admin.RackAwareMode;
import kafka.server.KafkaConfig;
import kafkaspec.Json;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import scala.Option;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What an administrator does: by the release's tools that write to ZooKeeper, or by a request. Requests reach the
 * class that serves them on a broker, AdminManager or since 2.8 ZkAdminManager. Its cache of metadata is empty.
 */
final class Administrator {
    private static final String UNCLEAN = "unclean.leader.election.enable";
    private static final RackAwareMode MODE = RackAwareMode.Enforced$.MODULE$;
    private static final int NO_WAIT = 0;
    /** The response of a broker that did what was asked, and was not to wait until other brokers have done it. */
    private static final String DONE = "REQUEST_TIMED_OUT";

    private final Object client;
    /** AdminUtils until 1.0, and later an AdminZkClient. */
    private final Object admin;
    /** A broker's. */
    private final Object manager;

    Administrator(KafkaConfig config, Object client) {
        this.client = client;
        String later = "kafka.zk.AdminZkClient";
        admin = Reflection.exists(later)
            ? Reflection.create(later, client, Option.empty())
            : Reflection.module("kafka.admin.AdminUtils");
        manager = Reflection.create(
            Reflection.anyOf("kafka.server.ZkAdminManager", "kafka.server.AdminManager"),
            config, new Metrics(), emptyCache(config.brokerId()), client);
        Reflection.call(manager, "shutdown");  // ends the thread of waiting requests, of which there are none
    }

    /** Carries out an action; returns the errors of the response, if it is a request. */
    ArrayNode perform(JsonNode given) {
        ArrayNode errors = Json.array();
        switch (Json.field(given, "do").asText()) {
            case "create" -> create(topic(given), Json.field(given, "partitions"), errors);
            case "place" -> Reflection.call(
                admin, "createTopic", client, topic(given), Json.field(given, "count").asInt(),
                Json.field(given, "replicas").asInt(), new Properties(), MODE, false);
            case "add" -> add(topic(given), Json.field(given, "count").asInt(), errors);
            case "add_by_tool" -> ofTopics(
                "alterTopic", "--alter", "--topic", literally(given), "--partitions", text(given, "count"));
            case "delete" -> Reflection.call(
                manager, "deleteTopics", new Response(errors), NO_WAIT, Scala.set(topic(given)), quota());
            case "delete_by_tool" -> ofTopics("deleteTopic", "--delete", "--topic", literally(given));
            case "permit_unclean" -> permitUnclean(topic(given));
            case "permit_unclean_by_tool" -> ofTopics(
                "alterTopic", "--alter", "--topic", literally(given), "--config", UNCLEAN + "=true");
            case "reassign_by_tool" -> Reflection.call(
                Reflection.module("kafka.admin.ReassignPartitionsCommand"), "executeAssignment",
                client, Option.empty(), text(given, "plan"), noThrottle(), -1L);
            case "elect_by_tool" -> elect(text(given, "plan"));
            default -> throw new Json.Malformed("no action in " + given);
        }
        return errors;
    }

    // Requests.

    private void create(String topic, JsonNode partitions, ArrayNode errors) {
        Map<Integer, List<Integer>> assignments = new HashMap<>();
        partitions.fields().forEachRemaining(each -> {
            List<Integer> brokers = new ArrayList<>();
            each.getValue().forEach(broker -> brokers.add(broker.asInt()));
            assignments.put(Integer.valueOf(each.getKey()), brokers);
        });
        String details = "org.apache.kafka.common.requests.CreateTopicsRequest$TopicDetails";
        Object asked = Reflection.exists(details)
            ? Reflection.create(details, assignments)
            : creatable(topic, assignments);
        Reflection.call(
            manager, "createTopics", new Response(errors), NO_WAIT, false, Scala.map(Map.of(topic, asked)),
            Scala.map(Map.of()), quota());
    }

    /** Since 2.4 requests are records. */
    private static Object creatable(String topic, Map<Integer, List<Integer>> assignments) {
        String data = "org.apache.kafka.common.message.CreateTopicsRequestData$Creatable";
        @SuppressWarnings("unchecked")
        Collection<Object> all = (Collection<Object>) Reflection.create(data + "ReplicaAssignmentCollection");
        assignments.forEach((partition, brokers) -> {
            Object one = Reflection.create(data + "ReplicaAssignment");
            Reflection.call(one, "setPartitionIndex", partition);
            Reflection.call(one, "setBrokerIds", brokers);
            all.add(one);
        });
        Object asked = Reflection.create(data + "Topic");
        Reflection.call(asked, "setName", topic);
        Reflection.call(asked, "setNumPartitions", -1);
        Reflection.call(asked, "setReplicationFactor", (short) -1);
        Reflection.call(asked, "setAssignments", all);
        return asked;
    }

    private void add(String topic, int count, ArrayNode errors) {
        Object asked = increase(topic, count);
        Reflection.call(
            manager, "createPartitions", new Response(errors), NO_WAIT, Scala.map(Map.of(topic, asked)),
            Scala.list(List.of(asked)), false, new ListenerName("PLAINTEXT"), quota());
    }

    private static Object increase(String topic, int count) {
        String data = "org.apache.kafka.common.message.CreatePartitionsRequestData$CreatePartitionsTopic";
        String details = "org.apache.kafka.common.requests.CreatePartitionsRequest$PartitionDetails";
        if (Reflection.exists(details)) {
            return Reflection.create(details, count);
        }
        if (!Reflection.exists(data)) {
            return Reflection.callStatic("org.apache.kafka.clients.admin.NewPartitions", "increaseTo", count);
        }
        Object asked = Reflection.create(data);
        Reflection.call(asked, "setName", topic);
        Reflection.call(asked, "setCount", count);
        Reflection.call(asked, "setAssignments", (Object) null);
        return asked;
    }

    /** Takes the errors by topic. It comes first, since Scala's maps are functions, too. */
    private static final class Response extends AbstractFunction1<Object, BoxedUnit> {
        private final ArrayNode errors;

        Response(ArrayNode errors) {
            this.errors = errors;
        }

        @Override
        public BoxedUnit apply(Object byTopic) {
            Scala.forEach((scala.collection.Map<?, ?>) byTopic, (topic, error) -> {
                Object code = Reflection.has(error, "message") && Reflection.has(error, "error")
                    ? Reflection.call(error, "error")
                    : error;
                if (!code.toString().equals(DONE)) {
                    errors.addArray().add(code.toString()).add(String.valueOf(Reflection.call(error, "message")));
                }
            });
            return BoxedUnit.UNIT;
        }
    }

    /** Since 2.7 requests have quotas. */
    private static Object quota() {
        String none = "kafka.server.UnboundedControllerMutationQuota";
        return Reflection.exists(none) ? Reflection.module(none) : Option.empty();
    }

    /** A cache that knows neither brokers nor topics. */
    private static Object emptyCache(int broker) {
        Class<?> cache = Reflection.type("kafka.server.MetadataCache");
        if (!cache.isInterface()) {
            return Reflection.create(cache.getName(), broker);
        }
        return Proxy.newProxyInstance(cache.getClassLoader(), new Class<?>[] {cache}, (proxy, method, arguments) ->
            method.getReturnType() == boolean.class ? Boolean.FALSE
                : method.getReturnType() == Option.class ? Option.empty()
                : Scala.list(List.of()));
    }

    // Tools.

    private void permitUnclean(String topic) {
        Properties configuration = (Properties) Reflection.call(admin, "fetchEntityConfig", client, "topics", topic);
        configuration.put(UNCLEAN, "true");
        Reflection.call(admin, "changeTopicConfig", client, topic, configuration);
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
        Object parsed = Reflection.create("kafka.admin.TopicCommand$TopicCommandOptions", (Object) options);
        Reflection.call(tool, method, client, parsed);
    }

    /** Since 0.11 a throttle is an object. */
    private static Object noThrottle() {
        Object tool = Reflection.module("kafka.admin.ReassignPartitionsCommand");
        return Reflection.has(tool, "NoThrottle") ? Reflection.call(tool, "NoThrottle") : -1L;
    }

    /** A regular expression for the topic alone. */
    private static String literally(JsonNode given) {
        return topic(given).replace(".", "\\.");
    }

    private static String topic(JsonNode given) {
        return Json.field(given, "topic").asText();
    }

    private static String text(JsonNode given, String name) {
        return new String(Json.bytes(Json.field(given, name)), StandardCharsets.UTF_8);
    }
}
