package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.ControllerContext;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import kafkaspec.Json;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/**
 * Kafka's batch of requests, which keeps the requests for each broker's queue.
 */
final class CapturedBatch extends ControllerBrokerRequestBatch {
    private ObjectNode sent = Json.object();

    CapturedBatch(KafkaConfig config, ControllerContext context, StateChangeLogger logger) {
        super(config, null, null, context, logger);
    }

    @Override
    public void sendRequest(
            int broker,
            AbstractControlRequest.Builder<? extends AbstractControlRequest> builder,
            Function1<AbstractResponse, BoxedUnit> callback) {
        AbstractControlRequest request = builder.build(builder.latestAllowedVersion());
        sent.withArray(String.valueOf(broker)).add(Requests.request(request));
    }

    /** The requests since the last call, in order, by broker. */
    ObjectNode take() {
        ObjectNode taken = sent;
        sent = Json.object();
        return taken;
    }
}
