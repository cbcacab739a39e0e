package kafkaspec.receiver;

/** Lines of JSON in, lines of JSON out, as in `kafkaspec.pure.Main`; the call is Receivers. */
public final class Main {
    private Main() { }

    public static void main(String[] arguments) throws Exception {
        kafkaspec.pure.Main.main(new String[] {Main.class.getPackageName()});
    }
}
