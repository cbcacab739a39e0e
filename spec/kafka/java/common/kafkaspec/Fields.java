package kafkaspec;

import java.lang.reflect.Field;

/**
 * Fields of Kafka's objects that Kafka does not show: the queue of a controller's events, a client's handlers.
 * By their names in the Scala source, which Scala may have put behind the name of the class.
 */
public final class Fields {
    private Fields() { }

    public static Object get(Object object, String name) {
        try {
            return find(object, name).get(object);
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Finals too: those of an object, and not of a record, may be set. */
    public static void set(Object object, String name, Object value) {
        try {
            find(object, name).set(object, value);
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static Field find(Object object, String name) {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name) || field.getName().endsWith("$$" + name)) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        throw new IllegalStateException(object.getClass() + " has no field " + name);
    }
}
