package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
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
import scala.Function1;
import scala.Option;
import scala.collection.Map;
import scala.collection.Seq;
import scala.collection.Set;
import scala.runtime.BoxedUnit;
import scala.util.Either;
import scala.util.Try;

/** The requests that a controller of Kafka 2.4 to 3.9 accepts. */
final class Api {
    private Api() { }

    static void shutDown(
            KafkaController controller, int broker, long epoch, Function1<Try<Set<TopicPartition>>, BoxedUnit> done) {
        controller.controlledShutdown(broker, epoch, done);
    }

    static void rebalance(KafkaController controller) {
        controller.eventManager().put(AutoPreferredReplicaLeaderElection$.MODULE$);
    }

    static void permitUnclean(KafkaController controller, JsonNode topic) {
        controller.eventManager().put(
            topic.isNull()
                ? UncleanLeaderElectionEnable$.MODULE$
                : new TopicUncleanLeaderElectionEnable(topic.asText()));
    }

    // Elections.

    static void elect(
            KafkaController controller,
            scala.collection.immutable.Set<TopicPartition> partitions,
            String type,
            Consumer<JsonNode> answered) {
        controller.electLeaders(partitions, ElectionType.valueOf(type), results -> {
            answered.accept(results(results));
            return BoxedUnit.UNIT;
        });
    }

    private static JsonNode results(Map<TopicPartition, Either<ApiError, Object>> results) {
        ObjectNode answer = Json.object();
        Scala.forEach(results, (partition, result) -> {
            if (result.isLeft()) {
                answer.put(partition.toString(), result.swap().toOption().get().error().name());
            } else {
                answer.put(partition.toString(), (Integer) result.toOption().get());
            }
        });
        return answer;
    }

    // Reassignments.

    static void reassign(KafkaController controller, JsonNode targets, Consumer<JsonNode> answered) {
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
        ObjectNode answer = Json.object();
        Scala.forEach(results.swap().toOption().get(), (partition, error) ->
            answer.put(partition.toString(), error.error().name()));
        return answer;
    }
}
