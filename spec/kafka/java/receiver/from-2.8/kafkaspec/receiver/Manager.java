package kafkaspec.receiver;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import kafka.cluster.Broker;
import kafka.controller.ControllerChannelManager;
import kafka.controller.ControllerContext;
import kafka.controller.QueueItem;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import kafkaspec.Configuration;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Function0;
import scala.Option;
import scala.collection.JavaConverters;

/** The channels of Kafka 2.8, whose first brokers stand in a context. What they do not send is counted. */
final class Manager extends ControllerChannelManager {
    private static final int CONTROLLER = 9;
    private static final KafkaConfig CONFIG = Configuration.of(CONTROLLER);

    private final ControllerContext context;
    private int notSent;

    Manager() {
        this(new ControllerContext());
    }

    private Manager(ControllerContext context) {
        super(
            context, CONFIG, Time.SYSTEM, new Metrics(), new StateChangeLogger(CONTROLLER, true, Option.empty()),
            Option.empty());
        this.context = context;
    }

    void startUp(List<Broker> brokers) {
        Map<Broker, Object> registered = new HashMap<>();
        brokers.forEach(broker -> registered.put(broker, 0L));
        context.setLiveBrokers(JavaConverters.mapAsScalaMap(registered));
        startup();
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
