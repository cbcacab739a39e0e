package kafkaspec.replay;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/**
 * A ZooKeeper server or a Kafka broker that does not outlive the process that started it.
 * It reads a pipe whose other end that process holds. Each line names an MBean, whose value is printed as a line on
 * stdout. When the pipe closes it removes its directory and halts, without notice to the rest of the cluster.
 * Log lines and other output go to stderr.
 *
 * <pre>
 * Kept DIRECTORY zookeeper                  prints its port on the first line
 * Kept DIRECTORY broker PROPERTIES          runs kafka.Kafka with this file
 * </pre>
 */
public final class Kept {
    private static final int TICK = 1000;
    private static final int SHORTEST_SESSION = 1000;
    private static final int LONGEST_SESSION = 600_000;
    private static final PrintStream ANSWERS = System.out;

    private Kept() { }

    /** Runs until the pipe closes, or until its program ends. */
    public static void main(String[] arguments) throws Exception {
        System.setOut(System.err);
        Path directory = Path.of(arguments[0]);
        Thread keeper = new Thread(() -> keep(directory), "keeper");
        keeper.setDaemon(true);
        keeper.start();
        switch (arguments[1]) {
            case "zookeeper" -> serve(directory);
            case "broker" -> Class.forName("kafka.Kafka").getMethod("main", String[].class)
                .invoke(null, (Object) new String[] {arguments[2]});
            default -> throw new IllegalArgumentException(arguments[1]);
        }
    }

    private static void serve(Path directory) throws Exception {
        ZooKeeperServer server = new ZooKeeperServer(directory.toFile(), directory.toFile(), TICK);
        server.setMinSessionTimeout(SHORTEST_SESSION);
        server.setMaxSessionTimeout(LONGEST_SESSION);
        ServerCnxnFactory factory = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 0);
        factory.startup(server);
        ANSWERS.println(factory.getLocalPort());
        factory.join();
    }

    private static void keep(Path directory) {
        try (BufferedReader asked = new BufferedReader(new InputStreamReader(System.in))) {
            for (String name = asked.readLine(); name != null; name = asked.readLine()) {
                ANSWERS.println(valueOf(name));
            }
        } catch (IOException ended) {
            // the pipe has closed
        } finally {
            remove(directory);
            Runtime.getRuntime().halt(0);
        }
    }

    private static String valueOf(String name) {
        try {
            Object value = ManagementFactory.getPlatformMBeanServer().getAttribute(new ObjectName(name), "Value");
            return String.valueOf(value);
        } catch (JMException none) {
            return "absent";
        }
    }

    /** Files that other threads write meanwhile may stay; the parent process removes them if it can. */
    private static void remove(Path directory) {
        try (Stream<Path> found = Files.walk(directory)) {
            List<Path> deepestFirst = found.sorted(Comparator.reverseOrder()).toList();
            for (Path each : deepestFirst) {
                Files.deleteIfExists(each);
            }
        } catch (IOException | UncheckedIOException still) {
            // see above
        }
    }
}
