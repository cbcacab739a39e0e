package kafkaspec.pure;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import scala.collection.Seq;

/** The partitions of a topic, in the form used until 2.3. */
final class Existing {
    private Existing() { }

    static Map<Object, Seq<Object>> of(List<Seq<Object>> assignment) {
        Map<Object, Seq<Object>> existing = new TreeMap<>();
        assignment.forEach(replicas -> existing.put(existing.size(), replicas));
        return existing;
    }
}
