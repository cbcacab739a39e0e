package org.I0Itec.zkclient;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Replaces ZkClient's class of this name, earlier on the class path. Events for listeners wait here, and a worker of
 * the broker delivers them when it is its turn. The thread itself never runs.
 */
public final class ZkEventThread extends Thread {
    /** An event for a listener. Its description names both. */
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

    /** The thread of the client that last connected to these servers. */
    public static ZkEventThread of(String servers) {
        return LAST.get(servers);
    }

    @Override
    public synchronized void start() { }

    public void send(ZkEvent event) {
        events.add(event);
    }

    /** Queues another task after the waiting events. */
    public void send(String description, Runnable task) {
        send(new ZkEvent(description) {
            @Override
            public void run() {
                task.run();
            }
        });
    }

    /** The descriptions of the waiting events, oldest first. */
    public List<String> waiting() {
        return events.stream().map(ZkEvent::toString).toList();
    }

    /** Delivers the oldest event. */
    public void tell() throws Exception {
        events.remove().run();
    }
}
