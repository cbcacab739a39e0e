package kafkaspec.pure;

import java.util.List;
import java.util.Map;
import java.util.Random;
import kafka.admin.AdminUtils$;
import kafka.admin.BrokerMetadata;
import kafka.cluster.Broker;
import scala.collection.Seq;

/** AdminUtils, in Scala until 3.5. */
final class Placing {
    private Placing() { }

    /** The brokers as they are known when no mode is requested. */
    static Seq<BrokerMetadata> metadata(Seq<Broker> brokers) {
        return Scala.list(
            Scala.java(brokers).stream().map(broker -> BrokerMetadata.apply(broker.id(), broker.rack())).toList());
    }

    static Random chance() {
        return AdminUtils$.MODULE$.rand();
    }

    static Map<?, ? extends List<?>> assign(
            Seq<BrokerMetadata> brokers, int partitions, int factor, int startIndex, int startPartition) {
        return Scala.java(
            AdminUtils$.MODULE$.assignReplicasToBrokers(brokers, partitions, factor, startIndex, startPartition));
    }
}
