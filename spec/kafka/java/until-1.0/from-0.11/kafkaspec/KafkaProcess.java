package kafkaspec;

import java.util.List;
import java.util.Queue;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import kafka.cluster.EndPoint;
import kafka.common.TopicAndPartition;
import kafka.controller.ControllerContext;
import kafka.controller.ControllerEventManager;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.OfflinePartition$;
import kafka.controller.OnlinePartition$;
import kafka.controller.PartitionState;
import kafka.controller.UnstartedChannels;
import kafka.server.KafkaConfig;
import kafka.server.KafkaHealthcheck;
import kafka.utils.ZkUtils;
import kafka.utils.ZkUtils$;
import kafkaspec.release.Address;
import org.I0Itec.zkclient.ZkEventThread;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * One life of a broker's process until 1.0: Kafka's own client and controller, built as KafkaServer builds them.
 * Three things are not Kafka's: ControllerEventThread and ZkEventThread never start, two workers of the broker do
 * their work; and what is sent to brokers is only told. The broker registers on ZkEventThread, not beside it.
 */
public final class KafkaProcess {
    private static final Metrics METRICS = new Metrics();
    private static final TopicAndPartition PARTITION =
        new TopicAndPartition(Partition.ID.topic(), Partition.ID.partition());
    static final String HEALTHCHECK = "Healthcheck";
    private static final String ISR_CHANGE = "IsrChangeNotification";

    private final KafkaConfig config;
    private final Consumer<String> sent;
    private ZkUtils client;
    private ZkEventThread listeners;
    private java.util.Map<String, ?> childListeners;
    private KafkaController controller;
    private ControllerEventManager.ControllerEventThread thread;
    private Queue<?> queue;

    public KafkaProcess(KafkaConfig config, Consumer<String> sent) {
        this.config = config;
        this.sent = sent;
    }

    // Its start and its end.

    /** Opens a session, and lets the controller begin; the broker is yet to register. [KafkaServer.startup, 1.0.2] */
    void start() {
        client = ZkUtils$.MODULE$.apply(
            config.zkConnect(), config.zkSessionTimeoutMs(), config.zkConnectionTimeoutMs(), false);
        childListeners = field(client.zkClient(), "_childListener");
        listeners = ZkEventThread.of(config.zkConnect());
        listeners.send(HEALTHCHECK, healthcheck()::startup);
        UnstartedChannels.tell(config.brokerId(), sent);
        KafkaController starting = new KafkaController(config, client, Time.SYSTEM, METRICS, Option.empty());
        thread = neverStarted(starting.eventManager());
        Fields.set(starting.eventManager(), "thread", thread);
        queue = field(starting.eventManager(), "queue");
        controller = starting;
        controller.startup();
    }

    private KafkaHealthcheck healthcheck() {
        Seq<EndPoint> endPoints = JavaConverters.asScalaBufferConverter(List.of(Address.PLAINTEXT)).asScala();
        return new KafkaHealthcheck(
            config.brokerId(), endPoints, client, Option.empty(), config.interBrokerProtocolVersion());
    }

    private static ControllerEventManager.ControllerEventThread neverStarted(ControllerEventManager events) {
        return events.new ControllerEventThread("never started") {
            @Override
            public synchronized void start() { }
        };
    }

    void close() {
        if (client != null) {
            client.close();
        }
    }

    boolean hasController() {
        return controller != null;
    }

    // The events that wait for the controller.

    /**
     * Their names, oldest first, of those that are followed. Every new session brings an IsrChangeNotification, too:
     * of what leaders tell, nothing is followed in this release.
     */
    List<String> queue() {
        return queue.stream()
            .map(KafkaProcess::name)
            .filter(name -> Observation.EVENTS.contains(name) && !name.equals(ISR_CHANGE))
            .toList();
    }

    String nextEvent() {
        Object next = queue.peek();
        return next == null ? null : name(next);
    }

    void handleEvent() {
        thread.doWork();
    }

    private static String name(Object queued) {
        return queued.getClass().getSimpleName().replace("$", "");
    }

    // What waits for listeners.

    /** Their names in the specification, oldest first. */
    List<String> posted() {
        return listeners.waiting().stream().map(KafkaProcess::listener).filter(name -> name != null).toList();
    }

    /**
     * The oldest that counts is told, and before it, in passing, what the specification has not. What a listener
     * throws is logged, and no more. [ZkEventThread.run]
     *
     * @throws RuntimeException the broker could not register at its start, which ends the process
     */
    void tellListener() {
        String told;
        do {
            told = listener(listeners.waiting().get(0));
            try {
                listeners.tell();
            } catch (Exception problem) {
                if (HEALTHCHECK.equals(told)) {
                    throw new IllegalStateException(problem);
                }
            }
        } while (told == null);
    }

    private static String listener(String description) {
        if (description.equals(HEALTHCHECK)) {
            return HEALTHCHECK;
        }
        if (description.startsWith("New session event")) {
            return description.contains("KafkaHealthcheck") ? "SessionExpireListener" : "SessionExpirationListener";
        }
        if (description.startsWith("Data of " + Znodes.CONTROLLER + " ")) {
            return "LeaderChangeListener";
        }
        return description.startsWith("Children of " + Znodes.BROKER_IDS + " ") ? "BrokerChangeListener" : null;
    }

    // What the controller knows.

    boolean isActive() {
        return controller.isActive();
    }

    int activeControllerId() {
        return KafkaProcess.<Integer>field(controller, "activeControllerId");
    }

    int epoch() {
        return context().epoch();
    }

    int epochZkVersion() {
        return context().epochZkVersion();
    }

    /** Whether its listener of changes in /brokers/ids is registered with the client. */
    boolean listens() {
        java.util.Set<?> listening = (java.util.Set<?>) childListeners.get(Znodes.BROKER_IDS);
        return listening != null && !listening.isEmpty();
    }

    boolean isStarted() {
        return controller.kafkaScheduler().isStarted();
    }

    SortedMap<Integer, Long> liveBrokers() {
        SortedMap<Integer, Long> live = new TreeMap<>();
        for (Iterator<Object> ids = context().liveBrokerIds().iterator(); ids.hasNext(); ) {
            live.put((Integer) ids.next(), 0L);
        }
        return live;
    }

    Integer cachedVersion() {
        Option<LeaderIsrAndControllerEpoch> cached = context().partitionLeadershipInfo().get(PARTITION);
        return cached.isEmpty() ? null : cached.get().leaderAndIsr().zkVersion();
    }

    long brokerEpoch() {
        return 0;
    }

    /** The partition is at this broker, and has no leader: the controller that looks at it next elects one. */
    void putPartitionOffline(int replica) {
        Seq<Object> replicas = JavaConverters.asScalaBufferConverter(List.<Object>of(replica)).asScala();
        context().partitionReplicaAssignment().put(PARTITION, replicas);
        partitionStates().put(PARTITION, OfflinePartition$.MODULE$);
    }

    void putPartitionOnline() {
        if (partitionStates().get(PARTITION).contains(OfflinePartition$.MODULE$)) {
            partitionStates().put(PARTITION, OnlinePartition$.MODULE$);
        }
    }

    private scala.collection.mutable.Map<TopicAndPartition, PartitionState> partitionStates() {
        return field(controller.partitionStateMachine(), "partitionState");
    }

    private ControllerContext context() {
        return controller.controllerContext();
    }

    @SuppressWarnings("unchecked")
    private static <T> T field(Object object, String name) {
        return (T) Fields.get(object, name);
    }
}
