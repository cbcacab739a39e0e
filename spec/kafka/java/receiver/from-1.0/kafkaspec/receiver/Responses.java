package kafkaspec.receiver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.requests.StopReplicaResponse;
import org.apache.kafka.common.requests.UpdateMetadataResponse;

/** A broker's responses until Kafka 2.3. */
final class Responses {
    private Responses() { }

    static void put(AbstractResponse response, JsonNode command, ObjectNode answered) {
        if (response instanceof LeaderAndIsrResponse leaderAndIsr) {
            put(leaderAndIsr.error(), leaderAndIsr.responses(), answered);
        } else if (response instanceof StopReplicaResponse stopReplica) {
            put(stopReplica.error(), stopReplica.responses(), answered);
        } else {
            put(((UpdateMetadataResponse) response).error(), Map.of(), answered);
        }
    }

    private static void put(Errors error, Map<TopicPartition, Errors> errors, ObjectNode answered) {
        answered.put("error", error.name());
        ObjectNode partitions = answered.putObject("partitions");
        errors.forEach((partition, its) -> partitions.put(partition.toString(), its.name()));
    }
}
