package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import kafkaspec.Json;

/**
 * A LeaderEpochFileCache with its file: the content of both after operations, and the ends of epochs.
 * A case: `file`, the file's content before the cache is made, or null if there is none; `operations`, each a name
 * with its numbers; `log_end_offset`; `asked`, epochs. The answer: entries, ends, the file; or the error that refuses
 * the file.
 */
final class LeaderEpochCaches implements Call {
    private final Path file;

    LeaderEpochCaches() throws IOException {
        file = Files.createTempDirectory("t-0").resolve("leader-epoch-checkpoint");
    }

    @Override
    public JsonNode answer(JsonNode given) throws Exception {
        Files.deleteIfExists(file);
        JsonNode before = Json.field(given, "file");
        if (!before.isNull()) {
            Files.writeString(file, before.asText());
        }
        EpochCache cache;
        try {
            cache = new EpochCache(file.toFile(), Json.field(given, "log_end_offset").asLong());
        } catch (Exception refused) {
            return Json.object().put("error", refused.getClass().getSimpleName());
        }
        for (JsonNode operation : Json.field(given, "operations")) {
            perform(cache, operation);
        }
        ObjectNode answer = Json.object();
        cache.putEntries(answer.putArray("entries"));
        ArrayNode ends = answer.putArray("ends");
        Json.field(given, "asked").forEach(epoch -> cache.putEnd(ends.addArray(), epoch.asInt()));
        return answer.put("file", Files.exists(file) ? Files.readString(file, StandardCharsets.UTF_8) : null);
    }

    private static void perform(EpochCache cache, JsonNode operation) {
        String name = operation.get(0).asText();
        switch (name) {
            case "assign" -> cache.assign(operation.get(1).asInt(), operation.get(2).asLong());
            case "truncate_from_end" -> cache.truncateFromEnd(operation.get(1).asLong());
            case "truncate_from_start" -> cache.truncateFromStart(operation.get(1).asLong());
            default -> throw new Json.Malformed("no operation " + name);
        }
    }
}
