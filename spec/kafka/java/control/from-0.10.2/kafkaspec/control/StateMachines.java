package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import kafkaspec.Json;
import kafkaspec.pure.Call;

/**
 * A controller's two state machines, which carry out commands one after another, from an empty cluster.
 * A case is a list of commands, each `{"do": ...}` with its arguments (`StateMachineRunner`). The answer has the
 * observation after each (`Observation`).
 */
public final class StateMachines implements Call {
    @Override
    public JsonNode answer(JsonNode given) {
        ArrayNode seen = Json.array();
        try (StateMachineRunner runner = new StateMachineRunner()) {
            given.forEach(command -> seen.add(runner.perform(command)));
        }
        return seen;
    }
}
