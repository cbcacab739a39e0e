package kafkaspec;

import java.util.List;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * Leaders' notifications about their ISRs, below /isr_change_notification.
 * The specification has no such nodes; each controller is notified at a time of its own. So a node exists while a
 * notified controller reads, and none exists while another reads; and watches fire one by one.
 */
final class Notifications {
    static final String PATH = "/isr_change_notification";

    private static final String NODE = PATH + "/isr_change_0000000000";
    private static final byte[] CHANGED =
        Znodes.utf8("{'version':1,'partitions':[{'topic':'t','partition':0}]}".replace('\'', '"'));

    private final SynchronousServer server;
    private final List<Broker> brokers;

    Notifications(SynchronousServer server, List<Broker> brokers) {
        this.server = server;
        this.brokers = brokers;
    }

    /** A leader changes its ISR; of the watching brokers only this one is notified. */
    void tell(Broker broker) {
        boolean isThere = isThere();
        put(!isThere);
        put(isThere);
        broker.hears(PATH);
        othersWatchOn();
    }

    /** A broker is about to read them: it finds one if it was notified, none if it only begins to watch. */
    void layOut(boolean wasNotified) {
        if (isThere() != wasNotified) {
            put(wasNotified);
        }
        othersWatchOn();
    }

    private boolean isThere() {
        return server.stat(NODE) != null;
    }

    private void put(boolean there) {
        if (there) {
            server.create(NODE, CHANGED);
        } else {
            server.remove(NODE);
        }
    }

    private void othersWatchOn() {
        brokers.forEach(broker -> broker.watchesOn(PATH));
    }
}
