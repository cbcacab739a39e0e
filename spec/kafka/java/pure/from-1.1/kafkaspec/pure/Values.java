package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import kafka.cluster.Broker;
import kafka.cluster.EndPoint;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** Values that a ControllerContext takes and returns, from JSON and to it. */
final class Values {
    private static final Map<Integer, Broker> BROKERS = new HashMap<>();

    private Values() { }

    static Broker broker(int id) {
        return BROKERS.computeIfAbsent(id, Values::newBroker);
    }

    private static Broker newBroker(int id) {
        ListenerName listener = new ListenerName("PLAINTEXT");
        Seq<EndPoint> endPoints = only(new EndPoint("localhost", 9092, listener, SecurityProtocol.PLAINTEXT));
        Option<String> noRack = Option.empty();
        return Broker.apply(id, endPoints, noRack);
    }

    static scala.collection.immutable.List<Object> ids(JsonNode brokers) {
        List<Object> ids = new ArrayList<>();
        brokers.forEach(broker -> ids.add(broker.asInt()));
        return JavaConverters.asScalaBufferConverter(ids).asScala().toList();
    }

    static void put(ArrayNode array, Seq<Object> ids) {
        JavaConverters.seqAsJavaListConverter(ids).asJava().forEach(id -> array.add((Integer) id));
    }

    static <T> scala.collection.immutable.List<T> only(T element) {
        return JavaConverters.asScalaBufferConverter(List.of(element)).asScala().toList();
    }

    static scala.collection.Set<TopicPartition> set(TopicPartition partition) {
        scala.collection.mutable.Set<TopicPartition> partitions = new scala.collection.mutable.HashSet<>();
        partitions.add(partition);
        return partitions;
    }
}
