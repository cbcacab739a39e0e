package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.requests.StopReplicaResponse;
import org.apache.kafka.common.requests.UpdateMetadataResponse;

/** A broker's responses in Kafka 2.4 to 2.7. */
final class Responses {
    private Responses() { }

    static void put(AbstractResponse response, JsonNode command, ObjectNode answered) {
        ObjectNode partitions = answered.putObject("partitions");
        if (response instanceof LeaderAndIsrResponse leaderAndIsr) {
            answered.put("error", leaderAndIsr.error().name());
            leaderAndIsr.partitions().forEach(
                each -> put(partitions, each.topicName(), each.partitionIndex(), each.errorCode()));
        } else if (response instanceof StopReplicaResponse stopReplica) {
            answered.put("error", stopReplica.error().name());
            stopReplica.partitionErrors().forEach(
                each -> put(partitions, each.topicName(), each.partitionIndex(), each.errorCode()));
        } else {
            answered.put("error", ((UpdateMetadataResponse) response).error().name());
        }
    }

    private static void put(ObjectNode partitions, String topic, int partition, short error) {
        partitions.put(topic + "-" + partition, Errors.forCode(error).name());
    }
}
