package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import kafka.api.LeaderAndIsr;
import kafka.controller.ControllerContext;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.PartitionLeaderElectionStrategy;
import kafka.controller.PartitionState;
import kafka.controller.PartitionStateMachine;
import kafka.server.KafkaConfig;
import kafkaspec.Configuration;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.util.Either;

/**
 * The partitions for which a preferred election is held: `KafkaController.checkAndTriggerAutoLeaderRebalance`.
 * A case: `partitions`, each a topic of its own, with replicas, leader (-1 for none) and isr, the last two null for
 * a new one; the brokers that are `live` and `shutting_down`; the tolerated `percentage`; and, by index, the
 * partitions `queued` for deletion and those being `reassigned`. The answer: such indices.
 */
final class Rebalances implements Call {
    private final Map<Integer, Controller> controllers = new HashMap<>();

    @Override
    public JsonNode answer(JsonNode given) throws ReflectiveOperationException {
        Controller controller = controllers.computeIfAbsent(Json.field(given, "percentage").asInt(), Controller::new);
        controller.knows(given);
        return controller.rebalances();
    }

    private static TopicPartition partition(int place) {
        return new TopicPartition(String.valueOf(place), 0);
    }

    /** A controller with a percentage. It never starts, has no ZooKeeper, and only records its elections. */
    private static final class Controller {
        private static final Method CHECK = Arrays.stream(KafkaController.class.getDeclaredMethods())
            .filter(method -> method.getName().equals("checkAndTriggerAutoLeaderRebalance"))
            .findAny().orElseThrow();

        private final KafkaController controller;
        private final ControllerContext context;
        private ArrayNode elected;

        Controller(int percentage) {
            Properties properties = new Properties();
            properties.putAll(Configuration.of(0).originals());
            properties.put("leader.imbalance.per.broker.percentage", String.valueOf(percentage));
            controller = new KafkaController(
                KafkaConfig.fromProps(properties), null, Time.SYSTEM, new Metrics(), null, 0, null, null, null,
                Option.empty());
            context = controller.controllerContext();
            Fields.set(controller, "partitionStateMachine", new Elections(context));
            CHECK.setAccessible(true);
        }

        void knows(JsonNode given) {
            context.resetContext();
            Knowledge.ofBrokers(context, Json.field(given, "live"), Json.field(given, "shutting_down"));
            int place = 0;
            for (JsonNode each : Json.field(given, "partitions")) {
                knows(partition(place++), each);
            }
            Json.field(given, "queued").forEach(queued ->
                context.queueTopicDeletion(Values.only(partition(queued.asInt()).topic()).toSet()));
            Json.field(given, "reassigned").forEach(reassigned ->
                context.partitionsBeingReassigned().add(partition(reassigned.asInt())));
        }

        private void knows(TopicPartition partition, JsonNode given) {
            context.allTopics().add(partition.topic());
            Knowledge.assign(context, partition, given.get(0));
            if (!given.get(1).isNull()) {
                LeaderAndIsr state = PartitionBefore.of(given.get(1).asInt(), Values.ids(given.get(2)));
                context.putPartitionLeadershipInfo(partition, LeaderIsrAndControllerEpoch.apply(state, 1));
            }
        }

        ArrayNode rebalances() throws ReflectiveOperationException {
            elected = Json.array();
            CHECK.invoke(controller);
            return elected;
        }

        private final class Elections extends PartitionStateMachine {
            Elections(ControllerContext context) {
                super(context);
            }

            @Override
            public scala.collection.Map<TopicPartition, Either<Throwable, LeaderAndIsr>> handleStateChanges(
                    Seq<TopicPartition> partitions, PartitionState target,
                    Option<PartitionLeaderElectionStrategy> strategy) {
                for (Iterator<TopicPartition> each = partitions.iterator(); each.hasNext(); ) {
                    elected.add(Integer.parseInt(each.next().topic()));
                }
                return new scala.collection.mutable.HashMap<>();
            }
        }
    }
}
