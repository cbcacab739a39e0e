package kafkaspec.control;

import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Calls of methods whose arguments differ from release to release: each parameter takes the first value that fits it
 * and is left. Values that no parameter takes are not used.
 */
final class Reflection {
    /** What Kafka threw is the cause. */
    static final class Thrown extends RuntimeException {
        private static final long serialVersionUID = 1;

        Thrown(Throwable cause) {
            super(cause);
        }
    }

    private Reflection() { }

    static boolean exists(String type) {
        try {
            Class.forName(type);
            return true;
        } catch (ClassNotFoundException missing) {
            return false;
        }
    }

    /** The first of these types that exists. */
    static String anyOf(String... types) {
        return Arrays.stream(types).filter(Reflection::exists).findFirst().orElseThrow();
    }

    static Class<?> type(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException missing) {
            throw new IllegalArgumentException(missing);
        }
    }

    /** A Scala object. */
    static Object module(String name) {
        try {
            return type(name + "$").getField("MODULE$").get(null);
        } catch (ReflectiveOperationException missing) {
            throw new IllegalArgumentException(missing);
        }
    }

    static boolean has(Object on, String method) {
        return Arrays.stream(on.getClass().getMethods()).anyMatch(each -> each.getName().equals(method));
    }

    static Object create(String type, Object... values) {
        try {
            for (Constructor<?> each : type(type).getConstructors()) {
                Object[] arguments = arguments(each, values);
                if (arguments != null) {
                    return each.newInstance(arguments);
                }
            }
        } catch (InvocationTargetException thrown) {
            throw new Thrown(thrown.getCause());
        } catch (ReflectiveOperationException missing) {
            throw new IllegalArgumentException(missing);
        }
        throw new IllegalArgumentException("no constructor of " + type);
    }

    static Object call(Object on, String method, Object... values) {
        return call(on.getClass(), on, method, values);
    }

    static Object callStatic(String type, String method, Object... values) {
        return call(type(type), null, method, values);
    }

    private static Object call(Class<?> type, Object on, String method, Object... values) {
        try {
            for (Method each : type.getMethods()) {
                Object[] arguments = each.getName().equals(method) ? arguments(each, values) : null;
                if (arguments != null) {
                    return each.invoke(on, arguments);
                }
            }
        } catch (InvocationTargetException thrown) {
            throw new Thrown(thrown.getCause());
        } catch (ReflectiveOperationException missing) {
            throw new IllegalArgumentException(missing);
        }
        throw new IllegalArgumentException("no method " + method + " of " + type);
    }

    /** The arguments for all parameters; null if one of them has none. */
    private static Object[] arguments(Executable called, Object... values) {
        List<Object> left = new ArrayList<>(Arrays.asList(values));
        List<Object> arguments = new ArrayList<>();
        for (Class<?> type : called.getParameterTypes()) {
            Class<?> wrapped = MethodType.methodType(type).wrap().returnType();
            int place = 0;
            while (place < left.size() && left.get(place) != null && !wrapped.isInstance(left.get(place))) {
                place++;
            }
            if (place == left.size()) {
                return null;
            }
            arguments.add(left.remove(place));
        }
        return arguments.toArray();
    }
}
