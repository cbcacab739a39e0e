package kafkaspec.control;

import kafka.cluster.Broker;
import kafka.server.KafkaConfig;
import kafkaspec.release.UnstartedChannels;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/** The channels of a controller since Kafka 2.4; they keep the requests. */
final class CapturedChannels extends UnstartedChannels {
    private final SentRequests sent;

    CapturedChannels(KafkaConfig config, SentRequests sent) {
        super(config);
        this.sent = sent;
    }

    @Override
    public void sendRequest(
            int broker,
            AbstractControlRequest.Builder<? extends AbstractControlRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        sent.add(broker, builder, callback);
    }

    @Override
    public void addBroker(Broker broker) { }

    @Override
    public void removeBroker(int broker) {
        sent.remove(broker);
    }

    @Override
    public void shutdown() {
        sent.clear();
    }
}
