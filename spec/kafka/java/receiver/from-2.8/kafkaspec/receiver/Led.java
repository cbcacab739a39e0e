package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import kafka.cluster.Partition;
import kafka.log.AppendOrigin;
import kafka.log.ClientRecordDeletion$;
import kafka.server.AlterIsrItem;
import kafka.server.AlterIsrManager;
import kafka.server.FetchPartitionData;
import kafka.server.ReplicaManager;
import kafka.server.ReplicaQuota;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.requests.FetchRequest.PartitionData;
import scala.Option;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** A partition that a broker of Kafka 2.8 leads. */
final class Led {
    private static final int ANY_BYTES = 1 << 20;
    private static final int LEADER_ACKNOWLEDGES = 1;

    private Led() { }

    /** Collects the ISRs that it requests from the controller. */
    static void ask(ReplicaManager broker, Map<String, List<Integer>> asked) {
        Fields.set(broker, "alterIsrManager", new AlterIsrManager() {
            @Override
            public boolean submit(AlterIsrItem item) {
                asked.put(
                    item.topicPartition().toString(),
                    JavaConverters.asJava(item.leaderAndIsr().isr()).stream().map(Integer.class::cast).toList());
                return true;
            }

            @Override
            public void clearPending(TopicPartition partition) { }
        });
    }

    static void append(Partition partition, int count) {
        for (int each = 0; each < count; each++) {
            MemoryRecords records = MemoryRecords.withRecords(CompressionType.NONE, new SimpleRecord(new byte[1]));
            partition.appendRecordsToLeader(records, AppendOrigin.Client$.MODULE$, LEADER_ACKNOWLEDGES);
        }
    }

    static void startAt(Partition partition, long offset) {
        partition.localLogOrException().maybeIncrementLogStartOffset(offset, ClientRecordDeletion$.MODULE$);
    }

    static void fetch(ReplicaManager broker, Partition partition, JsonNode asked, ObjectNode answered) {
        PartitionData wanted = new PartitionData(
            Json.field(asked, "offset").asLong(), 0, ANY_BYTES, Optional.of(partition.getLeaderEpoch()),
            Optional.of(Json.field(asked, "last_fetched_epoch").asInt()));
        boolean limited = false;
        broker.fetchMessages(
            0, Json.field(asked, "follower").asInt(), 0, ANY_BYTES, limited, one(partition.topicPartition(), wanted),
            Stubs.stub(ReplicaQuota.class, "isThrottled", false), new AbstractFunction1<>() {
                @Override
                public BoxedUnit apply(scala.collection.Seq<Tuple2<TopicPartition, FetchPartitionData>> all) {
                    put(all.head()._2(), answered);
                    return BoxedUnit.UNIT;
                }
            },
            IsolationLevel.READ_UNCOMMITTED, Option.empty());
    }

    private static <T> Seq<Tuple2<TopicPartition, T>> one(TopicPartition partition, T of) {
        return JavaConverters.asScala(List.of(Tuple2.apply(partition, of))).toSeq();
    }

    private static void put(FetchPartitionData answer, ObjectNode answered) {
        answered.put("error", answer.error().name()).put("bytes", answer.records().sizeInBytes());
        if (answer.divergingEpoch().isDefined()) {
            answered.putArray("diverging")
                .add(answer.divergingEpoch().get().epoch())
                .add(answer.divergingEpoch().get().endOffset());
        }
    }

    /** The end of each follower's log, as the leader knows it. */
    static void putFollowers(Partition partition, ObjectNode followers) {
        JavaConverters.asJava(partition.remoteReplicas()).forEach(
            replica -> followers.put(String.valueOf(replica.brokerId()), replica.logEndOffset()));
    }
}
