package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.InetAddress;
import java.util.Map;
import kafka.controller.KafkaController;
import kafka.network.RequestChannel;
import kafka.server.BrokerFeatures;
import kafka.server.KafkaApis;
import kafka.server.KafkaConfig;
import kafka.server.RequestLocal;
import kafka.server.ZkBrokerEpochManager;
import kafka.server.ZkSupport;
import kafkaspec.Configuration;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.message.ApiMessageType.ListenerType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.network.Send;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.StopReplicaResponse;
import org.apache.kafka.common.requests.UpdateMetadataResponse;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

/**
 * What a broker makes of a controller's requests: KafkaApis hands them to ReplicaManager, whose logs are real files.
 *
 * <p>A case: `commands` to one broker that starts with nothing, registered under `broker_epoch`. A command is to `do`
 * one of these:
 *
 * <ul>
 * <li>`receive`: `request` is the name of a request, `told` what it says, `topic_ids` a number for each topic that
 *     has an id. Logs of `failing` partitions can neither be made nor deleted, `unread` topics have no configuration
 *     that could be read
 * <li>`fail_directory`: the log directory of this `number` fails
 * <li>`restart`: the process starts anew, with the logs
 * <li>`register`: the broker has registered anew, under this `epoch`
 * </ul>
 *
 * <p>Its answer: after each command what is to be seen of the broker, see ReceivingBroker, and of a request what was
 * answered: an `error`, those of `partitions`, and which it leads or follows from now on.
 */
final class Receivers implements Call {
    private static final int BROKER = 1;
    private static final RequestLocal LOCAL = RequestLocal.NoCaching();

    private final KafkaConfig config = Configuration.of(BROKER);
    private final RequestChannel.Metrics metrics = new RequestChannel.Metrics(ListenerType.ZK_BROKER);
    private final Answers answers = new Answers();
    private final KafkaController controller = new KafkaController(
        config, null, Time.SYSTEM, new Metrics(), null, 0, null, BrokerFeatures.createEmpty(), null, Option.empty());
    private final KafkaApis apis = new KafkaApis(
        answers, null, null, Stubs.groupCoordinator(), null, null, BROKER, config, null, null, new Metrics(),
        Option.empty(), Stubs.quotas(), null, null, "cluster", Time.SYSTEM, null, Stubs.everyVersion(),
        Option.empty());

    Receivers() {
        apis.close();  // a thread of it that waits for changes of ACLs
    }

    @Override
    public JsonNode answer(JsonNode given) throws Exception {
        register(Json.field(given, "broker_epoch").asLong());
        ArrayNode seen = Json.array();
        try (LogDirectories directories = new LogDirectories(config)) {
            ReceivingBroker broker = start(directories);
            for (JsonNode command : Json.field(given, "commands")) {
                ObjectNode answered = Json.object();
                String does = Json.field(command, "do").asText();
                switch (does) {
                    case "receive" -> receive(command, directories, answered);
                    case "fail_directory" -> broker.handleLogDirFailure(
                        directories.fail(Json.field(command, "number").asInt()), false);
                    case "restart" -> {
                        directories.restart();
                        broker = start(directories);
                    }
                    case "register" -> register(Json.field(command, "epoch").asLong());
                    default -> throw new Json.Malformed("nothing to do as " + does);
                }
                seen.add(broker.observe(answered));
            }
        }
        return seen;
    }

    private void register(long epoch) {
        Fields.set(controller, "_brokerEpoch", epoch);
    }

    private ReceivingBroker start(LogDirectories directories) {
        ReceivingBroker broker = new ReceivingBroker(directories);
        Fields.set(apis, "metadataSupport", new ZkSupport(
            Stubs.adminManager(), controller, null, Option.empty(), broker.cache(),
            new ZkBrokerEpochManager(broker.cache(), controller, Option.empty())));
        Fields.set(apis, "replicaManager", broker);
        return broker;
    }

    private void receive(JsonNode command, LogDirectories directories, ObjectNode answered) throws Exception {
        directories.failAt(Json.field(command, "failing"), Json.field(command, "unread"));
        AbstractControlRequest request = ControlRequests.of(command);
        ApiKeys key = request.apiKey();
        RequestHeader header = new RequestHeader(key, request.version(), "controller", 0);
        RequestContext context = new RequestContext(
            header, "", InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS, new ListenerName("PLAINTEXT"),
            SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, true);
        answers.last = null;
        apis.handle(new RequestChannel.Request(
            0, context, 0, MemoryPool.NONE, request.serialize(), metrics, Option.empty()), LOCAL);
        put(answers.last, ControlRequests.topics(command), answered);
    }

    private static void put(AbstractResponse response, Map<Uuid, String> topics, ObjectNode answered) {
        ObjectNode partitions = answered.putObject("partitions");
        if (response instanceof LeaderAndIsrResponse leaderAndIsr) {
            answered.put("error", leaderAndIsr.error().name());
            leaderAndIsr.partitionErrors(topics).forEach(
                (partition, error) -> partitions.put(partition.toString(), error.name()));
        } else if (response instanceof StopReplicaResponse stopReplica) {
            answered.put("error", stopReplica.error().name());
            stopReplica.partitionErrors().forEach(partition -> partitions.put(
                partition.topicName() + "-" + partition.partitionIndex(),
                Errors.forCode(partition.errorCode()).name()));
        } else if (response instanceof UpdateMetadataResponse updateMetadata) {
            answered.put("error", updateMetadata.error().name());
        }
    }

    /** Keeps what was answered last. */
    private static final class Answers extends RequestChannel {
        private AbstractResponse last;

        Answers() {
            super(1, "", Time.SYSTEM, null);
        }

        @Override
        public void sendResponse(
                RequestChannel.Request request, AbstractResponse response,
                Option<Function1<Send, BoxedUnit>> whenSent) {
            last = response;
        }
    }
}
