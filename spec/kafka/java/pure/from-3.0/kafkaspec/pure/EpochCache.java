package kafkaspec.pure;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.File;
import kafka.server.LogDirFailureChannel;
import kafka.server.checkpoints.LeaderEpochCheckpointFile;
import kafka.server.epoch.EpochEntry;
import kafka.server.epoch.LeaderEpochFileCache;
import org.apache.kafka.common.TopicPartition;
import scala.Tuple2;
import scala.collection.Iterator;

/** The cache from 3.0 to 3.4, which receives the end of the log as an argument. */
final class EpochCache {
    private final LeaderEpochFileCache cache;
    private final long logEndOffset;

    EpochCache(File file, long logEndOffset) {
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
        for (Iterator<EpochEntry> each = cache.epochEntries().iterator(); each.hasNext(); ) {
            EpochEntry entry = each.next();
            entries.addArray().add(entry.epoch()).add(entry.startOffset());
        }
    }

    void putEnd(ArrayNode end, int epoch) {
        Tuple2<Object, Object> found = cache.endOffsetFor(epoch, logEndOffset);
        end.add((Integer) found._1()).add((Long) found._2());
    }
}
