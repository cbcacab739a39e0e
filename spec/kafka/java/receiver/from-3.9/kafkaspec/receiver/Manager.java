package kafkaspec.receiver;

import java.util.HashSet;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import kafka.cluster.Broker;
import kafka.controller.ControllerChannelManager;
import kafka.controller.QueueItem;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import kafkaspec.Configuration;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Function0;
import scala.Option;
import scala.collection.JavaConverters;

/** The channels of Kafka 3.9, which are told their first brokers. What they do not send is counted. */
final class Manager extends ControllerChannelManager {
    private static final int CONTROLLER = 9;
    private static final KafkaConfig CONFIG = Configuration.of(CONTROLLER);

    private int notSent;

    Manager() {
        super(
            () -> 0, CONFIG, Time.SYSTEM, new Metrics(), new StateChangeLogger(CONTROLLER, true, Option.empty()),
            Option.empty());
    }

    void startUp(List<Broker> brokers) {
        startup(JavaConverters.asScalaSet(new HashSet<>(brokers)));
    }

    BlockingQueue<QueueItem> queue(int broker) {
        return brokerStateInfo().apply(broker).messageQueue();
    }

    @Override
    public void warn(Function0<String> message) {
        if (message.apply().startsWith("Not sending request")) {
            notSent++;
        }
    }

    /** How many requests, since this was asked before. */
    int notSent() {
        int count = notSent;
        notSent = 0;
        return count;
    }
}
