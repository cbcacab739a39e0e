package kafkaspec.receiver;

import java.util.List;
import java.util.function.Consumer;
import scala.collection.Iterable;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** Scala's collections, by what all of its releases have in common. */
final class Scala {
    private Scala() { }

    static <T> void forEach(Iterable<T> elements, Consumer<? super T> what) {
        for (Iterator<T> each = elements.iterator(); each.hasNext(); ) {
            what.accept(each.next());
        }
    }

    @SuppressWarnings("deprecation")  // what is newer there is not before Scala 2.13
    static <T> Seq<T> seq(List<T> elements) {
        return JavaConverters.asScalaBufferConverter(elements).asScala();
    }
}
