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

    /** A Scala object. */
    static Object module(String name) {
        try {
            return Class.forName(name + "$").getField("MODULE$").get(null);
        } catch (ReflectiveOperationException missing) {
            throw new IllegalArgumentException(missing);
        }
    }

    static boolean has(Object on, String method) {
        return Arrays.stream(on.getClass().getMethods()).anyMatch(each -> each.getName().equals(method));
    }

    static Object create(String type, Object... values) {
        try {
            for (Constructor<?> each : Class.forName(type).getConstructors()) {
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
        try {
            for (Method each : on.getClass().getMethods()) {
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
        throw new IllegalArgumentException("no method " + method + " of " + on.getClass());
    }

    /** The arguments for all parameters; null if one of them has none. */
    private static Object[] arguments(Executable called, Object... values) {
        List<Object> left = new ArrayList<>(Arrays.asList(values));
        List<Object> arguments = new ArrayList<>();
        for (Class<?> type : called.getParameterTypes()) {
            Class<?> wrapped = MethodType.methodType(type).wrap().returnType();
            Object fits = left.stream().filter(wrapped::isInstance).findFirst().orElse(null);
            if (fits == null) {
                return null;
            }
            left.remove(fits);
            arguments.add(fits);
        }
        return arguments.toArray();
    }
}
