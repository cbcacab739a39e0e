"""Our broker and Kafka's receive the same requests; their observations are compared after each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from election.ids import BrokerEpoch
from spec.kafka.java import SOURCES, sources_for
from spec.kafka.pure import SHARED, PureCalls, protocol
from statemachines.broker.hosted_partition import CommittedPartitionState, Fetching, HostedPartition
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.metadata_cache import InMemoryMetadata, MetadataCache
from statemachines.broker.replica_manager import LeadershipChange, LogFailure, ReplicaManager
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import ControlResponse, UpdateMetadataResponse
from statemachines.messages.control_requests import (
    UNKNOWN_BROKER_EPOCH,
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
)
from statemachines.messages.leader_and_isr import NO_EPOCH
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import Release

BROKER = 1
BROKER_EPOCH = 100
"""The epoch of its first registration."""

RELEASE: Final = "3.9.1"
OLDER: Final = ("2.8.2", "2.6.3", "2.4.1", "2.2.2", "2.0.1", "1.1.1", "1.0.2")
"""The releases whose receiving broker runs, besides the newest."""
REASSIGNMENTS_KEPT: Final = Release("2.5.0")
"""The first release whose brokers remember which replicas are added and removed."""
REPLICAS_IN_ORDER: Final = Release("2.4.0")
"""The first that remembers replicas in order, also those of a partition that it never led or followed."""
LEADER_LOOKED_UP: Final = Release("2.0.0")
"""The first that ignores whether a leader is in its ISR; every controller ensures that it is."""
EPOCHS_FETCHED: Final = Release("2.1.0")
"""The first whose fetchers know leader epochs."""

Observation: TypeAlias = dict[str, Any]
"""The observation of a broker after a command."""


class KafkaReceivers(PureCalls):
    """Receiving brokers of a release of Kafka, and channels to brokers, from `__enter__` to `__exit__`.

    Args:
        release: one that can run.
        patch: the name of a patch of Kafka's source; none by default.
    """

    def __init__(self, release: str, patch: str = "") -> None:
        own = sources_for(release, SOURCES / "receiver")
        super().__init__(release, "receiver", [*SHARED, *protocol(release), *own], patch)


class Receive(NamedTuple):
    """It receives a request."""

    request: ControlRequest
    topic_ids: Mapping[str, int] = {}
    """A number for each topic that has an id; only Kafka receives these."""
    failing: tuple[str, ...] = ()
    """Partitions whose logs can be neither created nor deleted."""
    unread: tuple[str, ...] = ()
    """Topics whose configuration cannot be read."""

    def failures(self) -> Mapping[TopicPartition, LogFailure]:
        """The failures by partition; a directory is created before the configuration is read."""
        named = (state.partition for state in self.request.partitionStates)
        return {
            each: LogFailure.Storage if str(each) in self.failing else LogFailure.ConfigNotRead
            for each in named
            if str(each) in self.failing or each.topic in self.unread
        }


class FailDirectory(NamedTuple):
    """One of its three log directories fails."""

    number: int


class Restart(NamedTuple):
    """Its process starts anew."""


class Register(NamedTuple):
    """It registers again."""

    epoch: BrokerEpoch


class ShutDown(NamedTuple):
    """Its process is shutting down."""


Command: TypeAlias = Receive | FailDirectory | Restart | Register | ShutDown


def as_of(release: str, sequence: Iterable[Command]) -> list[Command]:
    """The commands, with requests limited to what a controller of this release could send."""
    return [_as_of(release, command) for command in sequence]


def _as_of(release: str, command: Command) -> Command:
    if not isinstance(command, Receive):
        return command
    request, design = command.request, ControlDesign(release)
    if not design.broker_epoch:
        request = request._replace(brokerEpoch=UNKNOWN_BROKER_EPOCH)
    if isinstance(request, LeaderAndIsrRequest) and Release(release) < LEADER_LOOKED_UP:
        request = request._replace(partitionStates=tuple(map(_leader_in_sync, request.partitionStates)))
    if isinstance(request, StopReplicaRequest) and not design.fence_stop:
        request = request._replace(
            deletePartitions=any(state.deletePartition for state in request.partitionStates),
            partitionStates=tuple(
                StopReplicaPartitionState(state.partition, NO_EPOCH, False) for state in request.partitionStates
            ),
        )
    return command._replace(request=request)


def _leader_in_sync(state: LeaderAndIsrPartitionState) -> LeaderAndIsrPartitionState:
    in_sync = state.leader in state.isr or state.leader not in state.replicas
    return state if in_sync else state._replace(isr=(state.leader, *state.isr))


def _written_all(sequence: Sequence[Command]) -> Any:
    """A sequence in the form that `Receivers.java` takes."""
    return {"broker_epoch": BROKER_EPOCH, "commands": list(map(_written, sequence))}


def _written(command: Command) -> Any:
    match command:
        case Receive(request, topic_ids, failing, unread):
            return {
                "do": "receive",
                **request_written(request),
                "topic_ids": topic_ids,
                "failing": failing,
                "unread": unread,
            }
        case FailDirectory(number):
            return {"do": "fail_directory", "number": number}
        case Restart():
            return {"do": "restart"}
        case Register(epoch):
            return {"do": "register", "epoch": epoch}
        case ShutDown():
            return {"do": "shut_down"}


def request_written(request: ControlRequest) -> Mapping[str, Any]:
    """A request in the form that `ControlRequests.java` takes."""
    return {"request": type(request).__name__, "content": _fields(request)}


def _fields(record: Any) -> Any:
    """A record by the names of its fields; a partition, by those of Kafka's schemas."""
    if hasattr(record, "_asdict"):
        fields = {name: _fields(value) for name, value in record._asdict().items() if name != "partition"}
        topic, index = getattr(record, "partition", (None, None))
        return fields if topic is None else {"topicName": topic, "partitionIndex": index, **fields}
    return list(map(_fields, record)) if isinstance(record, tuple) else record


