package kafkaspec;

import java.util.List;
import java.util.Map;
import kafka.cluster.Broker;
import kafka.controller.KafkaController;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/**
 * One life of a broker's process since 1.1: Kafka's own client and controller, built as KafkaServer builds them.
 * Requests to brokers are only reported. Subclasses know how a release calls its constructors, and where it keeps its
 * knowledge.
 */
public abstract class KafkaProcess extends AnyProcess {
    /** The steps that its requests are. */
    public static final List<Steps.Row> STEPS = Steps.SINCE_2_2;

    private KafkaZkClient client;
    private scala.collection.Map<String, ?> childHandlers;

    protected KafkaProcess(KafkaConfig config) {
        super(config);
    }

    // Differences between releases.

    /** The nodes that it needs besides those of `Znodes`, with their data. */
    public static Map<String, byte[]> znodes(KafkaConfig config) {
        return Map.of();
    }

    /** Opens a session. [KafkaServer.initZkClient] */
    protected abstract KafkaZkClient openClient();

    /** Registers the broker, and builds its controller, which is not started yet. [KafkaServer.startup] */
    protected abstract KafkaController register(KafkaZkClient registering, BrokerInfo info);

    /** The controller's requests lead nowhere from now on. */
    protected abstract void captureRequests(KafkaController starting);

    /** Marks the partition as leaderless, so that the controller elects a leader when it looks at it next. */
    protected abstract void putPartitionOffline();

    /** Whether a failed authentication restarts the client while the session lives. [2.8.0 to 3.0.0, KAFKA-13461] */
    protected boolean beginsAnewWithoutAuthentication() {
        return false;
    }

    /** A controller's batches of requests: of partitions, of replicas, and its own. */
    protected static List<Object> batches(KafkaController controller) {
        return List.of(
            Fields.get(controller.partitionStateMachine(), "controllerBrokerRequestBatch"),
            Fields.get(controller.replicaStateMachine(), "controllerBrokerRequestBatch"),
            Fields.get(controller, "brokerRequestBatch"));
    }

    // Its start and its end.

    /**
     * Opens a session, registers, and lets the controller begin. [KafkaServer.startup, 3.9.1: 231, 407, 415]
     *
     * @throws RuntimeException the start has failed, and the process must be ended
     */
    public final void start() {
        client = openClient();
        childHandlers = field(field(client, "zooKeeperClient"), "zNodeChildChangeHandlers");
        KafkaController starting = register(client, info());
        captureRequests(starting);
        startController(starting);
    }

    private BrokerInfo info() {
        ListenerName listener = ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT);
        Broker broker = new Broker(config().brokerId(), "broker", 9092, listener, SecurityProtocol.PLAINTEXT);
        return BrokerInfo.apply(broker, config().interBrokerProtocolVersion(), -1);
    }

    /** Closes the client, and the session unless the client knows that it has ended. */
    public final void close() {
        if (client != null) {
            client.close();
        }
    }

    /** Waits until an event of this name, which a thread of Kafka is about to put, is the oldest. */
    final void awaitEvent(String name) {
        while (!name.equals(nextEvent())) {
            Thread.yield();
        }
    }

    /** Whether its handler of changes in /brokers/ids is registered with the client. */
    @Override
    final boolean listens() {
        return childHandlers.contains(Znodes.BROKER_IDS);
    }
}
