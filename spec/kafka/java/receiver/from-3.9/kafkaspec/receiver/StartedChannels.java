package kafkaspec.receiver;

import java.util.HashSet;
import java.util.List;
import kafka.cluster.Broker;
import kafka.controller.ControllerChannelManager;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.JavaConverters;

/** How Kafka 3.9 makes and starts a controller's channels: to the brokers given to it. */
abstract class StartedChannels extends ControllerChannelManager {
    StartedChannels(KafkaConfig config) {
        super(
            () -> 0, config, Time.SYSTEM, new Metrics(),
            new StateChangeLogger(config.brokerId(), true, Option.empty()), Option.empty());
    }

    final void startUp(List<Broker> brokers) {
        startup(JavaConverters.asScalaSet(new HashSet<>(brokers)));
    }
}
