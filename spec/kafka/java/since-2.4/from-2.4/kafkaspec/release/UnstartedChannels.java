package kafkaspec.release;

import kafka.controller.ControllerChannelManager;
import kafka.controller.ControllerContext;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/** How Kafka 2.8 and 3.0 make a controller's channels; these do not start. */
public abstract class UnstartedChannels extends ControllerChannelManager {
    protected UnstartedChannels(KafkaConfig config) {
        super(
            new ControllerContext(), config, Time.SYSTEM, ControllerProcess.METRICS,
            new StateChangeLogger(config.brokerId(), true, Option.empty()), Option.empty());
    }

    @Override
    public final void startup() { }
}
