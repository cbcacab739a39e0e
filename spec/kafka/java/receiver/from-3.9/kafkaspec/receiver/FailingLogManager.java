package kafkaspec.receiver;

import java.io.File;
import java.io.IOException;
import kafka.log.LogCleaner;
import kafka.log.LogManager;
import kafka.log.UnifiedLog;
import kafka.server.BrokerTopicStats;
import kafka.server.KafkaConfig;
import kafkaspec.Fields;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.FileLock;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.collection.immutable.Set$;
import scala.util.Failure;
import scala.util.Try;

/** Kafka's LogManager on real directories. Operations that LogDirectories marks fail before they do anything. */
final class FailingLogManager extends LogManager {
    private final LogDirectories directories;

    FailingLogManager(LogDirectories directories) {
        this(directories, directories.config(), new LogDirFailureChannel(8));
    }

    private FailingLogManager(LogDirectories directories, KafkaConfig config, LogDirFailureChannel failures) {
        super(
            directories.all(), directories.lost(), Configurations.of(directories),
            new LogConfig(config.extractLogConfigMap()), LogCleaner.cleanerConfig(config), 1, Long.MAX_VALUE,
            Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, 60_000, new ProducerStateManagerConfig(60_000, false),
            60_000, config.interBrokerProtocolVersion(), Surroundings.scheduler(directories.scheduled()),
            new BrokerTopicStats(false), failures, Time.SYSTEM, true, false, 0);
        this.directories = directories;
        startup(Set$.MODULE$.empty(), startup$default$2());
    }

    @Override
    public Try<File> createLogDirectory(File directory, String name) {
        if (directories.failsAt(name)) {
            return new Failure<>(new KafkaStorageException(name));
        }
        return super.createLogDirectory(directory, name);
    }

    @Override
    public Option<UnifiedLog> asyncDelete(
            TopicPartition partition, boolean isFuture, boolean checkpoint, boolean isStray) {
        if (directories.failsAt(partition.toString())) {
            throw new KafkaStorageException(partition.toString());
        }
        return super.asyncDelete(partition, isFuture, checkpoint, isStray);
    }

    /** The process ends abruptly. Kafka's own shutdown would stop at the lock of a failed directory. */
    @SuppressWarnings("unchecked")
    void end() throws IOException {
        directories.scheduled().get("kafka-delete-logs").run();
        JavaConverters.asJavaIterable(allLogs()).forEach(UnifiedLog::closeHandlers);
        for (FileLock lock : JavaConverters.seqAsJavaList((Seq<FileLock>) Fields.get(this, "dirLocks"))) {
            if (!directories.failed().contains(lock.file().getParent())) {  // else it is destroyed already
                lock.destroy();
            }
        }
    }
}
