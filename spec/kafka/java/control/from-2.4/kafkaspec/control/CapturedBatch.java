package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.ControllerContext;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataPartitionState;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.collection.mutable.Map;
import scala.collection.mutable.Set;
import scala.runtime.BoxedUnit;

/**
 * Kafka's batch of requests, of which what would go to a broker's queue is kept.
 */
final class CapturedBatch extends ControllerBrokerRequestBatch {
    private ObjectNode sent = Json.object();

    CapturedBatch(KafkaConfig config, ControllerContext context, StateChangeLogger logger) {
        super(config, null, null, context, logger);
    }

    @Override
    public void sendRequest(
            int broker,
            AbstractControlRequest.Builder<? extends AbstractControlRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        AbstractControlRequest request = builder.build(builder.latestAllowedVersion());
        sent.withArray(String.valueOf(broker)).add(Requests.request(request));
    }

    /** The requests since this was last asked, in order, broker by broker. */
    ObjectNode take() {
        ObjectNode taken = sent;
        sent = Json.object();
        return taken;
    }

    /** What has been added to a batch, and not been sent. */
    static ObjectNode observe(ControllerBrokerRequestBatch batch) {
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
