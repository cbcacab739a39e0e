package kafkaspec.control;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import kafkaspec.Json;
import org.apache.kafka.common.TopicPartition;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterable;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.Map;
import scala.collection.immutable.Set;

/** Scala values that Kafka takes and returns, from JSON and in loops. */
final class Scala {
    private Scala() { }

    static <T> void forEach(Iterable<T> elements, Consumer<? super T> what) {
        for (Iterator<T> each = elements.iterator(); each.hasNext(); ) {
            what.accept(each.next());
        }
    }

    static <K, V> void forEach(Map<K, V> map, BiConsumer<? super K, ? super V> what) {
        for (Iterator<Tuple2<K, V>> each = map.iterator(); each.hasNext(); ) {
            Tuple2<K, V> pair = each.next();
            what.accept(pair._1(), pair._2());
        }
    }

    @SuppressWarnings("deprecation")  // the replacements exist only since Scala 2.13
    static <T> scala.collection.immutable.List<T> list(List<T> elements) {
        return JavaConverters.asScalaBufferConverter(elements).asScala().toList();
    }

    /** A Scala map in the order of this one. */
    @SuppressWarnings("deprecation")  // the replacements exist only since Scala 2.13
    static <K, V> Map<K, V> map(java.util.Map<K, V> map) {
        return JavaConverters.mapAsScalaMapConverter(map).asScala();
    }

    static <T> Set<T> set(T element) {
        return list(List.of(element)).toSet();
    }

    /** A set with an additional element. */
    static <T> scala.collection.Set<T> with(scala.collection.Set<T> elements, T element) {
        List<T> all = new ArrayList<>(List.of(element));
        forEach(elements, all::add);
        return Scala.<T>list(all).toSet();
    }

    static <T> void forEach(Option<T> element, Consumer<? super T> what) {
        if (element.isDefined()) {
            what.accept(element.get());
        }
    }

    static scala.collection.immutable.List<Object> ids(JsonNode brokers) {
        List<Object> ids = new ArrayList<>();
        brokers.forEach(broker -> ids.add(broker.asInt()));
        return list(ids);
    }

    static Set<String> texts(JsonNode names) {
        return list(textList(names)).toSet();
    }

    static scala.collection.immutable.List<TopicPartition> partitions(JsonNode names) {
        return list(textList(names).stream().map(Scala::partition).toList());
    }

    /** The partition with this name, such as `t-0`. */
    static TopicPartition partition(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }

    /** A partition's name such as t-0, where Kafka until 0.11 writes [t,0]; or a text with such names. */
    static String name(Object partition) {
        return partition.toString().replaceAll("\\[(\\w+),(\\d+)]", "$1-$2");
    }

    private static List<String> textList(JsonNode names) {
        List<String> texts = new ArrayList<>();
        names.forEach(name -> texts.add(name.asText()));
        return texts;
    }

    /** Kafka's object for a state. */
    static Object object(JsonNode name) {
        try {
            return Class.forName("kafka.controller." + name.asText() + "$").getField("MODULE$").get(null);
        } catch (ReflectiveOperationException unknown) {
            throw new Json.Malformed("no state " + name);
        }
    }
}
