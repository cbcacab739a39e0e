package kafkaspec.pure;

import kafka.api.LeaderAndIsr;
import kafka.controller.ControllerContext;
import kafka.controller.Election$;
import kafka.controller.ElectionResult;
import org.apache.kafka.common.TopicPartition;
import scala.Option;
import scala.Tuple3;
import scala.collection.Seq;
import scala.collection.immutable.List;

/** The state of a partition before an election, from 2.4 to 3.1. */
final class PartitionBefore {
    private PartitionBefore() { }

    static LeaderAndIsr of(int leader, List<Object> isr) {
        return LeaderAndIsr.apply(leader, 0, isr, 0);
    }

    static Seq<ElectionResult> leaderForOffline(
            ControllerContext context, Seq<Tuple3<TopicPartition, Option<LeaderAndIsr>, Object>> partitions) {
        return Election$.MODULE$.leaderForOffline(context, partitions);
    }

    /** Whether Kafka marks the leader as possibly lacking records; null if the release has no such mark. */
    static Boolean mayLackRecords(LeaderAndIsr elected) {
        return null;
    }
}
