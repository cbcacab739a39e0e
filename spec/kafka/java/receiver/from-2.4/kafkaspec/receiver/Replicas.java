package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.cluster.Partition;
import kafka.server.BrokerTopicStats;
import kafka.server.LogDirFailureChannel;
import kafka.server.MetadataCache;
import kafka.server.ReplicaManager;
import kafkaspec.Fields;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** The ReplicaManager of Kafka 2.4 to 2.6, and its knowledge of its partitions and the cluster. */
abstract class Replicas extends ReplicaManager {
    private static final int RECOVERED = 0;

    Replicas(LogDirectories directories) {
        super(
            directories.config(), new Metrics(), Time.SYSTEM, Configurations.of(directories),
            Surroundings.scheduler(directories.scheduled()), directories.logs(), new AtomicBoolean(),
            Managers.quotas(), new BrokerTopicStats(), new MetadataCache(directories.config().brokerId()),
            new LogDirFailureChannel(8), Surroundings.purgatory("Produce"), Surroundings.purgatory("Fetch"),
            Surroundings.purgatory("DeleteRecords"), Surroundings.purgatory("ElectLeader"), Option.empty());
    }

    void failDirectory(String directory) {
        handleLogDirFailure(directory, false);
    }

    /** Its knowledge of an ISR. */
    static void observeIsr(ObjectNode seen, Partition known) {
        seen.put("partition_epoch", (Integer) Fields.get(known, "zkVersion"));
        ReceivingBroker.brokers(seen.putArray("isr"), known.inSyncReplicaIds());
        seen.put("leader_recovery_state", RECOVERED);
    }
}
