package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.cluster.Broker;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.KafkaController;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import kafkaspec.Json;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

/**
 * Kafka's batch of requests, which keeps the requests for each broker's queue; unregistered brokers have none. In
 * Kafka 1.1 a batch belongs to a whole controller, which sends.
 */
final class CapturedBatch extends ControllerBrokerRequestBatch {
    private static final Metrics METRICS = new Metrics();

    /** A controller that never starts. */
    static final class Controller extends KafkaController {
        private ObjectNode sent = Json.object();

        Controller(KafkaConfig config, KafkaZkClient client) {
            super(config, client, Time.SYSTEM, METRICS, info(config), null, Option.empty());
        }

        private static BrokerInfo info(KafkaConfig config) {
            ListenerName listener = ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT);
            Broker broker = new Broker(config.brokerId(), "broker", 9092, listener, SecurityProtocol.PLAINTEXT);
            return BrokerInfo.apply(broker, config.interBrokerProtocolVersion(), -1);
        }

        @Override
        public void sendRequest(
                int broker,
                ApiKeys api,
                AbstractRequest.Builder<? extends AbstractRequest> request,
                Function1<AbstractResponse, BoxedUnit> callback) {
            if (controllerContext().liveOrShuttingDownBrokerIds().contains(broker)) {
                sent.withArray(String.valueOf(broker)).add(Requests.request(request.build()));
            }
        }
    }

    private final Controller controller;

    CapturedBatch(Controller controller, StateChangeLogger logger) {
        super(controller, logger);
        this.controller = controller;
    }

    /** The requests since the last call, in order, by broker. */
    ObjectNode take() {
        ObjectNode taken = controller.sent;
        controller.sent = Json.object();
        return taken;
    }
}
