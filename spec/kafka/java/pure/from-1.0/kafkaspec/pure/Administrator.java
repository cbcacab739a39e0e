package kafkaspec.pure;

import java.util.List;
import java.util.Map;
import kafka.admin.AdminUtils$;
import kafka.admin.BrokerMetadata;
import kafka.admin.RackAwareMode;
import kafka.cluster.Broker;
import kafka.utils.ZkUtils;
import org.I0Itec.zkclient.ZkClient;
import scala.Option;
import scala.collection.Seq;

/** AdminUtils of 1.0, with a client of ZooKeeper that knows these brokers. */
final class Administrator {
    private final Client client;

    Administrator(Seq<Broker> registered) {
        client = new Client(registered);
    }

    Seq<BrokerMetadata> brokers(RackAwareMode mode) {
        return AdminUtils$.MODULE$.getBrokerMetadatas(client, mode, Option.empty());
    }

    Map<?, ? extends List<?>> addPartitions(List<Seq<Object>> existing, int partitions, RackAwareMode mode) {
        return Scala.java(AdminUtils$.MODULE$.addPartitions(
            client, "t", Scala.map(Existing.of(existing)), brokers(mode), partitions, Option.empty(), true));
    }

    private static final class Client extends ZkUtils {
        private final Seq<Broker> registered;

        Client(Seq<Broker> registered) {
            super((ZkClient) null, null, false);
            this.registered = registered;
        }

        @Override
        public Seq<Broker> getAllBrokersInCluster() {
            return registered;
        }
    }
}
