package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.zookeeper.data.Stat;
import scala.collection.Set;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import scala.util.Try;

/**
 * Brokers' and administrators' requests to a controller: each becomes an event and is answered.
 * The commands are methods of `ControllerBeside` in spec/kafka/controller_beside.py; `Api` has a release's own part.
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
            case "elect" -> Api.elect(
                controller, Scala.partitions(Json.field(command, "partitions")).toSet(),
                Json.field(command, "type").asText(), answered);
            case "reassign" -> Api.reassign(controller, Json.field(command, "targets"), answered);
            case "rebalance" -> Api.rebalance(controller);
            case "permit_unclean" -> Api.permitUnclean(controller, Json.field(command, "topic"));
            case "alter_partition" -> AlterPartition.ask(controller, ensemble, command, answered);
            default -> throw new Json.Malformed("no command " + what);
        }
    }

    private void shutDown(int broker, String how) {
        Stat registered = ensemble.server().stat(ScriptedCluster.registration(broker));
        long epoch = switch (how) {
            case "unknown" -> UNKNOWN_EPOCH;
            case "old" -> 0;
            default -> registered == null ? UNKNOWN_EPOCH : registered.getCzxid();
        };
        Api.shutDown(controller, broker, epoch, new AbstractFunction1<>() {  // in Scala 2.11 not a lambda
            @Override
            public BoxedUnit apply(Try<Set<TopicPartition>> result) {
                answered.accept(led(result));
                return BoxedUnit.UNIT;
            }
        });
    }

    private static JsonNode led(Try<Set<TopicPartition>> result) {
        ObjectNode answer = Json.object();
        if (result.isFailure()) {
            return answer.put("failed", result.failed().get().getClass().getSimpleName());
        }
        answer.set("leads", Observation.texts(result.get()));
        return answer;
    }
}
