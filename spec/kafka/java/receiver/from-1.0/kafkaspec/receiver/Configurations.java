package kafkaspec.receiver;

import java.util.List;
import kafka.utils.ZkUtils;
import org.I0Itec.zkclient.ZkClient;
import org.I0Itec.zkclient.exception.ZkException;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import scala.Option;
import scala.Tuple2;

/** The client by which Kafka 1.0 reads topics' configurations. It has no connection. */
final class Configurations extends ZkUtils {
    private final LogDirectories directories;

    private Configurations(LogDirectories directories) {
        super((ZkClient) null, null, false);
        this.directories = directories;
    }

    static ZkUtils of(LogDirectories directories) {
        return new Configurations(directories);
    }

    @Override
    public Tuple2<Option<String>, Stat> readDataMaybeNull(String path) {
        if (directories.isUnread(path.substring(path.lastIndexOf('/') + 1))) {
            throw new ZkException(path);
        }
        return new Tuple2<>(Option.empty(), null);
    }

    @Override
    public String createSequentialPersistentPath(String path, String data, List<ACL> acls) {
        return path;
    }
}
