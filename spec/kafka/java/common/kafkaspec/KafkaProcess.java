package kafkaspec;

import java.util.List;
import java.util.SortedMap;

/**
 * One life of a broker's process, as far as the specification follows it: Kafka's own client and controller.
 * `start` and the events run on the broker's worker and stop there before each request. All else is only called while
 * no thread of Kafka runs.
 */
public interface KafkaProcess {
    /** An event of the controller's queue, which it handles when it is run, as ControllerEventThread would. */
    interface Event {
        /** The name of its class in Kafka. */
        String name();

        void run();
    }

    /**
     * Opens a session, registers, and begins the controller. [KafkaServer.startup, 3.9.1: 246, 405, 464]
     *
     * @throws RuntimeException the start has failed, and the process is to be ended
     */
    void start();

    /** Closes the client, and the session if the client has not heard of its end. */
    void close();

    /** Whether there is a controller yet: all that follows is asked only then. */
    boolean hasController();

    // The events.

    /** The oldest event that waits, taken out of the queue, or null. */
    Event takeEvent();

    /** The oldest event of this name, as soon as it is there, taken out of the queue with all before it. */
    Event awaitEvent(String name);

    /** The names of the events that wait, oldest first. */
    List<String> queue();

    // What the controller knows.

    boolean isActive();

    int activeControllerId();

    int epoch();

    int epochZkVersion();

    /** Whether its handler of changes in /brokers/ids is registered with the client. */
    boolean listens();

    /** Whether its scheduler has been started: that is among the last things of a failover. */
    boolean isStarted();

    /** The brokers that it takes for alive, with the zxids that created their registrations; 0 until 2.1. */
    SortedMap<Integer, Long> liveBrokers();

    /** The version at which it knows the state of the partition, or null. */
    Integer cachedVersion();

    /** The zxid that created its registration; 0 until 2.1. */
    long brokerEpoch();

    // What the specification leaves open.

    /** The partition has no leader: whoever sees to its partitions now elects one. */
    void putPartitionOffline();

    /** If it has no leader still, let it have one. */
    void putPartitionOnline();
}
