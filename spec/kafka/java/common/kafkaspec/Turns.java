package kafkaspec;

import java.util.List;
import java.util.concurrent.Semaphore;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper.Verdict;

/**
 * Whose turn it is: the driver's, or that of one thread of a broker.
 * A thread of Kafka that is about to make a request gives its turn back, and waits until the driver has decided what
 * becomes of the request. So nothing happens in Kafka while the driver looks, and a run is the same each time.
 */
final class Turns {
    /** A thread of Kafka that waits for the driver's decision. */
    static final class Pause {
        private final String step;
        private final List<Op> writes;
        private final boolean onWorker;
        private final Semaphore decided = new Semaphore(0);
        private Verdict verdict;

        /**
         * @param step the step of the specification that it waits before
         * @param writes the operations that it would write, in order
         * @param onWorker whether it is the broker's worker that waits; else it is a thread of Kafka's own
         */
        Pause(String step, List<Op> writes, boolean onWorker) {
            this.step = step;
            this.writes = writes;
            this.onWorker = onWorker;
        }

        String step() {
            return step;
        }

        List<Op> writes() {
            return writes;
        }

        boolean isOnWorker() {
            return onWorker;
        }
    }

    private final Semaphore driver = new Semaphore(0);

    /** On a thread of Kafka: the driver goes on, and this thread when the driver has decided. */
    Verdict waitAt(Pause pause) {
        driver.release();
        pause.decided.acquireUninterruptibly();
        return pause.verdict;
    }

    /** On a thread of Kafka: it has nothing more to do. */
    void giveBack() {
        driver.release();
    }

    /** On the driver: the thread that waits there goes on. */
    void decide(Pause pause, Verdict verdict) {
        pause.verdict = verdict;
        pause.decided.release();
    }

    /** On the driver: wait until the turn is given back. */
    void await() {
        driver.acquireUninterruptibly();
    }
}
