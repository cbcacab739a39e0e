package kafkaspec.receiver;

import kafka.controller.KafkaController;
import kafka.network.RequestChannel;
import kafka.server.BrokerFeatures;
import kafka.server.KafkaApis;
import kafka.server.KafkaConfig;
import kafka.server.RequestLocal;
import kafka.server.ZkBrokerEpochManager;
import kafka.server.ZkSupport;
import kafkaspec.Fields;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.message.ApiMessageType.ListenerType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import scala.Option;

/** KafkaApis of 3.9, which serves one broker after another. */
final class Apis {
    private static final RequestLocal LOCAL = RequestLocal.NoCaching();

    private final RequestChannel.Metrics metrics = new RequestChannel.Metrics(ListenerType.ZK_BROKER);
    private final KafkaController controller;
    private final KafkaApis apis;

    Apis(KafkaConfig config) {
        controller = new KafkaController(
            config, null, Time.SYSTEM, new Metrics(), null, 0, null, BrokerFeatures.createEmpty(), null,
            Option.empty());
        apis = new KafkaApis(
            new NoChannel(), null, null, Stubs.stub(GroupCoordinator.class, "", null), null, null, config.brokerId(),
            config, null, null, new Metrics(), Option.empty(), Managers.quotas(), null, null, "cluster", Time.SYSTEM,
            null, Managers.everyVersion(), Option.empty());
        apis.close();  // ends its thread that waits for changes of ACLs
    }

    /** Sets the epoch of the broker's registration. */
    void register(long epoch) {
        Fields.set(controller, "_brokerEpoch", epoch);
    }

    /** Serves this broker from now on. */
    void serve(ReceivingBroker broker) {
        Fields.set(apis, "metadataSupport", new ZkSupport(
            Managers.adminManager(), controller, null, Option.empty(), broker.cache(),
            new ZkBrokerEpochManager(broker.cache(), controller, Option.empty())));
        Fields.set(apis, "replicaManager", broker);
    }

    /** The response to a request. */
    AbstractResponse handle(AbstractControlRequest.Builder<? extends AbstractControlRequest> builder) {
        AbstractControlRequest request = builder.build();
        Asked asked = new Asked(request);
        apis.handle(new RequestChannel.Request(
            0, asked, 0, MemoryPool.NONE, request.serialize(), metrics, Option.empty()),
            LOCAL);
        return asked.answer();
    }
}
