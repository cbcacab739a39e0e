package kafkaspec;

import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;

/**
 * What a broker is configured with: nearly nothing, all else is Kafka's default.
 * The connect string is the broker's id, by which a ZooKeeper handle finds whose it is.
 */
public final class Configuration {
    private Configuration() { }

    /** Takes Kafka milliseconds. Without rebalancing, which would run in a thread of its own. */
    public static KafkaConfig of(int broker) {
        return of(broker, Map.of());
    }

    /** And what else it is configured with. */
    public static KafkaConfig of(int broker, Map<String, String> more) {
        Properties properties = new Properties();
        properties.put("broker.id", String.valueOf(broker));
        properties.put("zookeeper.connect", String.valueOf(broker));
        properties.put("auto.leader.rebalance.enable", "false");
        properties.putAll(more);
        return KafkaConfig.fromProps(properties);
    }
}
