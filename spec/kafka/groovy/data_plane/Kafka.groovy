package data_plane

import groovy.transform.CompileStatic
import java.lang.reflect.InvocationTargetException
import java.lang.reflect.ParameterizedType
import java.lang.reflect.Type
import java.lang.reflect.TypeVariable
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
abstract class Kafka {
    private static final RELEASE = AppInfoParser.version.split(/\./)*.toInteger()

    def propertyMissing(String name) {
        if (name[0].toUpperCase() == name[0]) {
            return null
        }
        throw new MissingPropertyException(name, getClass())
    }

    /** Whether this release is that one or a later one. */
    static boolean since(int... release) {
        def different = [RELEASE, release.toList()].transpose().find { ours, theirs -> ours != theirs }
        different == null || different[0] > different[1]
    }

    /** An object made by its longest constructor. */
    static make(Class type, Object... given) {
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
    static subclass(Class type, Map<String, Closure> methods, Object... given) {
        def generated = field(new ProxyGeneratorAdapter(methods, type, [] as Class[], type.classLoader, false, null), 'cachedClass')
        def longest = longest(type)
        def constructor = generated.getConstructor(*longest.parameterTypes, Map)
        constructor.newInstance(*fitted(longest.genericParameterTypes, given), methods)
    }

    static invoke(Object object, String name, Object... given) {
        def method = METHODS[object.class].computeIfAbsent(name) { methodOf(object.class, name) }
        try {
            method.invoke(object, fitted(method.genericParameterTypes, given))
        } catch (InvocationTargetException failed) {
            throw failed.cause
        }
    }

    private static final METHODS = [:].withDefault { [:] }

    private static methodOf(Class type, String name) {
        def all = types(type)*.declaredMethods.flatten().findAll { named(it, name) && !it.bridge }
        def found = all.max { it.parameterCount }
        found.accessible = true
        found
    }

    /** A class with those that it extends. */
    private static List<Class> types(Class type) {
        type == null ? [] : [type, *types(type.superclass)]
    }

    /** Whether that is the name of a member, or the end of the longer one that Scala has given it. */
    private static boolean named(member, String name) {
        member.name == name || member.name.endsWith('$$' + name)
    }

    static nested(Class type, String name) {
        Class.forName(type.name + '$' + name)
    }

    /** An object of a message's class with these fields. */
    static filled(Class type, Map<String, Object> fields) {
        def message = type.newInstance()
        fields.each { name, value -> message."set${name.capitalize()}"(value) }
        message
    }

    /** A field, also if it is private or Scala has given it a longer name. */
    static field(Object object, String name) {
        def found = fieldOf(object.class, name)
        if (found == null) {
            throw new MissingFieldException(name, object.class)
        }
        found.get(object)
    }

    static boolean hasField(Object object, String name) {
        fieldOf(object.class, name) != null
    }

    static replace(Object object, String name, Object value) {
        fieldOf(object.class, name).set(object, value)
    }

    private static final FIELDS = [:].withDefault { [:] }

    private static fieldOf(Class type, String name) {
        def known = FIELDS[type]
        if (!known.containsKey(name)) {
            known[name] = types(type)*.declaredFields.flatten().find { named(it, name) }
            known[name]?.setAccessible(true)
        }
        known[name]
    }

    private static longest(Class type) {
        type.constructors.max { it.parameterCount }
    }

    /** For each parameter the first value that fits and is left. Values for which a release has no parameter stay. */
    private static Object[] fitted(Type[] parameters, Object[] given) {
        def left = given.findAll { it != null }
        parameters.collect { fitting(it, left) } as Object[]
    }

    private static fitting(Type wanted, List left) {
        def type = rawType(wanted)
        if (type == Option && rawType(wanted.actualTypeArguments[0]) != Object) {
            return Option.apply(taken(rawType(wanted.actualTypeArguments[0]), left))
        }
        def found = taken(type, left)
        found == null ? nothing(type) : found
    }

    private static taken(Class type, List left) {
        def index = left.findIndexOf { boxed(type).isInstance(it) }
        index < 0 ? null : left.remove(index)
    }

    private static Class rawType(Type type) {
        type instanceof ParameterizedType ? type.rawType
            : type instanceof TypeVariable ? rawType(type.bounds.first()) : type instanceof Class ? type : Object
    }

    private static Class boxed(Class type) {
        java.lang.invoke.MethodType.methodType(type).wrap().returnType()
    }

    /** The value of a parameter for which there is none. */
    private static nothing(Class type) {
        if (type.primitive) {
            return java.lang.reflect.Array.get(java.lang.reflect.Array.newInstance(type, 1), 0)
        }
        if (type == Optional) {
            return Optional.empty()
        }
        if (type == Option) {
            return Option.apply(null)
        }
        if (type.name.startsWith('scala.Function')) {
            return { Object... any -> null }.asType(type)
        }
        null
    }

    // Scala's collections. Groovy would look at all their members, and with Scala 2.11 Java's introspection does not end.

    @CompileStatic
    static scala.collection.Seq seq(Collection of) {
        JavaConverters.asScalaBufferConverter(of as List).asScala().toSeq()
    }

    @CompileStatic
    static scala.collection.Map map(Map of) {
        JavaConverters.mapAsScalaMapConverter(of).asScala()
    }

    /** What a collection of Scala or Java holds. */
    @CompileStatic
    static List list(Object collection) {
        (collection instanceof Iterable ? collection
            : JavaConverters.asJavaIterableConverter((scala.collection.Iterable) collection).asJava()).toList()
    }

    /** The value of the partition in a map. */
    @CompileStatic
    static Object ofPartition(scala.collection.Map map) {
        map.apply(Broker.PARTITION)
    }

    /** What an option of Scala or Java holds, or null. */
    static held(option) {
        option instanceof Option ? (option.isDefined() ? option.get() : null)
            : option instanceof Optional ? option.orElse(null) : option
    }
}
