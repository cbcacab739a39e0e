package kafkaspec;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * The one partition of the specification, t-0, whose state stands for all that a controller writes.
 * The specification says only whether its leader is alive, never who that is. So before a controller reads it, it is
 * laid out for this controller: one broker is the only replica, and leads the partition, or a dead broker does.
 */
public final class Partition {
    public static final TopicPartition ID = new TopicPartition("t", 0);
    public static final String STATE = "/brokers/topics/t/partitions/0/state";

    private static final String TOPIC = "/brokers/topics/t";
    private static final int DEAD_BROKER = 99;

    private final SynchronousServer server;

    Partition(SynchronousServer server) {
        this.server = server;
    }

    void create() {
        server.create(TOPIC, assignedTo(0));
        server.create(TOPIC + "/partitions", new byte[0]);
        server.create(TOPIC + "/partitions/0", new byte[0]);
        server.create(STATE, Znodes.utf8(
            "{'controller_epoch':0,'leader':0,'version':1,'leader_epoch':0,'isr':[0]}".replace('\'', '"')));
    }

    /** A controller is about to read the assignment: it finds this broker the only replica. */
    void assignTo(int broker) {
        server.overwrite(TOPIC, assignedTo(broker));
    }

    /**
     * A controller is about to read the state: it finds a broker the leader, or one that is dead. A replica that is
     * not alive is not in sync, so that a replica state machine, which the specification has not, writes nothing.
     */
    void isLedBy(int replica, boolean leads, boolean alive) {
        ObjectNode state = (ObjectNode) Json.read(server.data(STATE));
        state.put("leader", leads ? replica : DEAD_BROKER);
        state.putArray("isr").add(alive ? replica : DEAD_BROKER);
        server.overwrite(STATE, Json.bytes(state));
    }

    private static byte[] assignedTo(int broker) {
        ObjectNode topic = Json.object();
        topic.putObject("partitions").putArray("0").add(broker);
        topic.put("topic_id", "AAAAAAAAAAEAAAAAAAAAAQ");
        topic.putObject("adding_replicas");
        topic.putObject("removing_replicas");
        topic.put("version", 3);
        return Json.bytes(topic);
    }
}
