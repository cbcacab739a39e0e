package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Proxy;
import kafka.cluster.BrokerEndPoint;
import kafka.server.FailedPartitions;
import kafka.server.LeaderEndPoint;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaFetcherThread;
import kafka.server.ReplicaManager;
import kafka.server.ReplicationQuotaManager;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import scala.Option;
import scala.collection.JavaConverters;

/** Kafka's ReplicaFetcherManager, whose threads receive partitions and never start. */
final class IdleFetchers extends ReplicaFetcherManager {
    private final ReplicaManager manager;

    IdleFetchers(ReplicaManager manager, Metrics metrics, ReplicationQuotaManager quota) {
        super(
            manager.config(), manager, metrics, Time.SYSTEM, Option.empty(), quota, MetadataVersion::latestTesting,
            () -> -1L);
        this.manager = manager;
    }

    @Override
    public ReplicaFetcherThread createFetcherThread(int number, BrokerEndPoint source) {
        LeaderEndPoint leader = leader(source);
        return new ReplicaFetcherThread(
                "fetcher", leader, manager.config(), new FailedPartitions(), manager, null, "",
                MetadataVersion::latestTesting) {
            @Override
            public synchronized void start() { }
        };
    }

    /** The broker that each partition is fetched from, and the leader epoch. */
    void observe(ObjectNode seen) {
        JavaConverters.asJavaIterable(fetcherThreadMap().values()).forEach(
            thread -> JavaConverters.asJavaIterable(thread.partitions()).forEach(
                partition -> seen.putArray(partition.toString())
                    .add(thread.leader().brokerEndPoint().id())
                    .add(thread.fetchState(partition).get().currentLeaderEpoch())));
    }

    private static LeaderEndPoint leader(BrokerEndPoint source) {
        return (LeaderEndPoint) Proxy.newProxyInstance(
            LeaderEndPoint.class.getClassLoader(), new Class<?>[] {LeaderEndPoint.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "brokerEndPoint" -> source;
                case "isTruncationOnFetchSupported" -> true;
                case "initiateClose", "close" -> null;
                default -> throw new UnsupportedOperationException(method.getName());
            });
    }
}
