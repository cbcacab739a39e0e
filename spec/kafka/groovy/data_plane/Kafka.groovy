package data_plane

import groovy.transform.CompileDynamic
import groovy.transform.CompileStatic
import java.lang.invoke.MethodType
import java.lang.reflect.Constructor
import java.lang.reflect.Field
import java.lang.reflect.InvocationTargetException
import java.lang.reflect.Member
import java.lang.reflect.Method
import java.lang.reflect.ParameterizedType
import java.lang.reflect.Type
import java.lang.reflect.TypeVariable
import java.util.concurrent.ConcurrentHashMap
import org.apache.kafka.common.utils.AppInfoParser
import org.codehaus.groovy.runtime.ProxyGeneratorAdapter
import scala.Option
import scala.collection.JavaConverters

/**
 * What helps to use the classes of any release.
 *
 * Groovy looks classes up in the packages that a file imports, so a class may have moved; one that a release does not
 * have is null. Values are given to Kafka by the types of its parameters, whose number and order differ by release.
 */
@CompileStatic
abstract class Kafka {
    private static final List<Integer> NUMBERS = AppInfoParser.version.split(/\./)*.toInteger()
    private static final int RELEASE = 100 * NUMBERS[0] + NUMBERS[1]
    private static final Map<List, Class> SUBCLASSES = new ConcurrentHashMap()
    private static final Map<List, Method> METHODS = new ConcurrentHashMap()
    private static final Map<List, Field> FIELDS = new ConcurrentHashMap()

    Object propertyMissing(String name) {
        if (Character.isUpperCase(name.charAt(0))) {
            return null
        }
        throw new MissingPropertyException(name, getClass())
    }

    /** Whether this release is that one or a later one. */
    static boolean since(int major, int minor = 0) {
        RELEASE >= 100 * major + minor
    }

    /** An object made by its longest constructor. */
    static Object make(Class type, Object... given) {
        if (type == null) {
            return null
        }
        def constructor = longest(type)
        constructor.newInstance(fitted(constructor.genericParameterTypes, given))
    }

    /**
     * The same of a subclass with other methods.
     *
     * Groovy generates its class. We make the object, since Groovy would look at all members of the class, and Java's
     * introspection does not end in fetchers of 1.1.
     */
    static Object subclass(Class type, Map<String, Closure> methods, Object... given) {
        def longest = longest(type)
        def generated = SUBCLASSES.computeIfAbsent([type, methods.keySet()]) {
            def generator = new ProxyGeneratorAdapter(
                (Map) methods, type, [] as Class[], type.classLoader, false, (Class) null)
            (Class) field(generator, 'cachedClass')
        }
        def constructor = generated.getConstructor((longest.parameterTypes.toList() + [Map]) as Class[])
        def values = fitted(longest.genericParameterTypes, given).toList()
        constructor.newInstance((values << methods) as Object[])
    }

    /** Calls the method with most parameters, also if it is private or Scala has given it a longer name. */
    static Object invoke(Object object, String name, Object... given) {
        def method = METHODS.computeIfAbsent([object.class, name]) {
            def all = types(object.class).collectMany { it.declaredMethods.toList() }
            def found = all.findAll { named(it, name) && !it.bridge }.max { it.parameterCount }
            found.accessible = true
            found
        }
        try {
            method.invoke(object, fitted(method.genericParameterTypes, given))
        } catch (InvocationTargetException failed) {
            throw failed.cause
        }
    }

    /** A field, also if it is private or Scala has given it a longer name. */
    static Object field(Object object, String name) {
        fieldOf(object.class, name).get(object)
    }

    static void replace(Object object, String name, Object value) {
        fieldOf(object.class, name).set(object, value)
    }

    private static Field fieldOf(Class type, String name) {
        FIELDS.computeIfAbsent([type, name]) {
            def found = types(type).collectMany { it.declaredFields.toList() }.find { named(it, name) }
            found.accessible = true
            found
        }
    }

    /** A class with those that it extends. */
    private static List<Class> types(Class type) {
        type == null ? [] : [type] + types(type.superclass)
    }

    /** Whether that is the name of a member, or the end of the longer one that Scala has given it. */
    private static boolean named(Member member, String name) {
        member.name == name || member.name.endsWith('$$' + name)
    }

    static Class nested(Class type, String name) {
        Class.forName(type.name + '$' + name)
    }

    /** An object of a message's class with these fields. */
    @CompileDynamic
    static Object filled(Class type, Map<String, Object> fields) {
        def message = type.newInstance()
        fields.each { name, value -> message."set${name.capitalize()}"(value) }
        message
    }

    private static Constructor longest(Class type) {
        type.constructors.max { it.parameterCount }
    }

    /** For each parameter the first value that fits and is left. Values for which a release has no parameter stay. */
    private static Object[] fitted(Type[] parameters, Object[] given) {
        def left = given.findAll { it != null }
        parameters.collect { fitting(it, left) } as Object[]
    }

    private static Object fitting(Type wanted, Collection left) {
        def type = rawType(wanted)
        def held = type == Option ? rawType(((ParameterizedType) wanted).actualTypeArguments.first()) : null
        if (held != null && held != Object) {
            return Option.apply(taken(held, left))
        }
        def found = taken(type, left)
        found == null ? nothing(type) : found
    }

    private static Object taken(Class type, Collection left) {
        def boxed = MethodType.methodType(type).wrap().returnType()
        for (def each = left.iterator(); each.hasNext();) {
            def value = each.next()
            if (boxed.isInstance(value)) {
                each.remove()
                return value
            }
        }
        null
    }

    private static Class rawType(Type type) {
        type instanceof ParameterizedType ? rawType(type.rawType)
            : type instanceof TypeVariable ? rawType(type.bounds.first()) : type instanceof Class ? type : Object
    }

    /** The value of a parameter for which there is none. */
    private static Object nothing(Class type) {
        if (type.primitive) {
            return java.lang.reflect.Array.get(java.lang.reflect.Array.newInstance(type, 1), 0)
        }
        type == Optional ? Optional.empty() : type == Option ? Option.apply(null)
            : type.name.startsWith('scala.Function') ? { Object... any -> null }.asType(type) : null
    }

    // Scala's collections, by static calls: Groovy would look at all their members, and with Scala 2.11 Java's
    // introspection does not end.

    static scala.collection.Seq seq(Collection of) {
        JavaConverters.asScalaBufferConverter(of as List).asScala().toSeq()
    }

    static scala.collection.Map map(Map of) {
        JavaConverters.mapAsScalaMapConverter(of).asScala()
    }

    /** What a collection of Scala or Java holds. */
    static List list(Object collection) {
        (collection instanceof Iterable ? collection
            : JavaConverters.asJavaIterableConverter((scala.collection.Iterable) collection).asJava()).toList()
    }

    /** The value of the partition in a map. */
    static Object ofPartition(scala.collection.Map map) {
        map.apply(Broker.PARTITION)
    }

    /** What an option of Scala or Java holds, or null. */
    static Object held(Object option) {
        option instanceof Option ? (option.isDefined() ? option.get() : null)
            : option instanceof Optional ? option.orElse(null) : option
    }
}
