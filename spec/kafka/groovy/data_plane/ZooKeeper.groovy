package data_plane

import com.fasterxml.jackson.databind.ObjectMapper
import kafka.utils.*
import kafka.zk.*
import org.I0Itec.zkclient.*
import org.I0Itec.zkclient.exception.*
import org.apache.zookeeper.KeeperException
import org.apache.zookeeper.WatchedEvent
import org.apache.zookeeper.Watcher.Event.EventType
import org.apache.zookeeper.Watcher.Event.KeeperState
import org.apache.zookeeper.data.Stat
import scala.Tuple2

/** The node with the partition's state, which leaders write themselves until 2.6. */
class ZooKeeper extends Kafka {
    private static final JSON = new ObjectMapper()

    Map state
    int version = -1

    /** What the brokers use: ZkUtils, since 1.1 KafkaZkClient, and since 2.7 nothing. */
    final client = since(2, 7) ? null : since(1, 1) ? kafkaZkClient() : zkUtils()

    /** Sets the node, as the controller does. */
    void put(Map given, int version) {
        state = [controller_epoch: given.controller_epoch, leader: given.leader, version: 1,
                 leader_epoch: given.leader_epoch, isr: given.isr]
        this.version = version
    }

    /** Writes the node if it has this version; whether it does. */
    private boolean write(byte[] data, int expected) {
        if (expected != version) {
            return false
        }
        state = JSON.readValue(data, Map)
        version++
        true
    }

    private byte[] bytes() {
        JSON.writeValueAsBytes(state)
    }

    private Stat stat() {
        new Stat(version: version)
    }

    private kafkaZkClient() {
        def client
        client = subclass(KafkaZkClient, [
            getEntityConfigs: { type, name -> new Properties() },
            getDataAndStat: { path -> new Tuple2(scala.Option.apply(bytes()), stat()) },
            conditionalUpdatePath: { path, data, expected, check ->
                write(data, expected) ? new Tuple2(true, version)
                    : check.defined ? check.get().apply(client, path, data) : new Tuple2(false, -1)
            }])
    }

    /** Until 1.0: Kafka's client over a connection whose other end is this node. */
    private zkUtils() {
        def connection = [
            getServers: { 'none' },
            close: { },
            connect: { watcher ->
                def connected = new WatchedEvent(EventType.None, KeeperState.SyncConnected, null)
                Thread.startDaemon { watcher.process(connected) }
            },
            readData: { String path, Stat stat, boolean watch ->
                if (!path.endsWith('/state')) {
                    Fetcher.readsConfig()
                    throw new KeeperException.NoNodeException()
                }
                stat?.version = version
                bytes()
            },
            writeDataReturnStat: { String path, byte[] data, int expected ->
                if (!write(data, expected)) {
                    throw new KeeperException.BadVersionException()
                }
                stat()
            }].asType(IZkConnection)
        make(ZkUtils, ZkClient.newInstance(connection, 10_000, ZKStringSerializer$.MODULE$))
    }

    void close() {
        if (!since(1, 1)) {
            client.zkClient().close()
        }
    }
}
