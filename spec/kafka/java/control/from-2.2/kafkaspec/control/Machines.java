package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import kafka.cluster.Broker;
import kafka.controller.Callbacks;
import kafka.controller.ControllerContext;
import kafka.controller.ControlledShutdownPartitionLeaderElectionStrategy$;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.OfflinePartitionLeaderElectionStrategy$;
import kafka.controller.PartitionAndReplica;
import kafka.controller.PartitionLeaderElectionStrategy;
import kafka.controller.PartitionState;
import kafka.controller.PartitionStateMachine;
import kafka.controller.PreferredReplicaPartitionLeaderElectionStrategy$;
import kafka.controller.ReplicaState;
import kafka.controller.ReplicaStateMachine;
import kafka.controller.TopicDeletionManager;
import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import kafka.zk.TopicPartitionStateZNode;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.zookeeper.data.Stat;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.mutable.HashMap;

/**
 * The parts that change states in a controller of Kafka 2.2: its context, its batch of requests, both state machines
 * with their states, and the TopicDeletionManager with the topics queued for deletion.
 * Its commands are methods of `StateMachinesBeside` in spec/kafka/state_machines_beside.py.
 */
final class Machines {
    private static final Callbacks NO_CALLBACKS = new Callbacks(null);

    private final KafkaZkClient client;
    private final HashMap<TopicPartition, PartitionState> partitionStates = new HashMap<>();
    private final HashMap<PartitionAndReplica, ReplicaState> replicaStates = new HashMap<>();
    private final ControllerContext context;
    private final TopicDeletionManager deletion;
    private final CapturedBatch batch;
    private final PartitionStateMachine partitions;
    private final ReplicaStateMachine replicas;

    Machines(KafkaConfig config, Meanwhile meanwhile, FailureLog log) {
        client = BatchedClient.connect(config, meanwhile);
        CapturedBatch.Controller controller = new CapturedBatch.Controller(config, client);
        context = controller.controllerContext();
        deletion = controller.topicDeletionManager();
        batch = new CapturedBatch(controller, log);
        partitions = new PartitionStateMachine(config, log, context, client, partitionStates, batch);
        partitions.setTopicDeletionManager(deletion);
        replicas = new ReplicaStateMachine(config, log, context, deletion, client, replicaStates, batch);
    }

    void close() {
        client.close();
    }

    void perform(String what, JsonNode command, ObjectNode seen) {
        switch (what) {
            case "assign" -> assign(command);
            case "brokers_up" -> addBrokers(Json.field(command, "brokers"));
            case "brokers_down" ->
                context.removeLiveBrokersAndEpochs(Scala.ids(Json.field(command, "brokers")).toSet());
            case "shut_down" -> {
                context.shuttingDownBrokerIds().clear();
                Scala.forEach(Scala.ids(Json.field(command, "brokers")), context.shuttingDownBrokerIds()::add);
            }
            case "fail_directories" -> context.replicasOnOfflineDirs().put(
                Json.field(command, "broker").asInt(), Scala.partitions(Json.field(command, "partitions")).toSet());
            case "queue_deletion" -> addAll(command, deletion.topicsToBeDeleted());
            case "begin_deletion" -> addAll(command, deletion.topicsWithDeletionStarted());
            case "mark_ineligible" -> addAll(command, deletion.topicsIneligibleForDeletion());
            case "remove_topic" -> removeTopic(Json.field(command, "topic").asText());
            case "clear_batch" -> batch.clear();
            case "send_requests" -> sendRequests(Json.field(command, "added"));
            case "change_partitions" -> changePartitions(command, seen.putObject("results"));
            case "change_replicas" -> changeReplicas(command);
            case "start_partitions" -> partitions.startup();
            case "start_replicas" -> replicas.startup();
            case "trigger" -> trigger(Json.field(command, "topic"));
            default -> throw new Json.Malformed("no command " + what);
        }
    }

    // What the controller learns.

    private static void addAll(JsonNode command, scala.collection.mutable.Set<String> topics) {
        Scala.forEach(Scala.texts(Json.field(command, "topics")), topics::add);
    }

    private void assign(JsonNode command) {
        TopicPartition partition = Scala.partition(Json.field(command, "partition").asText());
        context.allTopics_$eq(Scala.with(context.allTopics(), partition.topic()));
        context.updatePartitionReplicaAssignment(partition, Scala.ids(Json.field(command, "replicas")));
    }

