package kafkaspec.release;

import kafka.cluster.EndPoint;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.SecurityProtocol;

/** The address that a broker registers. */
public final class Address {
    public static final EndPoint PLAINTEXT = new EndPoint(
        "broker", 9092, ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT);

    private Address() { }
}
