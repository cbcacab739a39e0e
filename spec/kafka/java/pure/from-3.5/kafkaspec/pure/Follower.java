package kafkaspec.pure;

import java.lang.reflect.Proxy;
import kafka.cluster.BrokerEndPoint;
import kafka.server.AbstractFetcherThread;
import kafka.server.BrokerTopicStats;
import kafka.server.FailedPartitions;
import kafka.server.LeaderEndPoint;
import kafka.server.OffsetTruncationState;
import kafka.server.PartitionFetchState;
import kafka.server.Truncating$;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import scala.Option;

/** A fetcher of 3.5 that never runs; its leader is a separate object. */
final class Follower extends AbstractFetcherThread {
    private final FollowerLog log;

    Follower(FollowerLog log) {
        super(
            "follower", "follower", anyLeader(), new FailedPartitions(), null, 0, false, new BrokerTopicStats());
        this.log = log;
    }

    private static LeaderEndPoint anyLeader() {
        return (LeaderEndPoint) Proxy.newProxyInstance(
            LeaderEndPoint.class.getClassLoader(), new Class<?>[] {LeaderEndPoint.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "brokerEndPoint" -> new BrokerEndPoint(1, "localhost", 9092);
                case "isTruncationOnFetchSupported" -> false;
                default -> throw new UnsupportedOperationException(method.getName());
            });
    }

    PartitionFetchState standingAt(long fetchOffset) {
        return PartitionFetchState.apply(
            Option.empty(), fetchOffset, Option.empty(), 0, Truncating$.MODULE$, Option.empty());
    }

    /** The leader's answer, in the form that getOffsetTruncationState takes. */
    Object[] leaderAnswer(int epoch, long endOffset) {
        return new Object[] {
            FollowerLog.PARTITION,
            new EpochEndOffset()
                .setPartition(FollowerLog.PARTITION.partition())
                .setLeaderEpoch(epoch)
                .setEndOffset(endOffset),
        };
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
    public long logStartOffset(TopicPartition partition) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Option<Object> latestEpoch(TopicPartition partition) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Option<LogAppendInfo> processPartitionData(
            TopicPartition partition, long fetchOffset, PartitionData data) {
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
}