    private void addBrokers(JsonNode brokers) {
        Map<Broker, Object> epochs = Map$.MODULE$.empty();
        for (JsonNode each : brokers) {
            epochs = epochs.$plus(new Tuple2<>(broker(each.get(0).asInt()), (Object) each.get(1).asLong()));
        }
        context.addLiveBrokersAndEpochs(epochs);
    }

    private static Broker broker(int id) {
        return new Broker(id, "localhost", 9092, new ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT);
    }

    private void removeTopic(String topic) {
        context.removeTopic(topic);
        deletion.topicsToBeDeleted().remove(topic);
        deletion.topicsWithDeletionStarted().remove(topic);
    }

    /** Makes it the controller of this epoch, without any known states or leaders. */
    void begin(int epoch, int version) {
        context.epoch_$eq(epoch);
        context.epochZkVersion_$eq(version);
        partitionStates.clear();
        replicaStates.clear();
        context.partitionLeadershipInfo().clear();
    }

    /** The names of all known partitions. */
    List<String> partitions() {
        List<String> names = new ArrayList<>();
        Scala.forEach(context.allPartitions(), partition -> names.add(partition.toString()));
        return names;
    }

    /** Reads the state of a partition. */
    void learn(String name, byte[] data, Stat stat) {
        TopicPartition partition = Scala.partition(name);
        LeaderIsrAndControllerEpoch state = TopicPartitionStateZNode.decode(data, stat).get();
        context.partitionLeadershipInfo().put(partition, state);
    }

    // What its batch of requests and its state machines do.

    /** Sends a batch of rows: a kind, a partition, brokers, and, except for `metadata`, a flag. */
    private void sendRequests(JsonNode added) {
        batch.newBatch();
        for (JsonNode row : added) {
            TopicPartition partition = Scala.partition(row.get(1).asText());
            scala.collection.immutable.List<Object> brokers = Scala.ids(row.get(2));
            switch (row.get(0).asText()) {
                case "leader_and_isr" -> Scala.forEach(context.partitionLeadershipInfo().get(partition), known ->
                    batch.addLeaderAndIsrRequestForBrokers(
                        brokers, partition, known, context.partitionReplicaAssignment(partition),
                        row.get(3).asBoolean()));
                case "stop_replica" ->
                    batch.addStopReplicaRequestForBrokers(brokers, partition, row.get(3).asBoolean(), null);
                case "metadata" -> batch.addUpdateMetadataRequestForBrokers(brokers, Scala.set(partition));
                default -> throw new Json.Malformed("no request " + row);
            }
        }
        batch.sendRequestsToBrokers(context.epoch());
    }

    /** This release returns only failures. */
    private void changePartitions(JsonNode command, ObjectNode results) {
        Scala.forEach(
            partitions.handleStateChanges(
                Scala.partitions(Json.field(command, "partitions")),
                (PartitionState) Scala.object(Json.field(command, "target")),
                strategy(command)),
            (partition, failure) -> results.set(partition.toString(), FailureLog.cause(failure)));
    }

    private void changeReplicas(JsonNode command) {
        List<PartitionAndReplica> these = new ArrayList<>();
        Json.field(command, "replicas").forEach(each -> these.add(
            new PartitionAndReplica(Scala.partition(each.get(0).asText()), each.get(1).asInt())));
        replicas.handleStateChanges(
            Scala.list(these), (ReplicaState) Scala.object(Json.field(command, "target")), NO_CALLBACKS);
    }

    private void trigger(JsonNode topic) {
        if (topic.isNull()) {
            partitions.triggerOnlinePartitionStateChange();
        } else {
            partitions.triggerOnlinePartitionStateChange(topic.asText());
        }
    }

    private static Option<PartitionLeaderElectionStrategy> strategy(JsonNode command) {
        JsonNode strategy = Json.field(command, "strategy");
        return strategy.isNull() ? Option.empty() : Option.apply(switch (strategy.asText()) {
            case "offline" -> OfflinePartitionLeaderElectionStrategy$.MODULE$;
            case "preferred" -> PreferredReplicaPartitionLeaderElectionStrategy$.MODULE$;
            case "controlled-shutdown" -> ControlledShutdownPartitionLeaderElectionStrategy$.MODULE$;
            default -> throw new Json.Malformed("no strategy " + strategy);
        });
    }

    // Observation.

    ObjectNode takeSent() {
        return batch.take();
    }

    void observe(Observation seen) {
        ContextObservation.put(seen, context, BrokerEpochs.live(context), deletion, partitionStates, replicaStates);
        seen.put("left", BatchObservation.of(batch));
    }
}
