package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerBrokerRequestBatch;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataPartitionState;
import scala.collection.mutable.Map;
import scala.collection.mutable.Set;

/** The unsent content of a batch of requests since Kafka 2.4, as JSON. */
final class BatchObservation {
    private BatchObservation() { }

    static ObjectNode of(ControllerBrokerRequestBatch batch) {
        ObjectNode left = Json.object();
        Map<Object, Map<TopicPartition, LeaderAndIsrPartitionState>> requests =
            field(batch, "leaderAndIsrRequestMap");
        Map<TopicPartition, UpdateMetadataPartitionState> metadata =
            field(batch, "updateMetadataRequestPartitionInfoMap");
        Set<Object> brokers = field(batch, "updateMetadataRequestBrokerSet");
        ObjectNode leaderAndIsr = left.putObject("leader_and_isr");
        Scala.forEach(requests, (broker, states) -> Scala.forEach(
            states, (partition, state) -> leaderAndIsr.set(partition + "@" + broker, Requests.state(state))));
        StopReplicas.put(left.putObject("stop_replica"), batch);
        ObjectNode partitions = left.putObject("update_metadata");
        Scala.forEach(metadata, (partition, state) -> partitions.set(partition.toString(), Requests.state(state)));
        ArrayNode named = left.putArray("update_metadata_brokers");
        Scala.forEach(brokers, broker -> named.add((Integer) broker));
        return left;
    }

    @SuppressWarnings("unchecked")
    private static <T> T field(ControllerBrokerRequestBatch batch, String name) {
        return (T) Fields.get(batch, name);
    }
}
