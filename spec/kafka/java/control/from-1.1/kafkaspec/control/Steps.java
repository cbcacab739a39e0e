package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import kafkaspec.pure.Call;

/**
 * What a whole controller does batch by batch, from an empty cluster.
 * A case is a list of what happens (`PathRunner`). Its answer has what is to be seen at each `look`.
 */
public final class Steps implements Call {
    @Override
    public JsonNode answer(JsonNode given) {
        try (PathRunner runner = new PathRunner()) {
            return runner.perform(given);
        }
    }
}
