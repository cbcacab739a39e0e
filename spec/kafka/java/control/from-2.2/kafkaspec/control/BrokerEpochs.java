package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerContext;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractRequest;

/** The registrations of brokers in Kafka 2.2. */
final class BrokerEpochs {
    private BrokerEpochs() { }

    /** The registration that a request names. */
    static long of(AbstractRequest request) {
        return ((AbstractControlRequest) request).brokerEpoch();
    }

    /** The registrations that a controller knows, by broker. */
    static ObjectNode live(ControllerContext context) {
        return Observation.epochs(context.liveBrokerIdAndEpochs());
    }
}
