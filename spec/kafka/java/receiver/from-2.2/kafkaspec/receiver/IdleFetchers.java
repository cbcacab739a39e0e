package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.cluster.BrokerEndPoint;
import kafka.server.BlockingSend;
import kafka.server.PartitionFetchState;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.server.ReplicationQuotaManager;
import kafkaspec.Fields;
import org.apache.kafka.common.internals.PartitionStates;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** Kafka's ReplicaFetcherManager in 2.2 and 2.3, whose threads receive partitions and never start. */
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
                "fetcher", number, source, manager.config(), manager, null, Time.SYSTEM, null, Option.apply(leader)) {
            @Override
            public synchronized void start() { }

            @Override
            public void awaitShutdown() { }
        };
    }

    /** The broker that each partition is fetched from, and the leader epoch. */
    void observe(ObjectNode seen) {
        Scala.forEach(fetcherThreadMap().values(), thread -> {
            PartitionStates<PartitionFetchState> states = states(thread);
            states.partitionSet().forEach(partition -> seen.putArray(partition.toString())
                .add(thread.sourceBroker().id())
                .add(states.stateValue(partition).currentLeaderEpoch()));
        });
    }

    @SuppressWarnings("unchecked")
    private static PartitionStates<PartitionFetchState> states(ReplicaFetcherThread thread) {
        return (PartitionStates<PartitionFetchState>) Fields.get(thread, "partitionStates");
    }
}
