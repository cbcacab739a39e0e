package kafkaspec.release;

import kafka.cluster.Broker;
import kafka.controller.ControllerChannelManager;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.Set;

/** How Kafka 3.5 and 3.9 make a controller's channels; these do not start. */
public abstract class UnstartedChannels extends ControllerChannelManager {
    protected UnstartedChannels(KafkaConfig config) {
        super(
            () -> 0, config, Time.SYSTEM, ControllerProcess.METRICS,
            new StateChangeLogger(config.brokerId(), true, Option.empty()), Option.empty());
    }

    @Override
    public final void startup(Set<Broker> brokers) { }
}
