package kafkaspec.release;

import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import kafka.controller.KafkaController;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.collection.JavaConverters;

/**
 * A broker's process of Kafka 2.2, the first that distinguishes a broker from its predecessor by its epoch.
 * Its arguments are those of KafkaServer, without security.
 */
public class BrokerProcess extends ControllerProcess {
    public BrokerProcess(KafkaConfig config, Consumer<String> sent) {
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
