package kafka.controller;

import kafka.server.KafkaConfig;
import kafkaspec.release.CapturedRequests;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Time;
import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

/**
 * Replaces Kafka's class of this name, earlier on the class path: requests lead nowhere.
 * Kafka's own has a thread and a connection for each broker.
 */
public final class ControllerChannelManager extends CapturedRequests {
    public ControllerChannelManager(
            ControllerContext context,
            KafkaConfig config,
            Time time,
            Metrics metrics,
            StateChangeLogger stateChangeLogger,
            Option<String> threadNamePrefix) {
        super(config.brokerId());
    }

    public void sendRequest(
            int broker,
            ApiKeys api,
            AbstractControlRequest.Builder<? extends AbstractControlRequest> request,
            Function1<AbstractResponse, BoxedUnit> callback) {
        channels().send(broker, request, callback);
    }
}
