package kafkaspec;

/**
 * A step that cannot be made: Kafka stands elsewhere than the step needs it, or the step is none.
 * Its message is the one line of `error` in the answer to a run.
 */
final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;

    Refusal(String message) {
        super(message);
    }
}
