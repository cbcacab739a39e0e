package kafkaspec.release;

import java.util.List;
import java.util.stream.Stream;
import kafkaspec.Partition;
import kafkaspec.Steps;
import kafkaspec.Steps.Row;
import kafkaspec.Znodes;

/**
 * The steps that requests of Kafka 1.1 to 2.1 are, where they differ from later releases.
 * Until 2.1 a registration is a single create; until 2.0 so is /controller, and the epoch is incremented after it.
 */
final class EarlierSteps {
    /** Kafka 2.1. [KafkaZkClient.CheckedEphemeral.create] */
    static final List<Row> OF_2_1 = Stream.concat(
        Stream.of(new Row("create", Steps.REGISTRATION, Steps.ANY, "RegisterBroker")),
        Steps.SINCE_2_2.stream()).toList();

    /**
     * Kafka 1.1 and 2.0. Reelect and ControllerChange read the controller themselves, in `process`. `elect` reads it
     * again after a refused creation; in the specification that read is a MaybeResign.
     */
    static final List<Row> UNTIL_2_0 = List.of(
        new Row("create", Steps.REGISTRATION, Steps.ANY, "RegisterBroker"),
        new Row("getData", Steps.REGISTRATION, "getAfterNodeExists", "CheckRegistration"),
        new Row("exists", Znodes.CONTROLLER, Steps.ANY, "WatchController"),
        new Row("getData", Znodes.CONTROLLER, "elect", "CheckController", "MaybeResign"),
        new Row("getData", Znodes.CONTROLLER, "elect", "Elect"),
        new Row("getData", Znodes.CONTROLLER, "getAfterNodeExists", "CheckController"),
        new Row("getData", Znodes.CONTROLLER, "process", "MaybeResign"),
        new Row("getData", Znodes.CONTROLLER, Steps.ANY, Steps.UNKNOWN),
        new Row("create", Znodes.CONTROLLER, Steps.ANY, "CreateController"),
        new Row("delete", Znodes.CONTROLLER, Steps.ANY, "DeleteController"),
        new Row("getData", Znodes.CONTROLLER_EPOCH, Steps.ANY, "ReadEpoch"),
        new Row("setData", Znodes.CONTROLLER_EPOCH, Steps.ANY, "IncrementEpoch"),
        new Row("getChildren", Znodes.BROKER_IDS, Steps.ANY, "ReadBrokers"),
        new Row("getData", Partition.STATE, "updateLeaderAndIsrCache", "ReadStates"),
        new Row("getData", Partition.STATE, "doElectLeaderForPartitions", "ReadPartitionState"),
        new Row("setData", Partition.STATE, "doElectLeaderForPartitions", "UpdateLeaderAndIsr"),
        new Row("setData", Partition.STATE, Steps.ANY, Steps.UNKNOWN));

    private EarlierSteps() { }
}
