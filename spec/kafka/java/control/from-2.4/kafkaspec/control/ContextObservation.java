package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerContext;
import kafka.controller.KafkaController;
import kafkaspec.Json;

/** The knowledge of a controller of Kafka 2.4 to 3.9, as JSON. */
final class ContextObservation {
    private ContextObservation() { }

    static void put(Observation seen, KafkaController controller) {
        put(seen, controller.controllerContext());
        seen.put(
            "being_reassigned", Observation.texts(controller.controllerContext().partitionsBeingReassigned()));
    }

    static void put(Observation seen, ControllerContext context) {
        seen.put("epoch", Json.array().add(context.epoch()).add(context.epochZkVersion()));
        seen.put("partition_assignments", assignments(context));
        seen.put("partition_leadership_info", Observation.leaders(Contexts.leaders(context)));
        seen.put("partition_states", Observation.names(context.partitionStates()));
        seen.put("replica_states", Observation.replicaStates(context.replicaStates()));
        seen.put("live_broker_epochs", Observation.epochs(context.liveBrokerIdAndEpochs()));
        seen.put("shutting_down_broker_ids", Observation.ids(context.shuttingDownBrokerIds()));
        seen.put("replicas_on_offline_dirs", Observation.partitionsOf(context.replicasOnOfflineDirs()));
        seen.put("all_topics", Observation.texts(context.allTopics()));
        seen.put("topics_to_be_deleted", Observation.texts(context.topicsToBeDeleted()));
        seen.put("topics_with_deletion_started", Observation.texts(context.topicsWithDeletionStarted()));
        seen.put("topics_ineligible_for_deletion", Observation.texts(context.topicsIneligibleForDeletion()));
    }

    private static ObjectNode assignments(ControllerContext context) {
        ObjectNode assignments = Json.object();
        Scala.forEach(context.partitionAssignments(), (topic, numbers) ->
            Scala.forEach(numbers, (number, assignment) -> assignments.putArray(topic + "-" + number)
                .add(Observation.ids(assignment.replicas()))
                .add(Observation.ids(assignment.addingReplicas()))
                .add(Observation.ids(assignment.removingReplicas()))));
        return assignments;
    }
}
