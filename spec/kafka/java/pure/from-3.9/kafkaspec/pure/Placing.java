package kafkaspec.pure;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import kafka.cluster.Broker;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;
import scala.collection.Seq;

/** AdminUtils, in Java since 3.6. */
final class Placing {
    private Placing() { }

    /** The brokers as they are known when no mode is requested. */
    static Seq<BrokerMetadata> metadata(Seq<Broker> brokers) {
        return Scala.list(Scala.java(brokers).stream()
            .map(broker -> new BrokerMetadata(
                broker.id(), broker.rack().isEmpty() ? Optional.empty() : Optional.of(broker.rack().get())))
            .toList());
    }

    static Random chance() {
        try {
            Field chance = AdminUtils.class.getDeclaredField("RAND");
            chance.setAccessible(true);
            return (Random) chance.get(null);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    static Map<?, ? extends List<?>> assign(
            Seq<BrokerMetadata> brokers, int partitions, int factor, int startIndex, int startPartition) {
        return AdminUtils.assignReplicasToBrokers(
            Scala.java(brokers), partitions, factor, startIndex, startPartition);
    }
}
