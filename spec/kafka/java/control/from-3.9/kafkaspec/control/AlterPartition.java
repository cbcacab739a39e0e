package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.zookeeper.data.Stat;
import scala.runtime.BoxedUnit;

/** A leader requests another ISR for its partition: the request of Kafka 3.9, which has topic ids. */
final class AlterPartition {
    /** The first version in which a controller reports the brokers that are ineligible for an ISR. */
    private static final short VERSION = 2;

    /** The specification's topics have no ids; a topic with an unknown id is an unknown topic. */
    private static final Errors UNKNOWN = Errors.UNKNOWN_TOPIC_OR_PARTITION;

    private AlterPartition() { }

    static void ask(KafkaController controller, Ensemble ensemble, JsonNode command, Consumer<JsonNode> answered) {
        int broker = Json.field(command, "broker").asInt();
        Stat registered = ensemble.server().stat(ScriptedCluster.registration(broker));
        AlterPartitionRequestData data = new AlterPartitionRequestData()
            .setBrokerId(broker)
            .setBrokerEpoch(
                registered == null ? -1 : registered.getCzxid() + Json.field(command, "epoch_off").asInt());
        Json.field(command, "isrs").fields().forEachRemaining(each ->
            add(data, ensemble, Scala.partition(each.getKey()), each.getValue(), command));
        controller.alterPartitions(data, VERSION, response -> {
            answered.accept(written(response));
            return BoxedUnit.UNIT;
        });
    }

    private static void add(
            AlterPartitionRequestData data,
            Ensemble ensemble,
            TopicPartition partition,
            JsonNode isr,
            JsonNode command) {
        String path = Ensemble.state(partition.toString());
        Stat stat = ensemble.server().stat(path);
        JsonNode state = stat == null ? Json.object() : Json.read(ensemble.server().data(path));
        List<Integer> wanted = new ArrayList<>();
        isr.forEach(broker -> wanted.add(broker.asInt()));
        var asked = new AlterPartitionRequestData.PartitionData()
            .setPartitionIndex(partition.partition())
            .setLeaderEpoch(state.path("leader_epoch").asInt() + Json.field(command, "leader_epoch_off").asInt())
            .setPartitionEpoch(
                (stat == null ? 0 : stat.getVersion()) + Json.field(command, "partition_epoch_off").asInt())
            .setLeaderRecoveryState((byte) Json.field(command, "recovery").asInt())
            .setNewIsr(wanted);
        data.topics().stream()
            .filter(topic -> topic.topicName().equals(partition.topic()))
            .findFirst()
            .orElseGet(() -> topic(data, partition.topic()))
            .partitions().add(asked);
    }

    private static AlterPartitionRequestData.TopicData topic(AlterPartitionRequestData data, String name) {
        var topic = new AlterPartitionRequestData.TopicData().setTopicName(name).setTopicId(Topics.uuid(name));
        data.topics().add(topic);
        return topic;
    }

    private static ObjectNode written(AlterPartitionResponseData response) {
        ObjectNode answer = Json.object().put("error", Errors.forCode(response.errorCode()).name());
        ObjectNode partitions = answer.putObject("partitions");
        response.topics().forEach(topic -> topic.partitions().forEach(each -> {
            String name = Topics.name(topic.topicId()) + "-" + each.partitionIndex();
            Errors error = Errors.forCode(each.errorCode());
            if (error != Errors.NONE) {
                partitions.put(name, (error == Errors.UNKNOWN_TOPIC_ID ? UNKNOWN : error).name());
            } else {
                var fields = partitions.putArray(name).add(each.leaderId()).add(each.leaderEpoch());
                each.isr().forEach(fields.addArray()::add);
                fields.add(each.leaderRecoveryState()).add(each.partitionEpoch());
            }
        }));
        return answer;
    }
}
