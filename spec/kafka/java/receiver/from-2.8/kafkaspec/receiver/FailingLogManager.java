package kafkaspec.receiver;

import java.io.File;
import java.io.IOException;
import kafka.log.Log;
import kafka.log.LogCleaner;
import kafka.log.LogConfig;
import kafka.log.LogManager;
import kafka.server.BrokerTopicStats;
import kafka.server.KafkaConfig;
import kafka.server.LogDirFailureChannel;
import kafka.utils.FileLock;
import kafkaspec.Fields;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.Tuple2;
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
            LogConfig.apply(LogConfig.extractLogConfigMap(config), Set$.MODULE$.empty()),
            LogCleaner.cleanerConfig(config), 1, Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE,
            60_000, Surroundings.scheduler(directories.scheduled()), new BrokerTopicStats(), failures, Time.SYSTEM,
            true);
        this.directories = directories;
        startup(Set$.MODULE$.empty());
    }

    @Override
    public Try<File> createLogDirectory(File directory, String name) {
        if (directories.failsAt(name)) {
            return new Failure<>(new KafkaStorageException(name));
        }
        return super.createLogDirectory(directory, name);
    }

    @Override
    public Option<Log> asyncDelete(
            TopicPartition partition, boolean isFuture, boolean checkpoint) {
        if (directories.failsAt(partition.toString())) {
            throw new KafkaStorageException(partition.toString());
        }
        return super.asyncDelete(partition, isFuture, checkpoint);
    }

    /** The process ends abruptly. Kafka's own shutdown would stop at the lock of a failed directory. */
    @SuppressWarnings("unchecked")
    void end() throws IOException {
        JavaConverters.asJavaIterable(allLogs()).forEach(Log::closeHandlers);
        var deleted = (Iterable<Tuple2<Log, Object>>) Fields.get(this, "logsToBeDeleted");
        deleted.forEach(each -> each._1().closeHandlers());
        for (FileLock lock : JavaConverters.seqAsJavaList((Seq<FileLock>) Fields.get(this, "dirLocks"))) {
            if (!directories.failed().contains(lock.file().getParent())) {  // else it is destroyed already
                lock.destroy();
            }
        }
    }
}
