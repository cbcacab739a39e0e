package kafka.controller;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import kafka.cluster.Broker;
import kafka.server.KafkaConfig;
import kafkaspec.Fields;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Time;
import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

/**
 * Stands before Kafka's class of this name on the class path: what would be sent goes nowhere, and is only told.
 * Each failover makes one, which cannot be handed whom to tell: that is found by the broker's id.
 */
public final class ControllerChannelManager {
    private static final Map<Integer, Consumer<String>> TOLD = new ConcurrentHashMap<>();

    private final int broker;

    public ControllerChannelManager(
            ControllerContext context,
            KafkaConfig config,
            Time time,
            Metrics metrics,
            StateChangeLogger stateChangeLogger,
            Option<String> threadNamePrefix) {
        broker = config.brokerId();
    }

    public static void tell(int broker, Consumer<String> sent) {
        TOLD.put(broker, sent);
    }

    public void sendRequest(
            int to,
            ApiKeys api,
            AbstractRequest.Builder<? extends AbstractRequest> request,
            Function1<AbstractResponse, BoxedUnit> callback) {
        TOLD.get(broker).accept(api.name() + " " + Fields.get(request.build(), "controllerEpoch"));
    }

    public void startup() { }

    public void shutdown() { }

    public void addBroker(Broker added) { }

    public void removeBroker(int removed) { }
}
