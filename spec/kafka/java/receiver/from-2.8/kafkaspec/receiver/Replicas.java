package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.cluster.Partition;
import kafka.server.AlterIsrManager;
import kafka.server.BrokerTopicStats;
import kafka.server.LogDirFailureChannel;
import kafka.server.ReplicaManager;
import kafka.server.ZkMetadataCache;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.JavaConverters;

/** The ReplicaManager of Kafka 2.8, what it knows of its partitions, and of the cluster. */
abstract class Replicas extends ReplicaManager {
    private static final int RECOVERED = 0;

    Replicas(LogDirectories directories) {
        super(
            directories.config(), new Metrics(), Time.SYSTEM, Option.empty(),
            Surroundings.scheduler(directories.scheduled()), directories.logs(), new AtomicBoolean(), Stubs.quotas(),
            new BrokerTopicStats(), new ZkMetadataCache(directories.config().brokerId()),
            new LogDirFailureChannel(8), Surroundings.purgatory("Produce"), Surroundings.purgatory("Fetch"),
            Surroundings.purgatory("DeleteRecords"), Surroundings.purgatory("ElectLeader"), Option.empty(),
            directories.configurations(), Stubs.stub(AlterIsrManager.class, "submit", true));
    }

    ZkMetadataCache cache() {
        return (ZkMetadataCache) metadataCache();
    }

    void observeMetadata(ObjectNode seen) {
        Option<Object> controller = cache().getControllerId();
        seen.put("controller_id", controller.isEmpty() ? null : (Integer) controller.get());
        ArrayNode alive = seen.putArray("alive_brokers");
        JavaConverters.asJavaIterable(cache().getAliveBrokers()).forEach(broker -> alive.add(broker.id()));
        ArrayNode states = seen.putArray("partition_states");
        JavaConverters.asJavaIterable(cache().getAllPartitions()).forEach(each -> states.add(
            ControlRequests.fields(cache().getPartitionInfo(each.topic(), each.partition()).get())));
    }

    /** What it knows of an ISR. */
    static void observeIsr(ObjectNode seen, Partition known) {
        seen.put("partition_epoch", known.getZkVersion());
        ReceivingBroker.brokers(seen.putArray("isr"), known.isrState().isr());
        seen.put("leader_recovery_state", RECOVERED);
    }
}
