package kafkaspec;

import java.util.List;
import java.util.Queue;
import java.util.SortedMap;
import kafka.cluster.Broker;
import kafka.controller.ControllerContext;
import kafka.controller.ControllerEventManager;
import kafka.controller.KafkaController;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/**
 * One life of a broker's process: Kafka's own client and controller, built as KafkaServer builds them.
 * Two things are not Kafka's: ControllerEventThread never starts, the broker's worker does its work; and what is sent
 * to brokers is only told. Subclasses say how a release calls its constructors, and where it keeps what it knows.
 */
public abstract class KafkaProcess {
    private final KafkaConfig config;
    private KafkaZkClient client;
    private KafkaController controller;
    private ControllerEventManager.ControllerEventThread thread;
    private Queue<?> queue;
    private scala.collection.Map<String, ?> childHandlers;

    protected KafkaProcess(KafkaConfig config) {
        this.config = config;
    }

    // What differs from release to release.

    /** Opens a session. [KafkaServer.initZkClient] */
    protected abstract KafkaZkClient openClient();

    /** Registers the broker, and builds its controller, which does not start yet. [KafkaServer.startup] */
    protected abstract KafkaController register(KafkaZkClient registering, BrokerInfo info);

    /** What the controller sends goes nowhere from now on. */
    protected abstract void captureRequests(KafkaController starting);

    /** The event that an element of the queue holds. */
    protected abstract Object eventIn(Object queued);

    /** The brokers that it takes for alive, with the zxids that created their registrations; 0 until 2.1. */
    protected abstract SortedMap<Integer, Long> liveBrokers();

    /** The version at which it knows the state of the partition, or null. */
    protected abstract Integer cachedVersion();

    /** The zxid that created its registration; 0 until 2.1. */
    protected abstract long brokerEpoch();

    /** The partition has no leader: the controller that looks at its partitions next elects one. */
    protected abstract void putPartitionOffline();

    /** If the partition has no leader still, let it have one. */
    protected abstract void putPartitionOnline();

    /** Whether who fails to authenticate begins anew while the session lives. [2.8.0 to 3.0.0, KAFKA-13461] */
    protected boolean beginsAnewWithoutAuthentication() {
        return false;
    }

    // Its start and its end.

    /**
     * Opens a session, registers, and lets the controller begin. [KafkaServer.startup, 3.9.1: 231, 407, 415]
     *
     * @throws RuntimeException the start has failed, and the process is to be ended
     */
    public final void start() {
        client = openClient();
        childHandlers = field(field(client, "zooKeeperClient"), "zNodeChildChangeHandlers");
        KafkaController starting = register(client, info());
        captureRequests(starting);
        thread = neverStarted(starting.eventManager());
        Fields.set(starting.eventManager(), "thread", thread);
        queue = field(starting.eventManager(), "queue");
        controller = starting;
        controller.startup();
    }

    private BrokerInfo info() {
        ListenerName listener = ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT);
        Broker broker = new Broker(config.brokerId(), "broker", 9092, listener, SecurityProtocol.PLAINTEXT);
        return BrokerInfo.apply(broker, config.interBrokerProtocolVersion(), -1);
    }

    private static ControllerEventManager.ControllerEventThread neverStarted(ControllerEventManager events) {
        return events.new ControllerEventThread("never started") {
            @Override
            public synchronized void start() { }
        };
    }

    /** Closes the client, and the session if the client has not heard of its end. */
    public final void close() {
        if (client != null) {
            client.close();
        }
    }

    /** Whether there is a controller yet: all that follows is asked only then. */
    final boolean hasController() {
        return controller != null;
    }

    // The events that wait for the controller.

    /** Their names, oldest first. */
    final List<String> queue() {
        return queue.stream().map(this::name).toList();
    }

    /** The name of the oldest, or null. */
    final String nextEvent() {
        Object next = queue.peek();
        return next == null ? null : name(next);
    }

    /** Returns when an event of this name, which a thread of Kafka is about to put, is the oldest. */
    final void awaitEvent(String name) {
        while (!name.equals(nextEvent())) {
            Thread.yield();
        }
    }

    /** Handles the oldest, as Kafka's own thread does it. [ControllerEventManager, 3.9.1: doWork] */
    protected final void handleEvent() {
        thread.doWork();
    }

    private String name(Object queued) {
        return eventIn(queued).getClass().getSimpleName().replace("$", "");
    }

    // What the controller knows.

    protected final boolean isActive() {
        return controller.isActive();
    }

    protected final int activeControllerId() {
        return KafkaProcess.<Integer>field(controller, "activeControllerId");
    }

    final int epoch() {
        return context().epoch();
    }

    final int epochZkVersion() {
        return context().epochZkVersion();
    }

    /** Whether its handler of changes in /brokers/ids is registered with the client. */
    final boolean listens() {
        return childHandlers.contains(Znodes.BROKER_IDS);
    }

    /** Whether its scheduler has been started: that is among the last things of a failover. */
    final boolean isStarted() {
        return controller.kafkaScheduler().isStarted();
    }

    protected final KafkaConfig config() {
        return config;
    }

    protected final KafkaController controller() {
        return controller;
    }

    protected final ControllerContext context() {
        return controller.controllerContext();
    }

    /** A field by its name; that it has the type which is expected is for the caller to know. */
    @SuppressWarnings("unchecked")
    protected static <T> T field(Object object, String name) {
        return (T) Fields.get(object, name);
    }
}
