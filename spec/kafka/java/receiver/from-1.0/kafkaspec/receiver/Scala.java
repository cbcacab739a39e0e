package kafkaspec.receiver;

import java.util.List;
import java.util.function.Consumer;
import scala.collection.Iterable;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** Scala's collections, by methods that all of its releases have. */
final class Scala {
    private Scala() { }

    static <T> void forEach(Iterable<T> elements, Consumer<? super T> what) {
        for (Iterator<T> each = elements.iterator(); each.hasNext(); ) {
            what.accept(each.next());
        }
    }

    @SuppressWarnings("deprecation")  // the replacements exist only since Scala 2.13
    static <T> Seq<T> seq(List<T> elements) {
        return JavaConverters.asScalaBufferConverter(elements).asScala();
    }
}
