package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.cluster.OngoingReassignmentState;
import kafka.cluster.Partition;
import kafka.server.AlterIsrManager;
import kafka.server.BrokerTopicStats;
import kafka.server.HostedPartition;
import kafka.server.LogDirFailureChannel;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaManager;
import kafka.server.ReplicationQuotaManager;
import kafka.server.ZkMetadataCache;
import kafkaspec.Fields;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.Iterable;
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

    @Override
    public ReplicaFetcherManager createReplicaFetcherManager(
            Metrics metrics, Time time, Option<String> prefix, ReplicationQuotaManager quota) {
        return new IdleFetchers(this, metrics, quota);
    }

    void observeHosted(ObjectNode seen) {
        JavaConverters.asJavaIterable(allPartitions()).forEach(each -> put(seen, each._1().toString(), each._2()));
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

    private static void put(ObjectNode hosted, String name, HostedPartition partition) {
        if (!(partition instanceof HostedPartition.Online online)) {
            hosted.putNull(name);
            return;
        }
        Partition known = online.partition();
        ObjectNode seen = hosted.putObject(name);
        seen.put("leader", known.leaderReplicaIdOpt().isEmpty() ? null : (Integer) known.leaderReplicaIdOpt().get());
        seen.put("leader_epoch", known.getLeaderEpoch());
        seen.put("partition_epoch", known.getZkVersion());
        seen.put("controller_epoch", (Integer) Fields.get(known, "controllerEpoch"));
        brokers(seen.putArray("isr"), known.isrState().isr());
        seen.put("leader_recovery_state", RECOVERED);
        brokers(seen.putArray("replicas"), known.assignmentState().replicas());
        ArrayNode adding = seen.putArray("adding");
        ArrayNode removing = seen.putArray("removing");
        if (known.assignmentState() instanceof OngoingReassignmentState moves) {
            brokers(adding, moves.addingReplicas());
            brokers(removing, moves.removingReplicas());
        }
    }

    private static void brokers(ArrayNode array, Iterable<Object> brokers) {
        JavaConverters.asJavaIterable(brokers).forEach(broker -> array.add((Integer) broker));
    }
}
