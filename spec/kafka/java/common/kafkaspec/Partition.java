package kafkaspec;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * The one partition of the specification, t-0, whose state represents everything that a controller writes.
 * The specification knows whether its leader is alive, but not its id. So before a controller reads the partition, it
 * is arranged for this controller: its only replica and leader is one broker, or a dead broker leads.
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

    /** Before a controller reads the assignment: makes this broker the only replica. */
    void assignTo(int broker) {
        server.overwrite(TOPIC, assignedTo(broker));
    }

    /**
     * Before a controller reads the state: makes a broker the leader, or a dead one. A replica that is not alive is
     * not in sync, so that the replica state machine, which the specification does not have, writes nothing.
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