def all_asked(
    kafka: KafkaReceivers, sequences: Iterable[Sequence[Command]]
) -> Iterator[tuple[Sequence[Command], Sequence[Observation]]]:
    """Sequences, each with Kafka's observations."""
    return kafka.of("Receivers", sequences, _written_all, a_line=10)


def asked(kafka: KafkaReceivers, *sequence: Command) -> tuple[Sequence[Command], Sequence[Observation]]:
    """A sequence, and Kafka's observations."""
    return next(all_asked(kafka, [sequence]))


def compare(
    sequence: Sequence[Command],
    seen: Sequence[Observation],
    kind: type[ReplicaManager] = ReplicaManager,
    release: str = RELEASE,
) -> None:
    """Run our broker beside Kafka's observations; AssertionError names the first command where they differ."""
    for number, (kafkas, ours) in enumerate(zip(seen, ours_of(sequence, seen, kind, release), strict=True)):
        differences = [f"{key}: Kafka {kafkas[key]}, here {ours[key]}" for key in ours if kafkas[key] != ours[key]]
        assert not differences, "\n".join(["after", *map(str, sequence[: number + 1]), *differences])


def with_other(rule: str) -> type[ReplicaManager]:
    """A broker with this rule reversed from its release."""

    class TurnedRound(ReplicaManager):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            changed: dict[str, Any] = {rule: not getattr(self.design, rule)}
            self.design = self.design.but(**changed)

    return TurnedRound


def ours_of(
    sequence: Sequence[Command],
    seen: Sequence[Observation],
    kind: type[ReplicaManager] = ReplicaManager,
    release: str = RELEASE,
) -> Iterator[Observation]:
    """The observations of our broker. Kafka's determine the directory of each log."""
    broker = Receiver(release, kind)
    where: Mapping[str, int] = {}
    for command, kafkas in zip(sequence, seen, strict=True):
        answered = broker.carry_out(command, where)
        where = kafkas["logs"]
        put_in_order(kafkas, release)
        yield {**answered, **broker.seen(where)}


