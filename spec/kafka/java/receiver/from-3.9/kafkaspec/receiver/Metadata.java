package kafkaspec.receiver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.server.MetadataCache;
import kafka.server.metadata.ZkMetadataCache;

/** A broker's knowledge of the cluster in Kafka 3.9. */
final class Metadata {
    private Metadata() { }

    static void observe(MetadataCache known, ObjectNode seen) {
        ZkMetadataCache cache = (ZkMetadataCache) known;
        seen.put("controller_id", cache.getControllerId().isEmpty() ? null : cache.getControllerId().get().id());
        ArrayNode alive = seen.putArray("alive_brokers");
        Scala.forEach(cache.getAliveBrokers(), broker -> alive.add(broker.id));
        ArrayNode states = seen.putArray("partition_states");
        Scala.forEach(cache.getAllTopics(), topic -> Scala.forEach(
            cache.getTopicPartitions(topic), partition -> states.add(
                ControlRequests.fields(cache.getPartitionInfo(topic, partition.partition()).get()))));
    }
}
