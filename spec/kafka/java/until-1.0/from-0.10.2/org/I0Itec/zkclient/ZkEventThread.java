package org.I0Itec.zkclient;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Stands before ZkClient's class of this name on the class path: what its listeners are to be told waits here, and a
 * worker of the broker tells it when it is its turn. The thread itself never runs.
 */
public final class ZkEventThread extends Thread {
    /** Something that a listener is to be told. Its name says what, and whom. */
    abstract static class ZkEvent {
        private final String description;

        ZkEvent(String description) {
            this.description = description;
        }

        public abstract void run() throws Exception;

        @Override
        public String toString() {
            return description;
        }
    }

    private static final Map<String, ZkEventThread> LAST = new ConcurrentHashMap<>();

    private final Queue<ZkEvent> events = new ConcurrentLinkedQueue<>();

    ZkEventThread(String servers) {
        LAST.put(servers, this);
    }

    /** That of the client which connected last to these servers. */
    public static ZkEventThread of(String servers) {
        return LAST.get(servers);
    }

    @Override
    public synchronized void start() { }

    public void send(ZkEvent event) {
        events.add(event);
    }

    /** Something else that waits behind them. */
    public void send(String description, Runnable task) {
        send(new ZkEvent(description) {
            @Override
            public void run() {
                task.run();
            }
        });
    }

    /** What waits, oldest first. */
    public List<String> waiting() {
        return events.stream().map(ZkEvent::toString).toList();
    }

    /** The oldest is told. */
    public void tell() throws Exception {
        events.remove().run();
    }
}
