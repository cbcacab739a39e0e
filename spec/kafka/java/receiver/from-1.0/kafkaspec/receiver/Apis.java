package kafkaspec.receiver;

import java.nio.ByteBuffer;
import kafka.controller.KafkaController;
import kafka.coordinator.group.GroupCoordinator;
import kafka.network.RequestChannel;
import kafka.server.KafkaApis;
import kafka.server.KafkaConfig;
import kafkaspec.Fields;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.Seq;

/** KafkaApis of 1.0, which serves one broker after another. */
final class Apis {
    private final RequestChannel.Metrics metrics = new RequestChannel.Metrics();
    private final KafkaController controller = Stubs.unmade(KafkaController.class);
    private final KafkaApis apis;

    Apis(KafkaConfig config) {
        apis = new KafkaApis(
            new NoChannel(), null, Managers.adminManager(), new Groups(), null, controller, null, config.brokerId(),
            config, null, new Metrics(), Option.empty(), Managers.quotas(), null, "cluster", Time.SYSTEM);
        apis.close();  // ends its thread that waits for changes of ACLs
    }

    /** Sets the epoch of the broker's registration. */
    void register(long epoch) {
        Registration.set(controller, epoch);
    }

    /** Serves this broker from now on. */
    void serve(ReceivingBroker broker) {
        Fields.set(apis, "replicaManager", broker);
        Fields.set(apis, "metadataCache", broker.metadataCache());
    }

    /** The response to a request. */
    AbstractResponse handle(AbstractRequest.Builder<? extends AbstractRequest> builder) {
        AbstractRequest request = builder.build();
        Asked asked = new Asked(builder.apiKey(), request.version());
        ByteBuffer sent = request.serialize(asked.header);
        RequestHeader.parse(sent);
        apis.handle(new RequestChannel.Request(0, asked, 0, MemoryPool.NONE, sent, metrics));
        return asked.answer();
    }

    /** A coordinator without groups. */
    private static final class Groups extends GroupCoordinator {
        Groups() {
            super(0, null, null, null, null, null, Time.SYSTEM);
        }

        @Override
        public void handleDeletedPartitions(Seq<TopicPartition> partitions) { }
    }
}
