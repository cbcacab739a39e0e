package kafkaspec;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * What differs from release to release of Kafka.
 * Each release's folder has one class `kafkaspec.release.Adapter` that implements it, compiled beside the common
 * sources against that release's jars. All else is common, and knows of Kafka only by this and by KafkaProcess.
 */
public interface Release {
    /** The nodes that a broker of this release needs to find besides those of `Znodes`, with their data. */
    Map<String, byte[]> znodes();

    /** Which steps its requests are. */
    List<Steps.Row> steps();

    /**
     * A process of this broker, of which nothing has happened yet.
     *
     * @param sent is told what its controller would send: "api epoch"
     */
    KafkaProcess process(int broker, Consumer<String> sent);
}
