package kafkaspec;

import java.util.List;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * What leaders tell of their ISR, below /isr_change_notification.
 * The specification has no such nodes, only that a controller is told of one, each controller at a time of its own.
 * So one is there when a controller reads it that was told, and none when another reads; and watches fire one by one.
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

    /** A leader tells of its ISR, and of those that watch this broker hears of it. */
    void tell(Broker broker) {
        boolean isThere = isThere();
        put(!isThere);
        put(isThere);
        broker.hears(PATH);
        othersWatchOn();
    }

    /** A broker is about to read them: one if it was told, none if it only begins to watch. */
    void layOut(boolean wasTold) {
        if (isThere() != wasTold) {
            put(wasTold);
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
