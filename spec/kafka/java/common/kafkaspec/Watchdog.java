package kafkaspec;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.concurrent.TimeUnit;

/**
 * Notices that a step does not come to rest: a thread of Kafka waits for what will never happen.
 * The driver then waits too, so this is a thread of its own; it tells where all threads stand, and ends the process.
 */
final class Watchdog {
    private static final long LOOKS_EVERY_MILLIS = 250;
    private static final long NONE = Long.MAX_VALUE;

    private final long patienceNanos;
    private final Runnable onHang;
    private volatile long since = NONE;

    /**
     * @param patienceSeconds how long a step may take
     * @param onHang is called in the watchdog's thread, before the process ends with code 3
     */
    Watchdog(long patienceSeconds, Runnable onHang) {
        patienceNanos = TimeUnit.SECONDS.toNanos(patienceSeconds);
        this.onHang = onHang;
        Thread thread = new Thread(this::watch, "watchdog");
        thread.setDaemon(true);
        thread.start();
    }

    /** Something begins that has to come to rest. */
    void begins() {
        since = System.nanoTime();
    }

    /** It has come to rest. */
    void rests() {
        since = NONE;
    }

    private void watch() {
        while (true) {
            try {
                Thread.sleep(LOOKS_EVERY_MILLIS);
            } catch (InterruptedException asked) {
                return;
            }
            long began = since;
            if (began != NONE && System.nanoTime() - began > patienceNanos) {
                end();
            }
        }
    }

    private void end() {
        for (ThreadInfo thread : ManagementFactory.getThreadMXBean().dumpAllThreads(true, true)) {
            System.err.println("\"" + thread.getThreadName() + "\" " + thread.getThreadState());
            for (StackTraceElement frame : thread.getStackTrace()) {
                System.err.println("    at " + frame);
            }
        }
        onHang.run();
        Runtime.getRuntime().halt(Main.HANGS);
    }
}
