package kafkaspec.release;

import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import kafka.server.KafkaConfig;
import kafka.utils.KafkaScheduler;
import kafka.zk.KafkaZkClient;
import kafkaspec.Fields;
import kafkaspec.KafkaProcess;
import org.apache.kafka.common.utils.Time;
import org.apache.zookeeper.client.ZKClientConfig;
import scala.Function0;
import scala.Option;
import scala.runtime.BoxedUnit;

/** A broker's process of Kafka 2.8, as far as it opens its client, which survives a failed authentication. */
abstract class ClientProcess extends KafkaProcess {
    ClientProcess(KafkaConfig config) {
        super(config);
    }

    @Override
    protected KafkaZkClient openClient() {
        KafkaZkClient client = KafkaZkClient.apply(
            config().zkConnect(), false, config().zkSessionTimeoutMs(), config().zkConnectionTimeoutMs(),
            config().zkMaxInFlightRequests(), Time.SYSTEM, "kafka.server", "SessionExpireListener",
            Option.apply("Kafka server"), Option.apply(new ZKClientConfig()));
        surviveAuthenticationFailures(Fields.get(client, "zooKeeperClient"));
        return client;
    }

    /** A failure is survived only after the first SyncConnected, which clients here never receive. */
    private static void surviveAuthenticationFailures(Object zooKeeperClient) {
        Fields.set(zooKeeperClient, "isFirstConnectionEstablished", true);
        Fields.set(zooKeeperClient, "reinitializeScheduler", new ImpatientScheduler());
    }

    @Override
    protected boolean beginsAnewWithoutAuthentication() {
        return true;
    }

    /**
     * The scheduler of a client's expiry thread, without delays: tasks run at once.
     * Kafka's own waits a second after a failed authentication. [ZooKeeperClient 2.8.2, RetryBackoffMs]
     */
    private static final class ImpatientScheduler extends KafkaScheduler {
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
}
