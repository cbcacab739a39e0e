package kafkaspec.receiver;

import kafka.controller.KafkaController;
import kafka.coordinator.group.GroupCoordinator;
import kafka.network.RequestChannel;
import kafka.server.BrokerFeatures;
import kafka.server.KafkaApis;
import kafka.server.KafkaConfig;
import kafka.server.ZkMetadataCache;
import kafka.server.ZkSupport;
import kafkaspec.Fields;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.message.ApiMessageType.ListenerType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.Seq;

/** KafkaApis of 2.8, which serves one broker after another. */
final class Apis {
    private final RequestChannel.Metrics metrics = new RequestChannel.Metrics(ListenerType.ZK_BROKER);
    private final KafkaController controller;
    private final KafkaApis apis;

    Apis(KafkaConfig config) {
        controller = new KafkaController(
            config, null, Time.SYSTEM, new Metrics(), null, 0, null, BrokerFeatures.createDefault(), null,
            Option.empty());
        apis = new KafkaApis(
            new NoChannel(), support(null), null, new Groups(), null, null, config.brokerId(), config, null, null,
            new Metrics(), Option.empty(), Managers.quotas(), null, null, "cluster", Time.SYSTEM, null,
            Managers.everyVersion());
        apis.close();  // ends its thread that waits for changes of ACLs
    }

    /** Sets the epoch of the broker's registration. */
    void register(long epoch) {
        Fields.set(controller, "_brokerEpoch", epoch);
    }

    /** Serves this broker from now on. */
    void serve(ReceivingBroker broker) {
        Fields.set(apis, "metadataSupport", support(broker.cache()));
        Fields.set(apis, "replicaManager", broker);
    }

    private ZkSupport support(ZkMetadataCache cache) {
        return new ZkSupport(Managers.adminManager(), controller, null, Option.empty(), cache);
    }

    /** The response to a request. */
    AbstractResponse handle(AbstractControlRequest.Builder<? extends AbstractControlRequest> builder) {
        AbstractControlRequest request = builder.build();
        Asked asked = new Asked(request);
        apis.handle(new RequestChannel.Request(
            0, asked, 0, MemoryPool.NONE, request.serialize(), metrics, Option.empty()));
        return asked.answer();
    }

    /** A coordinator without groups. */
    private static final class Groups extends GroupCoordinator {
        Groups() {
            super(0, null, null, null, null, null, Time.SYSTEM, new Metrics());
        }

        @Override
        public void handleDeletedPartitions(Seq<TopicPartition> partitions) { }
    }
}
