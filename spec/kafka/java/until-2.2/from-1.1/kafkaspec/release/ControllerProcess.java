package kafkaspec.release;

import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.OfflinePartition$;
import kafka.controller.OnlinePartition$;
import kafka.controller.PartitionState;
import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import kafkaspec.Fields;
import kafkaspec.KafkaProcess;
import kafkaspec.Partition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.mutable.Map;

/**
 * A broker's process of Kafka 1.1 to 2.2, which use the same names for partitions and leaders.
 * The queue holds the events themselves; only the state machine knows a partition's state.
 */
abstract class ControllerProcess extends KafkaProcess {
    protected static final Metrics METRICS = new Metrics();

    private final Consumer<String> sent;

    ControllerProcess(KafkaConfig config, Consumer<String> sent) {
        super(config);
        this.sent = sent;
    }

    @Override
    protected KafkaZkClient openClient() {
        return KafkaZkClient.apply(
            config().zkConnect(), false, config().zkSessionTimeoutMs(), config().zkConnectionTimeoutMs(),
            config().zkMaxInFlightRequests(), Time.SYSTEM, "kafka.server", "SessionExpireListener");
    }

    @Override
    protected void captureRequests(KafkaController starting) {
        send(starting, (broker, builder, callback) ->
            sent.accept(builder.apiKey().name() + " " + Fields.get(builder.build(), "controllerEpoch")));
    }

    /** Makes the controller send by these channels. */
    protected static void send(KafkaController starting, Channels channels) {
        CapturedRequests.tell(starting.config().brokerId(), channels);
    }

    @Override
    protected Object eventIn(Object queued) {
        return queued;
    }

    /** Until 2.1 a restarted broker cannot be distinguished from its predecessor. */
    @Override
    protected SortedMap<Integer, Long> liveBrokers() {
        SortedMap<Integer, Long> live = new TreeMap<>();
        for (Iterator<Object> ids = context().liveBrokerIds().iterator(); ids.hasNext(); ) {
            live.put((Integer) ids.next(), 0L);
        }
        return live;
    }

    @Override
    protected long brokerEpoch() {
        return 0;
    }

    @Override
    protected Integer cachedVersion() {
        Option<LeaderIsrAndControllerEpoch> cached = context().partitionLeadershipInfo().get(Partition.ID);
        return cached.isEmpty() ? null : cached.get().leaderAndIsr().zkVersion();
    }

    @Override
    protected void putPartitionOffline() {
        partitionStates().put(Partition.ID, OfflinePartition$.MODULE$);
    }

    @Override
    protected void putPartitionOnline() {
        if (partitionStates().get(Partition.ID).contains(OfflinePartition$.MODULE$)) {
            partitionStates().put(Partition.ID, OnlinePartition$.MODULE$);
        }
    }

    private Map<TopicPartition, PartitionState> partitionStates() {
        return field(controller().partitionStateMachine(), "partitionState");
    }
}