class Receiver:
    """Our broker 1, of a release of Kafka, which has received nothing yet."""

    def __init__(self, release: str, kind: type[ReplicaManager] = ReplicaManager) -> None:
        self.release = Release(release)
        self.cache = MetadataCache()
        self.is_shutting_down = False
        self.manager = kind(
            BROKER,
            self.cache,
            design=ControlDesign(release),
            is_shutting_down=lambda: self.is_shutting_down,
        )
        self.broker_epoch = BROKER_EPOCH
        self._changes: list[LeadershipChange] = []
        self.apis = KafkaApis(self.manager, lambda: self.broker_epoch, self._changes.append)

    def carry_out(self, command: Command, where: Mapping[str, int]) -> Observation:
        """Carry out a command; the response, if it is a request."""
        match command:
            case Receive(request):
                self._changes.clear()
                response = self.apis.handle(request, command.failures())
                return {**_answered(response), **self._changed()}
            case FailDirectory(number):
                there = [each for each in self.manager.state.logs if where[str(each)] == number]
                self.manager.handle_log_dir_failure(there)
            case Restart():
                self.is_shutting_down = False
                self.manager.restart()
                self.cache.state = InMemoryMetadata()
            case Register(epoch):
                self.broker_epoch = epoch
            case ShutDown():
                self.is_shutting_down = True
        return {}

    def seen(self, where: Mapping[str, int]) -> Observation:
        """The whole observation, with logs in Kafka's directories."""
        state = self.manager.state
        metadata = self.cache.state
        return {
            "controller_epoch": state.controller_epoch,
            "all_partitions": {str(each): self._hosted(hosted) for each, hosted in state.all_partitions.items()},
            "fetchers": {str(each): self._fetching(fetching) for each, fetching in state.fetchers.items()},
            "logs": {str(each): where.get(str(each)) for each in state.logs},
            "metadata": {
                "controller_id": metadata.controller_id,
                "alive_brokers": sorted(metadata.alive_brokers),
                "partition_states": _in_order(map(_fields, metadata.partition_states.values())),
            },
        }

    def _changed(self) -> Observation:
        """The partitions that it has begun to lead or to follow."""
        _, leaders, followers = self._changes[-1] if self._changes else (None, (), ())
        return {"leaders": sorted(map(str, leaders)), "followers": sorted(map(str, followers))}

    def _hosted(self, hosted: HostedPartition) -> Observation | None:
        """A partition, as far as its release shows it; None if its directory has failed."""
        if not hosted.online:
            return None
        assert isinstance(hosted.state, CommittedPartitionState)  # no ISR is changed here
        isr, (replicas, adding, removing) = hosted.state.isr, hosted.assignment
        if self.release < REASSIGNMENTS_KEPT:
            adding = removing = ()
        if self.release < REPLICAS_IN_ORDER:
            isr, replicas = (isr, tuple(sorted(replicas))) if hosted.leader is not None else ((), ())
        return {
            "leader": hosted.leader,
            "leader_epoch": hosted.leader_epoch,
            "partition_epoch": hosted.partition_epoch,
            "controller_epoch": hosted.controller_epoch,
            "isr": sorted(isr),
            "leader_recovery_state": hosted.state.leader_recovery_state,
            "replicas": list(replicas),
            "adding": list(adding),
            "removing": list(removing),
        }

    def _fetching(self, fetching: Fetching) -> list[int]:
        """The broker that a replica is fetched from, and the leader epoch, as far as its release shows them."""
        return list(fetching) if self.release >= EPOCHS_FETCHED else [fetching.leader]


def _answered(response: ControlResponse) -> Observation:
    outcomes = () if isinstance(response, UpdateMetadataResponse) else response.partitionErrors
    return {
        "error": response.errorCode.name,
        "partitions": {str(partition): error.name for partition, error in outcomes},
    }


def put_in_order(kafkas: Observation, release: str) -> None:
    """Sort what Scala's sets and maps leave unordered."""
    for names in (kafkas["leaders"], kafkas["followers"], kafkas["metadata"]["alive_brokers"]):
        names.sort()
    for hosted in filter(None, kafkas["all_partitions"].values()):
        hosted["isr"].sort()
        if Release(release) < REPLICAS_IN_ORDER:
            hosted["replicas"].sort()
    kafkas["metadata"]["partition_states"] = _in_order(kafkas["metadata"]["partition_states"])


def _in_order(states: Iterable[Observation]) -> list[Observation]:
    """The known partitions, in order."""
    return sorted(states, key=lambda state: (state["topicName"], state["partitionIndex"]))
