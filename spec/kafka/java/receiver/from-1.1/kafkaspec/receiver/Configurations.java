package kafkaspec.receiver;

import java.util.Properties;
import kafka.zk.KafkaZkClient;
import kafka.zookeeper.ZooKeeperClientException;
import org.apache.kafka.common.utils.Time;

/** The client by which Kafka 1.1 to 2.7 reads topics' configurations. It has no connection. */
final class Configurations extends KafkaZkClient {
    private final LogDirectories directories;

    private Configurations(LogDirectories directories) {
        super(null, false, Time.SYSTEM);
        this.directories = directories;
    }

    static KafkaZkClient of(LogDirectories directories) {
        return new Configurations(directories);
    }

    @Override
    public Properties getEntityConfigs(String type, String name) {
        if (directories.isUnread(name)) {
            throw new ZooKeeperClientException(name);
        }
        return new Properties();
    }

    @Override
    public void propagateLogDirEvent(int broker) { }
}
