package kafkaspec.release;

import java.util.function.Consumer;
import kafka.cluster.Broker;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/**
 * The controller's channels to the brokers, which lead nowhere: requests are only reported.
 * Kafka's own have a thread and a connection for each broker.
 */
final class CapturedRequests extends UnstartedChannels {
    private final Consumer<String> sent;

    CapturedRequests(KafkaConfig config, Consumer<String> sent) {
        super(config);
        this.sent = sent;
    }

    @Override
    public void sendRequest(
            int broker,
            AbstractControlRequest.Builder<? extends AbstractControlRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        AbstractControlRequest request = builder.build(builder.latestAllowedVersion());
        sent.accept(builder.apiKey().name() + " " + request.controllerEpoch());
    }

    @Override
    public void shutdown() { }

    @Override
    public void addBroker(Broker broker) { }

    @Override
    public void removeBroker(int broker) { }
}
