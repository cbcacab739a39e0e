package kafkaspec.release;

import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import kafkaspec.Steps;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.JavaConverters;

/**
 * A broker's process of Kafka 2.2, the first that tells a broker from its predecessor by its epoch.
 * Its arguments are those of KafkaServer, without security.
 */
final class BrokerProcess extends ControllerProcess {
    static final List<Steps.Row> STEPS = Steps.SINCE_2_2;

    BrokerProcess(KafkaConfig config, Consumer<String> sent) {
        super(config, sent);
    }

    @Override
    protected KafkaController register(KafkaZkClient client, BrokerInfo info) {
        long brokerEpoch = client.registerBroker(info);
        return new KafkaController(
            config(), client, Time.SYSTEM, METRICS, info, brokerEpoch, null, Option.empty());
    }

    @Override
    protected SortedMap<Integer, Long> liveBrokers() {
        SortedMap<Integer, Long> live = new TreeMap<>();
        JavaConverters.mapAsJavaMap(context().liveBrokerIdAndEpochs())
            .forEach((id, zxid) -> live.put((Integer) id, (Long) zxid));
        return live;
    }

    @Override
    protected long brokerEpoch() {
        return controller().brokerEpoch();
    }
}
