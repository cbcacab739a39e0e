package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.cluster.OngoingReassignmentState;
import kafka.cluster.Partition;
import kafka.server.HostedPartition;
import kafka.server.ReplicaManager;
import kafka.utils.Pool;
import kafkaspec.Fields;
import org.apache.kafka.common.TopicPartition;

/** The knowledge of a broker since Kafka 2.6 about the partitions whose replicas it keeps. */
final class Hosted {
    private Hosted() { }

    @SuppressWarnings("unchecked")
    static void observe(ReplicaManager manager, ObjectNode seen) {
        Scala.forEach(
            (Pool<TopicPartition, HostedPartition>) Fields.get(manager, "allPartitions"),
            each -> put(seen, each._1().toString(), each._2()));
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
        Replicas.observeIsr(seen, known);
        ReceivingBroker.brokers(seen.putArray("replicas"), known.assignmentState().replicas());
        ArrayNode adding = seen.putArray("adding");
        ArrayNode removing = seen.putArray("removing");
        if (known.assignmentState() instanceof OngoingReassignmentState moves) {
            ReceivingBroker.brokers(adding, moves.addingReplicas());
            ReceivingBroker.brokers(removing, moves.removingReplicas());
        }
    }
}
