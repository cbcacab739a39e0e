package kafkaspec.pure;

import kafka.api.LeaderAndIsr;
import kafka.controller.ControllerContext;
import kafka.controller.Election$;
import kafka.controller.ElectionResult;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.metadata.LeaderRecoveryState;
import scala.Option;
import scala.Tuple3;
import scala.collection.Seq;
import scala.collection.immutable.List;

/** The state of a partition before an election, since 3.2: with its recovery state. */
final class PartitionBefore {
    private static final boolean RECOVERY_IS_SUPPORTED = true;

    private PartitionBefore() { }

    static LeaderAndIsr of(int leader, List<Object> isr) {
        return LeaderAndIsr.apply(leader, 0, isr, LeaderRecoveryState.RECOVERED, 0);
    }

    static Seq<ElectionResult> leaderForOffline(
            ControllerContext context, Seq<Tuple3<TopicPartition, Option<LeaderAndIsr>, Object>> partitions) {
        return Election$.MODULE$.leaderForOffline(context, RECOVERY_IS_SUPPORTED, partitions);
    }

    /** Whether Kafka marks the leader as possibly lacking records; null if the release has no such mark. */
    static Boolean mayLackRecords(LeaderAndIsr elected) {
        return elected.leaderRecoveryState() == LeaderRecoveryState.RECOVERING;
    }
}
