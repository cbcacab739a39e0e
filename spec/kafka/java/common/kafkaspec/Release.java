package kafkaspec;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import kafka.server.KafkaConfig;

/**
 * The differences between Kafka's releases.
 * A release is compiled from `common` and from its family's folder, where `kafkaspec.release.Adapter` implements this
 * interface. The family's folders `from-X` hold the differences within it: of files with one name, a release has the
 * one from the newest folder not newer than itself.
 */
public interface Release {
    /** The nodes that a broker of this release needs besides those of `Znodes`, with their data. */
    Map<String, byte[]> znodes(KafkaConfig config);

    /** The steps that its requests are. */
    List<Steps.Row> steps();

    /**
     * A new process of a broker.
     *
     * @param sent receives each request that its controller would send: "api epoch"
     */
    KafkaProcess process(KafkaConfig config, Consumer<String> sent);
}
