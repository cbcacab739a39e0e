package kafkaspec.control;

import kafka.server.KafkaConfig;
import kafkaspec.release.Channels;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/** The channels of a controller until Kafka 2.2; they keep the requests. */
record CapturedChannels(KafkaConfig config, SentRequests sent) implements Channels {
    @Override
    public void send(
            int broker,
            AbstractRequest.Builder<? extends AbstractRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        sent.add(broker, builder, callback);
    }

    @Override
    public void removeBroker(int broker) {
        sent.remove(broker);
    }

    @Override
    public void shutdown() {
        sent.clear();
    }
}
