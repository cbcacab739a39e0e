package kafkaspec.receiver;

import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Properties;
import sun.misc.Unsafe;

/** Stubs of objects around a broker's replicas, which have no effect on these. */
final class Stubs {
    private Stubs() { }

    static Properties properties(Map<String, Object> values) {
        Properties properties = new Properties();
        properties.putAll(values);
        return properties;
    }

    /** An object that returns this from one method, and nothing from the others. */
    static <T> T stub(Class<T> type, String answered, Object answer) {
        return type.cast(Proxy.newProxyInstance(
            type.getClassLoader(), new Class<?>[] {type},
            (proxy, method, arguments) -> method.getName().equals(answered) ? answer : null));
    }

    /** An object whose constructor did not run, because it would start threads. */
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
