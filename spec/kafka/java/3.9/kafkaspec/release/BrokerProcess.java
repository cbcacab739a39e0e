package kafkaspec.release;

import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import kafka.cluster.Broker;
import kafka.cluster.EndPoint;
import kafka.controller.ControllerContext;
import kafka.controller.ControllerEventManager;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.OfflinePartition$;
import kafka.controller.OnlinePartition$;
import kafka.controller.QueuedEvent;
import kafka.server.BrokerFeatures;
import kafka.server.KafkaConfig;
import kafka.server.metadata.ZkMetadataCache;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import kafkaspec.Fields;
import kafkaspec.KafkaProcess;
import kafkaspec.Partition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.zookeeper.client.ZKClientConfig;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A broker's process of Kafka 3.9: KafkaZkClient and KafkaController, built as KafkaServer builds them.
 * Two things are not Kafka's: ControllerEventThread never starts, and what is sent to brokers is only told.
 */
final class BrokerProcess implements KafkaProcess {
    private static final int SESSION_TIMEOUT_MILLIS = 18_000;
    private static final int MAX_IN_FLIGHT = 10;
    private static final Metrics METRICS = new Metrics();

    private final KafkaConfig config;
    private final Consumer<String> sent;
    private KafkaZkClient client;
    private KafkaController controller;
    private LinkedBlockingQueue<QueuedEvent> queue;
    private scala.collection.Map<String, ?> childHandlers;

    BrokerProcess(KafkaConfig config, Consumer<String> sent) {
        this.config = config;
        this.sent = sent;
    }

    // Its start and its end.

    @Override
    public void start() {
        client = KafkaZkClient.apply(
            config.zkConnect(), false, SESSION_TIMEOUT_MILLIS, SESSION_TIMEOUT_MILLIS, MAX_IN_FLIGHT, Time.SYSTEM,
            "broker", new ZKClientConfig(), "kafka.server", "SessionExpireListener", false, false);
        childHandlers = field(field(client, "zooKeeperClient"), "zNodeChildChangeHandlers");
        long epoch = client.registerBroker(info());
        KafkaController starting = build(epoch);
        captureRequests(starting);
        neverStart(starting.eventManager());
        queue = field(starting.eventManager(), "queue");
        controller = starting;
        starting.startup();
    }

    private BrokerInfo info() {
        ListenerName listener = ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT);
        EndPoint endPoint = new EndPoint("broker", 9092, listener, SecurityProtocol.PLAINTEXT);
        Broker broker = Broker.apply(
            config.brokerId(), CollectionConverters.asScala(List.of(endPoint)).toSeq(), Option.empty());
        return BrokerInfo.apply(broker, config.interBrokerProtocolVersion(), -1);
    }

    private KafkaController build(long epoch) {
        BrokerFeatures features = BrokerFeatures.createEmpty();
        ZkMetadataCache cache = new ZkMetadataCache(
            config.brokerId(), MetadataVersion.latestProduction(), features, false);
        cache.updateFeaturesOrThrow(Map$.MODULE$.empty(), 0);
        return new KafkaController(
            config, client, Time.SYSTEM, METRICS, info(), epoch, null, features, cache, Option.empty());
    }

    /** The channel manager is one for all, and each state machine's batch has been given it. */
    private void captureRequests(KafkaController starting) {
        CapturedRequests requests = new CapturedRequests(config, METRICS, sent);
        starting.controllerChannelManager_$eq(requests);
        Fields.set(Fields.get(starting, "brokerRequestBatch"), "controllerChannelManager", requests);
        for (Object machine : List.of(starting.replicaStateMachine(), starting.partitionStateMachine())) {
            Object batch = Fields.get(machine, "controllerBrokerRequestBatch");
            Fields.set(batch, "controllerChannelManager", requests);
        }
    }

    private static void neverStart(ControllerEventManager events) {
        events.thread_$eq(events.new ControllerEventThread("never started") {
            @Override
            public synchronized void start() { }
        });
    }

    @Override
    public void close() {
        if (client != null) {
            client.close();
        }
    }

    @Override
    public boolean hasController() {
        return controller != null;
    }

    // The events.

    @Override
    public Event takeEvent() {
        QueuedEvent next = queue.poll();
        return next == null ? null : event(next);
    }

    @Override
    public Event awaitEvent(String name) {
        try {
            QueuedEvent next = queue.take();
            while (!name(next).equals(name)) {
                next = queue.take();
            }
            return event(next);
        } catch (InterruptedException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    @Override
    public List<String> queue() {
        return queue.stream().map(BrokerProcess::name).toList();
    }

    private Event event(QueuedEvent queued) {
        return new Event() {
            @Override
            public String name() {
                return BrokerProcess.name(queued);
            }

            @Override
            public void run() {
                queued.process(controller);
            }
        };
    }

    private static String name(QueuedEvent queued) {
        return queued.event().getClass().getSimpleName().replace("$", "");
    }

    // What the controller knows.

    @Override
    public boolean isActive() {
        return controller.isActive();
    }

    @Override
    public int activeControllerId() {
        return controller.activeControllerId();
    }

    @Override
    public int epoch() {
        return context().epoch();
    }

    @Override
    public int epochZkVersion() {
        return context().epochZkVersion();
    }

    @Override
    public boolean listens() {
        return childHandlers.contains("/brokers/ids");
    }

    @Override
    public boolean isStarted() {
        return controller.kafkaScheduler().isStarted();
    }

    @Override
    public SortedMap<Integer, Long> liveBrokers() {
        SortedMap<Integer, Long> live = new TreeMap<>();
        CollectionConverters.asJava(context().liveBrokerIdAndEpochs())
            .forEach((id, zxid) -> live.put((Integer) id, (Long) zxid));
        return live;
    }

    @Override
    public Integer cachedVersion() {
        Option<LeaderIsrAndControllerEpoch> cached = context().partitionLeadershipInfo(Partition.ID);
        return cached.isEmpty() ? null : cached.get().leaderAndIsr().partitionEpoch();
    }

    @Override
    public long brokerEpoch() {
        return controller.brokerEpoch();
    }

    // What the specification leaves open.

    @Override
    public void putPartitionOffline() {
        context().putPartitionState(Partition.ID, OfflinePartition$.MODULE$);
    }

    @Override
    public void putPartitionOnline() {
        if (context().partitionStates().get(Partition.ID).contains(OfflinePartition$.MODULE$)) {
            context().putPartitionState(Partition.ID, OnlinePartition$.MODULE$);
        }
    }

    private ControllerContext context() {
        return controller.controllerContext();
    }

    /** By its name; that it has the type which is expected is for the caller to know. */
    @SuppressWarnings("unchecked")
    private static <T> T field(Object object, String name) {
        return (T) Fields.get(object, name);
    }
}
