package kafkaspec;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.zookeeper.ZooKeeper.Request;

/**
 * Maps requests to steps of the specification, by operation, path, and the method of Kafka's that makes the request.
 * Half of Kafka's requests are no steps, because they have no effect on the specification: these pass.
 * Of the rows that match a request, the first one of the innermost method applies; an Unknown step is a difference.
 */
public final class Steps {
    /** In a row: any method, or after any step. */
    public static final String ANY = "";
    /** In a row: the path of the broker's own node. */
    public static final String REGISTRATION = "(registration)";
    /** A step that the specification does not have. */
    public static final String UNKNOWN = "Unknown";

    /**
     * A row of the table.
     *
     * @param operation the method of ZooKeeper's client
     * @param path the requested path; for a multi, that of its last operation
     * @param method the method of Kafka's, at any depth of the stack, or `ANY`
     * @param after the broker's previous step, or `ANY`
     * @param step the step, by its name in `statemachines.agenda.Do`
     */
    public record Row(String operation, String path, String method, String after, String step) {
        public Row(String operation, String path, String method, String step) {
            this(operation, path, method, ANY, step);
        }
    }

    /** Kafka 2.2 to 3.9. [KafkaController.scala, KafkaZkClient.scala, ZkPartitionStateMachine] */
    public static final List<Row> SINCE_2_2 = List.of(
        new Row("multi", REGISTRATION, ANY, "RegisterBroker"),
        new Row("getData", REGISTRATION, "getAfterNodeExists", "CheckRegistration"),
        new Row("delete", REGISTRATION, ANY, "DeleteRegistration"),
        new Row("exists", Znodes.CONTROLLER, ANY, "WatchController"),
        new Row("getData", Znodes.CONTROLLER, "maybeResign", "MaybeResign"),
        new Row("getData", Znodes.CONTROLLER, "elect", "Elect"),
        new Row("getData", Znodes.CONTROLLER, "checkControllerAndEpoch$1", "CheckController"),
        new Row("getData", Znodes.CONTROLLER, "triggerControllerMove", "MoveController"),
        new Row("getData", Znodes.CONTROLLER, ANY, UNKNOWN),
        new Row("multi", Znodes.CONTROLLER, ANY, "DeleteController"),
        new Row("delete", Znodes.CONTROLLER, ANY, "DeleteController"),
        new Row("getData", Znodes.CONTROLLER_EPOCH, "checkControllerAndEpoch$1", "CheckEpoch"),
        new Row("getData", Znodes.CONTROLLER_EPOCH, ANY, "ReadEpoch"),
        new Row("multi", Znodes.CONTROLLER_EPOCH, ANY, "RegisterController"),
        new Row("getChildren", Znodes.BROKER_IDS, ANY, "ReadBrokers"),
        new Row("getData", Partition.STATE, "updateLeaderAndIsrCache", "ReadStates"),
        new Row("getData", Partition.STATE, "doElectLeaderForPartitions", "ReadPartitionState"),
        new Row("multi", Partition.STATE, "doElectLeaderForPartitions", "UpdateLeaderAndIsr"),
        new Row("multi", Partition.STATE, ANY, UNKNOWN),
        new Row("multi", "/admin/preferred_replica_election", ANY, "DeletePreferredElection"));

    private static final StackWalker STACK = StackWalker.getInstance();

    private final List<Row> rows;

    Steps(List<Row> rows) {
        this.rows = rows;
    }

    /**
     * The step that a request is, or null if it is none. Must be called by the requesting thread.
     *
     * @param broker the broker that makes the request
     * @param after its previous step
     */
    String of(Request request, int broker, String after) {
        List<Row> matching = matching(request, broker, after);
        if (matching.isEmpty()) {
            return null;
        }
        Set<String> methods = matching.stream().map(Row::method).collect(Collectors.toSet());
        String asking = methods.equals(Set.of(ANY)) ? ANY : innermost(methods);
        return matching.stream()
            .filter(row -> row.method().equals(asking))
            .map(row -> row.step().equals(UNKNOWN) ? UNKNOWN + "(" + request.path() + ")" : row.step())
            .findFirst()
            .orElse(null);
    }

    private List<Row> matching(Request request, int broker, String after) {
        String path = request.path().equals(Znodes.registration(broker)) ? REGISTRATION : request.path();
        List<Row> matching = new ArrayList<>();
        for (Row row : rows) {
            boolean follows = row.after().equals(ANY) || row.after().equals(after);
            if (row.operation().equals(request.operation()) && row.path().equals(path) && follows) {
                matching.add(row);
            }
        }
        return matching;
    }

    /** The innermost of these methods on the stack; `ANY` if none is there. */
    private static String innermost(Set<String> methods) {
        return STACK.walk(frames -> frames
            .map(frame -> unmangled(frame.getMethodName()))
            .filter(methods::contains)
            .findFirst()
            .orElse(ANY));
    }

    /** Scala until 2.12 prefixes the class to a private method that a closure calls: a$b$C$$method. */
    private static String unmangled(String method) {
        int end = method.lastIndexOf("$$");
        return end < 0 ? method : method.substring(end + 2);
    }
}
