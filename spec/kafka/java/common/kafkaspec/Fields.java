package kafkaspec;

import java.lang.reflect.Field;

/**
 * Private fields of Kafka's objects: the queue of a controller's events, a client's handlers.
 * Their names are those of the Scala source; Scala may have put the class's name before them.
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

    /** Final fields too: in ordinary objects, unlike records, they can be set. */
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
