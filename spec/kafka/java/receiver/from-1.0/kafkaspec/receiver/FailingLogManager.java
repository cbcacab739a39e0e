package kafkaspec.receiver;

import java.io.IOException;
import kafka.log.CleanerConfig;
import kafka.log.Log;
import kafka.log.LogConfig;
import kafka.log.LogManager;
import kafka.server.BrokerState;
import kafka.server.BrokerTopicStats;
import kafka.server.KafkaConfig;
import kafka.server.KafkaServer$;
import kafka.server.LogDirFailureChannel;
import kafka.utils.FileLock;
import kafkaspec.Fields;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.utils.Time;
import scala.collection.Seq;
import scala.collection.immutable.Map$;

/** Kafka's LogManager on real directories. Operations that LogDirectories marks fail before they do anything. */
final class FailingLogManager extends LogManager {
    private static final CleanerConfig NO_CLEANER = new CleanerConfig(1, 0, 0, 0, 0, 0, 0, false, "");

    private final LogDirectories directories;

    FailingLogManager(LogDirectories directories) {
        this(directories, directories.config(), new LogDirFailureChannel(8));
    }

    private FailingLogManager(LogDirectories directories, KafkaConfig config, LogDirFailureChannel failures) {
        super(
            directories.all(), directories.lost(), Map$.MODULE$.empty(),
            LogConfig.apply(KafkaServer$.MODULE$.copyKafkaConfigToLog(config)), NO_CLEANER, 1,
            Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, 60_000,
            Surroundings.scheduler(directories.scheduled()), new BrokerState(), new BrokerTopicStats(), failures,
            Time.SYSTEM);
        this.directories = directories;
        startup();
    }

    @Override
    public Log getOrCreateLog(TopicPartition partition, LogConfig config, boolean isNew) {
        if (getLog(partition).isEmpty() && directories.failsAt(partition.toString())) {
            throw new KafkaStorageException(partition.toString());
        }
        return super.getOrCreateLog(partition, config, isNew);
    }

    @Override
    public Log asyncDelete(TopicPartition partition) {
        if (getLog(partition).isDefined() && directories.failsAt(partition.toString())) {
            throw new KafkaStorageException(partition.toString());
        }
        return super.asyncDelete(partition);
    }

    /** The process ends abruptly. Kafka's own shutdown would stop at the lock of a failed directory. */
    @SuppressWarnings("unchecked")
    void end() throws IOException {
        Scala.forEach(allLogs(), Log::closeHandlers);
        var deleted = (Iterable<Log>) Fields.get(this, "logsToBeDeleted");
        deleted.forEach(Log::closeHandlers);
        Scala.forEach((Seq<FileLock>) Fields.get(this, "dirLocks"), lock -> {
            if (!directories.failed().contains(lock.file().getParent())) {  // else it is destroyed already
                lock.destroy();
            }
        });
    }
}
