package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Properties;
import kafka.api.LeaderAndIsr;
import kafka.controller.ControllerContext;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.PartitionStateMachine;
import kafka.controller.ReassignedPartitionsContext;
import kafka.controller.StateChangeLogger;
import kafka.log.LogConfig;
import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import kafkaspec.Configuration;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Seq;
import scala.collection.immutable.HashMap;
import scala.collection.immutable.HashSet;
import scala.collection.immutable.Map;

/**
 * A PartitionStateMachine's decision of 1.1 to 2.3 for one partition, given the knowledge of a ControllerContext.
 * Cases and answers are those of the later `Elections`; `unclean` is the topic's configuration.
 */
final class Elections implements Call {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final int NO_LEADER = -1;

    private final ControllerContext context = new ControllerContext();
    private final Topics topics = new Topics();
    private final PartitionStateMachine machine;

    Elections() throws ReflectiveOperationException {
        Constructor<?> constructor = PartitionStateMachine.class.getConstructors()[0];
        machine = (PartitionStateMachine) constructor.newInstance(
            Arrays.stream(constructor.getParameterTypes()).map(this::argument).toArray());
    }

    /** The parts that it needs in an election. */
    private Object argument(Class<?> type) {
        KafkaConfig config = Configuration.of(0);
        return Arrays.asList(config, context, topics, new StateChangeLogger(config.brokerId(), true, Option.empty()))
            .stream().filter(type::isInstance).findAny().orElse(null);
    }

    @Override
    @SuppressWarnings("unchecked")
    public JsonNode answer(JsonNode given) throws ReflectiveOperationException {
        know(given);
        LeaderAndIsr before = new LeaderAndIsr(NO_LEADER, 0, Values.ids(Json.field(given, "isr")), 0);
        Seq<Tuple2<TopicPartition, LeaderIsrAndControllerEpoch>> partition =
            Values.only(new Tuple2<>(PARTITION, new LeaderIsrAndControllerEpoch(before, 0)));
        var elected = (Seq<Tuple3<TopicPartition, Option<LeaderAndIsr>, Seq<Object>>>)
            elect(Json.field(given, "strategy").asText(), partition);
        Option<LeaderAndIsr> after = elected.head()._2();
        if (after.isEmpty()) {
            return NullNode.getInstance();
        }
        ObjectNode answer = Json.object().put("leader", after.get().leader());
        Values.put(answer.putArray("isr"), after.get().isr());
        Values.put(answer.putArray("recipients"), elected.head()._3());
        return answer.putNull("unclean");
    }

    private Object elect(String strategy, Seq<?> partition) throws ReflectiveOperationException {
        return switch (strategy) {
            case "offline" -> call("leaderForOffline", partition);
            case "reassign" -> call("leaderForReassign", partition);
            case "preferred" -> call("leaderForPreferredReplica", partition);
            case "controlled-shutdown" ->
                call("leaderForControlledShutdown", partition, context.shuttingDownBrokerIds().toSet());
            default -> throw new Json.Malformed("no strategy " + strategy);
        };
    }

    private Object call(String name, Object... arguments) throws ReflectiveOperationException {
        Method method = Arrays.stream(PartitionStateMachine.class.getDeclaredMethods())
            .filter(each -> each.getName().equals(name))
            .findAny().orElseThrow();
        method.setAccessible(true);
        return method.invoke(machine, arguments);
    }

    private void know(JsonNode given) {
        JsonNode replicas = Json.field(given, "replicas");
        Knowledge.assign(context, PARTITION, replicas);
        context.partitionsBeingReassigned().put(
            PARTITION, new ReassignedPartitionsContext(Values.ids(replicas), null));
        Knowledge.ofBrokers(context, Json.field(given, "live"), Json.field(given, "shutting_down"));
        context.replicasOnOfflineDirs().clear();
        Json.field(given, "failed").forEach(id ->
            context.replicasOnOfflineDirs().put(id.asInt(), Values.set(PARTITION)));
        topics.unclean = Json.field(given, "unclean").asBoolean();
    }

    /** A client without a connection, which knows whether the topic allows unclean elections. */
    private static final class Topics extends KafkaZkClient {
        private boolean unclean;

        Topics() {
            super(null, false, Time.SYSTEM);
        }

        @Override
        public Tuple2<Map<String, LogConfig>, Map<String, Exception>> getLogConfigs(
                Seq<String> topics, java.util.Map<String, Object> defaults) {
            Properties properties = new Properties();
            properties.put("unclean.leader.election.enable", String.valueOf(unclean));
            LogConfig config = new LogConfig(properties, new HashSet<>());
            return new Tuple2<>(new HashMap<String, LogConfig>().updated(PARTITION.topic(), config), new HashMap<>());
        }
    }
}
