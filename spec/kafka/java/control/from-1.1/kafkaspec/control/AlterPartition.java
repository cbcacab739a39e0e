package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.function.Consumer;
import kafka.controller.KafkaController;

/** Until Kafka 2.6 leaders write their ISRs themselves, without a controller. */
final class AlterPartition {
    private AlterPartition() { }

    static void ask(KafkaController controller, Ensemble ensemble, JsonNode command, Consumer<JsonNode> answered) { }
}
