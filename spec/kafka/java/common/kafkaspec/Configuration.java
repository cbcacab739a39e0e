package kafkaspec;

import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;

/**
 * A broker's configuration: almost nothing; everything else is Kafka's default.
 * The connect string is the broker's id, by which a ZooKeeper handle finds its owner.
 */
public final class Configuration {
    private Configuration() { }

    /** This takes Kafka milliseconds. Rebalancing is off, since it would run in a thread of its own. */
    public static KafkaConfig of(int broker) {
        return of(broker, Map.of());
    }

    /** The same, with further settings. */
    public static KafkaConfig of(int broker, Map<String, String> more) {
        Properties properties = new Properties();
        properties.put("broker.id", String.valueOf(broker));
        properties.put("zookeeper.connect", String.valueOf(broker));
        properties.put("auto.leader.rebalance.enable", "false");
        properties.putAll(more);
        return KafkaConfig.fromProps(properties);
    }
}
