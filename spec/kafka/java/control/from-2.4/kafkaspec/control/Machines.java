package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import kafka.cluster.Broker;
import kafka.cluster.EndPoint;
import kafka.controller.ControllerContext;
import kafka.controller.ControlledShutdownPartitionLeaderElectionStrategy$;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.OfflinePartitionLeaderElectionStrategy;
import kafka.controller.PartitionAndReplica;
import kafka.controller.PartitionLeaderElectionStrategy;
import kafka.controller.PartitionState;
import kafka.controller.PreferredReplicaPartitionLeaderElectionStrategy$;
import kafka.controller.ReassignPartitionLeaderElectionStrategy$;
import kafka.controller.ReplicaAssignment;
import kafka.controller.ReplicaState;
import kafka.controller.ZkPartitionStateMachine;
import kafka.controller.ZkReplicaStateMachine;
import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import kafka.zk.TopicPartitionStateZNode;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.zookeeper.data.Stat;
import scala.Option;
import scala.collection.mutable.HashMap;

/**
 * The parts that change states in a controller of Kafka 2.4 to 3.9: its context, its batch of requests, both state
 * machines. Its commands are methods of `StateMachinesBeside` in spec/kafka/state_machines_beside.py.
 */
final class Machines {
    private final KafkaZkClient client;
    private final ControllerContext context = new ControllerContext();
    private final CapturedBatch batch;
    private final ZkPartitionStateMachine partitions;
    private final ZkReplicaStateMachine replicas;

    Machines(KafkaConfig config, Meanwhile meanwhile, FailureLog log) {
        client = BatchedClient.connect(config, meanwhile);
        batch = new CapturedBatch(config, context, log);
        partitions = new ZkPartitionStateMachine(config, log, context, client, batch);
        replicas = new ZkReplicaStateMachine(config, log, context, client, batch);
    }

    void close() {
        client.close();
    }

    void perform(String what, JsonNode command, ObjectNode seen) {
        switch (what) {
            case "assign" -> assign(command);
            case "brokers_up" -> addBrokers(Json.field(command, "brokers"));
            case "brokers_down" -> context.removeLiveBrokers(Scala.ids(Json.field(command, "brokers")).toSet());
            case "shut_down" -> {
                context.shuttingDownBrokerIds().clear();
                Scala.forEach(Scala.ids(Json.field(command, "brokers")), context.shuttingDownBrokerIds()::add);
            }
            case "fail_directories" -> context.replicasOnOfflineDirs().put(
                Json.field(command, "broker").asInt(), Scala.partitions(Json.field(command, "partitions")).toSet());
            case "queue_deletion" -> context.queueTopicDeletion(Scala.texts(Json.field(command, "topics")));
            case "begin_deletion" -> context.beginTopicDeletion(Scala.texts(Json.field(command, "topics")));
            case "mark_ineligible" ->
                Scala.forEach(Scala.texts(Json.field(command, "topics")), context.topicsIneligibleForDeletion()::add);
            case "remove_topic" -> Contexts.removeTopic(context, Json.field(command, "topic").asText());
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

    private void assign(JsonNode command) {
        TopicPartition partition = Scala.partition(Json.field(command, "partition").asText());
        Contexts.addTopic(context, partition.topic());
        context.updatePartitionFullReplicaAssignment(partition, new ReplicaAssignment(
            Scala.ids(Json.field(command, "replicas")),
            Scala.ids(Json.field(command, "adding")),
            Scala.ids(Json.field(command, "removing"))));
    }

    private void addBrokers(JsonNode brokers) {
        HashMap<Broker, Object> epochs = new HashMap<>();
        brokers.forEach(each -> epochs.put(broker(each.get(0).asInt()), (Object) each.get(1).asLong()));
        Contexts.addBrokers(context, epochs);
    }

    private static Broker broker(int id) {
        ListenerName listener = new ListenerName("PLAINTEXT");
        EndPoint endPoint = new EndPoint("localhost", 9092, listener, SecurityProtocol.PLAINTEXT);
        return Broker.apply(id, Scala.list(List.of(endPoint)), Option.empty());
    }

    /** Makes it the controller of this epoch, without any known states or leaders. */
    void begin(int epoch, int version) {
        context.epoch_$eq(epoch);
        context.epochZkVersion_$eq(version);
        context.partitionStates().clear();
        context.replicaStates().clear();
        Contexts.forgetLeaders(context);
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
        Contexts.learn(context, partition, state);
    }

    // What its batch of requests and its state machines do.

    /** Sends a batch of rows: a kind, a partition, brokers, and, except for `metadata`, a flag. */
    private void sendRequests(JsonNode added) {
        batch.newBatch();
        for (JsonNode row : added) {
            TopicPartition partition = Scala.partition(row.get(1).asText());
            scala.collection.immutable.List<Object> brokers = Scala.ids(row.get(2));
            switch (row.get(0).asText()) {
                case "leader_and_isr" -> Scala.forEach(Contexts.leader(context, partition), known ->
                    batch.addLeaderAndIsrRequestForBrokers(
                        brokers, partition, known, context.partitionFullReplicaAssignment(partition),
                        row.get(3).asBoolean()));
                case "stop_replica" ->
                    batch.addStopReplicaRequestForBrokers(brokers, partition, row.get(3).asBoolean());
                case "metadata" -> batch.addUpdateMetadataRequestForBrokers(brokers, Scala.set(partition));
                default -> throw new Json.Malformed("no request " + row);
            }
        }
        batch.sendRequestsToBrokers(context.epoch());
    }

    private void changePartitions(JsonNode command, ObjectNode results) {
        Scala.forEach(
            partitions.handleStateChanges(
                Scala.partitions(Json.field(command, "partitions")),
                (PartitionState) Scala.object(Json.field(command, "target")),
                strategy(command)),
            (partition, result) -> {
                if (result.isLeft()) {
                    results.set(partition.toString(), FailureLog.cause(result.swap().toOption().get()));
                } else {
                    results.set(partition.toString(), Observation.fields(result.toOption().get()));
                }
            });
    }

    private void changeReplicas(JsonNode command) {
        List<PartitionAndReplica> these = new ArrayList<>();
        Json.field(command, "replicas").forEach(each -> these.add(
            new PartitionAndReplica(Scala.partition(each.get(0).asText()), each.get(1).asInt())));
        replicas.handleStateChanges(Scala.list(these), (ReplicaState) Scala.object(Json.field(command, "target")));
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
            case "offline" ->
                new OfflinePartitionLeaderElectionStrategy(Json.field(command, "allow_unclean").asBoolean());
            case "reassign" -> ReassignPartitionLeaderElectionStrategy$.MODULE$;
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
        ContextObservation.put(seen, context);
        seen.put("left", BatchObservation.of(batch));
    }
}
