package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.TreeMap;
import kafka.api.LeaderAndIsr;
import kafka.cluster.Broker;
import kafka.cluster.Broker$;
import kafka.common.TopicAndPartition;
import kafka.controller.ControlledShutdownLeaderSelector;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.ControllerContext;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.NoOpLeaderSelector;
import kafka.controller.PartitionAndReplica;
import kafka.controller.PartitionLeaderSelector;
import kafka.controller.PartitionState;
import kafka.controller.PartitionStateMachine;
import kafka.controller.PreferredReplicaPartitionLeaderSelector;
import kafka.controller.ReassignedPartitionLeaderSelector;
import kafka.controller.ReassignedPartitionsContext;
import kafka.controller.ReplicaState;
import kafka.controller.ReplicaStateMachine;
import kafka.controller.TopicDeletionManager;
import kafka.server.KafkaConfig;
import kafka.utils.ZkUtils;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.zookeeper.data.Stat;
import scala.collection.JavaConverters;
import scala.collection.Set;
import scala.collection.mutable.Map;

/**
 * The parts that change states in a controller of Kafka until 1.0: its context, both state machines with their states
 * and a batch of requests each, and the TopicDeletionManager with the topics queued for deletion.
 * Its commands are methods of `StateMachinesBeside` in spec/kafka/state_machines_beside.py. Where Kafka takes a set,
 * it receives the elements in the order of the command, replicas broker by broker.
 */
final class Machines {
    private final ZkUtils client;
    private final TreeMap<Integer, Long> epochs = new TreeMap<>();
    private final KafkaConfig config;
    private final CapturedBatch.Controller controller;
    private final ControllerContext context;
    private final TopicDeletionManager deletion;
    private final CapturedBatch batch;
    private final PartitionStateMachine partitions;
    private final ReplicaStateMachine replicas;

    Machines(KafkaConfig config, Meanwhile meanwhile, FailureLog log) {
        this.config = config;
        client = BatchedClient.connect(config, meanwhile);
        controller = new CapturedBatch.Controller(config, client);
        context = controller.controllerContext();
        deletion = controller.deletion();
        batch = new CapturedBatch(controller);
        partitions = controller.partitionStateMachine();
        replicas = controller.replicaStateMachine();
    }

    void close() {
        client.close();
    }

    void perform(String what, JsonNode command, ObjectNode seen) {
        switch (what) {
            case "assign" -> assign(command);
            case "brokers_up" -> {
                Json.field(command, "brokers").forEach(each -> epochs.put(each.get(0).asInt(), each.get(1).asLong()));
                setBrokers();
            }
            case "brokers_down" -> {
                Json.field(command, "brokers").forEach(broker -> epochs.remove(broker.asInt()));
                setBrokers();
            }
            case "shut_down" -> {
                context.shuttingDownBrokerIds().clear();
                Scala.forEach(Scala.ids(Json.field(command, "brokers")), context.shuttingDownBrokerIds()::add);
            }
            case "fail_directories" -> Contexts.failedDirectories(context).put(
                Json.field(command, "broker").asInt(), these(Json.field(command, "partitions")));
            case "queue_deletion" -> {
                addAll(command, deletion.topicsToBeDeleted());
                Scala.forEach(context.partitionReplicaAssignment().keySet(), this::queueDeletion);
            }
            case "mark_ineligible" -> addAll(command, deletion.topicsIneligibleForDeletion());
            case "remove_topic" -> removeTopic(Json.field(command, "topic").asText());
            case "clear_batch" -> batch.clear();
            case "send_requests" -> sendRequests(Json.field(command, "added"));
            case "change_partitions" -> changePartitions(command);
            case "change_replicas" -> changeReplicas(command);
            case "start_partitions" -> partitions.startup();
            case "start_replicas" -> replicas.startup();
            case "trigger" -> partitions.triggerOnlinePartitionStateChange();
            default -> throw new Json.Malformed("no command " + what);
        }
    }

    // What the controller learns.

    private static void addAll(JsonNode command, scala.collection.mutable.Set<String> topics) {
        Scala.forEach(Scala.texts(Json.field(command, "topics")), topics::add);
    }

    private void assign(JsonNode command) {
        TopicAndPartition partition = partition(Json.field(command, "partition").asText());
        context.allTopics_$eq(Scala.with(context.allTopics(), partition.topic()));
        context.partitionReplicaAssignment().put(partition, Scala.ids(Json.field(command, "replicas")));
        queueDeletion(partition);
    }

