package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import kafka.server.KafkaConfig;
import scala.collection.Seq;

/** The log directories of one broker, their failures, and the LogManager that has them open. */
final class LogDirectories implements AutoCloseable {
    private static final int COUNT = 3;

    private final Path home;
    private final List<String> paths = new ArrayList<>();
    private final Set<String> failed = new HashSet<>();
    private final Map<String, Runnable> scheduled = new HashMap<>();
    private final Set<String> failing = new HashSet<>();
    private final Set<String> unread = new HashSet<>();
    private final KafkaConfig config;
    private FailingLogManager logs;

    LogDirectories(KafkaConfig broker) throws IOException {
        home = Files.createTempDirectory("logs");
        for (int number = 0; number < COUNT; number++) {
            paths.add(Files.createDirectory(home.resolve(String.valueOf(number))).toString());
        }
        Map<String, Object> properties = new HashMap<>(broker.originals());
        properties.put("log.dirs", String.join(",", paths));
        properties.put("log.cleaner.enable", "false");
        properties.put("log.index.size.max.bytes", "64");
        properties.put("log.segment.delete.delay.ms", "0");
        config = KafkaConfig.fromProps(Stubs.properties(properties));
        logs = new FailingLogManager(this);
    }

    KafkaConfig config() {
        return config;
    }

    FailingLogManager logs() {
        return logs;
    }

    Set<String> failed() {
        return failed;
    }

    /** All directories, in Kafka's form. */
    Seq<File> all() {
        return files(paths);
    }

    /** The failed directories, in Kafka's form. */
    Seq<File> lost() {
        return files(failed);
    }

    private static Seq<File> files(Collection<String> paths) {
        return Scala.seq(paths.stream().map(path -> new File(path).getAbsoluteFile()).toList());
    }

    /** Scheduled tasks by name; they run on request. */
    Map<String, Runnable> scheduled() {
        return scheduled;
    }

    String fail(int number) {
        failed.add(paths.get(number));
        return paths.get(number);
    }

    int number(String directory) {
        return paths.indexOf(directory);
    }

    /** Sets the failures from now on. */
    void failAt(JsonNode partitions, JsonNode topics) {
        failing.clear();
        unread.clear();
        partitions.forEach(partition -> failing.add(partition.asText()));
        topics.forEach(topic -> unread.add(topic.asText()));
    }

    boolean failsAt(String partition) {
        return failing.contains(partition);
    }

    /** Whether the configuration of a topic cannot be read. */
    boolean isUnread(String topic) {
        return unread.contains(topic);
    }

    /** The process ends, and the next one opens the logs. */
    void restart() throws IOException {
        logs.end();
        logs = new FailingLogManager(this);
    }

    @Override
    public void close() throws IOException {
        logs.end();
        Surroundings.forgetMetrics();
        try (Stream<Path> below = Files.walk(home)) {
            below.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }
}
