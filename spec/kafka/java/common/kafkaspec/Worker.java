package kafkaspec;

import java.util.concurrent.Semaphore;

/**
 * The thread of a broker that does all the work that the specification follows: its start, its controller's events.
 * It replaces the main thread of KafkaServer and ControllerEventThread, which never run at the same time there.
 */
final class Worker {
    private final Thread thread;
    private final Runnable whenDone;
    private final Semaphore given = new Semaphore(0);
    private Runnable task;
    private Throwable thrown;

    /**
     * @param name the thread's name
     * @param whenDone runs in the thread after each task
     */
    Worker(String name, Runnable whenDone) {
        this.whenDone = whenDone;
        thread = new Thread(this::work, name);
        thread.setDaemon(true);
        thread.start();
    }

    boolean isCurrentThread() {
        return Thread.currentThread() == thread;
    }

    /** Makes the thread run a task, and returns at once. */
    void run(Runnable task) {
        this.task = task;
        given.release();
    }

    /** The exception of a task since the last call, or null. Call it when the thread has finished or is at rest. */
    Throwable takeThrown() {
        Throwable taken = thrown;
        thrown = null;
        return taken;
    }

    private void work() {
        while (true) {
            given.acquireUninterruptibly();
            try {
                task.run();
            } catch (Throwable problem) {
                thrown = problem;
            }
            whenDone.run();
        }
    }
}
