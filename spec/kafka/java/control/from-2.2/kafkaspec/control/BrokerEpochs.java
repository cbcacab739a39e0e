package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.ControllerContext;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractRequest;

/** The registrations of brokers in Kafka 2.2. */
final class BrokerEpochs {
    private BrokerEpochs() { }

    /** The one that a request is meant for. */
    static long of(AbstractRequest request) {
        return ((AbstractControlRequest) request).brokerEpoch();
    }

    /** Those that a controller knows, broker by broker. */
    static ObjectNode live(ControllerContext context) {
        return Observation.epochs(context.liveBrokerIdAndEpochs());
    }
}
