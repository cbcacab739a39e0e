package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.controller.StateChangeLogger;
import kafkaspec.Json;
import org.apache.zookeeper.KeeperException;
import scala.Function0;
import scala.Option;

/**
 * Kafka's state-change log. It keeps the errors: which state changes failed, and why.
 */
final class FailureLog extends StateChangeLogger {
    private ArrayNode failures = Json.array();

    FailureLog(int controller) {
        super(controller, true, Option.empty());
    }

    void close() { }

    /** The failures since the last call. */
    ArrayNode take() {
        ArrayNode taken = failures;
        failures = Json.array();
        return taken;
    }

    @Override
    public StateChangeLogger withControllerEpoch(int epoch) {
        return this;
    }

    @Override
    public void error(Function0<String> message, Function0<Throwable> thrown) {
        failures.add(cause(thrown.apply()).put("text", message.apply()));
    }

    /** An exception: its class, its message, and ZooKeeper's code, if it has one. */
    static ObjectNode cause(Throwable thrown) {
        ObjectNode cause = Json.object().put("thrown", thrown.getClass().getSimpleName());
        if (thrown instanceof KeeperException refused) {
            cause.put("code", refused.code().name());
        }
        return cause.put("message", thrown.getMessage());
    }
}
