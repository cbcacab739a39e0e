package kafkaspec;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.concurrent.TimeUnit;

/**
 * Detects a step that does not come to rest: a thread of Kafka waits for something that will never happen.
 * The driver then waits too, so this is a separate thread. It prints all threads' stacks and ends the process.
 */
final class Watchdog {
    private static final long LOOKS_EVERY_MILLIS = 250;
    private static final long NONE = Long.MAX_VALUE;

    private final long patienceNanos;
    private final Runnable onHang;
    private volatile long since = NONE;

    /**
     * @param patienceSeconds the time limit of a step
     * @param onHang runs in the watchdog's thread, before the process ends with code 3
     */
    Watchdog(long patienceSeconds, Runnable onHang) {
        patienceNanos = TimeUnit.SECONDS.toNanos(patienceSeconds);
        this.onHang = onHang;
        Thread thread = new Thread(this::watch, "watchdog");
        thread.setDaemon(true);
        thread.start();
    }

    /** Work begins that must come to rest. */
    void begins() {
        since = System.nanoTime();
    }

    /** The work is at rest. */
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
