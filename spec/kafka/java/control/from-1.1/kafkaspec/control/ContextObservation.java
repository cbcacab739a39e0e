package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerContext;
import kafka.controller.KafkaController;
import kafka.controller.PartitionAndReplica;
import kafka.controller.PartitionState;
import kafka.controller.ReplicaState;
import kafka.controller.TopicDeletionManager;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import scala.collection.Map;

/**
 * The knowledge of a controller of Kafka 1.1 to 2.2, as JSON. Its state machines have the states of partitions and
 * replicas, its TopicDeletionManager the topics queued for deletion.
 */
final class ContextObservation {
    private ContextObservation() { }

    @SuppressWarnings("unchecked")
    static void put(Observation seen, KafkaController controller) {
        ControllerContext context = controller.controllerContext();
        put(
            seen,
            context,
            BrokerEpochs.live(context),
            controller.topicDeletionManager(),
            (Map<TopicPartition, PartitionState>) Fields.get(controller.partitionStateMachine(), "partitionState"),
            (Map<PartitionAndReplica, ReplicaState>) Fields.get(controller.replicaStateMachine(), "replicaState"));
        seen.put("being_reassigned", Observation.texts(context.partitionsBeingReassigned().keySet()));
    }

    static void put(
            Observation seen,
            ControllerContext context,
            JsonNode liveBrokers,
            TopicDeletionManager deletion,
            Map<TopicPartition, PartitionState> partitionStates,
            Map<PartitionAndReplica, ReplicaState> replicaStates) {
        seen.put("epoch", Json.array().add(context.epoch()).add(context.epochZkVersion()));
        seen.put("partition_assignments", assignments(context));
        seen.put("partition_leadership_info", Observation.leaders(context.partitionLeadershipInfo()));
        seen.put("partition_states", Observation.names(partitionStates));
        seen.put("replica_states", Observation.replicaStates(replicaStates));
        seen.put("live_broker_epochs", liveBrokers);
        seen.put("shutting_down_broker_ids", Observation.ids(context.shuttingDownBrokerIds()));
        seen.put("replicas_on_offline_dirs", Observation.partitionsOf(context.replicasOnOfflineDirs()));
        seen.put("all_topics", Observation.texts(context.allTopics()));
        seen.put("topics_to_be_deleted", Observation.texts(deletion.topicsToBeDeleted()));
        seen.put(
            "topics_with_deletion_started", Observation.texts(Contexts.topicsWithDeletionStarted(deletion)));
        seen.put("topics_ineligible_for_deletion", Observation.texts(deletion.topicsIneligibleForDeletion()));
    }

    private static ObjectNode assignments(ControllerContext context) {
        ObjectNode assignments = Json.object();
        Scala.forEach(Contexts.partitions(context), partition -> assignments.putArray(partition.toString())
            .add(Observation.ids(Contexts.replicas(context, partition)))
            .add(Json.array())
            .add(Json.array()));
        return assignments;
    }
}
