package kafkaspec.release;

import java.util.function.Consumer;
import kafka.cluster.Broker;
import kafka.controller.ControllerChannelManager;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Time;
import scala.Function1;
import scala.Option;
import scala.collection.Set;
import scala.runtime.BoxedUnit;

/**
 * The controller's channels to the brokers, which go nowhere: what would be sent is only told.
 * Kafka's own have a thread and a connection for each broker.
 */
final class CapturedRequests extends ControllerChannelManager {
    private final Consumer<String> sent;

    CapturedRequests(KafkaConfig config, Metrics metrics, Consumer<String> sent) {
        super(() -> 0, config, Time.SYSTEM, metrics, logger(config), Option.empty());
        this.sent = sent;
    }

    private static StateChangeLogger logger(KafkaConfig config) {
        return new StateChangeLogger(config.brokerId(), true, Option.empty());
    }

    @Override
    public void sendRequest(
            int broker,
            AbstractControlRequest.Builder<? extends AbstractControlRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        AbstractControlRequest request = builder.build(builder.latestAllowedVersion());
        sent.accept(request.apiKey().name() + " " + request.controllerEpoch());
    }

    @Override
    public void startup(Set<Broker> brokers) { }

    @Override
    public void shutdown() { }

    @Override
    public void addBroker(Broker broker) { }

    @Override
    public void removeBroker(int broker) { }
}
