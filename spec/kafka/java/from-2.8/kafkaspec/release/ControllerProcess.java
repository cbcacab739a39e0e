package kafkaspec.release;

import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import kafka.cluster.Broker;
import kafka.controller.ControllerChannelManager;
import kafka.controller.ControllerContext;
import kafka.controller.ControllerEventManager;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.OfflinePartition$;
import kafka.controller.OnlinePartition$;
import kafka.controller.QueuedEvent;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import kafkaspec.Fields;
import kafkaspec.KafkaProcess;
import kafkaspec.Partition;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A broker's process of Kafka 2.8 to 3.9: KafkaZkClient and KafkaController, built as KafkaServer builds them.
 * Two things are not Kafka's: ControllerEventThread never starts, and what is sent to brokers is only told.
 * A release's own subclass says how it calls the constructors.
 */
abstract class ControllerProcess implements KafkaProcess {
    private final KafkaConfig config;
    private KafkaZkClient client;
    private KafkaController controller;
    private LinkedBlockingQueue<QueuedEvent> queue;
    private scala.collection.Map<String, ?> childHandlers;

    ControllerProcess(KafkaConfig config) {
        this.config = config;
    }

    // What differs in these releases.

    /** Opens a session. [KafkaServer.initZkClient] */
    abstract KafkaZkClient openClient();

    /** A controller that has not started. [KafkaServer.startup] */
    abstract KafkaController build(KafkaZkClient client, BrokerInfo info, long brokerEpoch);

    /** What stands for its channels to the brokers. */
    abstract ControllerChannelManager channels(KafkaController controller);

    /** The version of the node that a state was read from. */
    abstract int version(LeaderIsrAndControllerEpoch state);

    // Its start and its end.

    @Override
    public void start() {
        client = openClient();
        childHandlers = field(field(client, "zooKeeperClient"), "zNodeChildChangeHandlers");
        BrokerInfo info = info();
        KafkaController starting = build(client, info, client.registerBroker(info));
        replaceChannels(starting);
        neverStart(starting.eventManager());
        queue = field(starting.eventManager(), "queue");
        controller = starting;
        starting.startup();
    }

    private BrokerInfo info() {
        ListenerName listener = ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT);
        Broker broker = new Broker(config.brokerId(), "broker", 9092, listener, SecurityProtocol.PLAINTEXT);
        return BrokerInfo.apply(broker, config.interBrokerProtocolVersion(), -1);
    }

    /** The controller has one channel manager, and three batches of requests that have been given it. */
    private void replaceChannels(KafkaController starting) {
        ControllerChannelManager channels = channels(starting);
        starting.controllerChannelManager_$eq(channels);
        for (Object batch : List.of(
                Fields.get(starting, "brokerRequestBatch"),
                Fields.get(starting.replicaStateMachine(), "controllerBrokerRequestBatch"),
                Fields.get(starting.partitionStateMachine(), "controllerBrokerRequestBatch"))) {
            Fields.set(batch, "controllerChannelManager", channels);
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
        return queue.stream().map(ControllerProcess::name).toList();
    }

    private Event event(QueuedEvent queued) {
        return new Event() {
            @Override
            public String name() {
                return ControllerProcess.name(queued);
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
        return ControllerProcess.<Integer>field(controller, "activeControllerId");
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
        return cached.isEmpty() ? null : version(cached.get());
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
