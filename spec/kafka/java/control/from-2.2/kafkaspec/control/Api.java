package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.ApiError;
import scala.Function1;
import scala.collection.Map;
import scala.collection.Set;
import scala.runtime.BoxedUnit;
import scala.util.Try;

/** The requests that a controller of Kafka 2.2 accepts. Reassignments exist only as a node. */
final class Api {
    private Api() { }

    static void shutDown(
            KafkaController controller, int broker, long epoch, Function1<Try<Set<TopicPartition>>, BoxedUnit> done) {
        controller.controlledShutdown(broker, epoch, done);
    }

    static void rebalance(KafkaController controller) {
        controller.eventManager().put(controller.AutoPreferredReplicaLeaderElection());
    }

    static void permitUnclean(KafkaController controller, JsonNode topic) {
        controller.eventManager().put(
            topic.isNull()
                ? controller.UncleanLeaderElectionEnable()
                : controller.new TopicUncleanLeaderElectionEnable(topic.asText()));
    }

    /** Only preferred replicas can be elected by request. */
    static void elect(
            KafkaController controller,
            scala.collection.immutable.Set<TopicPartition> partitions,
            String type,
            Consumer<JsonNode> answered) {
        if (!type.equals("PREFERRED")) {
            throw new Json.Malformed("no election " + type);
        }
        controller.electPreferredLeaders(partitions, (elected, others) -> {
            answered.accept(results(elected, others));
            return BoxedUnit.UNIT;
        });
    }

    private static JsonNode results(Map<TopicPartition, Object> elected, Map<TopicPartition, ApiError> others) {
        ObjectNode results = Json.object();
        Scala.forEach(elected, (partition, leader) -> results.put(partition.toString(), (Integer) leader));
        Scala.forEach(others, (partition, error) -> results.put(partition.toString(), error.error().name()));
        return results;
    }

    static void reassign(KafkaController controller, JsonNode targets, Consumer<JsonNode> answered) {
        throw new Json.Malformed("no reassignment by request " + targets);
    }
}
