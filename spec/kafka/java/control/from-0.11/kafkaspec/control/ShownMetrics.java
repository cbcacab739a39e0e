package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.yammer.metrics.core.Timer;
import java.lang.reflect.Field;
import kafka.controller.ControllerState;
import kafka.controller.ControllerStats;
import kafka.controller.KafkaController;
import kafkaspec.Fields;
import kafkaspec.Json;
import scala.collection.Map;

/** A controller's metrics: its gauges, set at the end of its last event, and its counts. */
final class ShownMetrics {
    private static final String COUNT = "Count";

    /** The earlier counts: all controllers of this process share their meters and timers. */
    private final long changes = brokerChanges(new ControllerStats());
    private final long unclean = uncleanElections(new ControllerStats());

    void observe(Observation seen, KafkaController controller) {
        seen.put("gauges", gauges(controller));
        ControllerStats stats = controller.controllerContext().stats();
        seen.put("stats", Json.array()
            .add(brokerChanges(stats) - changes)
            .add(uncleanElections(stats) - unclean));
    }

    /** The gauges by the names of their fields, such as offlinePartitionCount. */
    private static ObjectNode gauges(KafkaController controller) {
        ObjectNode gauges = Json.object();
        for (Field field : KafkaController.class.getDeclaredFields()) {
            String name = field.getName().substring(field.getName().lastIndexOf('$') + 1);
            if (field.getType() == int.class && name.endsWith(COUNT)) {
                gauges.put(name, (Integer) Fields.get(controller, name));
            }
        }
        return gauges;
    }

    /** The number of LeaderElectionRateAndTimeMs measurements; most releases wrap the timer. */
    private static long brokerChanges(ControllerStats stats) {
        Map<ControllerState, ?> timers = stats.rateAndTimeMetrics();
        Object timer = timers.apply(ControllerState.BrokerChange$.MODULE$);
        return ((Timer) (timer instanceof Timer ? timer : Fields.get(timer, "metric"))).count();
    }

    private static long uncleanElections(ControllerStats stats) {
        return stats.uncleanLeaderElectionRate().count();
    }
}
