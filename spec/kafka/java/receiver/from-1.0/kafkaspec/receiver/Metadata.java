package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.server.MetadataCache;
import scala.Option;

/** A broker's knowledge of the cluster until Kafka 2.3. */
final class Metadata {
    private static final int MOST_PARTITIONS = 2;

    private Metadata() { }

    static void observe(MetadataCache cache, ObjectNode seen) {
        Option<Object> controller = cache.getControllerId();
        seen.put("controller_id", controller.isEmpty() ? null : (Integer) controller.get());
        ArrayNode alive = seen.putArray("alive_brokers");
        Scala.forEach(cache.getAliveBrokers(), broker -> alive.add(broker.id()));
        ArrayNode states = seen.putArray("partition_states");
        Scala.forEach(cache.getAllTopics(), topic -> {
            for (int number = 0; number < MOST_PARTITIONS; number++) {
                var known = cache.getPartitionInfo(topic, number);
                if (known.isDefined()) {
                    states.add(ControlRequests.fields(topic, number, known.get()));
                }
            }
        });
    }
}
