package kafkaspec.receiver;

import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Properties;
import kafka.server.ApiVersionManager;
import kafka.server.ClientRequestQuotaManager;
import kafka.server.QuotaFactory.QuotaManagers;
import kafka.server.ZkAdminManager;
import kafkaspec.Fields;
import scala.Option;
import sun.misc.Unsafe;

/** What stands around a broker's replicas, and has no say in what becomes of them. It has no threads. */
final class Stubs {
    private Stubs() { }

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
        Fields.set(idle, "topicPurgatory", Surroundings.purgatory("topic"));
        return idle;
    }

    static Properties properties(Map<String, Object> values) {
        Properties properties = new Properties();
        properties.putAll(values);
        return properties;
    }

    /** Answers this to one method, and nothing to the others. */
    static <T> T stub(Class<T> type, String answered, Object answer) {
        return type.cast(Proxy.newProxyInstance(
            type.getClassLoader(), new Class<?>[] {type},
            (proxy, method, arguments) -> method.getName().equals(answered) ? answer : null));
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
}
