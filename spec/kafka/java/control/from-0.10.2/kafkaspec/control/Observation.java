package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import kafka.api.LeaderAndIsr;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.PartitionAndReplica;
import kafka.controller.ReplicaState;
import kafkaspec.Json;

/**
 * The observation between two commands, as JSON, by the names of `statemachines.controller_context`. Parts that have
 * not changed since the last one are left out.
 */
final class Observation {
    private final Map<String, JsonNode> last = new HashMap<>();
    private ObjectNode seen;

    /** Begins an observation; parts are put here from now on. */
    void begin(ObjectNode now) {
        seen = now;
    }

    void put(String name, JsonNode value) {
        if (!value.equals(last.put(name, value))) {
            seen.set(name, value);
        }
    }

    // Kafka's values.

    static ObjectNode leaders(scala.collection.Map<?, LeaderIsrAndControllerEpoch> known) {
        ObjectNode leaders = Json.object();
        Scala.forEach(known, (partition, state) -> leaders.putArray(Scala.name(partition))
            .add(fields(state.leaderAndIsr()))
            .add(state.controllerEpoch()));
        return leaders;
    }

    /** A leader and an ISR: the fields in the order of `statemachines.leader_and_isr`. */
    static ArrayNode fields(LeaderAndIsr state) {
        return Json.array()
            .add(state.leader())
            .add(state.leaderEpoch())
            .add(ids(state.isr()))
            .add(Versions.leaderRecoveryState(state))
            .add(Versions.partitionEpoch(state));
    }

    static ObjectNode names(scala.collection.Map<?, ?> states) {
        ObjectNode names = Json.object();
        Scala.forEach(states, (subject, state) -> names.put(Scala.name(subject), state.toString()));
        return names;
    }

    static ObjectNode replicaStates(scala.collection.Map<PartitionAndReplica, ReplicaState> states) {
        ObjectNode names = Json.object();
        Scala.forEach(states, (replica, state) ->
            names.put(replica.topic() + "-" + replica.partition() + "@" + replica.replica(), state.toString()));
        return names;
    }

    static ObjectNode epochs(scala.collection.Map<Object, Object> brokers) {
        ObjectNode epochs = Json.object();
        Scala.forEach(brokers, (broker, epoch) -> epochs.put(broker.toString(), (Long) epoch));
        return epochs;
    }

    static ObjectNode partitionsOf(
            scala.collection.Map<Object, ? extends scala.collection.Iterable<?>> brokers) {
        ObjectNode partitions = Json.object();
        Scala.forEach(brokers, (broker, its) -> partitions.set(broker.toString(), texts(its)));
        return partitions;
    }

    static ArrayNode ids(scala.collection.Iterable<Object> brokers) {
        ArrayNode ids = Json.array();
        Scala.forEach(brokers, broker -> ids.add((Integer) broker));
        return ids;
    }

    static ArrayNode texts(scala.collection.Iterable<?> names) {
        ArrayNode texts = Json.array();
        Scala.forEach(names, name -> texts.add(Scala.name(name)));
        return texts;
    }
}
