package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.cluster.BrokerEndPoint;
import kafka.server.BlockingSend;
import kafka.server.FailedPartitions;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.server.ReplicationQuotaManager;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.JavaConverters;

/** Kafka's ReplicaFetcherManager, whose threads are given partitions and are never started. */
final class IdleFetchers extends ReplicaFetcherManager {
    private final ReplicaManager manager;

    IdleFetchers(ReplicaManager manager, Metrics metrics, ReplicationQuotaManager quota) {
        super(manager.config(), manager, metrics, Time.SYSTEM, Option.empty(), quota);
        this.manager = manager;
    }

    @Override
    public ReplicaFetcherThread createFetcherThread(int number, BrokerEndPoint source) {
        BlockingSend leader = Stubs.stub(BlockingSend.class, "", null);
        return new ReplicaFetcherThread(
                "fetcher", number, source, manager.config(), new FailedPartitions(), manager, null, Time.SYSTEM, null,
                Option.apply(leader)) {
            @Override
            public synchronized void start() { }
        };
    }

    /** Whom each partition is fetched from, in which leader epoch. */
    void observe(ObjectNode seen) {
        JavaConverters.asJavaIterable(fetcherThreadMap().values()).forEach(
            thread -> JavaConverters.asJavaIterable(thread.partitions()).forEach(
                partition -> seen.putArray(partition.toString())
                    .add(thread.sourceBroker().id())
                    .add(thread.fetchState(partition).get().currentLeaderEpoch())));
    }
}
