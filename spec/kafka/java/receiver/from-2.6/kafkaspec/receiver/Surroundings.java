package kafkaspec.receiver;

import com.yammer.metrics.core.MetricsRegistry;
import java.lang.reflect.Proxy;
import java.util.Map;
import kafka.metrics.KafkaYammerMetrics;
import kafka.server.DelayedOperation;
import kafka.server.DelayedOperationPurgatory;
import kafka.utils.Scheduler;
import kafka.utils.timer.Timer;
import scala.Function0;

/** Purgatories, schedulers and the metrics registry in Kafka 2.6 to 2.8. */
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
                if (method.getName().equals("schedule")) {
                    scheduled.put((String) arguments[0], ((Function0<?>) arguments[1])::apply);
                }
                return method.getReturnType() == long.class ? 0L : null;  // the defaults of Scala's parameters
            });
    }

    /** Removes all metrics, which brokers would share: gauges keep everything alive that they read. */
    static void forgetMetrics() {
        MetricsRegistry registry = KafkaYammerMetrics.defaultRegistry();
        registry.allMetrics().keySet().forEach(registry::removeMetric);
    }
}
