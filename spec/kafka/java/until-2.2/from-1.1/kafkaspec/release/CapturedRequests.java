package kafkaspec.release;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import kafka.cluster.Broker;

/**
 * The controller's channels to the brokers, which lead nowhere: requests are only reported.
 * Until 2.2 each failover makes its own ControllerChannelManager, so a class of that name extends this one and
 * replaces Kafka's on the class path. It cannot take a recipient as an argument: it finds the recipient by the
 * broker's id.
 */
public abstract class CapturedRequests {
    private static final Map<Integer, Channels> RECIPIENTS = new ConcurrentHashMap<>();

    private final int controller;

    protected CapturedRequests(int controller) {
        this.controller = controller;
    }

    static void tell(int controller, Channels channels) {
        RECIPIENTS.put(controller, channels);
    }

    protected final Channels channels() {
        return RECIPIENTS.get(controller);
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
