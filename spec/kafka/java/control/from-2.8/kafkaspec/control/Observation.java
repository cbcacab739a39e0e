package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import kafka.api.LeaderAndIsr;
import kafka.controller.ControllerContext;
import kafkaspec.Json;

/**
 * What is to be seen between two commands, as JSON: what the controller knows, ZooKeeper's nodes, and what waits in
 * the batch of requests. What has not changed since the last time is left out.
 */
final class Observation {
    private final ControllerContext context;
    private final Map<String, JsonNode> last = new HashMap<>();

    Observation(ControllerContext context) {
        this.context = context;
    }

    void put(ObjectNode seen, Ensemble ensemble, CapturedBatch batch) {
        put(seen, "epoch", Json.array().add(context.epoch()).add(context.epochZkVersion()));
        put(seen, "partition_assignments", assignments());
        put(seen, "partition_leadership_info", leaders());
        put(seen, "partition_states", names(context.partitionStates()));
        put(seen, "replica_states", replicaStates());
        put(seen, "live_broker_epochs", liveBrokers());
        put(seen, "shutting_down_broker_ids", ids(context.shuttingDownBrokerIds()));
        put(seen, "replicas_on_offline_dirs", offlineDirectories());
        put(seen, "all_topics", texts(context.allTopics()));
        put(seen, "topics_to_be_deleted", texts(context.topicsToBeDeleted()));
        put(seen, "topics_with_deletion_started", texts(context.topicsWithDeletionStarted()));
        put(seen, "topics_ineligible_for_deletion", texts(context.topicsIneligibleForDeletion()));
        put(seen, "znodes", ensemble.observe());
        put(seen, "left", batch.observe());
    }

    private void put(ObjectNode seen, String name, JsonNode value) {
        if (!value.equals(last.put(name, value))) {
            seen.set(name, value);
        }
    }

    private ObjectNode assignments() {
        ObjectNode assignments = Json.object();
        Scala.forEach(context.partitionAssignments(), (topic, partitions) ->
            Scala.forEach(partitions, (partition, assignment) -> assignments.putArray(topic + "-" + partition)
                .add(ids(assignment.replicas()))
                .add(ids(assignment.addingReplicas()))
                .add(ids(assignment.removingReplicas()))));
        return assignments;
    }

    private ObjectNode leaders() {
        ObjectNode leaders = Json.object();
        Scala.forEach(context.partitionsLeadershipInfo(), (partition, known) -> leaders.putArray(partition.toString())
            .add(fields(known.leaderAndIsr()))
            .add(known.controllerEpoch()));
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

    private static ObjectNode names(scala.collection.Map<?, ?> states) {
        ObjectNode names = Json.object();
        Scala.forEach(states, (subject, state) -> names.put(subject.toString(), state.toString()));
        return names;
    }

    private ObjectNode replicaStates() {
        ObjectNode names = Json.object();
        Scala.forEach(context.replicaStates(), (replica, state) ->
            names.put(replica.topicPartition() + "@" + replica.replica(), state.toString()));
        return names;
    }

    private ObjectNode liveBrokers() {
        ObjectNode epochs = Json.object();
        Scala.forEach(context.liveBrokerIdAndEpochs(), (broker, epoch) ->
            epochs.put(broker.toString(), (Long) epoch));
        return epochs;
    }

    private ObjectNode offlineDirectories() {
        ObjectNode failed = Json.object();
        Scala.forEach(context.replicasOnOfflineDirs(), (broker, partitions) ->
            failed.set(broker.toString(), texts(partitions)));
        return failed;
    }

    private static ArrayNode ids(scala.collection.Iterable<Object> brokers) {
        ArrayNode ids = Json.array();
        Scala.forEach(brokers, broker -> ids.add((Integer) broker));
        return ids;
    }

    private static ArrayNode texts(scala.collection.Iterable<?> names) {
        ArrayNode texts = Json.array();
        Scala.forEach(names, name -> texts.add(name.toString()));
        return texts;
    }
}
