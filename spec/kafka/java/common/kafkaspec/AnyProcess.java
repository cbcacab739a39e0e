package kafkaspec;

import java.util.List;
import java.util.Queue;
import java.util.SortedMap;
import kafka.controller.ControllerContext;
import kafka.controller.ControllerEventManager;
import kafka.controller.KafkaController;
import kafka.server.KafkaConfig;

/**
 * What the processes of brokers of all releases have in common: a controller with the events that wait for it.
 * ControllerEventThread never starts, the broker's worker does its work. A `KafkaProcess` says which client a
 * generation has, and how it is built.
 */
public abstract class AnyProcess {
    private final KafkaConfig config;
    private KafkaController controller;
    private ControllerEventManager.ControllerEventThread thread;
    private Queue<?> queue;

    AnyProcess(KafkaConfig config) {
        this.config = config;
    }

    // What differs from release to release.

    /** The event that an element of the queue holds. */
    protected abstract Object eventIn(Object queued);

    /** The brokers that it takes for alive, with the zxids that created their registrations; 0 until 2.1. */
    protected abstract SortedMap<Integer, Long> liveBrokers();

    /** The version at which it knows the state of the partition, or null. */
    protected abstract Integer cachedVersion();

    /** The zxid that created its registration; 0 until 2.1. */
    protected abstract long brokerEpoch();

    /** If the partition has no leader still, let it have one. */
    protected abstract void putPartitionOnline();

    /** Whether it listens to what comes and goes in /brokers/ids. */
    abstract boolean listens();

    /** Whether an event is followed. */
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

    /** Whether there is a controller yet: all that follows is asked only then. */
    final boolean hasController() {
        return controller != null;
    }

    // The events that wait for the controller.

    /** The names of those that are followed, oldest first. */
    final List<String> queue() {
        return queue.stream().map(this::name).filter(this::counts).toList();
    }

    /** The name of the oldest, or null. */
    final String nextEvent() {
        Object next = queue.peek();
        return next == null ? null : name(next);
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
        return AnyProcess.<Integer>field(controller, "activeControllerId");
    }

    final int epoch() {
        return context().epoch();
    }

    final int epochZkVersion() {
        return context().epochZkVersion();
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
