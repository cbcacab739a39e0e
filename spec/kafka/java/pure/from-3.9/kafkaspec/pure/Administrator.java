package kafkaspec.pure;

import java.util.List;
import java.util.Map;
import kafka.admin.RackAwareMode;
import kafka.cluster.Broker;
import kafka.zk.AdminZkClient;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.admin.BrokerMetadata;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.Seq;

/** An AdminZkClient of 3.9, with a client of ZooKeeper that knows these brokers. */
final class Administrator {
    private final AdminZkClient client;

    Administrator(Seq<Broker> registered) {
        client = new AdminZkClient(new KafkaZkClient(null, false, Time.SYSTEM, false) {
            @Override
            public Seq<Broker> getAllBrokersInCluster() {
                return registered;
            }
        }, Option.empty());
    }

    Seq<BrokerMetadata> brokers(RackAwareMode mode) {
        return client.getBrokerMetadatas(mode, Option.empty());
    }

    Map<?, ? extends List<?>> addPartitions(List<Seq<Object>> existing, int partitions, RackAwareMode mode) {
        return Scala.java(client.addPartitions(
            "t", Scala.map(Existing.of(existing)), brokers(mode), partitions, Option.empty(), true));
    }
}
