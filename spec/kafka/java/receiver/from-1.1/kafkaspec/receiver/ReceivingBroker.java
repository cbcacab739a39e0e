package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.cluster.OngoingReassignmentState;
import kafka.cluster.Partition;
import kafka.server.HostedPartition;
import kafka.server.ReplicaFetcherManager;
import kafka.server.ReplicationQuotaManager;
import kafkaspec.Fields;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.utils.Time;
import scala.Function2;
import scala.Option;
import scala.collection.Iterable;
import scala.collection.JavaConverters;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** Kafka's ReplicaManager with its metadata cache, and what is to be seen of both. Its fetchers do not run. */
final class ReceivingBroker extends Replicas {
    private final LogDirectories directories;
    private List<String> leaders = List.of();
    private List<String> followers = List.of();

    ReceivingBroker(LogDirectories directories) {
        super(directories);
        this.directories = directories;
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

    void shutDown() {
        ((AtomicBoolean) Fields.get(this, "isShuttingDown")).set(true);
    }

    /** All that is to be seen; what the last request changed is seen once. */
    ObjectNode observe(ObjectNode seen) {
        leaders.forEach(seen.putArray("leaders")::add);
        followers.forEach(seen.putArray("followers")::add);
        leaders = followers = List.of();
        seen.put("controller_epoch", controllerEpoch());
        observeHosted(seen.putObject("all_partitions"));
        ((IdleFetchers) replicaFetcherManager()).observe(seen.putObject("fetchers"));
        ObjectNode logs = seen.putObject("logs");
        JavaConverters.asJavaIterable(logManager().allLogs()).forEach(
            log -> logs.put(log.topicPartition().toString(), directories.number(log.parentDir())));
        observeMetadata(seen.putObject("metadata"));
        return seen;
    }

    /** All that is known of partitions. */
    private void observeHosted(ObjectNode seen) {
        JavaConverters.asJavaIterable(allPartitions()).forEach(each -> put(seen, each._1().toString(), each._2()));
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
        seen.put("controller_epoch", (Integer) Fields.get(known, "controllerEpoch"));
        observeIsr(seen, known);
        brokers(seen.putArray("replicas"), known.assignmentState().replicas());
        ArrayNode adding = seen.putArray("adding");
        ArrayNode removing = seen.putArray("removing");
        if (known.assignmentState() instanceof OngoingReassignmentState moves) {
            brokers(adding, moves.addingReplicas());
            brokers(removing, moves.removingReplicas());
        }
    }

    static void brokers(ArrayNode array, Iterable<Object> brokers) {
        JavaConverters.asJavaIterable(brokers).forEach(broker -> array.add((Integer) broker));
    }

    private static List<String> names(Iterable<Partition> partitions) {
        return JavaConverters.asJavaCollection(partitions).stream().map(
            partition -> partition.topicPartition().toString()).toList();
    }
}
