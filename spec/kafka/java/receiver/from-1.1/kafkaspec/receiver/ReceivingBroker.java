package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.cluster.Partition;
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
import scala.runtime.BoxedUnit;

/** Kafka's ReplicaManager and its metadata cache, with their observation. Its fetchers do not run. */
final class ReceivingBroker extends Replicas {
    private final LogDirectories directories;
    private final LeadershipChange change = new LeadershipChange();

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
        return super.becomeLeaderOrFollower(correlation, request, change.before(onLeadershipChange));
    }

    void shutDown() {
        ((AtomicBoolean) Fields.get(this, "isShuttingDown")).set(true);
    }

    /** The whole observation; changes by the last request appear once. */
    ObjectNode observe(ObjectNode seen) {
        change.observe(seen);
        seen.put("controller_epoch", controllerEpoch());
        Hosted.observe(this, seen.putObject("all_partitions"));
        ((IdleFetchers) replicaFetcherManager()).observe(seen.putObject("fetchers"));
        ObjectNode logs = seen.putObject("logs");
        Scala.forEach(logManager().allLogs(), log -> logs.put(
            log.topicPartition().toString(), directories.number(log.dir().getParent())));
        Metadata.observe(metadataCache(), seen.putObject("metadata"));
        return seen;
    }

    static void brokers(ArrayNode array, Iterable<Object> brokers) {
        Scala.forEach(brokers, broker -> array.add((Integer) broker));
    }
}
