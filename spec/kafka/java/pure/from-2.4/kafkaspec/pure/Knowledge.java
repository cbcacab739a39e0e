package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import kafka.cluster.Broker;
import kafka.cluster.EndPoint;
import kafka.controller.ControllerContext;
import kafka.controller.ReplicaAssignment;
import kafkaspec.Json;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What a ControllerContext is told of brokers, and Scala's collections, from JSON. */
final class Knowledge {
    private static final Map<Integer, Broker> BROKERS = new HashMap<>();

    private Knowledge() { }

    /** These brokers and no others are live, and of these some are shutting down. */
    static void ofBrokers(ControllerContext context, JsonNode live, JsonNode shuttingDown) {
        scala.collection.mutable.Map<Broker, Object> epochs = new scala.collection.mutable.HashMap<>();
        live.forEach(id -> epochs.put(broker(id.asInt()), 1L));
        context.setLiveBrokers(epochs);
        context.shuttingDownBrokerIds().clear();
        shuttingDown.forEach(id -> context.shuttingDownBrokerIds().add(id.asInt()));
    }

    /** An assignment that no reassignment changes. */
    static ReplicaAssignment assigned(JsonNode replicas) {
        return new ReplicaAssignment(ids(replicas), ids(Json.array()), ids(Json.array()));
    }

    static scala.collection.immutable.List<Object> ids(JsonNode brokers) {
        List<Object> ids = new ArrayList<>();
        brokers.forEach(broker -> ids.add(broker.asInt()));
        return CollectionConverters.asScala(ids).toList();
    }

    static <T> scala.collection.immutable.List<T> only(T element) {
        return CollectionConverters.asScala(List.of(element)).toList();
    }

    private static Broker broker(int id) {
        ListenerName listener = new ListenerName("PLAINTEXT");
        EndPoint endPoint = new EndPoint("localhost", 9092, listener, SecurityProtocol.PLAINTEXT);
        return BROKERS.computeIfAbsent(id, each -> Broker.apply(each, only(endPoint), Option.empty()));
    }
}
