package kafkaspec.receiver;

import java.util.concurrent.atomic.AtomicBoolean;
import kafka.server.BrokerTopicStats;
import kafka.server.LogDirFailureChannel;
import kafka.server.MetadataCache;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** The ReplicaManager of Kafka 1.1 to 2.1, and its knowledge of the cluster. */
abstract class Replicas extends ReplicaManager {
    Replicas(LogDirectories directories) {
        super(
            directories.config(), new Metrics(), Time.SYSTEM, Configurations.of(directories),
            Surroundings.scheduler(directories.scheduled()), directories.logs(), new AtomicBoolean(),
            Managers.quotas(), new BrokerTopicStats(), new MetadataCache(directories.config().brokerId()),
            new LogDirFailureChannel(8), Surroundings.purgatory("Produce"), Surroundings.purgatory("Fetch"),
            Surroundings.purgatory("DeleteRecords"), Option.empty());
    }

    void failDirectory(String directory) {
        handleLogDirFailure(directory);
    }
}
