package kafkaspec.receiver;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import kafka.cluster.Broker;
import kafka.controller.ControllerChannelManager;
import kafka.controller.ControllerContext;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.JavaConverters;

/** How Kafka 2.8 makes and starts a controller's channels: to the brokers in a context. */
abstract class StartedChannels extends ControllerChannelManager {
    private final ControllerContext context;

    StartedChannels(KafkaConfig config) {
        this(config, new ControllerContext());
    }

    private StartedChannels(KafkaConfig config, ControllerContext context) {
        super(
            context, config, Time.SYSTEM, new Metrics(),
            new StateChangeLogger(config.brokerId(), true, Option.empty()), Option.empty());
        this.context = context;
    }

    final void startUp(List<Broker> brokers) {
        Map<Broker, Object> registered = new HashMap<>();
        brokers.forEach(broker -> registered.put(broker, 0L));
        context.setLiveBrokers(JavaConverters.mapAsScalaMap(registered));
        startup();
    }
}
