package kafkaspec.pure;

import kafka.cluster.BrokerEndPoint;
import kafka.log.LogAppendInfo;
import kafka.server.AbstractFetcherThread;
import kafka.server.FailedPartitions;
import kafka.server.OffsetAndEpoch;
import kafka.server.OffsetTruncationState;
import kafka.server.PartitionFetchState;
import kafka.server.Truncating$;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.requests.EpochEndOffset;
import org.apache.kafka.common.requests.FetchRequest.Builder;
import org.apache.kafka.common.requests.FetchResponse.PartitionData;
import org.apache.kafka.common.requests.OffsetsForLeaderEpochRequest;
import scala.Option;
import scala.Tuple2;
import scala.collection.Map;
import scala.collection.Seq;

/** A fetcher of 2.4 that never runs. */
final class Follower extends AbstractFetcherThread {
    private static final BrokerEndPoint LEADER = new BrokerEndPoint(1, "localhost", 9092);

    private final FollowerLog log;

    Follower(FollowerLog log) {
        super("follower", "follower", LEADER, new FailedPartitions(), 0, false);
        this.log = log;
    }

    PartitionFetchState standingAt(long fetchOffset) {
        return PartitionFetchState.apply(fetchOffset, 0, Truncating$.MODULE$);
    }

    /** The leader's answer, in the form that getOffsetTruncationState takes. */
    Object[] leaderAnswer(int epoch, long endOffset) {
        return new Object[] {FollowerLog.PARTITION, new EpochEndOffset(epoch, endOffset)};
    }

    @Override
    public Option<OffsetAndEpoch> endOffsetForEpoch(TopicPartition partition, int epoch) {
        return log.endOffsetForEpoch(epoch, OffsetAndEpoch::new);
    }

    @Override
    public long logEndOffset(TopicPartition partition) {
        return log.endOffset();
    }

    @Override
    public boolean isOffsetForLeaderEpochSupported() {
        return true;
    }

    @Override
    public Option<Object> latestEpoch(TopicPartition partition) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Option<LogAppendInfo> processPartitionData(
            TopicPartition partition, long fetchOffset, PartitionData<Records> data) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void truncate(TopicPartition partition, OffsetTruncationState state) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void truncateFullyAndStartAt(TopicPartition partition, long offset) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ResultWithPartitions<Option<Builder>> buildFetch(Map<TopicPartition, PartitionFetchState> partitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Map<TopicPartition, EpochEndOffset> fetchEpochEndOffsets(
            Map<TopicPartition, OffsetsForLeaderEpochRequest.PartitionData> partitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Seq<Tuple2<TopicPartition, PartitionData<Records>>> fetchFromLeader(Builder request) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long fetchEarliestOffsetFromLeader(TopicPartition partition, int epoch) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long fetchLatestOffsetFromLeader(TopicPartition partition, int epoch) {
        throw new UnsupportedOperationException();
    }
}