    /** A partition of a topic queued for deletion is queued with it. */
    private void queueDeletion(TopicAndPartition partition) {
        if (deletion.topicsToBeDeleted().contains(partition.topic())) {
            deletion.partitionsToBeDeleted().add(partition);
        }
    }

    private void removeTopic(String topic) {
        context.removeTopic(topic);
        deletion.topicsToBeDeleted().remove(topic);
        List<TopicAndPartition> gone = new ArrayList<>();
        Scala.forEach(deletion.partitionsToBeDeleted(), gone::add);
        gone.stream().filter(each -> each.topic().equals(topic)).forEach(deletion.partitionsToBeDeleted()::remove);
    }

    private void setBrokers() {
        ObjectNode data = Json.object().put("version", 1).put("host", "localhost").put("port", 9092);
        String registered = new String(Json.bytes(data.put("jmx_port", -1).put("timestamp", "0")));
        List<Broker> live = epochs.keySet().stream().map(id -> Broker$.MODULE$.createBroker(id, registered)).toList();
        context.liveBrokers_$eq(Scala.<Broker>list(live).toSet());
    }

    /** Makes it the controller of this epoch, without any known states or leaders. */
    void begin(int epoch, int version) {
        context.epoch_$eq(epoch);
        context.epochZkVersion_$eq(version);
        partitionStates(controller).clear();
        replicaStates(controller).clear();
        context.partitionLeadershipInfo().clear();
    }

    /** The names of all known partitions. */
    List<String> partitions() {
        List<String> names = new ArrayList<>();
        Scala.forEach(context.partitionReplicaAssignment().keySet(), each -> names.add(Scala.name(each)));
        return names;
    }

    /** Reads the state of a partition. */
    void learn(String name, byte[] data, Stat stat) {
        JsonNode state = Json.read(data);
        LeaderAndIsr read = new LeaderAndIsr(
            state.get("leader").asInt(),
            state.get("leader_epoch").asInt(),
            Scala.ids(state.get("isr")),
            stat.getVersion());
        context.partitionLeadershipInfo().put(
            partition(name), new LeaderIsrAndControllerEpoch(read, state.get("controller_epoch").asInt()));
    }

    // What its batch of requests and its state machines do.

    /** Sends a batch of rows: a kind, a partition, brokers, and, except for `metadata`, a flag. */
    private void sendRequests(JsonNode added) {
        batch.newBatch();
        for (JsonNode row : added) {
            TopicAndPartition partition = partition(row.get(1).asText());
            scala.collection.immutable.List<Object> brokers = Scala.ids(row.get(2));
            switch (row.get(0).asText()) {
                case "leader_and_isr" -> Scala.forEach(context.partitionLeadershipInfo().get(partition), known ->
                    batch.addLeaderAndIsr(
                        brokers, partition, known, context.partitionReplicaAssignment().apply(partition),
                        row.get(3).asBoolean()));
                case "stop_replica" -> batch.addStopReplicaRequestForBrokers(
                    brokers, partition.topic(), partition.partition(), row.get(3).asBoolean(), null);
                case "metadata" -> batch.addMetadata(brokers, partition);
                default -> throw new Json.Malformed("no request " + row);
            }
        }
        batch.sendRequestsToBrokers(context.epoch());
    }

    /** At this point a reassigned partition is already assigned to its new replicas. */
    private void changePartitions(JsonNode command) {
        Set<TopicAndPartition> these = these(Json.field(command, "partitions"));
        Scala.forEach(these, partition -> context.partitionsBeingReassigned().put(
            partition,
            new ReassignedPartitionsContext(context.partitionReplicaAssignment().apply(partition), null)));
        partitions.handleStateChanges(
            these,
            (PartitionState) Scala.object(Json.field(command, "target")),
            selector(Json.field(command, "strategy")),
            CapturedBatch.NO_CALLBACKS);
    }

    private void changeReplicas(JsonNode command) {
        List<PartitionAndReplica> these = new ArrayList<>();
        Json.field(command, "replicas").forEach(each -> {
            TopicAndPartition partition = partition(each.get(0).asText());
            these.add(new PartitionAndReplica(partition.topic(), partition.partition(), each.get(1).asInt()));
        });
        these.sort(Comparator.comparing(PartitionAndReplica::replica));
        replicas.handleStateChanges(
            ordered(these), (ReplicaState) Scala.object(Json.field(command, "target")), CapturedBatch.NO_CALLBACKS);
    }

