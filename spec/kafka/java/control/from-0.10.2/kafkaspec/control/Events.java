package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import kafkaspec.Json;
import kafkaspec.pure.Call;

/**
 * A whole controller that processes events one after another, from an empty cluster.
 * A case is a list of commands, each `{"do": ...}` with its arguments (`ControllerRunner`), and with `handle`: how
 * many events to process then. The answer has the observation after each (`Observation`).
 */
public final class Events implements Call {
    @Override
    public JsonNode answer(JsonNode given) {
        ArrayNode seen = Json.array();
        try (ControllerRunner runner = new ControllerRunner()) {
            given.forEach(command -> seen.add(runner.perform(command)));
        }
        return seen;
    }
}
