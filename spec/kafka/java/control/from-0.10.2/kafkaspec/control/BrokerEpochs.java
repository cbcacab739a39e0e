package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerContext;
import kafkaspec.Json;
import org.apache.kafka.common.requests.AbstractRequest;

/** The registrations of brokers until Kafka 1.1, which have no epochs. */
final class BrokerEpochs {
    private static final int NO_EPOCH = -1;

    private BrokerEpochs() { }

    /** The registration that a request names. */
    static long of(AbstractRequest request) {
        return NO_EPOCH;
    }

    /** The registrations that a controller knows, by broker. */
    static ObjectNode live(ControllerContext context) {
        ObjectNode live = Json.object();
        Scala.forEach(context.liveOrShuttingDownBrokerIds(), broker -> live.put(broker.toString(), NO_EPOCH));
        return live;
    }
}
