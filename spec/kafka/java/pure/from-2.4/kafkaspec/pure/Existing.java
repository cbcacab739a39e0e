package kafkaspec.pure;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import kafka.controller.ReplicaAssignment;
import scala.collection.Seq;

/** The partitions of a topic, none of them in reassignment. */
final class Existing {
    private Existing() { }

    static Map<Object, ReplicaAssignment> of(List<Seq<Object>> assignment) {
        Map<Object, ReplicaAssignment> existing = new TreeMap<>();
        assignment.forEach(replicas -> existing.put(existing.size(), ReplicaAssignment.apply(replicas)));
        return existing;
    }
}
