package kafkaspec.receiver;

import kafka.network.RequestChannel;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;

/** A channel in Kafka 1.0 that drops responses. */
final class NoChannel extends RequestChannel {
    NoChannel() {
        super(1, 1);
    }

    @Override
    public void sendResponse(RequestChannel.Response response) { }

    @Override
    public void updateErrorMetrics(ApiKeys api, scala.collection.Map<Errors, Integer> errors) { }
}
