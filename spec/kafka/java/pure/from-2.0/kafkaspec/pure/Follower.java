package kafkaspec.pure;

import kafka.cluster.BrokerEndPoint;
import kafka.cluster.Replica;
import kafka.server.AbstractFetcherThread;
import kafka.server.LogOffsetMetadata;
import kafka.server.OffsetTruncationState;
import kafka.server.PartitionFetchState;
import kafka.server.epoch.LeaderEpochFileCache;
import kafka.utils.DelayedItem;
import kafkaspec.Fields;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.EpochEndOffset;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterable;
import scala.collection.Map;
import scala.collection.Seq;

/** A fetcher of 2.0 that never runs; it receives the replica whose log it reads. */
final class Follower extends AbstractFetcherThread {
    private static final BrokerEndPoint LEADER = new BrokerEndPoint(1, "localhost", 9092);
    private static final boolean TRUNCATING = true;
    private static final boolean IS_FUTURE_REPLICA = false;

    private final Replica replica;

    Follower(FollowerLog log) {
        super("follower", "follower", LEADER, 0, false, TRUNCATING);
        replica = new Replica(0, FollowerLog.PARTITION, Time.SYSTEM, 0, Option.empty()) {
            @Override
            public Option<LeaderEpochFileCache> epochs() {
                return Option.apply((LeaderEpochFileCache) Fields.get(log.epochs(), "cache"));
            }

            @Override
            public LogOffsetMetadata logEndOffset() {
                return new LogOffsetMetadata(log.endOffset(), 0, 0);
            }
        };
    }

    PartitionFetchState standingAt(long fetchOffset) {
        return PartitionFetchState.apply(fetchOffset, new DelayedItem(0), TRUNCATING);
    }

    /** The leader's answer, in the form that getOffsetTruncationState takes. */
    Object[] leaderAnswer(int epoch, long endOffset) {
        return new Object[] {
            FollowerLog.PARTITION, new EpochEndOffset(epoch, endOffset), replica, IS_FUTURE_REPLICA,
        };
    }

    @Override
    public void processPartitionData(TopicPartition partition, long fetchOffset, PartitionData data) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long handleOffsetOutOfRange(TopicPartition partition) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void handlePartitionsWithErrors(Iterable<TopicPartition> partitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ResultWithPartitions<Map<TopicPartition, Object>> buildLeaderEpochRequest(
            Seq<Tuple2<TopicPartition, PartitionFetchState>> partitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Map<TopicPartition, EpochEndOffset> fetchEpochsFromLeader(Map<TopicPartition, Object> partitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ResultWithPartitions<Map<TopicPartition, OffsetTruncationState>> maybeTruncate(
            Map<TopicPartition, EpochEndOffset> epochs) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ResultWithPartitions<FetchRequest> buildFetchRequest(
            Seq<Tuple2<TopicPartition, PartitionFetchState>> partitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Seq<Tuple2<TopicPartition, PartitionData>> fetch(FetchRequest request) {
        throw new UnsupportedOperationException();
    }
}
