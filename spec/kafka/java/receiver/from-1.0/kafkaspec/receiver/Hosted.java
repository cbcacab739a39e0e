package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.cluster.Partition;
import kafka.cluster.Replica;
import kafka.server.ReplicaManager;
import kafka.utils.Pool;
import kafkaspec.Fields;
import org.apache.kafka.common.TopicPartition;
import scala.collection.Iterable;

/**
 * The knowledge of a broker until Kafka 2.3 about the partitions whose replicas it keeps. The replicas of one have no
 * order. Before it has led or followed, a failed change has left them, and they are not reported.
 */
final class Hosted {
    private static final int RECOVERED = 0;

    private Hosted() { }

    @SuppressWarnings("unchecked")
    static void observe(ReplicaManager manager, ObjectNode seen) {
        Scala.forEach(
            (Pool<TopicPartition, Partition>) Fields.get(manager, "allPartitions"),
            each -> put(seen, each._1().toString(), each._2()));
    }

    private static void put(ObjectNode hosted, String name, Partition known) {
        if (known == ReplicaManager.OfflinePartition()) {
            hosted.putNull(name);
            return;
        }
        ObjectNode seen = hosted.putObject(name);
        seen.put("leader", known.leaderReplicaIdOpt().isEmpty() ? null : (Integer) known.leaderReplicaIdOpt().get());
        seen.put("leader_epoch", known.getLeaderEpoch());
        seen.put("partition_epoch", (Integer) Fields.get(known, "zkVersion"));
        seen.put("controller_epoch", (Integer) Fields.get(known, "controllerEpoch"));
        ArrayNode isr = seen.putArray("isr");
        ArrayNode replicas = seen.putArray("replicas");
        if (known.leaderReplicaIdOpt().isDefined()) {
            brokers(isr, known.inSyncReplicas());
            brokers(replicas, known.assignedReplicas());
        }
        seen.put("leader_recovery_state", RECOVERED);
        seen.putArray("adding");
        seen.putArray("removing");
    }

    private static void brokers(ArrayNode array, Iterable<Replica> replicas) {
        Scala.forEach(replicas, replica -> array.add(replica.brokerId()));
    }
}
