package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import kafka.api.LeaderAndIsr;
import kafka.cluster.Partition;
import kafka.server.AlterPartitionManager;
import kafka.server.ReplicaManager;
import kafka.server.ReplicaQuota;
import kafka.server.RequestLocal;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.requests.FetchRequest.PartitionData;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.FetchParams;
import org.apache.kafka.storage.internals.log.FetchPartitionData;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** A partition that a broker of Kafka 3.9 leads. */
final class Led {
    private static final int ANY_BYTES = 1 << 20;
    private static final int LEADER_ACKNOWLEDGES = 1;
    private static final short FETCH_VERSION = 16;
    private static final long NO_EPOCH = -1;

    private Led() { }

    /** Collects the ISRs that it requests from the controller. */
    static void ask(ReplicaManager broker, Map<String, List<Integer>> asked) {
        Fields.set(broker, "alterPartitionManager", new AlterPartitionManager() {
            @Override
            public CompletableFuture<LeaderAndIsr> submit(
                    TopicIdPartition partition, LeaderAndIsr state, int epoch) {
                asked.put(
                    partition.topicPartition().toString(),
                    JavaConverters.asJava(state.isr()).stream().map(Integer.class::cast).toList());
                return new CompletableFuture<>();
            }

            @Override
            public void start() { }

            @Override
            public void shutdown() { }
        });
    }

    static void append(Partition partition, int count) {
        for (int each = 0; each < count; each++) {
            MemoryRecords records = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(new byte[1]));
            partition.appendRecordsToLeader(
                records, AppendOrigin.CLIENT, LEADER_ACKNOWLEDGES, RequestLocal.NoCaching(),
                VerificationGuard.SENTINEL);
        }
    }

    static void startAt(Partition partition, long offset) {
        partition.localLogOrException().maybeIncrementLogStartOffset(
            offset, LogStartOffsetIncrementReason.ClientRecordDeletion);
    }

    static void fetch(ReplicaManager broker, Partition partition, JsonNode asked, ObjectNode answered) {
        PartitionData wanted = new PartitionData(
            Uuid.ZERO_UUID, Json.field(asked, "offset").asLong(), 0, ANY_BYTES,
            Optional.of(partition.getLeaderEpoch()), Optional.of(Json.field(asked, "last_fetched_epoch").asInt()));
        FetchParams parameters = new FetchParams(
            FETCH_VERSION, Json.field(asked, "follower").asInt(), NO_EPOCH, 0, 0, ANY_BYTES, FetchIsolation.LOG_END,
            Optional.empty());
        TopicIdPartition name = new TopicIdPartition(Uuid.ZERO_UUID, partition.topicPartition());
        broker.fetchMessages(
            parameters, one(name, wanted), Stubs.stub(ReplicaQuota.class, "isThrottled", false),
            new AbstractFunction1<>() {
                @Override
                public BoxedUnit apply(scala.collection.Seq<Tuple2<TopicIdPartition, FetchPartitionData>> all) {
                    put(all.head()._2(), answered);
                    return BoxedUnit.UNIT;
                }
            });
    }

    private static <T> Seq<Tuple2<TopicIdPartition, T>> one(TopicIdPartition partition, T of) {
        return JavaConverters.asScala(List.of(Tuple2.apply(partition, of))).toSeq();
    }

    private static void put(FetchPartitionData answer, ObjectNode answered) {
        answered.put("error", answer.error.name()).put("bytes", answer.records.sizeInBytes());
        answer.divergingEpoch.ifPresent(
            diverging -> answered.putArray("diverging").add(diverging.epoch()).add(diverging.endOffset()));
    }

    /** The end of each follower's log, as the leader knows it. */
    static void putFollowers(Partition partition, ObjectNode followers) {
        JavaConverters.asJava(partition.remoteReplicas()).forEach(
            replica -> followers.put(String.valueOf(replica.brokerId()), replica.stateSnapshot().logEndOffset()));
    }
}
