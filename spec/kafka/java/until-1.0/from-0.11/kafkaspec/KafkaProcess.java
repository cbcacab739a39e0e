package kafkaspec;

import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import kafka.cluster.EndPoint;
import kafka.common.TopicAndPartition;
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
 * ZkEventThread never starts: another worker of the broker does its work, and the broker registers on that worker.
 * Requests to brokers are only reported.
 */
public final class KafkaProcess extends AnyProcess {
    private static final Metrics METRICS = new Metrics();
    private static final TopicAndPartition PARTITION =
        new TopicAndPartition(Partition.ID.topic(), Partition.ID.partition());
    static final String HEALTHCHECK = "Healthcheck";
    private static final String ISR_CHANGE = "IsrChangeNotification";

    private final Consumer<String> sent;
    private ZkUtils client;
    private ZkEventThread listeners;
    private java.util.Map<String, ?> childListeners;

    public KafkaProcess(KafkaConfig config, Consumer<String> sent) {
        super(config);
        this.sent = sent;
    }

    // Its start and its end.

    /** Opens a session and lets the controller begin; the broker has yet to register. [KafkaServer.startup, 1.0.2] */
    void start() {
        client = ZkUtils$.MODULE$.apply(
            config().zkConnect(), config().zkSessionTimeoutMs(), config().zkConnectionTimeoutMs(), false);
        childListeners = field(client.zkClient(), "_childListener");
        listeners = ZkEventThread.of(config().zkConnect());
        listeners.send(HEALTHCHECK, healthcheck()::startup);
        UnstartedChannels.tell(config().brokerId(), sent);
        startController(new KafkaController(config(), client, Time.SYSTEM, METRICS, Option.empty()));
    }

    private KafkaHealthcheck healthcheck() {
        Seq<EndPoint> endPoints = JavaConverters.asScalaBufferConverter(List.of(Address.PLAINTEXT)).asScala();
        return new KafkaHealthcheck(
            config().brokerId(), endPoints, client, Option.empty(), config().interBrokerProtocolVersion());
    }

    void close() {
        if (client != null) {
            client.close();
        }
    }

    // The events that wait for the controller.

    @Override
    protected Object eventIn(Object queued) {
        return queued;
    }

    /** Every new session also causes an IsrChangeNotification; notifications are not followed here. */
    @Override
    boolean counts(String event) {
        return super.counts(event) && !event.equals(ISR_CHANGE);
    }

    // The events that wait for listeners.

    /** Their names in the specification, oldest first. */
    List<String> posted() {
        return listeners.waiting().stream().map(KafkaProcess::listener).filter(name -> name != null).toList();
    }

    /**
     * Delivers the oldest event that counts, after the earlier ones that the specification does not have. An
     * exception of a listener is only logged. [ZkEventThread.run]
     *
     * @throws RuntimeException the broker could not register at its start, which ends the process
     */
    void tellListener() {
        String event;
        do {
            event = listener(listeners.waiting().get(0));
            try {
                listeners.tell();
            } catch (Exception problem) {
                if (HEALTHCHECK.equals(event)) {
                    throw new IllegalStateException(problem);
                }
            }
        } while (event == null);
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

    // The controller's knowledge.

    /** Whether its listener of changes in /brokers/ids is registered with the client. */
    @Override
    boolean listens() {
        java.util.Set<?> listening = (java.util.Set<?>) childListeners.get(Znodes.BROKER_IDS);
        return listening != null && !listening.isEmpty();
    }

    @Override
    protected SortedMap<Integer, Long> liveBrokers() {
        SortedMap<Integer, Long> live = new TreeMap<>();
        for (Iterator<Object> ids = context().liveBrokerIds().iterator(); ids.hasNext(); ) {
            live.put((Integer) ids.next(), 0L);
        }
        return live;
    }

    @Override
    protected Integer cachedVersion() {
        Option<LeaderIsrAndControllerEpoch> cached = context().partitionLeadershipInfo().get(PARTITION);
        return cached.isEmpty() ? null : cached.get().leaderAndIsr().zkVersion();
    }

    @Override
    protected long brokerEpoch() {
        return 0;
    }

    /** Puts the leaderless partition on this broker, so that the controller elects a leader when it next looks. */
    void putPartitionOffline(int replica) {
        Seq<Object> replicas = JavaConverters.asScalaBufferConverter(List.<Object>of(replica)).asScala();
        context().partitionReplicaAssignment().put(PARTITION, replicas);
        partitionStates().put(PARTITION, OfflinePartition$.MODULE$);
    }

    @Override
    protected void putPartitionOnline() {
        if (partitionStates().get(PARTITION).contains(OfflinePartition$.MODULE$)) {
            partitionStates().put(PARTITION, OnlinePartition$.MODULE$);
        }
    }

    private scala.collection.mutable.Map<TopicAndPartition, PartitionState> partitionStates() {
        return field(controller().partitionStateMachine(), "partitionState");
    }
}
