package kafka.controller;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import kafka.cluster.Broker;
import kafka.server.KafkaConfig;
import kafkaspec.Fields;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/**
 * Channels to brokers that lead nowhere: requests are only reported.
 * Each failover makes one, which cannot take a recipient as an argument: it finds the recipient by the broker's id.
 */
public abstract class UnstartedChannels {
    private static final Map<Integer, Consumer<String>> RECIPIENTS = new ConcurrentHashMap<>();

    private final int broker;

    UnstartedChannels(KafkaConfig config) {
        broker = config.brokerId();
    }

    public static void tell(int broker, Consumer<String> sent) {
        RECIPIENTS.put(broker, sent);
    }

    public void sendRequest(
            int to,
            ApiKeys api,
            AbstractRequest.Builder<? extends AbstractRequest> request,
            Function1<AbstractResponse, BoxedUnit> callback) {
        RECIPIENTS.get(broker).accept(api.name() + " " + Fields.get(request.build(), "controllerEpoch"));
    }

    public void startup() { }

    public void shutdown() { }

    public void addBroker(Broker added) { }

    public void removeBroker(int removed) { }
}
