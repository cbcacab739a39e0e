package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import kafkaspec.pure.Call;

/**
 * A whole controller run batch by batch, from an empty cluster.
 * A case is a list of commands (`PathRunner`). The answer has the observation at each `look`.
 */
public final class Steps implements Call {
    @Override
    public JsonNode answer(JsonNode given) {
        try (PathRunner runner = new PathRunner()) {
            return runner.perform(given);
        }
    }
}
