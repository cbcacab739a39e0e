package kafkaspec.release;

import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import kafka.utils.KafkaScheduler;
import scala.Function0;
import scala.runtime.BoxedUnit;

/**
 * The scheduler of a client's expiry thread, without delays: what is to be done, is done at once.
 * Kafka's own waits a second after a failed authentication. [ZooKeeperClient 2.8.2, RetryBackoffMs]
 */
final class ImpatientScheduler extends KafkaScheduler {
    ImpatientScheduler() {
        super(1, "zk-session-expiry-", true);
        startup();
    }

    @Override
    public ScheduledFuture<?> schedule(
            String name, Function0<BoxedUnit> task, long delay, long period, TimeUnit unit) {
        return super.schedule(name, task, 0, period, unit);
    }
}
