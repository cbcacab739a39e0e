package kafkaspec.release;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import kafka.cluster.Broker;

/**
 * The controller's channels to the brokers, which go nowhere: others are told what would be sent.
 * Until 2.2 each failover makes a ControllerChannelManager of its own, so a class of that name, which extends this
 * one, stands before Kafka's on the class path. It cannot be handed whom to tell: that is found by the broker's id.
 */
public abstract class CapturedRequests {
    private static final Map<Integer, Channels> TOLD = new ConcurrentHashMap<>();

    private final int controller;

    protected CapturedRequests(int controller) {
        this.controller = controller;
    }

    static void tell(int controller, Channels channels) {
        TOLD.put(controller, channels);
    }

    protected final Channels channels() {
        return TOLD.get(controller);
    }

    public final void startup() { }

    public final void shutdown() {
        channels().shutdown();
    }

    public final void addBroker(Broker added) { }

    public final void removeBroker(int removed) {
        channels().removeBroker(removed);
    }
}
