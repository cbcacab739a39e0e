package kafkaspec.administrator;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * An administrator's requests to brokers, with Kafka's own clients. Each line of stdin is a request about partition 0
 * of a topic. The answer is a line of stdout: the result, or the class of the exception.
 *
 * <pre>
 * create TOPIC 1,2        with these replicas
 * reassign TOPIC 2,3      to these replicas
 * cancel TOPIC            its reassignment
 * elect TOPIC             a leader, uncleanly if there is no other way
 * prefer TOPIC            its first replica as leader
 * produce TOPIC 5         so many records, each acknowledged by the whole ISR, if need be after 10 seconds
 * produce TOPIC 5 60000   the same, if need be after so many milliseconds
 * end TOPIC               the offset after its last record
 * </pre>
 */
public final class Administrator {
    private static final Map<String, Object> PATIENCE =
        Map.of("default.api.timeout.ms", 10_000, "request.timeout.ms", 5_000);

    private final String brokers;

    private Administrator(String brokers) {
        this.brokers = brokers;
    }

    /** Runs until stdin ends; the argument is a broker's HOST:PORT. */
    public static void main(String[] arguments) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Administrator administrator = new Administrator(arguments[0]);
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            answers.println(administrator.answer(line.split(" ")));
        }
        Runtime.getRuntime().halt(0);
    }

    private String answer(String[] request) {
        try {
            return request[0].equals("produce") ? produced(request) : done(request);
        } catch (ExecutionException refused) {
            return refused.getCause().getClass().getSimpleName();
        } catch (Exception refused) {
            return refused.getClass().getSimpleName();
        }
    }

    private String produced(String[] request) throws Exception {
        long end = 0;
        int limit = request.length > 3 ? Integer.parseInt(request[3]) : 10_000;
        Map<String, Object> durable = Map.of(
            "acks", "all", "max.block.ms", limit, "delivery.timeout.ms", limit, "request.timeout.ms", limit / 2);
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(with(durable), new StringSerializer(), new StringSerializer())) {
            for (int record = 0; record < Integer.parseInt(request[2]); record++) {
                end = producer.send(new ProducerRecord<>(request[1], 0, null, "a record")).get().offset() + 1;
            }
        }
        return String.valueOf(end);
    }

    private String done(String[] request) throws Exception {
        TopicPartition partition = new TopicPartition(request[1], 0);
        try (Admin admin = Admin.create(with(PATIENCE))) {
            switch (request[0]) {
                case "create" ->
                    admin.createTopics(List.of(new NewTopic(request[1], Map.of(0, brokersOf(request))))).all().get();
                case "reassign" ->
                    reassigned(admin, partition, Optional.of(new NewPartitionReassignment(brokersOf(request))));
                case "cancel" -> reassigned(admin, partition, Optional.empty());
                case "elect" -> {
                    return elected(admin, partition, ElectionType.UNCLEAN);
                }
                case "prefer" -> {
                    return elected(admin, partition, ElectionType.PREFERRED);
                }
                case "end" -> {
                    ListOffsetsResult ends = admin.listOffsets(Map.of(partition, OffsetSpec.latest()));
                    return String.valueOf(ends.partitionResult(partition).get().offset());
                }
                default -> throw new IllegalArgumentException(request[0]);
            }
        }
        return "done";
    }

    private static String elected(Admin admin, TopicPartition partition, ElectionType type) throws Exception {
        Optional<Throwable> refused =
            admin.electLeaders(type, Set.of(partition)).partitions().get().get(partition);
        return refused.map(reason -> reason.getClass().getSimpleName()).orElse("done");
    }

    private static void reassigned(Admin admin, TopicPartition partition, Optional<NewPartitionReassignment> to)
            throws Exception {
        admin.alterPartitionReassignments(Map.of(partition, to)).all().get();
    }

    private static List<Integer> brokersOf(String[] request) {
        return Arrays.stream(request[2].split(",")).map(Integer::valueOf).toList();
    }

    private Map<String, Object> with(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(settings);
        all.put("bootstrap.servers", brokers);
        return all;
    }
}
