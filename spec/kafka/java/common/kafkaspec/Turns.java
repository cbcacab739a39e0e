package kafkaspec;

import java.util.List;
import java.util.concurrent.Semaphore;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper.Verdict;

/**
 * Whose turn it is: the driver's, or that of one thread of a broker, its worker or Kafka's expiry thread.
 * A thread that is about to make a request gives its turn back, and waits until the driver has decided what becomes
 * of it. So nothing happens in Kafka while the driver looks, each side sees what the other wrote, and a run is the
 * same each time.
 */
final class Turns {
    /**
     * A thread of Kafka waits for the driver's decision.
     *
     * @param step the step of the specification that it waits before, or what it does in place of one
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

    // On the driver.

    /** What is waited before, or null if the worker has nothing to do. */
    Pause pause() {
        return pause;
    }

    /** The worker does this. Returns when it waits, or has done it. */
    void run(Runnable task) {
        pause = null;
        worker.run(task);
        awaitWorker();
    }

    /** The thread that waits goes on. Returns, if it is the worker, when it waits again, or has done its task. */
    void resume(Verdict decision) {
        boolean onWorker = pause.onWorker();
        pause = null;
        verdict = decision;
        decided.release();
        if (onWorker) {
            awaitWorker();
        }
    }

    /** Returns when a thread that is no worker waits. */
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

    // On a thread of Kafka.

    boolean isOnWorker() {
        return worker.isCurrentThread();
    }

    /** The driver goes on; and this thread, when it has decided. */
    Verdict waitAt(String step, List<Op> writes) {
        pause = new Pause(step, writes, isOnWorker());
        driver.release();
        decided.acquireUninterruptibly();
        return verdict;
    }
}
