package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
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
import kafkaspec.Configuration;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ControllerMovedException;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import scala.Option;
import scala.collection.mutable.HashMap;

/**
 * What a controller is made of as far as it changes states, Kafka's own: its context, its batch of requests, both
 * state machines and the client of ZooKeeper. Beside it, ZooKeeper and the world.
 */
final class ControlPlane implements AutoCloseable {
    private static final int CONTROLLER = 9;

    private final Ensemble ensemble = new Ensemble();
    private final Meanwhile meanwhile = new Meanwhile(ensemble);
    private final ControllerContext context = new ControllerContext();
    private final FailureLog log = new FailureLog(CONTROLLER);
    private final Observation observation = new Observation(context);
    private final KafkaZkClient client;
    private final CapturedBatch batch;
    private final ZkPartitionStateMachine partitions;
    private final ZkReplicaStateMachine replicas;

    ControlPlane() {
        ZooKeeper.ownedBy(connectString -> meanwhile);
        KafkaConfig config = Configuration.of(CONTROLLER);
        client = BatchedClient.connect(config, meanwhile);
        batch = new CapturedBatch(config, context, log);
        partitions = new ZkPartitionStateMachine(config, log, context, client, batch);
        replicas = new ZkReplicaStateMachine(config, log, context, client, batch);
    }

    @Override
    public void close() {
        client.close();
    }

    /** Carries out a command: what there is to be seen when it is done, as far as it is new. */
    ObjectNode perform(JsonNode command) {
        ObjectNode seen = Json.object();
        meanwhile.begin(command);
        if (!ensemble.perform(command)) {
            try {
                perform(Json.field(command, "do").asText(), command, seen);
            } catch (ControllerMovedException moved) {
                seen.put("moved", true);
            } catch (NoSuchElementException | IllegalStateException refused) {
                seen.set("thrown", FailureLog.cause(refused));
            }
        }
        observation.put(seen, ensemble, batch);
        seen.set("asked", meanwhile.asked());
        seen.set("sent", batch.take());
        seen.set("log", log.take());
        return seen;
    }

    private void perform(String what, JsonNode command, ObjectNode seen) {
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
            case "remove_topic" -> removeTopic(Json.field(command, "topic").asText());
            case "expire" -> meanwhile.endSession();
            case "fail_over" -> failOver();
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

    // What the controller comes to know.

    private void assign(JsonNode command) {
        TopicPartition partition = Scala.partition(Json.field(command, "partition").asText());
        ensemble.createTopic(partition.topic());
        context.allTopics().add(partition.topic());
        context.updatePartitionFullReplicaAssignment(partition, new ReplicaAssignment(
            Scala.ids(Json.field(command, "replicas")),
            Scala.ids(Json.field(command, "adding")),
            Scala.ids(Json.field(command, "removing"))));
    }

    private void addBrokers(JsonNode brokers) {
        HashMap<Broker, Object> epochs = new HashMap<>();
        brokers.forEach(each -> epochs.put(broker(each.get(0).asInt()), (Object) each.get(1).asLong()));
        context.addLiveBrokers(epochs);
    }

    private static Broker broker(int id) {
        ListenerName listener = new ListenerName("PLAINTEXT");
        EndPoint endPoint = new EndPoint("localhost", 9092, listener, SecurityProtocol.PLAINTEXT);
        return Broker.apply(id, Scala.list(List.of(endPoint)), Option.empty());
    }

    private void removeTopic(String topic) {
        context.removeTopic(topic);
        ensemble.deleteTopic(topic);
    }

    /** It is elected, and reads the states of all partitions; what state each was in it does not know. */
    private void failOver() {
        ensemble.increaseEpoch();
        context.epoch_$eq(ensemble.epoch());
        context.epochZkVersion_$eq(ensemble.server().stat(Ensemble.CONTROLLER_EPOCH).getVersion());
        context.partitionStates().clear();
        context.replicaStates().clear();
        context.clearPartitionLeadershipInfo();
        Scala.forEach(context.allPartitions(), this::read);
    }

    private void read(TopicPartition partition) {
        String path = Ensemble.state(partition.toString());
        Stat stat = ensemble.server().stat(path);
        if (stat != null) {
            LeaderIsrAndControllerEpoch state =
                TopicPartitionStateZNode.decode(ensemble.server().data(path), stat).get();
            context.putPartitionLeadershipInfo(partition, state);
        }
    }

    // What its batch of requests does, and its state machines.

    /** A batch of what is added: rows of a kind, a partition, brokers, and, but for `metadata`, a flag. */
    private void sendRequests(JsonNode added) {
        batch.newBatch();
        for (JsonNode row : added) {
            TopicPartition partition = Scala.partition(row.get(1).asText());
            scala.collection.immutable.List<Object> brokers = Scala.ids(row.get(2));
            switch (row.get(0).asText()) {
                case "leader_and_isr" -> Scala.forEach(context.partitionLeadershipInfo(partition), known ->
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
                (PartitionState) state(Json.field(command, "target")),
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
        replicas.handleStateChanges(Scala.list(these), (ReplicaState) state(Json.field(command, "target")));
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

    /** The object of Kafka's that stands for a state. */
    private static Object state(JsonNode name) {
        try {
            return Class.forName("kafka.controller." + name.asText() + "$").getField("MODULE$").get(null);
        } catch (ReflectiveOperationException unknown) {
            throw new Json.Malformed("no state " + name);
        }
    }
}
