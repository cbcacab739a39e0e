package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.function.Consumer;
import kafka.controller.AutoPreferredReplicaLeaderElection$;
import kafka.controller.KafkaController;
import kafka.controller.TopicUncleanLeaderElectionEnable;
import kafka.controller.UncleanLeaderElectionEnable$;
import kafkaspec.Json;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.ApiError;
import org.apache.zookeeper.data.Stat;
import scala.Option;
import scala.collection.Map;
import scala.collection.Set;
import scala.collection.Seq;
import scala.runtime.BoxedUnit;
import scala.util.Either;
import scala.util.Try;

/**
 * What brokers and administrators ask of a controller by requests: each is an event, and is answered.
 * The commands are methods of `EventPlane` in spec/kafka/event_plane.py.
 */
final class Asking {
    private static final long UNKNOWN_EPOCH = -1;

    private final KafkaController controller;
    private final Ensemble ensemble;
    private final Consumer<JsonNode> answered;

    Asking(KafkaController controller, Ensemble ensemble, Consumer<JsonNode> answered) {
        this.controller = controller;
        this.ensemble = ensemble;
        this.answered = answered;
    }

    void perform(String what, JsonNode command) {
        switch (what) {
            case "shut_down" ->
                shutDown(Json.field(command, "broker").asInt(), Json.field(command, "epoch").asText());
            case "elect" -> elect(Json.field(command, "partitions"), Json.field(command, "type").asText());
            case "reassign" -> reassign(Json.field(command, "targets"));
            case "rebalance" -> controller.eventManager().put(AutoPreferredReplicaLeaderElection$.MODULE$);
            case "permit_unclean" -> permitUnclean(Json.field(command, "topic"));
            case "alter_partition" -> AlterPartition.ask(controller, ensemble, command, answered);
            default -> throw new Json.Malformed("no command " + what);
        }
    }

    private void shutDown(int broker, String how) {
        Stat registered = ensemble.server().stat(World.registration(broker));
        long epoch = switch (how) {
            case "unknown" -> UNKNOWN_EPOCH;
            case "old" -> 0;
            default -> registered == null ? UNKNOWN_EPOCH : registered.getCzxid();
        };
        controller.controlledShutdown(broker, epoch, result -> {
            answered.accept(led(result));
            return BoxedUnit.UNIT;
        });
    }

    private static JsonNode led(Try<Set<TopicPartition>> result) {
        ObjectNode told = Json.object();
        if (result.isFailure()) {
            return told.put("failed", result.failed().get().getClass().getSimpleName());
        }
        told.set("leads", Observation.texts(result.get()));
        return told;
    }

    private void elect(JsonNode partitions, String type) {
        controller.electLeaders(
            Scala.partitions(partitions).toSet(),
            ElectionType.valueOf(type),
            results -> {
                answered.accept(results(results));
                return BoxedUnit.UNIT;
            });
    }

    private static JsonNode results(Map<TopicPartition, Either<ApiError, Object>> results) {
        ObjectNode told = Json.object();
        Scala.forEach(results, (partition, result) -> {
            if (result.isLeft()) {
                told.put(partition.toString(), result.swap().toOption().get().error().name());
            } else {
                told.put(partition.toString(), (Integer) result.toOption().get());
            }
        });
        return told;
    }

    private void reassign(JsonNode targets) {
        java.util.Map<TopicPartition, Option<Seq<Object>>> asked = new LinkedHashMap<>();
        targets.fields().forEachRemaining(each -> asked.put(
            Scala.partition(each.getKey()),
            each.getValue().isNull() ? Option.empty() : Option.apply(Scala.ids(each.getValue()))));
        controller.alterPartitionReassignments(Scala.map(asked), results -> {
            answered.accept(results.isLeft() ? reassigned(results) : Json.object());
            return BoxedUnit.UNIT;
        });
    }

    private static JsonNode reassigned(Either<Map<TopicPartition, ApiError>, ApiError> results) {
        ObjectNode told = Json.object();
        Scala.forEach(results.swap().toOption().get(), (partition, error) ->
            told.put(partition.toString(), error.error().name()));
        return told;
    }

    private void permitUnclean(JsonNode topic) {
        controller.eventManager().put(
            topic.isNull()
                ? UncleanLeaderElectionEnable$.MODULE$
                : new TopicUncleanLeaderElectionEnable(topic.asText()));
    }
}
