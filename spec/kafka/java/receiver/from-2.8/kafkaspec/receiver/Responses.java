package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.requests.StopReplicaResponse;
import org.apache.kafka.common.requests.UpdateMetadataResponse;

/** A broker's responses since Kafka 2.8. */
final class Responses {
    private Responses() { }

    static void put(AbstractResponse response, JsonNode command, ObjectNode answered) {
        answered.put("error", error(response).name());
        ObjectNode partitions = answered.putObject("partitions");
        if (response instanceof LeaderAndIsrResponse leaderAndIsr) {
            leaderAndIsr.partitionErrors(Builders.topics(command)).forEach(
                (partition, error) -> partitions.put(partition.toString(), error.name()));
        } else if (response instanceof StopReplicaResponse stopReplica) {
            stopReplica.partitionErrors().forEach(partition -> partitions.put(
                partition.topicName() + "-" + partition.partitionIndex(),
                Errors.forCode(partition.errorCode()).name()));
        }
    }

    /** The part of a response that concerns the request as a whole. */
    static Errors error(AbstractResponse response) {
        if (response instanceof LeaderAndIsrResponse leaderAndIsr) {
            return leaderAndIsr.error();
        }
        if (response instanceof StopReplicaResponse stopReplica) {
            return stopReplica.error();
        }
        return ((UpdateMetadataResponse) response).error();
    }
}
