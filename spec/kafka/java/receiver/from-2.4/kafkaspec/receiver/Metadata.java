package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.server.MetadataCache;
import scala.Option;

/** A broker's knowledge of the cluster in Kafka 2.4 to 2.7. */
final class Metadata {
    private Metadata() { }

    static void observe(MetadataCache cache, ObjectNode seen) {
        Option<Object> controller = cache.getControllerId();
        seen.put("controller_id", controller.isEmpty() ? null : (Integer) controller.get());
        ArrayNode alive = seen.putArray("alive_brokers");
        Scala.forEach(cache.getAliveBrokers(), broker -> alive.add(broker.id()));
        ArrayNode states = seen.putArray("partition_states");
        Scala.forEach(cache.getAllPartitions(), each -> states.add(
            ControlRequests.fields(cache.getPartitionInfo(each.topic(), each.partition()).get())));
    }
}
