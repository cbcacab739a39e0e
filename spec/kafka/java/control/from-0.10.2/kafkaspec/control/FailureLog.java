package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafkaspec.Json;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/** Kafka's state-change log until 1.0. It keeps the errors with an exception: the state changes that failed. */
final class FailureLog extends AppenderSkeleton {
    private static final Logger LOG = Logger.getLogger("state.change.logger");

    static {
        Logger.getRootLogger().setLevel(Level.OFF);
        LOG.setLevel(Level.ERROR);
        LOG.setAdditivity(false);
    }

    private ArrayNode failures = Json.array();

    FailureLog(int controller) {
        LOG.addAppender(this);
    }

    @Override
    public void close() {
        LOG.removeAppender(this);
    }

    @Override
    public boolean requiresLayout() {
        return false;
    }

    /** The failures since the last call. */
    ArrayNode take() {
        ArrayNode taken = failures;
        failures = Json.array();
        return taken;
    }

    @Override
    protected void append(LoggingEvent logged) {
        if (logged.getThrowableInformation() != null) {
            failures.add(cause(logged.getThrowableInformation().getThrowable())
                .put("text", Scala.name(logged.getRenderedMessage())));
        }
    }

    /** An exception: its class and its message. */
    static ObjectNode cause(Throwable thrown) {
        return Json.object()
            .put("thrown", thrown.getClass().getSimpleName())
            .put("message", Scala.name(String.valueOf(thrown.getMessage())));
    }
}
