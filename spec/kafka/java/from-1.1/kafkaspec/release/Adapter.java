package kafkaspec.release;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Consumer;
import kafka.server.KafkaConfig;
import kafkaspec.KafkaProcess;
import kafkaspec.Release;
import kafkaspec.Steps;

/**
 * Kafka 1.1 to 2.2.
 * Its brokers' configurations are made once: Kafka takes milliseconds for one.
 */
public final class Adapter implements Release {
    private final Map<Integer, KafkaConfig> configurations = new HashMap<>();

    @Override
    public Map<String, byte[]> znodes() {
        return Map.of();
    }

    @Override
    public List<Steps.Row> steps() {
        return BrokerProcess.STEPS;
    }

    @Override
    public KafkaProcess process(int broker, Consumer<String> sent) {
        return new BrokerProcess(configurations.computeIfAbsent(broker, Adapter::configure), sent);
    }

    /** The connect string tells the handle whose it is. Rebalancing would run in a thread of its own. */
    private static KafkaConfig configure(int broker) {
        Properties properties = new Properties();
        properties.put("broker.id", String.valueOf(broker));
        properties.put("zookeeper.connect", String.valueOf(broker));
        properties.put("auto.leader.rebalance.enable", "false");
        return KafkaConfig.fromProps(properties);
    }
}
