package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.cluster.Partition;
import kafka.server.BrokerFeatures;
import kafka.server.BrokerTopicStats;
import kafka.server.ReplicaManager;
import kafka.server.metadata.ZkMetadataCache;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import scala.Option;

/** The ReplicaManager of Kafka 3.9, and its knowledge of its partitions and the cluster. */
abstract class Replicas extends ReplicaManager {
    Replicas(LogDirectories directories) {
        super(
            directories.config(), new Metrics(), Time.SYSTEM, Surroundings.scheduler(directories.scheduled()),
            directories.logs(), Option.empty(), Managers.quotas(),
            new ZkMetadataCache(
                directories.config().brokerId(), directories.config().interBrokerProtocolVersion(),
                BrokerFeatures.createEmpty(), false),
            new LogDirFailureChannel(8), null, new BrokerTopicStats(false), new AtomicBoolean(), Option.empty(),
            Option.apply(Surroundings.purgatory("Produce")), Option.apply(Surroundings.purgatory("Fetch")),
            Option.apply(Surroundings.purgatory("DeleteRecords")),
            Option.apply(Surroundings.purgatory("ElectLeader")), Option.apply(Surroundings.purgatory("RemoteFetch")),
            Option.empty(), () -> -1L, Option.empty(),
            DirectoryEventHandler.NOOP);
    }

    ZkMetadataCache cache() {
        return (ZkMetadataCache) metadataCache();
    }

    void failDirectory(String directory) {
        handleLogDirFailure(directory, false);
    }

    /** Its knowledge of an ISR. */
    static void observeIsr(ObjectNode seen, Partition known) {
        seen.put("partition_epoch", known.getPartitionEpoch());
        ReceivingBroker.brokers(seen.putArray("isr"), known.partitionState().isr());
        seen.put("leader_recovery_state", known.partitionState().leaderRecoveryState().value());
    }
}
