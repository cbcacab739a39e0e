package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import kafka.cluster.Partition;
import scala.Function2;
import scala.collection.Iterable;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** The partitions that a broker has begun to lead and to follow, by the last LeaderAndIsr; reported once. */
final class LeadershipChange {
    private final List<String> leaders = new ArrayList<>();
    private final List<String> followers = new ArrayList<>();

    /** The callback for Kafka; it calls the original one. */
    Function2<Iterable<Partition>, Iterable<Partition>, BoxedUnit> before(
            Function2<Iterable<Partition>, Iterable<Partition>, BoxedUnit> next) {
        return new AbstractFunction2<>() {
            @Override
            public BoxedUnit apply(Iterable<Partition> nowLed, Iterable<Partition> nowFollowed) {
                Scala.forEach(nowLed, partition -> leaders.add(partition.topicPartition().toString()));
                Scala.forEach(nowFollowed, partition -> followers.add(partition.topicPartition().toString()));
                return next.apply(nowLed, nowFollowed);
            }
        };
    }

    void observe(ObjectNode seen) {
        leaders.forEach(seen.putArray("leaders")::add);
        followers.forEach(seen.putArray("followers")::add);
        leaders.clear();
        followers.clear();
    }
}
