package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.AlterIsrRequestData;
import org.apache.kafka.common.message.AlterIsrResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.zookeeper.data.Stat;
import scala.runtime.BoxedUnit;

/** A leader requests another ISR for its partition; in Kafka 2.8 the request is called AlterIsr. */
final class AlterPartition {
    private static final int RECOVERED = 0;

    private AlterPartition() { }

    static void ask(KafkaController controller, Ensemble ensemble, JsonNode command, Consumer<JsonNode> answered) {
        int broker = Json.field(command, "broker").asInt();
        Stat registered = ensemble.server().stat(ScriptedCluster.registration(broker));
        AlterIsrRequestData data = new AlterIsrRequestData()
            .setBrokerId(broker)
            .setBrokerEpoch(
                registered == null ? -1 : registered.getCzxid() + Json.field(command, "epoch_off").asInt());
        Json.field(command, "isrs").fields().forEachRemaining(each ->
            add(data, ensemble, Scala.partition(each.getKey()), each.getValue(), command));
        controller.alterIsrs(data, response -> {
            answered.accept(written(response));
            return BoxedUnit.UNIT;
        });
    }

    private static void add(
            AlterIsrRequestData data, Ensemble ensemble, TopicPartition partition, JsonNode isr, JsonNode command) {
        String path = Ensemble.state(partition.toString());
        Stat stat = ensemble.server().stat(path);
        JsonNode state = stat == null ? Json.object() : Json.read(ensemble.server().data(path));
        List<Integer> wanted = new ArrayList<>();
        isr.forEach(broker -> wanted.add(broker.asInt()));
        var asked = new AlterIsrRequestData.PartitionData()
            .setPartitionIndex(partition.partition())
            .setLeaderEpoch(state.path("leader_epoch").asInt() + Json.field(command, "leader_epoch_off").asInt())
            .setCurrentIsrVersion(
                (stat == null ? 0 : stat.getVersion()) + Json.field(command, "partition_epoch_off").asInt())
            .setNewIsr(wanted);
        data.topics().stream()
            .filter(topic -> topic.name().equals(partition.topic()))
            .findFirst()
            .orElseGet(() -> topic(data, partition.topic()))
            .partitions().add(asked);
    }

    private static AlterIsrRequestData.TopicData topic(AlterIsrRequestData data, String name) {
        var topic = new AlterIsrRequestData.TopicData().setName(name);
        data.topics().add(topic);
        return topic;
    }

    private static ObjectNode written(AlterIsrResponseData response) {
        ObjectNode answer = Json.object().put("error", Errors.forCode(response.errorCode()).name());
        ObjectNode partitions = answer.putObject("partitions");
        response.topics().forEach(topic -> topic.partitions().forEach(each -> {
            String name = topic.name() + "-" + each.partitionIndex();
            if (each.errorCode() != 0) {
                partitions.put(name, Errors.forCode(each.errorCode()).name());
            } else {
                var fields = partitions.putArray(name).add(each.leaderId()).add(each.leaderEpoch());
                each.isr().forEach(fields.addArray()::add);
                fields.add(RECOVERED).add(each.currentIsrVersion());
            }
        }));
        return answer;
    }
}
