package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Optional;
import kafka.cluster.BrokerEndPoint;
import kafka.server.AbstractFetcherThread.ReplicaFetch;
import kafka.server.AbstractFetcherThread.ResultWithPartitions;
import kafka.server.LeaderEndPoint;
import kafka.server.PartitionFetchState;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.server.ReplicaQuota;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData.EpochEndOffset;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.Map;
import scala.collection.immutable.Set$;

/** Kafka's fetchers of 3.9, which run on request and receive prescribed answers. */
final class AnsweredFetchers extends ReplicaFetcherManager {
    private final ReplicaManager manager;
    private JsonNode answer;
    private Runnable meanwhile;

    AnsweredFetchers(ReplicaManager manager) {
        super(
            manager.config(), manager, new Metrics(), Time.SYSTEM, Option.empty(), null,
            MetadataVersion::latestTesting, () -> -1L);
        this.manager = manager;
    }

    /** Fetches every partition followed in a leader; `meanwhile` runs before the answer arrives. */
    void fetch(JsonNode answered, Runnable happening) {
        answer = answered;
        meanwhile = happening;
        int leader = Json.field(answered, "leader").asInt();
        JavaConverters.asJavaIterable(fetcherThreadMap().values()).forEach(thread -> {
            if (thread.leader().brokerEndPoint().id() == leader) {
                thread.doWork();
            }
        });
    }

    @Override
    public ReplicaFetcherThread createFetcherThread(int number, BrokerEndPoint source) {
        java.util.Map<TopicPartition, FetchRequest.PartitionData> asked = new HashMap<>();
        LeaderEndPoint leader = (LeaderEndPoint) Proxy.newProxyInstance(
            LeaderEndPoint.class.getClassLoader(), new Class<?>[] {LeaderEndPoint.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "brokerEndPoint" -> source;
                case "isTruncationOnFetchSupported" -> true;
                case "buildFetch" -> ask((Map<TopicPartition, PartitionFetchState>) arguments[0], asked);
                case "fetch" -> {
                    meanwhile.run();
                    yield response(asked);
                }
                case "initiateClose", "close" -> null;
                default -> throw new UnsupportedOperationException(method.getName());
            });
        return new ReplicaFetcherThread(
                "fetcher", leader, manager.config(), failedPartitions(), manager,
                Stubs.stub(ReplicaQuota.class, "isThrottled", false), "", MetadataVersion::latestTesting) {
            @Override
            public synchronized void start() { }
        };
    }

    private static ResultWithPartitions<Option<ReplicaFetch>> ask(
            Map<TopicPartition, PartitionFetchState> states,
            java.util.Map<TopicPartition, FetchRequest.PartitionData> asked) {
        asked.clear();
        JavaConverters.asJava(states).forEach((partition, state) -> asked.put(
            partition,
            new FetchRequest.PartitionData(
                Uuid.ZERO_UUID, state.fetchOffset(), 0, 1, Optional.of(state.currentLeaderEpoch()))));
        return new ResultWithPartitions<>(Option.apply(new ReplicaFetch(asked, null)), Set$.MODULE$.empty());
    }

    private Map<TopicPartition, PartitionData> response(
            java.util.Map<TopicPartition, FetchRequest.PartitionData> asked) {
        JsonNode diverging = Json.field(answer, "diverging");
        java.util.Map<TopicPartition, PartitionData> partitions = new HashMap<>();
        for (TopicPartition each : asked.keySet()) {
            PartitionData data = new PartitionData().setHighWatermark(0).setRecords(MemoryRecords.EMPTY);
            if (each.partition() == Json.field(answer, "partition").asInt()) {
                data.setLogStartOffset(Json.field(answer, "log_start").asLong());
                data.setDivergingEpoch(new EpochEndOffset()
                    .setEpoch(diverging.get(0).asInt()).setEndOffset(diverging.get(1).asLong()));
            }
            partitions.put(each, data);
        }
        return JavaConverters.asScala(partitions);
    }
}
