package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.StopReplicaResponse;

/** Brokers' responses to a controller of Kafka 0.11 to 2.2. */
final class Responses {
    private Responses() { }

    /**
     * The response to a request; null for UpdateMetadata, whose response the controller would only log.
     *
     * @param errors error codes by partition name; the code of the whole response under "all"
     */
    static AbstractResponse to(AbstractRequest request, JsonNode errors) {
        if (request instanceof LeaderAndIsrRequest leaderAndIsr) {
            return new LeaderAndIsrResponse(
                error(errors, "all"), errors(leaderAndIsr.partitionStates().keySet(), errors));
        }
        if (request instanceof StopReplicaRequest stopReplica) {
            return new StopReplicaResponse(error(errors, "all"), errors(stopReplica.partitions(), errors));
        }
        return null;
    }

    private static Map<TopicPartition, Errors> errors(Iterable<TopicPartition> partitions, JsonNode errors) {
        Map<TopicPartition, Errors> byPartition = new LinkedHashMap<>();
        partitions.forEach(partition -> byPartition.put(partition, error(errors, partition.toString())));
        return byPartition;
    }

    private static Errors error(JsonNode errors, String name) {
        return Errors.forCode((short) errors.path(name).asInt());
    }
}
