package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerBrokerRequestBatch;
import kafkaspec.Json;

/** The unsent content of a batch of requests until Kafka 2.2, as JSON. */
final class BatchObservation {
    private BatchObservation() { }

    static ObjectNode of(ControllerBrokerRequestBatch batch) {
        ObjectNode left = Json.object();
        ObjectNode leaderAndIsr = left.putObject("leader_and_isr");
        Scala.forEach(batch.leaderAndIsrRequestMap(), (broker, states) -> Scala.forEach(
            states, (partition, state) ->
                leaderAndIsr.set(partition + "@" + broker, Requests.state(partition, state))));
        ObjectNode stopReplica = left.putObject("stop_replica");
        Scala.forEach(batch.stopReplicaRequestMap(), (broker, stopping) -> Scala.forEach(
            stopping, each -> stopReplica.set(
                each.replica().topicPartition() + "@" + broker,
                Requests.stopped(each.replica().topicPartition(), each.deletePartition()))));
        ObjectNode partitions = left.putObject("update_metadata");
        Scala.forEach(batch.updateMetadataRequestPartitionInfoMap(), (partition, state) ->
            partitions.set(partition.toString(), Requests.state(partition, state)));
        ArrayNode named = left.putArray("update_metadata_brokers");
        Scala.forEach(batch.updateMetadataRequestBrokerSet(), broker -> named.add((Integer) broker));
        return left;
    }
}
