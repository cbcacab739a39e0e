package kafkaspec;

import java.util.List;
import java.util.concurrent.Semaphore;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper.Verdict;

/**
 * Takes turns between the driver and one thread of a broker: its worker, or Kafka's expiry thread.
 * A thread that is about to make a request passes the turn back, and waits until the driver has decided the request's
 * fate. So nothing happens in Kafka while the driver observes it, each side sees the other's writes, and every run is
 * the same.
 */
final class Turns {
    /**
     * A thread of Kafka waits for the driver's decision.
     *
     * @param step the step of the specification before which it waits, or a word for what it does instead
     * @param writes the operations that it would write, in order
     * @param onWorker whether it is the worker that waits
     */
    record Pause(String step, List<Op> writes, boolean onWorker) { }

    private final Semaphore driver = new Semaphore(0);
    private final Semaphore decided = new Semaphore(0);
    private final Worker worker;
    private Pause pause;
    private Verdict verdict;

    Turns(String name) {
        worker = new Worker(name, driver::release);
    }

    // Called by the driver.

    /** Where the thread waits, or null if the worker is idle. */
    Pause pause() {
        return pause;
    }

    /** Runs a task on the worker. Returns when the worker waits or has finished. */
    void run(Runnable task) {
        pause = null;
        worker.run(task);
        awaitWorker();
    }

    /** Resumes the waiting thread. If it is the worker, returns when it waits again or has finished its task. */
    void resume(Verdict decision) {
        boolean onWorker = pause.onWorker();
        pause = null;
        verdict = decision;
        decided.release();
        if (onWorker) {
            awaitWorker();
        }
    }

    /** Returns when a thread other than the worker waits. */
    void awaitOther() {
        driver.acquireUninterruptibly();
    }

    private void awaitWorker() {
        driver.acquireUninterruptibly();
        Throwable thrown = worker.takeThrown();
        if (thrown != null) {
            thrown.printStackTrace();
            throw new Refusal("a worker threw " + thrown);
        }
    }

    // Called by threads of Kafka.

    boolean isOnWorker() {
        return worker.isCurrentThread();
    }

    /** Passes the turn to the driver, and returns after its decision. */
    Verdict waitAt(String step, List<Op> writes) {
        pause = new Pause(step, writes, isOnWorker());
        driver.release();
        decided.acquireUninterruptibly();
        return verdict;
    }
}
