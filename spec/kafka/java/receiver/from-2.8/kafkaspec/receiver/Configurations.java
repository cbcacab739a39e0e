package kafkaspec.receiver;

import java.util.Properties;
import kafka.server.metadata.ConfigRepository;
import kafka.zookeeper.ZooKeeperClientException;
import org.apache.kafka.common.config.ConfigResource;

/** The source of topics' configurations since Kafka 2.8. */
final class Configurations {
    private Configurations() { }

    static ConfigRepository of(LogDirectories directories) {
        return new ConfigRepository() {
            @Override
            public Properties topicConfig(String topic) {
                if (directories.isUnread(topic)) {
                    throw new ZooKeeperClientException(topic);
                }
                return new Properties();
            }

            @Override
            public Properties brokerConfig(int broker) {
                return new Properties();
            }

            @Override
            public Properties config(ConfigResource resource) {
                return topicConfig(resource.name());
            }
        };
    }
}
