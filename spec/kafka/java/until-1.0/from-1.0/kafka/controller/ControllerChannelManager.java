package kafka.controller;

import kafka.server.KafkaConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** Replaces Kafka's class of this name, earlier on the class path. */
public final class ControllerChannelManager extends UnstartedChannels {
    public ControllerChannelManager(
            ControllerContext context,
            KafkaConfig config,
            Time time,
            Metrics metrics,
            StateChangeLogger stateChangeLogger,
            Option<String> threadNamePrefix) {
        super(config);
    }
}
