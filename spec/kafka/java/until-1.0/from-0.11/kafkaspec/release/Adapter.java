package kafkaspec.release;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import kafka.server.KafkaConfig;
import kafkaspec.KafkaProcess;
import kafkaspec.Partition;
import kafkaspec.Release;
import kafkaspec.Steps;
import kafkaspec.Steps.Row;
import kafkaspec.Znodes;

/** Kafka until 1.0, with ZkClient as its client: a request waits for its answer; listeners have their own thread. */
public final class Adapter implements Release {
    /**
     * After a refused creation of /controller, `elect` reads the node; in the specification this read is a
     * MaybeResign. [KafkaController.scala, ZkUtils.scala, ReplicationUtils.scala, 1.0.2]
     */
    private static final List<Row> STEPS = List.of(
        new Row("create", Steps.REGISTRATION, Steps.ANY, "RegisterBroker"),
        new Row("getData", Steps.REGISTRATION, "processResult", "CheckRegistration"),
        new Row("exists", Znodes.CONTROLLER, Steps.ANY, "WatchController"),
        new Row("getData", Znodes.CONTROLLER, "processResult", "CheckController"),
        new Row("getData", Znodes.CONTROLLER, "elect", "CheckController", "MaybeResign"),
        new Row("getData", Znodes.CONTROLLER, "elect", "Elect"),
        new Row("getData", Znodes.CONTROLLER, "process", "MaybeResign"),
        new Row("getData", Znodes.CONTROLLER, Steps.ANY, Steps.UNKNOWN),
        new Row("create", Znodes.CONTROLLER, Steps.ANY, "CreateController"),
        new Row("delete", Znodes.CONTROLLER, Steps.ANY, "DeleteController"),
        new Row("exists", Znodes.CONTROLLER_EPOCH, Steps.ANY, "ReadEpoch"),
        new Row("setData", Znodes.CONTROLLER_EPOCH, Steps.ANY, "IncrementEpoch"),
        new Row("getChildren", Znodes.BROKER_IDS, "registerBrokerChangeListener", "WatchBrokers"),
        new Row("getChildren", Znodes.BROKER_IDS, Steps.ANY, "ReadBrokers"),
        new Row("getData", Partition.STATE, "updateLeaderAndIsrCache", "ReadStates"),
        new Row("getData", Partition.STATE, "electLeaderForPartition", "ReadPartitionState"),
        new Row("setData", Partition.STATE, "electLeaderForPartition", "UpdateLeaderAndIsr"),
        new Row("setData", Partition.STATE, Steps.ANY, Steps.UNKNOWN));

    @Override
    public Map<String, byte[]> znodes(KafkaConfig config) {
        return Map.of();
    }

    @Override
    public List<Row> steps() {
        return STEPS;
    }

    @Override
    public KafkaProcess process(KafkaConfig config, Consumer<String> sent) {
        return new KafkaProcess(config, sent);
    }
}
