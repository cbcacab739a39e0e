package kafka.controller;

import kafka.server.KafkaConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** Stands before Kafka's class of this name on the class path. */
public final class ControllerChannelManager extends UnstartedChannels {
    public ControllerChannelManager(
            ControllerContext context,
            KafkaConfig config,
            Time time,
            Metrics metrics,
            Option<String> threadNamePrefix) {
        super(config);
    }
}
