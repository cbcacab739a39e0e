package kafkaspec;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * The paths in ZooKeeper that the specification mentions, and those that Kafka needs.
 * Other requested paths do not exist: Kafka then goes on without them.
 */
public final class Znodes {
    public static final String CONTROLLER = "/controller";
    public static final String CONTROLLER_EPOCH = "/controller_epoch";
    public static final String BROKER_IDS = "/brokers/ids";

    private static final List<String> EMPTY = List.of(
        "/brokers", BROKER_IDS, "/brokers/topics", "/admin", "/admin/delete_topics", "/config", "/config/topics",
        "/log_dir_event_notification", Notifications.PATH);

    private Znodes() { }

    /** The path of a broker's own node. */
    static String registration(int broker) {
        return BROKER_IDS + "/" + broker;
    }

    /** An initialised cluster in which no broker has run. */
    static void create(SynchronousServer server) {
        EMPTY.forEach(path -> server.create(path, new byte[0]));
        server.create(CONTROLLER_EPOCH, utf8("0"));
    }

    /** Whether the specification mentions an event's path. */
    static boolean counts(WatchedEvent event) {
        String path = event.getPath();
        return path.equals(CONTROLLER)
            || path.equals(BROKER_IDS) && event.getType() == EventType.NodeChildrenChanged;
    }

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] data) {
        return new String(data, StandardCharsets.UTF_8);
    }
}
