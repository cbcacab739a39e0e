package kafkaspec;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Set;
import java.util.SortedSet;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.CheckVersionRequest;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * The observation of a cluster between two steps, as JSON, in the words of the specification.
 * It changes nothing; all threads of Kafka are at rest meanwhile.
 */
final class Observation {
    /** The events of the controller that the specification has. */
    static final Set<String> EVENTS = Set.of("ControllerChange", "Reelect", "BrokerChange", "IsrChangeNotification");

    private final Cluster cluster;
    private final SynchronousServer server;
    private final ObjectNode seen = Json.object();

    Observation(Cluster cluster) {
        this.cluster = cluster;
        server = cluster.server();
    }

    /**
     * @param sent the requests that controllers sent since the previous step
     * @param silent how many requests without a step passed since then
     */
    ObjectNode toJson(SortedSet<String> sent, int silent) {
        putNodes();
        putSessions();
        ArrayNode brokers = seen.putArray("brokers");
        cluster.brokers().forEach(broker -> putBroker(broker, brokers.addObject()));
        sent.forEach(seen.putArray("sent")::add);
        cluster.underWay().forEach(seen.putArray("requests")::add);
        seen.put("silent", silent);
        return seen;
    }

    // ZooKeeper.

    private void putNodes() {
        Stat controller = server.stat(Znodes.CONTROLLER);
        if (controller == null) {
            seen.putNull("controller");
        } else {
            seen.putObject("controller")
                .put("broker", brokerNamed(server.data(Znodes.CONTROLLER)))
                .put("owner", cluster.nameOf(controller.getEphemeralOwner()));
        }
        Stat epoch = server.stat(Znodes.CONTROLLER_EPOCH);
        if (epoch == null) {
            seen.putNull("controller_epoch");
        } else {
            seen.putObject("controller_epoch")
                .put("epoch", epochIn(server.data(Znodes.CONTROLLER_EPOCH)))
                .put("version", epoch.getVersion());
        }
        seen.putObject("partition_state")
            .put("controller_epoch", controllerEpoch(server.data(Partition.STATE)))
            .put("version", server.stat(Partition.STATE).getVersion());
        ObjectNode registrations = seen.putObject("registrations");
        cluster.brokers().forEach(broker -> putRegistration(broker, registrations));
    }

    private void putRegistration(Broker broker, ObjectNode registrations) {
        Stat stat = server.stat(Znodes.registration(broker.id()));
        if (stat != null) {
            registrations.putObject(String.valueOf(broker.id()))
                .put("owner", cluster.nameOf(stat.getEphemeralOwner()))
                .put("number", broker.registration(stat.getCzxid()));
        }
    }

    private void putSessions() {
        ArrayNode alive = seen.putArray("sessions");
        ArrayNode watchingController = seen.putArray("watching_controller");
        ArrayNode watchingBrokers = seen.putArray("watching_brokers");
        ArrayNode away = seen.putArray("away");
        ObjectNode events = seen.putObject("events");
        cluster.sessions().forEach((name, session) -> {
            Broker client = cluster.clientOf(session);
            if (server.isAlive(session)) {
                alive.add(name);
                addIf(server.watchesData(session, Znodes.CONTROLLER), name, watchingController);
                addIf(server.watchesChildren(session, Znodes.BROKER_IDS), name, watchingBrokers);
                addIf(client != null && client.handle().isAway(), name, away);
            }
            if (client != null) {
                putEvents(client, name, events);
            }
        });
    }

    private static void addIf(boolean holds, String name, ArrayNode names) {
        if (holds) {
            names.add(name);
        }
    }

    private static void putEvents(Broker client, String session, ObjectNode events) {
        ArrayNode coming = Json.array();
        client.handle().connection().events().stream()
            .filter(Znodes::counts)
            .forEach(event -> coming.add(event.getType() + " " + event.getPath()));
        if (coming.size() > 0) {
            events.set(session, coming);
        }
    }

    // Brokers.

    private void putBroker(Broker broker, ObjectNode its) {
        its.put("doing", broker.doing());
        if (broker.failure() != null) {
            its.put("failure", broker.failure());
        }
        if (!broker.isRunning()) {
            return;
        }
        if (broker.pause() != null && !broker.pause().writes().isEmpty()) {
            ArrayNode asks = its.putArray("asks");
            broker.pause().writes().forEach(write -> putWrite(write, asks.addArray()));
        }
        if (broker.process().hasController()) {
            broker.putListeners(its);
            putController(broker, its);
        }
    }

    private static void putWrite(Op write, ArrayNode its) {
        its.add(write.getClass().getSimpleName()).add(write.getPath());
        if (write.toRequestRecord() instanceof CheckVersionRequest check) {
            its.add(check.getVersion());
        }
        if (write.toRequestRecord() instanceof SetDataRequest set) {
            its.add(set.getVersion());
            switch (write.getPath()) {
                case Znodes.CONTROLLER_EPOCH -> its.add(epoch(set.getData()));
                case Partition.STATE -> its.add(controllerEpoch(set.getData()));
                default -> its.addNull();
            }
        }
    }

    private void putController(Broker broker, ObjectNode its) {
        KafkaProcess process = broker.process();
        its.put("active", process.isActive());
        its.put("active_controller_id", process.activeControllerId());
        its.put("epoch", process.epoch());
        its.put("epoch_zk_version", process.epochZkVersion());
        ArrayNode queue = its.putArray("queue");
        process.queue().forEach(queue::add);
        its.put("listens", broker.listens());
        its.put("watches_isr", broker.watchesChildren(Notifications.PATH));
        its.put("started", process.isStarted());
        ArrayNode live = its.putArray("live");
        process.liveBrokers().forEach((id, zxid) -> live.addArray().add(id).add(number(id, zxid)));
        its.put("cached", process.cachedVersion());
        its.put("broker_epoch", broker.registration(process.brokerEpoch()));
    }

    private int number(int broker, long zxid) {
        return cluster.brokers().get(broker).registration(zxid);
    }

    /** The broker that /controller names, or null if it holds no JSON. */
    private static Integer brokerNamed(byte[] data) {
        try {
            return Json.field(Json.read(data), "brokerid").asInt();
        } catch (Json.Malformed foreign) {
            return null;
        }
    }

    /** The epoch that /controller_epoch holds, or null if it holds no number. */
    private static Integer epochIn(byte[] data) {
        try {
            return epoch(data);
        } catch (NumberFormatException foreign) {
            return null;
        }
    }

    private static int epoch(byte[] data) {
        return Integer.parseInt(Znodes.text(data));
    }

    private static int controllerEpoch(byte[] state) {
        return Json.read(state).get("controller_epoch").asInt();
    }
}
