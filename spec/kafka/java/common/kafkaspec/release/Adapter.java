package kafkaspec.release;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import kafka.server.KafkaConfig;
import kafkaspec.KafkaProcess;
import kafkaspec.Release;
import kafkaspec.Steps;

/**
 * Kafka 2.4.
 * A release's own part is its BrokerProcess.
 */
public final class Adapter implements Release {
    @Override
    public Map<String, byte[]> znodes(KafkaConfig config) {
        return Map.of();
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
