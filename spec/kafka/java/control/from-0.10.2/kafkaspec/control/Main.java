package kafkaspec.control;

/**
 * Lines of JSON in, lines of JSON out, as in `kafkaspec.pure.Main`; the calls are classes of this package.
 */
public final class Main {
    private Main() { }

    public static void main(String[] arguments) throws Exception {
        setUpZooKeeper();
        kafkaspec.pure.Main.main(new String[] {Main.class.getPackageName()});
        System.exit(0);  // threads of Kafka's clients may still run
    }

    /** ZooKeeper reads these when its classes load: no digests of the tree, no checks of permissions. */
    private static void setUpZooKeeper() {
        System.setProperty("zookeeper.digest.enabled", "false");
        System.setProperty("zookeeper.skipACL", "yes");
    }
}
