package kafkaspec;

import java.util.List;
import java.util.Queue;
import java.util.SortedMap;
import kafka.controller.ControllerContext;
import kafka.controller.ControllerEventManager;
import kafka.controller.KafkaController;
import kafka.server.KafkaConfig;

/**
 * The common part of brokers' processes of all releases: a controller with its waiting events.
 * ControllerEventThread never starts; the broker's worker does its work. A `KafkaProcess` adds the client of its
 * generation, and how it is built.
 */
public abstract class AnyProcess {
    private final KafkaConfig config;
    private KafkaController controller;
    private ControllerEventManager.ControllerEventThread thread;
    private Queue<?> queue;

    AnyProcess(KafkaConfig config) {
        this.config = config;
    }

    // Differences between releases.

    /** The event inside an element of the queue. */
    protected abstract Object eventIn(Object queued);

    /** The live brokers that the controller knows, with their registrations' zxids; 0 until 2.1. */
    protected abstract SortedMap<Integer, Long> liveBrokers();

    /** The version at which the controller knows the partition's state, or null. */
    protected abstract Integer cachedVersion();

    /** The zxid of its own registration; 0 until 2.1. */
    protected abstract long brokerEpoch();

    /** Gives the partition a leader if it still has none. */
    protected abstract void putPartitionOnline();

    /** Whether it watches the children of /brokers/ids. */
    abstract boolean listens();

    /** Whether the specification follows an event. */
    boolean counts(String event) {
        return Observation.EVENTS.contains(event);
    }

    // Its start.

    final void startController(KafkaController starting) {
        thread = neverStarted(starting.eventManager());
        Fields.set(starting.eventManager(), "thread", thread);
        queue = field(starting.eventManager(), "queue");
        controller = starting;
        controller.startup();
    }

    private static ControllerEventManager.ControllerEventThread neverStarted(ControllerEventManager events) {
        return events.new ControllerEventThread("never started") {
            @Override
            public synchronized void start() { }

            @Override
            public void awaitShutdown() { }
        };
    }

    /** Whether there is a controller yet; the methods below require one. */
    final boolean hasController() {
        return controller != null;
    }

    // The events that wait for the controller.

    /** The names of the followed ones, oldest first. */
    final List<String> queue() {
        return queue.stream().map(this::name).filter(this::counts).toList();
    }

    /** The name of the oldest, or null. */
    final String nextEvent() {
        Object next = queue.peek();
        return next == null ? null : name(next);
    }

    /** Handles the oldest event as Kafka's own thread does. [ControllerEventManager, 3.9.1: doWork] */
    protected final void handleEvent() {
        thread.doWork();
    }

    private String name(Object queued) {
        return eventIn(queued).getClass().getSimpleName().replace("$", "");
    }

    // The controller's knowledge.

    protected final boolean isActive() {
        return controller.isActive();
    }

    protected final int activeControllerId() {
        return AnyProcess.<Integer>field(controller, "activeControllerId");
    }

    final int epoch() {
        return context().epoch();
    }

    final int epochZkVersion() {
        return context().epochZkVersion();
    }

    /** Whether its scheduler has started, which is among the last acts of a failover. */
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

    /** A field by its name; the caller must know its type. */
    @SuppressWarnings("unchecked")
    protected static <T> T field(Object object, String name) {
        return (T) Fields.get(object, name);
    }
}
