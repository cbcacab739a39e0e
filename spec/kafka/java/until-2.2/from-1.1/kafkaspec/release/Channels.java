package kafkaspec.release;

import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import scala.Function1;
import scala.runtime.BoxedUnit;

/** What becomes of what a controller would send to brokers. */
public interface Channels {
    void send(
        int broker,
        AbstractRequest.Builder<? extends AbstractRequest> builder,
        Function1<AbstractResponse, BoxedUnit> callback);

    /** A broker is gone, and with it what was queued for it. */
    default void removeBroker(int broker) { }

    /** The controller resigns: what is queued is gone. */
    default void shutdown() { }
}
