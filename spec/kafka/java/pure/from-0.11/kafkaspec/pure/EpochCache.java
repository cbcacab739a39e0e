package kafkaspec.pure;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.File;
import kafka.server.LogOffsetMetadata;
import kafka.server.checkpoints.LeaderEpochCheckpointFile;
import kafka.server.epoch.EpochEntry;
import kafka.server.epoch.LeaderEpochFileCache;
import org.apache.kafka.common.TopicPartition;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction0;

/** The cache of 0.11: an epoch's end is an offset alone, and a failed directory is not reported. */
final class EpochCache {
    private final LeaderEpochFileCache cache;

    EpochCache(File file, long logEndOffset) {
        AbstractFunction0<LogOffsetMetadata> end = new AbstractFunction0<>() {
            @Override
            public LogOffsetMetadata apply() {
                return new LogOffsetMetadata(logEndOffset, 0, 0);
            }
        };
        cache = new LeaderEpochFileCache(
            new TopicPartition("t", 0), end, new LeaderEpochCheckpointFile(file));
    }

    void assign(int epoch, long startOffset) {
        cache.assign(epoch, startOffset);
    }

    void truncateFromEnd(long endOffset) {
        cache.clearAndFlushLatest(endOffset);
    }

    void truncateFromStart(long startOffset) {
        cache.clearAndFlushEarliest(startOffset);
    }

    void putEntries(ArrayNode entries) {
        for (Iterator<EpochEntry> each = cache.epochEntries().iterator(); each.hasNext(); ) {
            EpochEntry entry = each.next();
            entries.addArray().add(entry.epoch()).add(entry.startOffset());
        }
    }

    void putEnd(ArrayNode end, int epoch) {
        end.add(cache.endOffsetFor(epoch));
    }
}
