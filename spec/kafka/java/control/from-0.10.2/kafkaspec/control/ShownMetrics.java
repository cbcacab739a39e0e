package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.yammer.metrics.Metrics;
import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import com.yammer.metrics.core.Timer;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import kafka.controller.ControllerStats$;
import kafkaspec.Fields;
import kafkaspec.Json;

/** A controller's metrics: its gauges, computed when they are read, and its counts. */
final class ShownMetrics {
    private static final ControllerStats$ STATS = ControllerStats$.MODULE$;
    /** The names of gauges, and of the fields in which later releases keep their values. */
    private static final Map<String, String> GAUGES = Map.of(
        "OfflinePartitionsCount", "offlinePartitionCount",
        "PreferredReplicaImbalanceCount", "preferredReplicaImbalanceCount");

    private final MetricsRegistry registry = Metrics.defaultRegistry();
    /** The earlier counts: all controllers of this process share their meters and timers. */
    private final long changes = brokerChanges();
    private final long unclean = STATS.uncleanLeaderElectionRate().count();

    /** Removes the gauges of an earlier controller of this process, which would stay. */
    ShownMetrics() {
        List.copyOf(registry.allMetrics().keySet()).stream().filter(ShownMetrics::isGauge)
            .forEach(registry::removeMetric);
    }

    void observe(Observation seen) {
        ObjectNode gauges = Json.object();
        registry.allMetrics().forEach((name, metric) -> {
            if (isGauge(name)) {
                put(gauges, GAUGES.get(name.getName()), (Gauge<?>) metric);
            }
        });
        seen.put("gauges", gauges);
        seen.put("stats", Json.array()
            .add(brokerChanges() - changes)
            .add(STATS.uncleanLeaderElectionRate().count() - unclean));
    }

    private static long brokerChanges() {
        return ((Timer) Fields.get(STATS.leaderElectionTimer(), "metric")).count();
    }

    private static boolean isGauge(MetricName name) {
        return GAUGES.containsKey(name.getName());
    }

    /** A gauge that cannot be read is left out. */
    private static void put(ObjectNode gauges, String name, Gauge<?> gauge) {
        try {
            gauges.put(name, (Integer) gauge.value());
        } catch (NoSuchElementException noLeader) {
            return;
        }
    }
}
