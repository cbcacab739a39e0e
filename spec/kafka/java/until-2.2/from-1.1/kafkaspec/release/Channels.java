package kafkaspec.release;

import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/** Receives a controller's requests to brokers. */
public interface Channels {
    void send(
        int broker,
        AbstractRequest.Builder<? extends AbstractRequest> builder,
        Function1<AbstractResponse, BoxedUnit> callback);

    /** A broker is removed, with its queue. */
    default void removeBroker(int broker) { }

    /** The controller resigns, and all queues are emptied. */
    default void shutdown() { }
}
