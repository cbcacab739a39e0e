package kafkaspec.release;

import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import kafka.controller.ControllerChannelManager;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.OfflinePartition$;
import kafka.controller.OnlinePartition$;
import kafka.controller.QueuedEvent;
import kafka.server.KafkaConfig;
import kafkaspec.Fields;
import kafkaspec.Partition;
import org.apache.kafka.common.metrics.Metrics;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * A broker's process of Kafka 2.4 to 3.9, which use the same names for partitions, leaders and brokers.
 * The controller and its state machines share one channel manager, which can be replaced before anything is sent.
 */
abstract class ControllerProcess extends ClientProcess {
    static final Metrics METRICS = new Metrics();

    private final Consumer<String> sent;

    ControllerProcess(KafkaConfig config, Consumer<String> sent) {
        super(config);
        this.sent = sent;
    }

    /** Its knowledge of the partition's state. */
    abstract Option<LeaderIsrAndControllerEpoch> state();

    /** The version of the node from which a state was read. */
    abstract int version(LeaderIsrAndControllerEpoch state);

    @Override
    protected void captureRequests(KafkaController starting) {
        send(starting, new CapturedRequests(config(), sent));
    }

    /** Makes the controller send by these channels. */
    protected static void send(KafkaController starting, ControllerChannelManager channels) {
        starting.controllerChannelManager_$eq(channels);
        batches(starting).forEach(batch -> Fields.set(batch, "controllerChannelManager", channels));
    }

    @Override
    protected Object eventIn(Object queued) {
        return ((QueuedEvent) queued).event();
    }

    @Override
    protected SortedMap<Integer, Long> liveBrokers() {
        SortedMap<Integer, Long> live = new TreeMap<>();
        for (Iterator<Tuple2<Object, Object>> each = context().liveBrokerIdAndEpochs().iterator(); each.hasNext(); ) {
            Tuple2<Object, Object> registered = each.next();
            live.put((Integer) registered._1(), (Long) registered._2());
        }
        return live;
    }

    @Override
    protected Integer cachedVersion() {
        Option<LeaderIsrAndControllerEpoch> cached = state();
        return cached.isEmpty() ? null : version(cached.get());
    }

    @Override
    protected long brokerEpoch() {
        return controller().brokerEpoch();
    }

    @Override
    protected void putPartitionOffline() {
        context().putPartitionState(Partition.ID, OfflinePartition$.MODULE$);
    }

    @Override
    protected void putPartitionOnline() {
        if (context().partitionStates().get(Partition.ID).contains(OfflinePartition$.MODULE$)) {
            context().putPartitionState(Partition.ID, OnlinePartition$.MODULE$);
        }
    }
}
