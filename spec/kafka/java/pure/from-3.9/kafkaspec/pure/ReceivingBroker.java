package kafkaspec.pure;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.cluster.OngoingReassignmentState;
import kafka.cluster.Partition;
import kafka.server.BrokerFeatures;
import kafka.server.BrokerTopicStats;
import kafka.server.HostedPartition;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicaManager;
import kafka.server.ReplicationQuotaManager;
import kafka.server.metadata.ZkMetadataCache;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import scala.Function2;
import scala.Option;
import scala.collection.Iterable;
import scala.collection.JavaConverters;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** Kafka's ReplicaManager with its metadata cache, and what is to be seen of both. Its fetchers do not run. */
final class ReceivingBroker extends ReplicaManager {
    private final LogDirectories directories;
    private List<String> leaders = List.of();
    private List<String> followers = List.of();

    ReceivingBroker(LogDirectories directories) {
        super(
            directories.config(), new Metrics(), Time.SYSTEM, directories.scheduler(), directories.logs(),
            Option.empty(), Stubs.quotas(),
            new ZkMetadataCache(
                directories.config().brokerId(), directories.config().interBrokerProtocolVersion(),
                BrokerFeatures.createEmpty(), false),
            new LogDirFailureChannel(8), null, new BrokerTopicStats(false), new AtomicBoolean(), Option.empty(),
            Stubs.purgatory("Produce"), Stubs.purgatory("Fetch"), Stubs.purgatory("DeleteRecords"),
            Stubs.purgatory("ElectLeader"), Stubs.purgatory("RemoteFetch"), Option.empty(), () -> -1L, Option.empty(),
            DirectoryEventHandler.NOOP);
        this.directories = directories;
    }

    ZkMetadataCache cache() {
        return (ZkMetadataCache) metadataCache();
    }

    @Override
    public ReplicaFetcherManager createReplicaFetcherManager(
            Metrics metrics, Time time, Option<String> prefix, ReplicationQuotaManager quota) {
        return new IdleFetchers(this, metrics, quota);
    }

    @Override
    public LeaderAndIsrResponse becomeLeaderOrFollower(
            int correlation, LeaderAndIsrRequest request,
            Function2<Iterable<Partition>, Iterable<Partition>, BoxedUnit> onLeadershipChange) {
        return super.becomeLeaderOrFollower(correlation, request, new AbstractFunction2<>() {
            @Override
            public BoxedUnit apply(Iterable<Partition> nowLed, Iterable<Partition> nowFollowed) {
                leaders = names(nowLed);
                followers = names(nowFollowed);
                return onLeadershipChange.apply(nowLed, nowFollowed);
            }
        });
    }

    /** All that is to be seen; what the last request changed is seen once. */
    ObjectNode observe(ObjectNode seen) {
        leaders.forEach(seen.putArray("leaders")::add);
        followers.forEach(seen.putArray("followers")::add);
        leaders = followers = List.of();
        seen.put("controller_epoch", controllerEpoch());
        ObjectNode hosted = seen.putObject("all_partitions");
        JavaConverters.asJavaIterable(allPartitions()).forEach(
            each -> put(hosted, each._1().toString(), each._2()));
        ((IdleFetchers) replicaFetcherManager()).observe(seen.putObject("fetchers"));
        ObjectNode logs = seen.putObject("logs");
        JavaConverters.asJavaIterable(logManager().allLogs()).forEach(
            log -> logs.put(log.topicPartition().toString(), directories.number(log.parentDir())));
        observeMetadata(seen.putObject("metadata"));
        return seen;
    }

    private void observeMetadata(ObjectNode seen) {
        seen.put("controller_id", cache().getControllerId().isEmpty() ? null : cache().getControllerId().get().id());
        ArrayNode alive = seen.putArray("alive_brokers");
        JavaConverters.asJavaIterable(cache().getAliveBrokers()).forEach(broker -> alive.add(broker.id));
        ArrayNode states = seen.putArray("partition_states");
        JavaConverters.asJavaIterable(cache().getAllTopics()).forEach(
            topic -> JavaConverters.asJavaIterable(cache().getTopicPartitions(topic)).forEach(partition -> {
                states.add(ControlRequests.fields(cache().getPartitionInfo(topic, partition.partition()).get()));
            }));
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
        seen.put("partition_epoch", known.getPartitionEpoch());
        seen.put("controller_epoch", (Integer) Fields.get(known, "controllerEpoch"));
        brokers(seen.putArray("isr"), known.partitionState().isr());
        seen.put("leader_recovery_state", known.partitionState().leaderRecoveryState().value());
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

    private static List<String> names(Iterable<Partition> partitions) {
        return JavaConverters.asJavaCollection(partitions).stream().map(
            partition -> partition.topicPartition().toString()).toList();
    }
}
