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

/** What a controller shows: its gauges, which were set when its last event was over, and how much it has counted. */
final class ShownMetrics {
    private static final String COUNT = "Count";

    /** Meters and timers are those of all controllers of this process: what they had counted before. */
    private final long changes = brokerChanges(new ControllerStats());
    private final long unclean = uncleanElections(new ControllerStats());

    void observe(Observation seen, KafkaController controller) {
        seen.put("gauges", gauges(controller));
        ControllerStats stats = controller.controllerContext().stats();
        seen.put("stats", Json.array()
            .add(brokerChanges(stats) - changes)
            .add(uncleanElections(stats) - unclean));
    }

    /** By the names of the fields, such as offlinePartitionCount. */
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

    /** How often LeaderElectionRateAndTimeMs has been timed; the timer is wrapped in most releases. */
    private static long brokerChanges(ControllerStats stats) {
        Map<ControllerState, ?> timers = stats.rateAndTimeMetrics();
        Object timer = timers.apply(ControllerState.BrokerChange$.MODULE$);
        return ((Timer) (timer instanceof Timer ? timer : Fields.get(timer, "metric"))).count();
    }

    private static long uncleanElections(ControllerStats stats) {
        return stats.uncleanLeaderElectionRate().count();
    }
}
