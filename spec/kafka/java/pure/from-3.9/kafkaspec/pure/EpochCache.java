package kafkaspec.pure;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.File;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/** The cache of 3.9, which leaves the writing of a truncation to a scheduler. */
final class EpochCache {
    private static final Scheduler AT_ONCE = new Scheduler() {
        @Override
        public void startup() { }

        @Override
        public void shutdown() { }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            task.run();
            return null;
        }

        @Override
        public void resizeThreadPool(int newSize) { }
    };

    private final LeaderEpochFileCache cache;
    private final long logEndOffset;

    EpochCache(File file, long logEndOffset) throws IOException {
        this.logEndOffset = logEndOffset;
        cache = new LeaderEpochFileCache(
            new TopicPartition("t", 0), new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1)), AT_ONCE);
    }

    void assign(int epoch, long startOffset) {
        cache.assign(epoch, startOffset);
    }

    void truncateFromEnd(long endOffset) {
        cache.truncateFromEndAsyncFlush(endOffset);
    }

    void truncateFromStart(long startOffset) {
        cache.truncateFromStartAsyncFlush(startOffset);
    }

    void putEntries(ArrayNode entries) {
        cache.epochEntries().forEach(entry -> entries.addArray().add(entry.epoch).add(entry.startOffset));
    }

    void putEnd(ArrayNode end, int epoch) {
        Map.Entry<Integer, Long> found = cache.endOffsetFor(epoch, logEndOffset);
        end.add(found.getKey()).add(found.getValue());
    }
}
