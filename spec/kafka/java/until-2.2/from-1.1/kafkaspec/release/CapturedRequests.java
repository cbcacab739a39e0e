package kafkaspec.release;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import kafka.cluster.Broker;
import kafkaspec.Fields;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;

/**
 * The controller's channels to the brokers, which go nowhere: what would be sent is only told.
 * Until 2.2 each failover makes a ControllerChannelManager of its own, so a class of that name, which extends this
 * one, stands before Kafka's on the class path. It cannot be handed whom to tell: that is found by the broker's id.
 */
public abstract class CapturedRequests {
    private static final Map<Integer, Consumer<String>> TOLD = new ConcurrentHashMap<>();

    private final int broker;

    protected CapturedRequests(int broker) {
        this.broker = broker;
    }

    static void tell(int broker, Consumer<String> sent) {
        TOLD.put(broker, sent);
    }

    protected final void capture(ApiKeys api, AbstractRequest request) {
        TOLD.get(broker).accept(api.name() + " " + Fields.get(request, "controllerEpoch"));
    }

    public final void startup() { }

    public final void shutdown() { }

    public final void addBroker(Broker added) { }

    public final void removeBroker(int removed) { }
}
