package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.LeaderAndIsrResponseData;
import org.apache.kafka.common.message.LeaderAndIsrResponseData.LeaderAndIsrPartitionError;
import org.apache.kafka.common.message.StopReplicaResponseData;
import org.apache.kafka.common.message.StopReplicaResponseData.StopReplicaPartitionError;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.StopReplicaResponse;

/** Brokers' responses to a controller since Kafka 2.4. */
final class Responses {
    private Responses() { }

    /**
     * The response to a request; null for UpdateMetadata, whose response the controller would only log.
     *
     * @param errors error codes by partition name; the code of the whole response under "all"
     */
    static AbstractResponse to(AbstractRequest request, JsonNode errors) {
        short all = (short) errors.path("all").asInt();
        if (request instanceof LeaderAndIsrRequest leaderAndIsr) {
            List<LeaderAndIsrPartitionError> partitions = new ArrayList<>();
            for (LeaderAndIsrPartitionState state : leaderAndIsr.partitionStates()) {
                partitions.add(new LeaderAndIsrPartitionError()
                    .setTopicName(state.topicName())
                    .setPartitionIndex(state.partitionIndex())
                    .setErrorCode(error(errors, state.topicName() + "-" + state.partitionIndex())));
            }
            return LeaderAndIsrResponses.of(
                new LeaderAndIsrResponseData().setErrorCode(all).setPartitionErrors(partitions));
        }
        if (request instanceof StopReplicaRequest stopReplica) {
            List<StopReplicaPartitionError> partitions = new ArrayList<>();
            StopReplicas.partitions(stopReplica).forEach(partition -> partitions.add(new StopReplicaPartitionError()
                .setTopicName(partition.topic())
                .setPartitionIndex(partition.partition())
                .setErrorCode(error(errors, partition.toString()))));
            return new StopReplicaResponse(
                new StopReplicaResponseData().setErrorCode(all).setPartitionErrors(partitions));
        }
        return null;
    }

    private static short error(JsonNode errors, String partition) {
        return (short) errors.path(partition).asInt();
    }
}
