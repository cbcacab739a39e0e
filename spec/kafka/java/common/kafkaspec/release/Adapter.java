package kafkaspec.release;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import kafka.server.KafkaConfig;
import kafkaspec.KafkaProcess;
import kafkaspec.Release;
import kafkaspec.Steps;

/**
 * Kafka since 1.1.
 * The differences between its releases are in BrokerProcess.
 */
public final class Adapter implements Release {
    @Override
    public Map<String, byte[]> znodes(KafkaConfig config) {
        return BrokerProcess.znodes(config);
    }

    @Override
    public List<Steps.Row> steps() {
        return BrokerProcess.STEPS;
    }

    @Override
    public KafkaProcess process(KafkaConfig config, Consumer<String> sent) {
        return new BrokerProcess(config, sent);
    }
}
