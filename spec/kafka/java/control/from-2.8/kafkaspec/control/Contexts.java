package kafkaspec.control;

import kafka.cluster.Broker;
import kafka.controller.ControllerContext;
import kafka.controller.LeaderIsrAndControllerEpoch;
import org.apache.kafka.common.TopicPartition;
import scala.Option;
import scala.collection.Map;

/** How the context of Kafka 2.8 to 3.9 learns things, where it differs from earlier releases. */
final class Contexts {
    private Contexts() { }

    static void addTopic(ControllerContext context, String topic) {
        context.allTopics().add(topic);
    }

    static void removeTopic(ControllerContext context, String topic) {
        context.removeTopic(topic);
    }

    static void addBrokers(ControllerContext context, Map<Broker, Object> epochs) {
        context.addLiveBrokers(epochs);
    }

    static void forgetLeaders(ControllerContext context) {
        context.clearPartitionLeadershipInfo();
    }

    static void learn(ControllerContext context, TopicPartition partition, LeaderIsrAndControllerEpoch state) {
        context.putPartitionLeadershipInfo(partition, state);
    }

    static Option<LeaderIsrAndControllerEpoch> leader(ControllerContext context, TopicPartition partition) {
        return context.partitionLeadershipInfo(partition);
    }

    static Map<TopicPartition, LeaderIsrAndControllerEpoch> leaders(ControllerContext context) {
        return context.partitionsLeadershipInfo();
    }
}