    private PartitionLeaderSelector selector(JsonNode strategy) {
        return switch (strategy.asText()) {
            case "null" -> new NoOpLeaderSelector(context);
            case "offline" -> controller.offlinePartitionSelector();
            case "preferred" -> new PreferredReplicaPartitionLeaderSelector(context);
            case "reassign" -> new ReassignedPartitionLeaderSelector(context);
            case "controlled-shutdown" -> new ControlledShutdownLeaderSelector(context);
            default -> throw new Json.Malformed("no strategy " + strategy);
        };
    }

    private static TopicAndPartition partition(String name) {
        return new TopicAndPartition(Scala.partition(name));
    }

    private static Set<TopicAndPartition> these(JsonNode names) {
        List<TopicAndPartition> these = new ArrayList<>();
        names.forEach(name -> these.add(partition(name.asText())));
        return ordered(these);
    }

    private static <T> Set<T> ordered(List<T> elements) {
        return JavaConverters.asScalaSetConverter(new LinkedHashSet<>(elements)).asScala();
    }

    // Observation.

    ObjectNode takeSent() {
        return controller.takeSent();
    }

    void observe(Observation seen) {
        ObjectNode live = Json.object();
        Scala.forEach(context.liveOrShuttingDownBrokerIds(), id -> live.put(id.toString(), epochs.get((Integer) id)));
        observe(seen, controller, live);
        seen.put("left", left());
    }

    /** A controller's knowledge, with the epochs of the live brokers. */
    static void observe(Observation seen, CapturedBatch.Controller controller, ObjectNode live) {
        ControllerContext context = controller.controllerContext();
        TopicDeletionManager deletion = controller.deletion();
        seen.put("epoch", Json.array().add(context.epoch()).add(context.epochZkVersion()));
        seen.put("partition_assignments", assignments(context));
        seen.put("partition_leadership_info", Observation.leaders(context.partitionLeadershipInfo()));
        seen.put("partition_states", Observation.names(partitionStates(controller)));
        seen.put("replica_states", Observation.replicaStates(replicaStates(controller)));
        seen.put("live_broker_epochs", live);
        seen.put("shutting_down_broker_ids", Observation.ids(context.shuttingDownBrokerIds()));
        seen.put("replicas_on_offline_dirs", Observation.partitionsOf(Contexts.failedDirectories(context)));
        seen.put("all_topics", Observation.texts(context.allTopics()));
        seen.put("topics_to_be_deleted", Observation.texts(deletion.topicsToBeDeleted()));
        seen.put("topics_with_deletion_started", Json.array());
        seen.put("topics_ineligible_for_deletion", Observation.texts(deletion.topicsIneligibleForDeletion()));
    }

    private static ObjectNode assignments(ControllerContext context) {
        ObjectNode assignments = Json.object();
        Scala.forEach(context.partitionReplicaAssignment(), (partition, replicas) ->
            assignments.putArray(Scala.name(partition))
                .add(Observation.ids(replicas))
                .add(Json.array())
                .add(Json.array()));
        return assignments;
    }

    /** Nothing throws before a batch is sent, so no batch is left over. */
    private ObjectNode left() {
        for (Object machine : List.of(partitions, replicas)) {
            ((ControllerBrokerRequestBatch) Fields.get(machine, "brokerRequestBatch")).newBatch();
        }
        batch.newBatch();
        ObjectNode nothing = Json.object();
        nothing.putObject("leader_and_isr");
        nothing.putObject("stop_replica");
        nothing.putObject("update_metadata");
        nothing.putArray("update_metadata_brokers");
        return nothing;
    }

    @SuppressWarnings("unchecked")
    private static Map<TopicAndPartition, PartitionState> partitionStates(CapturedBatch.Controller controller) {
        PartitionStateMachine machine = controller.partitionStateMachine();
        return (Map<TopicAndPartition, PartitionState>) Fields.get(machine, "partitionState");
    }

    @SuppressWarnings("unchecked")
    private static Map<PartitionAndReplica, ReplicaState> replicaStates(CapturedBatch.Controller controller) {
        return (Map<PartitionAndReplica, ReplicaState>) Fields.get(controller.replicaStateMachine(), "replicaState");
    }
}
