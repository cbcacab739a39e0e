package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.StopReplicaResponse;

/** Brokers' responses to a controller of Kafka 0.10, except those that it only logs. */
final class Responses {
    private Responses() { }

    /**
     * The response to a StopReplica; null for all other requests.
     *
     * @param errors error codes by partition name; the code of the whole response under "all"
     */
    static AbstractResponse to(AbstractRequest request, JsonNode errors) {
        if (!(request instanceof StopReplicaRequest stopReplica)) {
            return null;
        }
        Map<TopicPartition, Short> byPartition = new LinkedHashMap<>();
        stopReplica.partitions().forEach(partition -> byPartition.put(partition, code(errors, partition.toString())));
        return new StopReplicaResponse(code(errors, "all"), byPartition);
    }

    private static short code(JsonNode errors, String name) {
        return (short) errors.path(name).asInt();
    }
}
