package kafkaspec;

/**
 * A step that is impossible: Kafka is not where the step requires, or the step does not exist.
 * The message becomes the one line of `error` in the answer to a run.
 */
final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;

    Refusal(String message) {
        super(message);
    }
}
