package kafkaspec.release;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import kafka.server.KafkaConfig;
import kafkaspec.KafkaProcess;
import kafkaspec.Release;
import kafkaspec.Steps;

/**
 * Kafka 2.8 to 3.9 in ZooKeeper mode.
 * A release's own part is its BrokerProcess.
 */
public final class Adapter implements Release {
    @Override
    public Map<String, byte[]> znodes(KafkaConfig config) {
        return Map.of("/feature", BrokerProcess.features(config));
    }

    @Override
    public List<Steps.Row> steps() {
        return Steps.SINCE_2_2;
    }

    @Override
    public KafkaProcess process(KafkaConfig config, Consumer<String> sent) {
        return new BrokerProcess(config, sent);
    }
}
