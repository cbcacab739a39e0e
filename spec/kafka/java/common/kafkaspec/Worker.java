package kafkaspec;

import java.util.concurrent.Semaphore;

/**
 * The thread of a broker on which all that the model follows happens: its start, and the events of its controller.
 * It stands for the main thread of KafkaServer and for ControllerEventThread, which never run at the same time.
 */
final class Worker {
    private final Turns turns;
    private final Thread thread;
    private final Semaphore given = new Semaphore(0);
    private volatile Runnable task;
    private volatile Throwable thrown;

    Worker(String name, Turns turns) {
        this.turns = turns;
        thread = new Thread(this::work, name);
        thread.setDaemon(true);
        thread.start();
    }

    boolean isCurrentThread() {
        return Thread.currentThread() == thread;
    }

    /** On the driver: the worker does this. Returns when it waits before a request, or has done it. */
    void run(Runnable task) {
        this.task = task;
        given.release();
        turns.await();
    }

    /** What a task threw since this was last asked, or null. */
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
            turns.giveBack();
        }
    }
}
