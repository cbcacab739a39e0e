package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import kafka.admin.RackAwareMode;
import kafka.cluster.Broker;
import kafka.cluster.EndPoint;
import kafkaspec.Json;
import scala.Option;
import scala.collection.Seq;

/**
 * The placement of partitions on brokers: `AdminUtils.assignReplicasToBrokers`, and `addPartitions` to a topic.
 * A case: `brokers`, each an id with a rack or null; the rack-aware `mode`, or null for the brokers as they are; the
 * number of `partitions`. These are added to a topic that has the `existing` ones. A new topic has a
 * `replication_factor`, a `start_index` and a `start_partition`, and a `seed` for random numbers if the index is -1.
 * The answer: the `assignment` of each partition, and for a new topic the `start_index` and `shift` that the seed
 * gives; or the exception by which it is `refused`.
 */
final class ReplicaPlacements implements Call {
    @Override
    public JsonNode answer(JsonNode given) {
        Seq<Broker> brokers = brokers(Json.field(given, "brokers"));
        RackAwareMode mode = mode(Json.field(given, "mode"));
        int partitions = Json.field(given, "partitions").asInt();
        try {
            return given.has("existing")
                ? answer(new Administrator(brokers).addPartitions(existing(given.get("existing")), partitions, mode))
                : placed(brokers, mode, partitions, given);
        } catch (Json.Malformed malformed) {
            throw malformed;
        } catch (RuntimeException refused) {
            return Json.object().put("refused", refused.getClass().getSimpleName());
        }
    }

    private static ObjectNode placed(Seq<Broker> brokers, RackAwareMode mode, int partitions, JsonNode given) {
        long seed = Json.field(given, "seed").asLong();
        Placing.chance().setSeed(seed);
        ObjectNode answer = answer(Placing.assign(
            mode == null ? Placing.metadata(brokers) : new Administrator(brokers).brokers(mode),
            partitions,
            Json.field(given, "replication_factor").asInt(),
            Json.field(given, "start_index").asInt(),
            Json.field(given, "start_partition").asInt()));
        Random drawn = new Random(seed);
        return answer.put("start_index", drawn.nextInt(brokers.size())).put("shift", drawn.nextInt(brokers.size()));
    }

    private static Seq<Broker> brokers(JsonNode given) {
        List<Broker> brokers = new ArrayList<>();
        for (JsonNode each : given) {
            Option<String> rack = Option.apply(each.get(1).isNull() ? null : each.get(1).asText());
            brokers.add(Broker.apply(each.get(0).asInt(), Scala.<EndPoint>list(List.of()), rack));
        }
        return Scala.list(brokers);
    }

    private static RackAwareMode mode(JsonNode name) {
        return name.isNull() ? null : switch (name.asText()) {
            case "disabled" -> RackAwareMode.Disabled$.MODULE$;
            case "enforced" -> RackAwareMode.Enforced$.MODULE$;
            case "safe" -> RackAwareMode.Safe$.MODULE$;
            default -> throw new Json.Malformed("no mode " + name);
        };
    }

    private static List<Seq<Object>> existing(JsonNode given) {
        List<Seq<Object>> existing = new ArrayList<>();
        for (JsonNode replicas : given) {
            List<Object> ids = new ArrayList<>();
            replicas.forEach(id -> ids.add(id.asInt()));
            existing.add(Scala.list(ids));
        }
        return existing;
    }

    private static ObjectNode answer(Map<?, ? extends List<?>> placed) {
        ObjectNode answer = Json.object();
        ArrayNode assignment = answer.putArray("assignment");
        placed.forEach((partition, replicas) -> {
            ArrayNode ids = assignment.addArray().add((Integer) partition).addArray();
            replicas.forEach(id -> ids.add((Integer) id));
        });
        return answer;
    }
}
