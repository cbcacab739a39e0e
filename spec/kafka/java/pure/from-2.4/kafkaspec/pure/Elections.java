package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import kafka.api.LeaderAndIsr;
import kafka.controller.ControllerContext;
import kafka.controller.Election$;
import kafka.controller.ElectionResult;
import kafka.controller.StateChangeLogger;
import kafka.controller.ZkPartitionStateMachine;
import kafka.server.KafkaConfig;
import kafkaspec.Configuration;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Seq;

/**
 * The decision of `kafka.controller.Election` for one partition, given the knowledge of a ControllerContext.
 * A case: strategy, replicas, isr, the brokers that are `live` and `shutting_down`, those whose log directory for the
 * partition has `failed`, and `unclean` if an administrator allows it. The answer: leader, isr, recipients and, if
 * Kafka marks it, unclean; or null without a leader.
 */
final class Elections implements Call {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final int NO_LEADER = -1;

    private final ControllerContext context = new ControllerContext();
    private final ZkPartitionStateMachine machine;
    private final Method collectUncleanLeaderElectionState;
    private JsonNode lastReplicas;
    private JsonNode lastBrokers;

    Elections() throws ReflectiveOperationException {
        KafkaConfig config = Configuration.of(0);
        StateChangeLogger logger = new StateChangeLogger(config.brokerId(), true, Option.empty());
        machine = new ZkPartitionStateMachine(config, logger, context, null, null);  // its ZooKeeper is never used
        collectUncleanLeaderElectionState = ZkPartitionStateMachine.class.getDeclaredMethod(
            "collectUncleanLeaderElectionState", Seq.class, boolean.class);
        collectUncleanLeaderElectionState.setAccessible(true);
    }

    @Override
    public JsonNode answer(JsonNode given) throws ReflectiveOperationException {
        assign(Json.field(given, "replicas"));
        know(given);
        LeaderAndIsr before = PartitionBefore.of(NO_LEADER, Values.ids(Json.field(given, "isr")));
        boolean unclean = Json.field(given, "unclean").asBoolean();
        ElectionResult result = elect(Json.field(given, "strategy").asText(), before, unclean).head();
        if (result.leaderAndIsr().isEmpty()) {
            return NullNode.getInstance();
        }
        LeaderAndIsr after = result.leaderAndIsr().get();
        ObjectNode answer = Json.object().put("leader", after.leader());
        Values.put(answer.putArray("isr"), after.isr());
        Values.put(answer.putArray("recipients"), result.liveReplicas());
        return answer.put("unclean", PartitionBefore.mayLackRecords(after));
    }

    private Seq<ElectionResult> elect(String strategy, LeaderAndIsr before, boolean unclean)
            throws ReflectiveOperationException {
        Seq<Tuple2<TopicPartition, LeaderAndIsr>> partition = Values.only(new Tuple2<>(PARTITION, before));
        return switch (strategy) {
            case "offline" -> PartitionBefore.leaderForOffline(context, withPermission(before, unclean));
            case "reassign" -> Election$.MODULE$.leaderForReassign(context, partition);
            case "preferred" -> Election$.MODULE$.leaderForPreferredReplica(context, partition);
            case "controlled-shutdown" -> Election$.MODULE$.leaderForControlledShutdown(context, partition);
            default -> throw new Json.Malformed("no strategy " + strategy);
        };
    }

    /**
     * An administrator's permission applies as far as Kafka's state machine allows; without one nothing needs to be
     * checked.
     */
    @SuppressWarnings("unchecked")
    private Seq<Tuple3<TopicPartition, Option<LeaderAndIsr>, Object>> withPermission(
            LeaderAndIsr before, boolean unclean) throws ReflectiveOperationException {
        if (!unclean) {
            return Values.only(new Tuple3<>(PARTITION, Option.apply(before), (Object) false));
        }
        return (Seq<Tuple3<TopicPartition, Option<LeaderAndIsr>, Object>>)
            collectUncleanLeaderElectionState.invoke(machine, Values.only(new Tuple2<>(PARTITION, before)), true);
    }

    private void assign(JsonNode replicas) {
        if (!replicas.equals(lastReplicas)) {
            Knowledge.assign(context, PARTITION, replicas);
            lastReplicas = replicas;
        }
    }

    private void know(JsonNode given) {
        JsonNode known = Json.array()
            .add(Json.field(given, "live")).add(Json.field(given, "shutting_down")).add(Json.field(given, "failed"));
        if (!known.equals(lastBrokers)) {
            Knowledge.ofBrokers(context, known.get(0), known.get(1));
            context.replicasOnOfflineDirs().clear();
            known.get(2).forEach(id -> context.replicasOnOfflineDirs().put(id.asInt(), Values.set(PARTITION)));
            lastBrokers = known;
        }
    }
}
