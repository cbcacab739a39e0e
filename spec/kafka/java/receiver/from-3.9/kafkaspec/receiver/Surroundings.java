package kafkaspec.receiver;

import com.yammer.metrics.core.MetricsRegistry;
import java.lang.reflect.Proxy;
import java.util.Map;
import kafka.server.DelayedOperation;
import kafka.server.DelayedOperationPurgatory;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.server.util.timer.Timer;

/** Purgatories, schedulers and the metrics registry in Kafka 3.9. */
final class Surroundings {
    private Surroundings() { }

    /** A purgatory in which no operation waits. */
    static <T extends DelayedOperation> DelayedOperationPurgatory<T> purgatory(String name) {
        boolean reaps = false;
        Timer empty = Stubs.stub(Timer.class, "size", 0);
        return new DelayedOperationPurgatory<>(name, empty, 0, 1, reaps, false);
    }

    /** A scheduler that stores its tasks there. */
    static Scheduler scheduler(Map<String, Runnable> scheduled) {
        return (Scheduler) Proxy.newProxyInstance(
            Scheduler.class.getClassLoader(), new Class<?>[] {Scheduler.class},
            (proxy, method, arguments) -> {
                if (method.getName().startsWith("schedule")) {
                    scheduled.put((String) arguments[0], (Runnable) arguments[1]);
                }
                return null;
            });
    }

    /** Removes all metrics, which brokers would share: gauges keep everything alive that they read. */
    static void forgetMetrics() {
        MetricsRegistry registry = KafkaYammerMetrics.defaultRegistry();
        registry.allMetrics().keySet().forEach(registry::removeMetric);
    }
}
