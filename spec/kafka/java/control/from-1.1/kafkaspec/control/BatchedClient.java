package kafkaspec.control;

import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import kafka.zookeeper.AsyncRequest;
import kafka.zookeeper.AsyncResponse;
import kafka.zookeeper.ZooKeeperClient;
import org.apache.kafka.common.utils.Time;
import scala.collection.Seq;

/** Kafka's own client of ZooKeeper, of Kafka 1.1 to 2.8, which reports the beginning of each batch. */
final class BatchedClient extends ZooKeeperClient {
    private final Meanwhile meanwhile;

    private BatchedClient(KafkaConfig config, Meanwhile meanwhile) {
        super(
            config.zkConnect(), config.zkSessionTimeoutMs(), config.zkConnectionTimeoutMs(),
            config.zkMaxInFlightRequests(), Time.SYSTEM, "kafka.server", "SessionExpireListener");
        this.meanwhile = meanwhile;
    }

    static KafkaZkClient connect(KafkaConfig config, Meanwhile meanwhile) {
        return new KafkaZkClient(new BatchedClient(config, meanwhile), false, Time.SYSTEM);
    }

    @Override
    public <R extends AsyncRequest> Seq<AsyncResponse> handleRequests(Seq<R> requests) {
        meanwhile.batchBegins();
        return super.handleRequests(requests);
    }
}
