package kafkaspec;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import kafka.server.KafkaConfig;

/**
 * What differs from release to release of Kafka.
 * A release is compiled from `common` and from the folder of its family, where `kafkaspec.release.Adapter` implements
 * this. There the folders `from-X` have what differs within the family: of files with one name, a release has that of
 * the newest folder that is not newer than the release.
 */
public interface Release {
    /** The nodes that a broker of this release needs to find besides those of `Znodes`, with their data. */
    Map<String, byte[]> znodes(KafkaConfig config);

    /** Which steps its requests are. */
    List<Steps.Row> steps();

    /**
     * A process of a broker, of which nothing has happened yet.
     *
     * @param sent is told what its controller would send: "api epoch"
     */
    KafkaProcess process(KafkaConfig config, Consumer<String> sent);
}
