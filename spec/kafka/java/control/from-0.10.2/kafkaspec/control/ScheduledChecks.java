package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import kafkaspec.Fields;
import kafkaspec.Json;

/**
 * The checks for imbalance that a controller has scheduled. They are taken out of its scheduler and run only on
 * request.
 */
final class ScheduledChecks {
    /** The first check comes so many seconds after a failover; the next ones are minutes apart. */
    private static final long FIRST = 5;
    private static final long NEXT = 300;

    private final Object scheduler;
    private final List<Check> checks = new ArrayList<>();
    private ScheduledThreadPoolExecutor executor;

    /** @param scheduler Kafka's: a KafkaScheduler, whose package depends on the release */
    ScheduledChecks(Object scheduler) {
        this.scheduler = scheduler;
    }

    private record Check(long seconds, Runnable task) { }

    /** Takes the scheduled checks; those of a scheduler that was shut down are dropped. */
    void take() {
        ScheduledThreadPoolExecutor now =
            (ScheduledThreadPoolExecutor) Fields.get(scheduler, "executor");
        if (now != executor || now == null || now.isShutdown()) {
            checks.clear();
            executor = now;
        }
        if (now == null) {
            return;
        }
        for (Runnable each : now.getQueue()) {
            checks.add(new Check(((Delayed) each).getDelay(TimeUnit.SECONDS) < FIRST ? FIRST : NEXT, each));
        }
        now.getQueue().clear();
    }

    /** Runs the check that is due first, if there is one: it becomes an event. */
    void makeFirst() {
        checks.stream().min(Comparator.comparing(Check::seconds)).ifPresent(first -> {
            checks.remove(first);
            first.task().run();
        });
    }

    ArrayNode observe() {
        ArrayNode seconds = Json.array();
        checks.stream().map(Check::seconds).sorted().forEach(seconds::add);
        return seconds;
    }
}
