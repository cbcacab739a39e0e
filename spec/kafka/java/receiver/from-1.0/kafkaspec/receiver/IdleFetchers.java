package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.cluster.BrokerEndPoint;
import kafka.server.AbstractFetcherThread;
import kafka.server.PartitionFetchState;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaManager;
import kafka.server.ReplicationQuotaManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.EpochEndOffset;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterable;
import scala.collection.Map;
import scala.collection.Seq;

/** Kafka's ReplicaFetcherManager in 1.0 and 1.1, whose threads receive partitions and never start. */
final class IdleFetchers extends ReplicaFetcherManager {
    IdleFetchers(ReplicaManager manager, Metrics metrics, ReplicationQuotaManager quota) {
        super(manager.config(), manager, metrics, Time.SYSTEM, Option.empty(), quota);
    }

    @Override
    public AbstractFetcherThread createFetcherThread(int number, BrokerEndPoint source) {
        return new IdleFetcher(source);
    }

    /** The broker that each partition is fetched from. A thread does not know the leader epoch. */
    void observe(ObjectNode seen) {
        Scala.forEach(fetcherThreadMap().values(), thread -> thread.partitionStates().partitionSet().forEach(
            partition -> seen.putArray(partition.toString()).add(thread.sourceBroker().id())));
    }

    /** The partitions of a thread that never runs. Java cannot extend Kafka's ReplicaFetcherThread. */
    private static final class IdleFetcher extends AbstractFetcherThread {
        private static final int BACK_OFF_MS = 1000;

        IdleFetcher(BrokerEndPoint source) {
            super("fetcher", "fetcher", source, BACK_OFF_MS, false, true);
        }

        @Override
        public synchronized void start() { }

        @Override
        public void awaitShutdown() { }

        @Override
        public void processPartitionData(TopicPartition partition, long offset, PartitionData data) {
            throw new IllegalStateException();
        }

        @Override
        public long handleOffsetOutOfRange(TopicPartition partition) {
            throw new IllegalStateException();
        }

        @Override
        public void handlePartitionsWithErrors(Iterable<TopicPartition> partitions) {
            throw new IllegalStateException();
        }

        @Override
        public ResultWithPartitions<Map<TopicPartition, Object>> buildLeaderEpochRequest(
                Seq<Tuple2<TopicPartition, PartitionFetchState>> partitions) {
            throw new IllegalStateException();
        }

        @Override
        public Map<TopicPartition, EpochEndOffset> fetchEpochsFromLeader(Map<TopicPartition, Object> partitions) {
            throw new IllegalStateException();
        }

        @Override
        public ResultWithPartitions<Map<TopicPartition, Object>> maybeTruncate(
                Map<TopicPartition, EpochEndOffset> epochs) {
            throw new IllegalStateException();
        }

        @Override
        public ResultWithPartitions<FetchRequest> buildFetchRequest(
                Seq<Tuple2<TopicPartition, PartitionFetchState>> partitions) {
            throw new IllegalStateException();
        }

        @Override
        public Seq<Tuple2<TopicPartition, PartitionData>> fetch(FetchRequest request) {
            throw new IllegalStateException();
        }
    }
}
