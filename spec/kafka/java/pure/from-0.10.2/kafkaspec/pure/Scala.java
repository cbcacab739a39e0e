package kafkaspec.pure;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** Scala collections, from Java's and to them. */
@SuppressWarnings("deprecation")  // the replacements exist only since Scala 2.13
final class Scala {
    private Scala() { }

    static <T> scala.collection.immutable.List<T> list(List<T> elements) {
        return JavaConverters.asScalaBufferConverter(elements).asScala().toList();
    }

    static <K, V> scala.collection.mutable.Map<K, V> map(Map<K, V> map) {
        return JavaConverters.mapAsScalaMapConverter(map).asScala();
    }

    static <T> List<T> java(Seq<T> elements) {
        return JavaConverters.seqAsJavaListConverter(elements).asJava();
    }

    /** In the order of the keys. */
    static <T> Map<Object, List<T>> java(scala.collection.Map<Object, Seq<T>> map) {
        Map<Object, List<T>> java = new TreeMap<>();
        JavaConverters.mapAsJavaMapConverter(map).asJava().forEach((key, elements) -> java.put(key, java(elements)));
        return java;
    }
}
