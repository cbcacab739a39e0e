package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import kafka.cluster.Partition;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import scala.Function2;
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
        observeHosted(seen.putObject("all_partitions"));
        ((IdleFetchers) replicaFetcherManager()).observe(seen.putObject("fetchers"));
        ObjectNode logs = seen.putObject("logs");
        JavaConverters.asJavaIterable(logManager().allLogs()).forEach(
            log -> logs.put(log.topicPartition().toString(), directories.number(log.parentDir())));
        observeMetadata(seen.putObject("metadata"));
        return seen;
    }

    private static List<String> names(Iterable<Partition> partitions) {
        return JavaConverters.asJavaCollection(partitions).stream().map(
            partition -> partition.topicPartition().toString()).toList();
    }
}
