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
 * Kafka 2.8 to 3.9 in ZooKeeper mode.
 * Its brokers' configurations are made once: Kafka takes milliseconds for one.
 */
public final class Adapter implements Release {
    private final Map<Integer, KafkaConfig> configurations = new HashMap<>();

    @Override
    public Map<String, byte[]> znodes() {
        return Map.of("/feature", BrokerProcess.features(configuration(0)));
    }

    @Override
    public List<Steps.Row> steps() {
        return Steps.SINCE_2_2;
    }

    @Override
    public KafkaProcess process(int broker, Consumer<String> sent) {
        return new BrokerProcess(configuration(broker), sent);
    }

    private KafkaConfig configuration(int broker) {
        return configurations.computeIfAbsent(broker, Adapter::configure);
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
