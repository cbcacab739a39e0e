package kafkaspec.pure;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.File;
import java.io.IOException;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/** The cache from 3.5 to 3.8, in Java. */
final class EpochCache {
    private final LeaderEpochFileCache cache;
    private final long logEndOffset;

    EpochCache(File file, long logEndOffset) throws IOException {
        this.logEndOffset = logEndOffset;
        cache = new LeaderEpochFileCache(
            new TopicPartition("t", 0), new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1)));
    }

    void assign(int epoch, long startOffset) {
        cache.assign(epoch, startOffset);
    }

    void truncateFromEnd(long endOffset) {
        cache.truncateFromEnd(endOffset);
    }

    void truncateFromStart(long startOffset) {
        cache.truncateFromStart(startOffset);
    }

    void putEntries(ArrayNode entries) {
        cache.epochEntries().forEach(entry -> entries.addArray().add(entry.epoch).add(entry.startOffset));
    }

    void putEnd(ArrayNode end, int epoch) {
        Map.Entry<Integer, Long> found = cache.endOffsetFor(epoch, logEndOffset);
        end.add(found.getKey()).add(found.getValue());
    }
}
