package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import kafka.cluster.BrokerEndPoint;
import kafka.server.AbstractFetcherThread;
import kafka.server.BrokerTopicStats;
import kafka.server.FailedPartitions;
import kafka.server.LeaderEndPoint;
import kafka.server.OffsetTruncationState;
import kafka.server.PartitionFetchState;
import kafka.server.Truncating$;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.internals.PartitionStates;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import scala.Option;

/**
 * To where a follower truncates when its leader has answered: `AbstractFetcherThread.getOffsetTruncationState`.
 * A case: the follower's `log`, which is the epochs of its records, and the `fetch_offset` that it stands at; the
 * leader's answer, `epoch` and `end_offset`. Its answer: offset, and whether the truncation is then done.
 */
final class Truncations implements Call {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final int NO_OFFSET = -1;

    private final Method getOffsetTruncationState;
    private final Follower follower = new Follower();

    Truncations() throws ReflectiveOperationException, IOException {
        getOffsetTruncationState = AbstractFetcherThread.class.getDeclaredMethod(
            "getOffsetTruncationState", TopicPartition.class, EpochEndOffset.class);
        getOffsetTruncationState.setAccessible(true);
    }

    @Override
    public JsonNode answer(JsonNode given) throws Exception {
        follower.becomes(Json.field(given, "log"), Json.field(given, "fetch_offset").asLong());
        EpochEndOffset told = new EpochEndOffset()
            .setPartition(PARTITION.partition())
            .setLeaderEpoch(Json.field(given, "epoch").asInt())
            .setEndOffset(Json.field(given, "end_offset").asLong());
        OffsetTruncationState state =
            (OffsetTruncationState) getOffsetTruncationState.invoke(follower, PARTITION, told);
        return Json.object().put("offset", state.offset()).put("done", state.truncationCompleted());
    }

    /** A fetcher that never runs; its one log is the epochs of its records. */
    private static final class Follower extends AbstractFetcherThread {
        private final Path file = Files.createTempDirectory("t-0").resolve("leader-epoch-checkpoint");
        private JsonNode lastLog;
        private EpochCache epochs;
        private long logEndOffset;

        Follower() throws IOException {
            super(
                "follower", "follower", anyLeader(), new FailedPartitions(), null, 0, false,
                new BrokerTopicStats(false));
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

        @SuppressWarnings("unchecked")
        void becomes(JsonNode log, long fetchOffset) throws IOException {
            if (!log.equals(lastLog)) {  // its file is written anew with each epoch, to the disk
                write(log);
                lastLog = log;
            }
            PartitionFetchState state = PartitionFetchState.apply(
                Option.empty(), fetchOffset, Option.empty(), 0, Truncating$.MODULE$, Option.empty());
            ((PartitionStates<PartitionFetchState>) Fields.get(this, "partitionStates")).update(PARTITION, state);
        }

        private void write(JsonNode log) throws IOException {
            Files.deleteIfExists(file);
            logEndOffset = log.size();
            epochs = new EpochCache(file.toFile(), logEndOffset);
            for (int offset = 0; offset < log.size(); offset++) {
                epochs.assign(log.get(offset).asInt(), offset);
            }
        }

        /** As UnifiedLog.endOffsetForEpoch has it. */
        @Override
        public Option<OffsetAndEpoch> endOffsetForEpoch(TopicPartition partition, int epoch) {
            ArrayNode end = Json.array();
            epochs.putEnd(end, epoch);
            long offset = end.get(1).asLong();
            return offset == NO_OFFSET
                ? Option.empty()
                : Option.apply(new OffsetAndEpoch(offset, end.get(0).asInt()));
        }

        @Override
        public long logEndOffset(TopicPartition partition) {
            return logEndOffset;
        }

        @Override
        public long logStartOffset(TopicPartition partition) {
            return 0;
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
                TopicPartition partition, long fetchOffset, int leaderEpoch, PartitionData data) {
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
}
