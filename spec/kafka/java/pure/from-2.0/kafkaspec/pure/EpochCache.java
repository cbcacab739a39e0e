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
import scala.runtime.AbstractFunction0;

/** The cache from 2.0.1 to 2.8: the end of an epoch comes with an epoch. */
final class EpochCache {
    private final LeaderEpochFileCache cache;

    EpochCache(File file, long logEndOffset) {
        AbstractFunction0<Object> end = new AbstractFunction0<>() {
            @Override
            public Object apply() {
                return logEndOffset;
            }
        };
        cache = new LeaderEpochFileCache(
            new TopicPartition("t", 0), end, new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1)));
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
        Tuple2<Object, Object> found = cache.endOffsetFor(epoch);
        end.add((Integer) found._1()).add((Long) found._2());
    }
}
