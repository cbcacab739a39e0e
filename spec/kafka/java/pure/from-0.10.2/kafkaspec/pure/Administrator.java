package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import kafka.admin.AdminUtils$;
import kafka.admin.BrokerMetadata;
import kafka.admin.RackAwareMode;
import kafka.cluster.Broker;
import kafka.common.TopicAndPartition;
import kafka.utils.ZkUtils;
import kafkaspec.Json;
import org.I0Itec.zkclient.ZkClient;
import org.apache.zookeeper.data.ACL;
import scala.Option;
import scala.collection.Seq;

/** AdminUtils until 0.11, with a client of ZooKeeper that knows these brokers and a topic. */
final class Administrator {
    private static final String TOPIC = "t";

    private final Client client;

    Administrator(Seq<Broker> registered) {
        client = new Client(registered);
    }

    Seq<BrokerMetadata> brokers(RackAwareMode mode) {
        return AdminUtils$.MODULE$.getBrokerMetadatas(client, mode, Option.empty());
    }

    Map<?, ? extends List<?>> addPartitions(List<Seq<Object>> existing, int partitions, RackAwareMode mode) {
        client.existing = existing;
        AdminUtils$.MODULE$.addPartitions(client, TOPIC, partitions, "", true, mode);
        return client.all;
    }

    private static final class Client extends ZkUtils {
        private final Seq<Broker> registered;
        private List<Seq<Object>> existing;
        private Map<Object, List<Object>> all;

        Client(Seq<Broker> registered) {
            super((ZkClient) null, null, false);
            this.registered = registered;
        }

        @Override
        public Seq<Broker> getAllBrokersInCluster() {
            return registered;
        }

        @Override
        public scala.collection.mutable.Map<TopicAndPartition, Seq<Object>> getReplicaAssignmentForTopics(
                Seq<String> topics) {
            Map<TopicAndPartition, Seq<Object>> assignment = new HashMap<>();
            existing.forEach(replicas -> assignment.put(new TopicAndPartition(TOPIC, assignment.size()), replicas));
            return Scala.map(assignment);
        }

        /** Writes the topic's node. */
        @Override
        public void updatePersistentPath(String path, String data, List<ACL> acls) {
            all = new TreeMap<>();
            JsonNode written = Json.field(Json.read(data.getBytes(StandardCharsets.UTF_8)), "partitions");
            for (int partition = 0; partition < written.size(); partition++) {
                List<Object> replicas = new ArrayList<>();
                Json.field(written, String.valueOf(partition)).forEach(id -> replicas.add(id.asInt()));
                all.put(partition, replicas);
            }
        }
    }
}
