package kafkaspec;

import java.util.concurrent.Semaphore;

/**
 * The thread of a broker on which all that the specification follows happens: its start, its controller's events.
 * It stands for the main thread of KafkaServer and for ControllerEventThread, which never run at the same time there.
 */
final class Worker {
    private final Thread thread;
    private final Runnable whenDone;
    private final Semaphore given = new Semaphore(0);
    private Runnable task;
    private Throwable thrown;

    /**
     * @param name the thread's name
     * @param whenDone is called by the thread when it has done a task
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

    /** Lets the thread do this, and returns at once. */
    void run(Runnable task) {
        this.task = task;
        given.release();
    }

    /** What a task threw since this was last asked, or null. To be asked when it is done, or at rest. */
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
