package kafkaspec.control;

import java.util.ArrayList;
import java.util.List;
import kafka.cluster.Broker;
import kafka.controller.ControllerContext;
import kafka.controller.LeaderIsrAndControllerEpoch;
import org.apache.kafka.common.TopicPartition;
import scala.Option;
import scala.collection.Map;

/** How the context of Kafka 2.4 learns things, where it differs from later releases. */
final class Contexts {
    private Contexts() { }

    static void addTopic(ControllerContext context, String topic) {
        List<String> topics = new ArrayList<>(List.of(topic));
        Scala.forEach(context.allTopics(), topics::add);
        context.allTopics_$eq(Scala.list(topics).toSet());
    }

    /** TopicDeletionManager changes the topics queued for deletion. */
    static void removeTopic(ControllerContext context, String topic) {
        context.removeTopic(topic);
        context.topicsToBeDeleted().remove(topic);
        context.topicsWithDeletionStarted().remove(topic);
    }

    static void addBrokers(ControllerContext context, Map<Broker, Object> epochs) {
        context.addLiveBrokersAndEpochs(epochs);
    }

    static void forgetLeaders(ControllerContext context) {
        context.partitionLeadershipInfo().clear();
    }

    static void learn(ControllerContext context, TopicPartition partition, LeaderIsrAndControllerEpoch state) {
        context.partitionLeadershipInfo().put(partition, state);
    }

    static Option<LeaderIsrAndControllerEpoch> leader(ControllerContext context, TopicPartition partition) {
        return context.partitionLeadershipInfo().get(partition);
    }

    static Map<TopicPartition, LeaderIsrAndControllerEpoch> leaders(ControllerContext context) {
        return context.partitionLeadershipInfo();
    }
}
