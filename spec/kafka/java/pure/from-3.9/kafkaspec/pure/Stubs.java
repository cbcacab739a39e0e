package kafkaspec.pure;

import com.yammer.metrics.core.MetricsRegistry;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Properties;
import kafka.server.ApiVersionManager;
import kafka.server.ClientRequestQuotaManager;
import kafka.server.DelayedOperation;
import kafka.server.DelayedOperationPurgatory;
import kafka.server.QuotaFactory.QuotaManagers;
import kafka.server.ZkAdminManager;
import kafkaspec.Fields;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.server.util.timer.Timer;
import scala.Option;
import sun.misc.Unsafe;

/** What stands around a broker's replicas, and has no say in what becomes of them. It has no threads. */
final class Stubs {
    private Stubs() { }

    /** Nobody waits for anything. */
    static <T extends DelayedOperation> Option<DelayedOperationPurgatory<T>> purgatory(String name) {
        boolean reaps = false;
        Timer empty = stub(Timer.class, "size", 0);
        return Option.apply(new DelayedOperationPurgatory<>(name, empty, 0, 1, reaps, false));
    }

    /** It remembers by their names what is to run later. */
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

    static GroupCoordinator groupCoordinator() {
        return stub(GroupCoordinator.class, "", null);
    }

    static ApiVersionManager everyVersion() {
        return stub(ApiVersionManager.class, "isApiEnabled", true);
    }

    /** Nothing is throttled: a quota manager that was never made has no quotas. */
    static QuotaManagers quotas() {
        ClientRequestQuotaManager none = unmade(ClientRequestQuotaManager.class);
        return new QuotaManagers(null, null, none, null, null, null, null, Option.empty());
    }

    /** Of an administrator's requests it knows only that none waits. */
    static ZkAdminManager adminManager() {
        ZkAdminManager idle = unmade(ZkAdminManager.class);
        Fields.set(idle, "topicPurgatory", purgatory("topic").get());
        return idle;
    }

    /** What the next broker would share with this one: gauges hold all that they look at. */
    static void forgetMetrics() {
        MetricsRegistry registry = KafkaYammerMetrics.defaultRegistry();
        registry.allMetrics().keySet().forEach(registry::removeMetric);
    }

    static Properties properties(Map<String, Object> values) {
        Properties properties = new Properties();
        properties.putAll(values);
        return properties;
    }

    /** An object whose constructor did not run, because that starts threads. */
    private static <T> T unmade(Class<T> type) {
        try {
            Field unsafe = Unsafe.class.getDeclaredField("theUnsafe");
            unsafe.setAccessible(true);
            return type.cast(((Unsafe) unsafe.get(null)).allocateInstance(type));
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Answers this to one method, and nothing to the others. */
    private static <T> T stub(Class<T> type, String answered, Object answer) {
        return type.cast(Proxy.newProxyInstance(
            type.getClassLoader(), new Class<?>[] {type},
            (proxy, method, arguments) -> method.getName().equals(answered) ? answer : null));
    }
}
