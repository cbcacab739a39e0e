package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.log.LogManager;
import kafka.server.BrokerFeatures;
import kafka.server.BrokerTopicStats;
import kafka.server.DelayedOperation;
import kafka.server.DelayedOperationPurgatory;
import kafka.server.KafkaConfig;
import kafka.server.QuotaFactory.QuotaManagers;
import kafka.server.ReplicaManager;
import kafka.server.metadata.ZkMetadataCache;
import kafkaspec.Configuration;
import kafkaspec.Fields;
import kafkaspec.Json;
import org.apache.kafka.common.errors.ControllerMovedException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import scala.Option;
import scala.collection.immutable.List$;
import scala.collection.mutable.HashMap;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;
import sun.misc.Unsafe;

/**
 * What a broker makes of a controller's epoch: Kafka's ReplicaManager, which hosts no partition and has no log.
 * A case: the `request`, by its name, under `epoch`, at a broker that has seen the epoch `known`. It has nothing but
 * its epoch. Its answer: the error, NONE if there is none, and the epoch that the broker has seen then.
 */
final class Receivers implements Call {
    private static final int CONTROLLER = 1;
    private static final int ANY_BROKER_EPOCH = -1;

    private final ReplicaManager manager;

    Receivers() throws ReflectiveOperationException {
        KafkaConfig config = Configuration.of(0);
        ZkMetadataCache cache = new ZkMetadataCache(
            0, config.interBrokerProtocolVersion(), BrokerFeatures.createEmpty(), false);
        manager = new ReplicaManager(
            config, new Metrics(), Time.SYSTEM, withoutThreads(), withoutDirectories(), Option.empty(),
            new QuotaManagers(null, null, null, null, null, null, null, Option.empty()), cache,
            new LogDirFailureChannel(1), null, new BrokerTopicStats(false), new AtomicBoolean(), Option.empty(),
            purgatory("Produce"), purgatory("Fetch"), purgatory("DeleteRecords"), purgatory("ElectLeader"),
            purgatory("RemoteFetch"), Option.empty(), () -> ANY_BROKER_EPOCH, Option.empty(),
            DirectoryEventHandler.NOOP);
    }

    @Override
    public JsonNode answer(JsonNode given) {
        manager.controllerEpoch_$eq(Json.field(given, "known").asInt());
        Errors error = error(Json.field(given, "request").asText(), Json.field(given, "epoch").asInt());
        ObjectNode answer = Json.object().put("error", error.name());
        return answer.put("known", manager.controllerEpoch());
    }

    private Errors error(String request, int epoch) {
        switch (request) {
            case "LeaderAndIsrRequest" -> {
                LeaderAndIsrRequest asked = new LeaderAndIsrRequest.Builder(
                    ApiKeys.LEADER_AND_ISR.latestVersion(), CONTROLLER, epoch, ANY_BROKER_EPOCH, List.of(), Map.of(),
                    List.of()).build();
                return manager.becomeLeaderOrFollower(0, asked, new AbstractFunction2<>() {
                    @Override
                    public BoxedUnit apply(
                            scala.collection.Iterable<kafka.cluster.Partition> leaders,
                            scala.collection.Iterable<kafka.cluster.Partition> followers) {
                        return BoxedUnit.UNIT;
                    }
                }).error();
            }
            case "StopReplicaRequest" -> {
                return manager.stopReplicas(0, CONTROLLER, epoch, new HashMap<>())._2();
            }
            case "UpdateMetadataRequest" -> {
                UpdateMetadataRequest asked = new UpdateMetadataRequest.Builder(
                    ApiKeys.UPDATE_METADATA.latestVersion(), CONTROLLER, epoch, ANY_BROKER_EPOCH, List.of(),
                    List.of(), Map.of()).build();
                try {
                    manager.maybeUpdateMetadataCache(0, asked);
                    return Errors.NONE;
                } catch (ControllerMovedException moved) {  // which KafkaApis answers
                    return Errors.forException(moved);
                }
            }
            default -> throw new Json.Malformed("no request " + request);
        }
    }

    /** What would run later does not run. */
    private static Scheduler withoutThreads() {
        return (Scheduler) Proxy.newProxyInstance(
            Scheduler.class.getClassLoader(), new Class<?>[] {Scheduler.class},
            (proxy, method, arguments) -> null);
    }

    /** A LogManager that was never made, for that would read directories: there are none, and no logs. */
    private static LogManager withoutDirectories() throws ReflectiveOperationException {
        Field unsafe = Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        LogManager logs = (LogManager) ((Unsafe) unsafe.get(null)).allocateInstance(LogManager.class);
        Fields.set(logs, "logDirs", List$.MODULE$.empty());
        Fields.set(logs, "_liveLogDirs", new ConcurrentLinkedQueue<>());
        return logs;
    }

    private static <T extends DelayedOperation> Option<DelayedOperationPurgatory<T>> purgatory(String name) {
        boolean reaps = false;
        return Option.apply(new DelayedOperationPurgatory<>(name, null, 0, 1, reaps, false));
    }
}
