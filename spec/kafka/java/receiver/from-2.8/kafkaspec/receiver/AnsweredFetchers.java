package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import kafka.cluster.BrokerEndPoint;
import kafka.server.BlockingSend;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.server.ReplicaQuota;
import kafkaspec.Json;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData.EpochEndOffset;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.requests.FetchResponse.PartitionData;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.JavaConverters;

/** Kafka's fetchers of 2.8, which run on request and receive prescribed answers. */
final class AnsweredFetchers extends ReplicaFetcherManager {
    private final ReplicaManager manager;
    private JsonNode answer;
    private Runnable meanwhile;

    AnsweredFetchers(ReplicaManager manager) {
        super(manager.config(), manager, new Metrics(), Time.SYSTEM, Option.empty(), null);
        this.manager = manager;
    }

    /** Fetches every partition followed in a leader; `meanwhile` runs before the answer arrives. */
    void fetch(JsonNode answered, Runnable happening) {
        answer = answered;
        meanwhile = happening;
        int leader = Json.field(answered, "leader").asInt();
        JavaConverters.asJavaIterable(fetcherThreadMap().values()).forEach(thread -> {
            if (thread.sourceBroker().id() == leader) {
                thread.doWork();
            }
        });
    }

    @Override
    public ReplicaFetcherThread createFetcherThread(int number, BrokerEndPoint source) {
        BlockingSend leader = new BlockingSend() {
            @Override
            public ClientResponse sendRequest(AbstractRequest.Builder<?> request) {
                meanwhile.run();
                FetchRequest.Builder fetch = (FetchRequest.Builder) request;
                return new ClientResponse(
                    null, null, "", 0, 0, false, null, null, response(fetch.fetchData().keySet()));
            }

            @Override
            public void initiateClose() { }

            @Override
            public void close() { }
        };
        return new ReplicaFetcherThread(
                "fetcher", number, source, manager.config(), failedPartitions(), manager, new Metrics(), Time.SYSTEM,
                Stubs.stub(ReplicaQuota.class, "isThrottled", false), Option.apply(leader)) {
            @Override
            public synchronized void start() { }
        };
    }

    private FetchResponse<MemoryRecords> response(Set<TopicPartition> asked) {
        JsonNode diverging = Json.field(answer, "diverging");
        int highWatermark = 0;
        LinkedHashMap<TopicPartition, PartitionData<MemoryRecords>> partitions = new LinkedHashMap<>();
        for (TopicPartition each : asked) {
            boolean parts = each.partition() == Json.field(answer, "partition").asInt();
            partitions.put(each, new PartitionData<>(
                Errors.NONE, highWatermark, highWatermark, parts ? Json.field(answer, "log_start").asLong() : 0,
                Optional.empty(), List.of(),
                parts
                    ? Optional.of(new EpochEndOffset()
                        .setEpoch(diverging.get(0).asInt()).setEndOffset(diverging.get(1).asLong()))
                    : Optional.empty(),
                MemoryRecords.EMPTY));
        }
        return new FetchResponse<>(Errors.NONE, partitions, 0, 0);
    }
}
