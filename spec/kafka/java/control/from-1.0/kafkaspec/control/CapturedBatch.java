package kafkaspec.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import kafka.common.TopicAndPartition;
import kafka.controller.Callbacks;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.PartitionAndReplica;
import kafka.controller.ReplicaState;
import kafka.controller.ReplicaStateMachine;
import kafka.controller.StateChangeLogger;
import kafka.controller.TopicDeletionManager;
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
import scala.runtime.BoxedUnit;

/** Replicas change broker by broker: a hash map's order is not a rule of Kafka. */
final class OrderedReplicas extends ReplicaStateMachine {
    OrderedReplicas(KafkaController controller) {
        super(controller, new StateChangeLogger(controller.config().brokerId(), true, Option.empty()));
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

/** Kafka's batch of requests, for a controller that keeps its requests. */
final class CapturedBatch extends ControllerBrokerRequestBatch {
    static final Callbacks NO_CALLBACKS = new Callbacks(null);

    private static final Metrics METRICS = new Metrics();

    /** A controller that never starts. */
    static final class Controller extends KafkaController {
        private final SentRequests sent = new SentRequests();

        Controller(KafkaConfig config, ZkUtils client) {
            super(config, client, Time.SYSTEM, METRICS, Option.empty());
            OrderedReplicas replicas = new OrderedReplicas(this);
            Fields.set(this, "replicaStateMachine", replicas);
            Fields.set(topicDeletionManager(), "replicaStateMachine", replicas);
        }

        TopicDeletionManager deletion() {
            return topicDeletionManager();
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
        super(controller, new StateChangeLogger(controller.config().brokerId(), true, Option.empty()));
    }

    void addLeaderAndIsr(
            List<Object> brokers,
            TopicAndPartition partition,
            LeaderIsrAndControllerEpoch known,
            scala.collection.Seq<Object> replicas,
            boolean isNew) {
        addLeaderAndIsrRequestForBrokers(
            brokers, partition.topic(), partition.partition(), known, replicas, isNew);
    }

    void addMetadata(List<Object> brokers, TopicAndPartition partition) {
        addUpdateMetadataRequestForBrokers(brokers, Scala.set(partition));
    }
}
