package kafkaspec.receiver;

import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Properties;
import sun.misc.Unsafe;

/** What stands around a broker's replicas, and has no say in what becomes of them. */
final class Stubs {
    private Stubs() { }

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
    static <T> T unmade(Class<T> type) {
        try {
            Field unsafe = Unsafe.class.getDeclaredField("theUnsafe");
            unsafe.setAccessible(true);
            return type.cast(((Unsafe) unsafe.get(null)).allocateInstance(type));
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
