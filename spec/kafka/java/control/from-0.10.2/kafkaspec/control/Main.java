package kafkaspec.control;

/**
 * Lines of JSON in, lines of JSON out, as `kafkaspec.pure.Main` has them; the calls are classes beside this one.
 */
public final class Main {
    private Main() { }

    public static void main(String[] arguments) throws Exception {
        setUpZooKeeper();
        kafkaspec.pure.Main.main(new String[] {Main.class.getPackageName()});
        System.exit(0);  // threads of Kafka's clients may be left
    }

    /** Read by ZooKeeper when its classes are loaded: no digests of the tree, no checks of permissions. */
    private static void setUpZooKeeper() {
        System.setProperty("zookeeper.digest.enabled", "false");
        System.setProperty("zookeeper.skipACL", "yes");
    }
}
