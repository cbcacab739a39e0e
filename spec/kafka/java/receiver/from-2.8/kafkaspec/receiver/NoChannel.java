package kafkaspec.receiver;

import kafka.network.RequestChannel;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;

/** A channel that drops responses. */
final class NoChannel extends RequestChannel {
    NoChannel() {
        super(1, "", Time.SYSTEM, null);
    }

    @Override
    public void sendResponse(RequestChannel.Response response) { }

    @Override
    public void updateErrorMetrics(ApiKeys api, scala.collection.Map<Errors, Integer> errors) { }
}
