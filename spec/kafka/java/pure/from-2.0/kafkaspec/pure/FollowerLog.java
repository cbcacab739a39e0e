package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BiFunction;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import scala.Option;

/** The parts of a follower's log that a truncation reads: its records' epochs, in the cache of the release. */
final class FollowerLog {
    static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final int NO_OFFSET = -1;

    private final Path file = Files.createTempDirectory("t-0").resolve("leader-epoch-checkpoint");
    private JsonNode records;
    private EpochCache epochs;

    FollowerLog() throws IOException { }

    /** The cache writes its file to disk with each epoch: an unchanged log is not written again. */
    void becomes(JsonNode epochsOfRecords) throws IOException {
        if (!epochsOfRecords.equals(records)) {
            records = epochsOfRecords;
            Files.deleteIfExists(file);
            epochs = new EpochCache(file.toFile(), endOffset());
            for (int offset = 0; offset < records.size(); offset++) {
                epochs.assign(records.get(offset).asInt(), offset);
            }
        }
    }

    EpochCache epochs() {
        return epochs;
    }

    long endOffset() {
        return records.size();
    }

    /** Like Log.endOffsetForEpoch since 2.1, for the OffsetAndEpoch of the release. */
    <T> Option<T> endOffsetForEpoch(int epoch, BiFunction<Long, Integer, T> offsetAndEpoch) {
        ArrayNode end = Json.array();
        epochs.putEnd(end, epoch);
        long offset = end.get(1).asLong();
        return offset == NO_OFFSET
            ? Option.empty()
            : Option.apply(offsetAndEpoch.apply(offset, end.get(0).asInt()));
    }
}
