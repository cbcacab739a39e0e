package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.concurrent.atomic.AtomicBoolean;
import kafka.common.TopicAndPartition;
import kafka.controller.Callbacks;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.PartitionAndReplica;
import kafka.controller.ReplicaState;
import kafka.controller.ReplicaStateMachine;
import kafka.controller.TopicDeletionManager;
import kafka.server.BrokerState;
import kafka.server.KafkaConfig;
import kafka.utils.ZkUtils;
import kafkaspec.Fields;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Time;
import scala.Function1;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.Set;
import scala.collection.immutable.List;
import scala.collection.immutable.Set$;
import scala.runtime.BoxedUnit;

/** Replicas change broker by broker: a hash map's order is not a rule of Kafka. */
final class OrderedReplicas extends ReplicaStateMachine {
    OrderedReplicas(KafkaController controller) {
        super(controller);
    }

    @Override
    public void handleStateChanges(Set<PartitionAndReplica> replicas, ReplicaState target, Callbacks callbacks) {
        java.util.List<PartitionAndReplica> these = new ArrayList<>();
        Scala.forEach(replicas, these::add);
        these.sort(Comparator.comparing(PartitionAndReplica::replica));
        super.handleStateChanges(
            JavaConverters.asScalaSetConverter(new LinkedHashSet<>(these)).asScala(), target, callbacks);
    }
}

/** Kafka's deletion manager until 0.10. Its thread does not start; its work is done on request. */
final class Deletions extends TopicDeletionManager {
    private boolean hasFailed;

    /** @param made the manager that the controller has made */
    Deletions(KafkaController controller, TopicDeletionManager made) {
        super(controller, made.topicsToBeDeleted().toSet(), made.topicsIneligibleForDeletion().toSet());
    }

    @Override
    public void start() {
        deleteTopicsThread_$eq(new DeleteTopicsThread() {
            @Override
            public void awaitShutdown() { }
        });
        deleteTopicStateChanged().set(!topicsToBeDeleted().isEmpty());
    }

    /** Whether an exception has ended its thread, so that it deletes nothing any longer. */
    boolean hasFailed() {
        return hasFailed;
    }

    /** Whether anything has changed since its thread last worked. */
    boolean hasWork() {
        DeleteTopicsThread thread = deleteTopicsThread();
        return !hasFailed && thread != null && thread.isRunning().get() && deleteTopicStateChanged().get();
    }

    /** Does its thread's work once, for all topics queued for deletion. */
    void goOn() {
        try {
            deleteTopicsThread().doWork();
        } catch (RuntimeException problem) {
            hasFailed = true;
        }
    }
}

/**
 * Kafka's batch of requests, for a controller that keeps its requests. In 0.10 no request marks a replica as new.
 */
final class CapturedBatch extends ControllerBrokerRequestBatch {
    static final Callbacks NO_CALLBACKS = new Callbacks(null, null, null);

    private static final Metrics METRICS = new Metrics();

    /** A controller that never starts. */
    static final class Controller extends KafkaController {
        private final SentRequests sent = new SentRequests();

        Controller(KafkaConfig config, ZkUtils client) {
            super(config, client, new BrokerState(), Time.SYSTEM, METRICS, Option.empty());
            Fields.set(this, "replicaStateMachine", new OrderedReplicas(this));
            deleteTopicManager_$eq(new TopicDeletionManager(this, Set$.MODULE$.empty(), Set$.MODULE$.empty()));
            isStarted(partitionStateMachine());
            isStarted(replicaStateMachine());
        }

        private static void isStarted(Object machine) {
            ((AtomicBoolean) Fields.get(machine, "hasStarted")).set(true);
        }

        Deletions deletion() {
            return (Deletions) deleteTopicManager();
        }

        @Override
        public void deleteTopicManager_$eq(TopicDeletionManager made) {
            super.deleteTopicManager_$eq(new Deletions(this, made));
        }

        @Override
        public void sendRequest(
                int broker,
                ApiKeys api,
                AbstractRequest.Builder<? extends AbstractRequest> request,
                Function1<AbstractResponse, BoxedUnit> callback) {
            sent.add(controllerContext(), broker, request, callback);
        }

        SentRequests sent() {
            return sent;
        }

        ObjectNode takeSent() {
            return sent.take();
        }
    }

    CapturedBatch(Controller controller) {
        super(controller);
    }

    void addLeaderAndIsr(
            List<Object> brokers,
            TopicAndPartition partition,
            LeaderIsrAndControllerEpoch known,
            scala.collection.Seq<Object> replicas,
            boolean isNew) {
        addLeaderAndIsrRequestForBrokers(
            brokers, partition.topic(), partition.partition(), known, replicas, null);
    }

    void addMetadata(List<Object> brokers, TopicAndPartition partition) {
        addUpdateMetadataRequestForBrokers(brokers, Scala.set(partition), null);
    }
}
