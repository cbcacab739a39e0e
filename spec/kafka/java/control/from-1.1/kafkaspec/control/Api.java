package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import scala.Function1;
import scala.collection.Set;
import scala.runtime.BoxedUnit;
import scala.util.Try;

/** The requests that a controller of Kafka 1.1 accepts; all others exist only as nodes. */
final class Api {
    private Api() { }

    static void shutDown(
            KafkaController controller, int broker, long epoch, Function1<Try<Set<TopicPartition>>, BoxedUnit> done) {
        controller.controlledShutdown(broker, done);
    }

    static void rebalance(KafkaController controller) {
        controller.eventManager().put(controller.AutoPreferredReplicaLeaderElection());
    }

    static void permitUnclean(KafkaController controller, JsonNode topic) {
        throw new Json.Malformed("no event for a configuration");
    }

    static void elect(
            KafkaController controller,
            scala.collection.immutable.Set<TopicPartition> partitions,
            String type,
            Consumer<JsonNode> answered) {
        throw new Json.Malformed("no election by request " + partitions);
    }

    static void reassign(KafkaController controller, JsonNode targets, Consumer<JsonNode> answered) {
        throw new Json.Malformed("no reassignment by request " + targets);
    }
}
