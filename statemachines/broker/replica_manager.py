"""ReplicaManager: how a broker obeys a controller: it leads, follows, stops, and learns of the cluster.

Each request is first checked as a whole by its controller's epoch: one that is older than the newest seen is refused,
and changes nothing. Then each partition is checked by itself:

    LeaderAndIsr     an offline log directory: KAFKA_STORAGE_ERROR. A leader epoch that is not newer than the
                     replica's: STALE_CONTROLLER_EPOCH. Not one of the replicas: UNKNOWN_TOPIC_OR_PARTITION. Else the
                     broker leads or follows: first all that it leads; the followers' fetchers start last
    StopReplica      an older leader epoch: FENCED_LEADER_EPOCH, except for -1 (none was sent) and -2 (the topic is
                     being deleted). Else the replica stops fetching; the delete flag also removes it and its log
    UpdateMetadata   is accepted

A replica follows a leader only if the metadata cache lists the leader as alive. Otherwise it keeps its role and its
epochs, its log is created, and the response is still NONE: if LeaderAndIsr arrives before UpdateMetadata, replicas
follow no leader [KAFKA-4443].

Until 3.0 a replica without an open log after LeaderAndIsr counts as offline (`offline_without_log`). That includes a
replica that was unknown before and is refused now, because a log is opened only when the broker leads or follows. A
log that is not open does not fail with its directory: the replica stays.

A request with the replica's own leader epoch is refused, so LeaderAndIsr alone changes no ISR. If the replica's log
is not open then, the whole request is refused with NOT_LEADER_OR_FOLLOWER, whatever else it contains: Kafka looks for
the log to set its topic id, and finds none [localLogOrException]. Until 3.5 a replica without log has no epoch.

A missing log is created, with the topic's configuration from ZooKeeper. Until 2.5 the configuration is read for each
replica whose log is not open, even if it exists (`config_for_new_log`). Failures are arguments (`LogFailure`). A
broker with a failed log directory creates logs only for new replicas: another replica's log may be in that directory.
For the same reason it answered KAFKA_STORAGE_ERROR until 2.6 to the deletion of a replica without log
(`delete_missing_log`), and from 1.1 to 2.0 to any deletion (`delete_future_replica`).

A broker that is shutting down (`kafka_server`) obeys like any other, but starts no fetchers. It stops fetching the
partitions that it should follow, and does not start again.

A `DataPlane` keeps the logs, if there is one: it hears of each log, leader and follower. Left out: the log
directories, except that one has failed; topic ids. Partitions are handled in the order of the request, where Kafka
iterates over hash maps.

Not modelled, in older releases: until 2.3 the replicas of a partition had no order; until 1.1 a leader outside its
ISR ended the request, but no controller sends that; until 0.11 a failed log directory stopped the broker.

[ReplicaManager.scala, 3.9]
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from election.ids import BrokerId, LeaderEpoch
from statemachines.broker.data_plane import DataPlane
from statemachines.broker.hosted_partition import (
    OFFLINE_PARTITION,
    Fetching,
    HostedPartition,
    InMemoryReplicas,
    ReplicaManagerState,
    is_newer_leader_epoch,
)
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import (
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from statemachines.controller.design import accepts_controller_epoch
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import EPOCH_DURING_DELETE, NO_EPOCH
from statemachines.messages.topic_partition import TopicPartition


class LogFailure(Enum):
    """Why a log cannot be created or deleted."""

    Storage = "the log directory fails [KafkaStorageException]"
    ConfigNotRead = "the topic's configuration cannot be read from ZooKeeper [ZooKeeperClientException]"

    def __str__(self) -> str:
        return self.name


NO_FAILURES: Final[Mapping[TopicPartition, LogFailure]] = MappingProxyType({})
"""No failures."""


class LeadershipChange(NamedTuple):
    """The effects of LeaderAndIsr."""

    response: LeaderAndIsrResponse
    leaders: tuple[TopicPartition, ...] = ()
    """The partitions that this broker leads now, and did not lead before."""
    followers: tuple[TopicPartition, ...] = ()
    """The partitions that it follows under another leader or in another epoch. It begins to fetch them, unless it is
    shutting down."""


class _CutShort(Exception):
    """Kafka does not expect this failure, and abandons the rest of the request.

    Args:
        error: the error of the response and of each partition.
    """

    def __init__(self, error: Errors) -> None:
        super().__init__(error)
        self.error = error


@dataclass
class _Handling:
    """The state of a request while it is handled."""

    failures: Mapping[TopicPartition, LogFailure]
    """Failures of logs."""
    errors: dict[TopicPartition, Errors]
    """The outcome of each partition."""
    logs: list[TopicPartition] = field(default_factory=list)
    """The logs created or deleted. They are added or removed all at once."""


class ReplicaManager:
    """The replicas of one broker.

    >>> partition_state = LeaderAndIsrPartitionState(TopicPartition("t", 0), 5, 1, 3, (1, 2), 7, (1, 2))
    >>> manager = ReplicaManager(1, MetadataCache())
    >>> change = manager.become_leader_or_follower(LeaderAndIsrRequest(9, 5, 101, (partition_state,), (1,)))
    >>> change.leaders, manager.state.all_partitions[TopicPartition("t", 0)].leader_epoch
    ((TopicPartition(topic='t', partition=0),), 3)
    """

    def __init__(
        self,
        broker: BrokerId,
        metadata_cache: MetadataCache,
        state: ReplicaManagerState | None = None,
        design: ControlDesign | None = None,
        is_shutting_down: Callable[[], bool] = lambda: False,
    ) -> None:
        self.data_plane: DataPlane | None = None
        """The logs, if they are kept."""
        self.broker, self.metadata_cache = broker, metadata_cache
        self.state: ReplicaManagerState = InMemoryReplicas() if state is None else state
        self.design = ControlDesign() if design is None else design
        self.is_shutting_down = is_shutting_down
        """Whether the broker is shutting down [isShuttingDown]."""

    # The three requests.

    def become_leader_or_follower(
        self, request: LeaderAndIsrRequest, failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES
    ) -> LeadershipChange:
        """Handle LeaderAndIsr; `failures` are of logs that are created.

        Raises:
            ValueError: the request contains a partition twice; nothing has changed.
        """
        states = _by_partition(request.partitionStates)
        if not self._is_current_controller(request):
            refused = _refused(states, Errors.STALE_CONTROLLER_EPOCH)
            return LeadershipChange(
                refused if self.design.error_per_partition else refused._replace(partitionErrors=())
            )
        handling = _Handling(failures, {})
        try:
            handling.errors.update(
                (each, self._leader_and_isr_error(each, partition_state)) for each, partition_state in states.items()
            )
            accepted = {
                each: partition_state
                for each, partition_state in states.items()
                if handling.errors[each] is Errors.NONE
            }
            leading = {
                partition: partition_state
                for partition, partition_state in accepted.items()
                if partition_state.leader == self.broker
            }
            following = {
                partition: partition_state
                for partition, partition_state in accepted.items()
                if partition_state.leader != self.broker
            }
            leaders = self._make_leaders(leading, handling)
            followers = self._make_followers(following, handling)
        except _CutShort as cut_short:
            self._note_logs(handling)
            failed = _refused(states, cut_short.error)
            return LeadershipChange(
                failed if self.design.error_per_partition else failed._replace(errorCode=Errors.NONE)
            )
        self._note_logs(handling)
        if self.data_plane is not None:
            self.data_plane.end_idle_threads()
        if self.design.offline_without_log:
            for partition in states:
                if not self.state.all_partitions[partition].has_log:
                    self.state.all_partitions[partition] = OFFLINE_PARTITION
        return LeadershipChange(LeaderAndIsrResponse(Errors.NONE, tuple(handling.errors.items())), leaders, followers)

    def _note_logs(self, handling: _Handling) -> None:
        """Note the logs that were created, also if the request was cut short."""
        if handling.logs:
            self.state.logs |= frozenset(handling.logs)

    def stop_replicas(
        self, request: StopReplicaRequest, failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES
    ) -> StopReplicaResponse:
        """Handle StopReplica: stop replicas, and delete those with the delete flag; `failures` are of their logs.

        Raises:
            ValueError: the request contains a partition twice; nothing has changed.
        """
        states = _by_partition(request.partitionStates)
        if not self._is_current_controller(request):
            return StopReplicaResponse(Errors.STALE_CONTROLLER_EPOCH)
        handling = _Handling(failures, {})
        for partition, partition_state in states.items():
            delete = request.deletePartitions or partition_state.deletePartition
            handling.errors[partition] = self._may_stop(partition, partition_state, delete)
            if handling.errors[partition] is Errors.NONE:
                self._stop(partition, delete, handling)
            elif delete and self.design.delete_future_replica:
                self.state.all_partitions.pop(partition)
        if handling.logs:
            self.state.logs -= frozenset(handling.logs)
        return StopReplicaResponse(Errors.NONE, tuple(handling.errors.items()))

    def maybe_update_metadata_cache(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Handle UpdateMetadata."""
        if not self._is_current_controller(request):
            return UpdateMetadataResponse(Errors.STALE_CONTROLLER_EPOCH)
        self.metadata_cache.update_metadata(request)
        return UpdateMetadataResponse(Errors.NONE)

    # Queries.

    def led(self, partition: TopicPartition) -> HostedPartition:
        """A partition that this broker leads.

        Raises:
            ValueError: this broker does not lead it.
        """
        hosted = self.state.all_partitions.get(partition)
        if hosted is None or not hosted.is_led_by(self.broker):
            raise ValueError(f"broker {self.broker} does not lead {partition}, and has no ISR to change")
        return hosted

    # Events of a broker.

    def handle_log_dir_failure(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """A log directory fails, with the logs of these partitions.

        Returns the partitions that are offline now. The broker notifies its controller through a node below
        /log_dir_event_notification.
        """
        gone = frozenset(partitions) & self.state.logs
        hosted = self.state.all_partitions.items()
        offline = tuple(partition for partition, its in hosted if its.has_log and partition in gone)
        for partition in offline:
            self._stop_fetching(partition)
            self.state.all_partitions[partition] = OFFLINE_PARTITION
            if self.data_plane is not None:
                self.data_plane.delete_log(partition)
        self.state.logs -= gone
        self.state.has_offline_log_dir = True
        return offline

    def restart(self) -> None:
        """The broker's process restarts: it has its logs, and no other state. A failed directory stays failed."""
        self.state.controller_epoch = 0
        self.state.all_partitions.clear()
        self.state.fetchers.clear()

    # Checks of requests.

    def _is_current_controller(self, request: ControlRequest) -> bool:
        """Whether the request's controller epoch is current; if so, note it."""
        takes = accepts_controller_epoch(self.state.controller_epoch, request.controllerEpoch)
        if takes:
            self.state.controller_epoch = request.controllerEpoch
        return takes

    def _leader_and_isr_error(self, partition: TopicPartition, state: LeaderAndIsrPartitionState) -> Errors:
        """The reason not to lead or to follow, or NONE; an unknown partition becomes known.

        Raises:
            _CutShort: the replica is in this epoch, and its log, which should get a topic id, is not open.
        """
        hosted = self.state.all_partitions.setdefault(partition, HostedPartition())
        if not hosted.online:
            return Errors.KAFKA_STORAGE_ERROR
        if state.leaderEpoch == hosted.leader_epoch and not hosted.has_log:
            raise _CutShort(Errors.NOT_LEADER_OR_FOLLOWER)
        if not is_newer_leader_epoch(hosted.leader_epoch, state.leaderEpoch):
            return Errors.STALE_CONTROLLER_EPOCH
        return Errors.NONE if self.broker in state.replicas else Errors.UNKNOWN_TOPIC_OR_PARTITION

    def _may_stop(self, partition: TopicPartition, state: StopReplicaPartitionState, delete: bool) -> Errors:
        """The reason not to stop a replica, or NONE."""
        hosted = self.state.all_partitions.get(partition)
        if hosted is None:
            return Errors.NONE
        if not self.design.fence_stop:
            return Errors.NONE if hosted.online or not delete else Errors.KAFKA_STORAGE_ERROR
        if not hosted.online:
            return Errors.KAFKA_STORAGE_ERROR
        oldest = hosted.leader_epoch if self.design.stop_at_same_epoch else hosted.leader_epoch + 1
        fenced = state.leaderEpoch not in (EPOCH_DURING_DELETE, NO_EPOCH) and state.leaderEpoch < oldest
        return Errors.FENCED_LEADER_EPOCH if fenced else Errors.NONE

    # Effects of requests.

    def _make_leaders(
        self, states: Mapping[TopicPartition, LeaderAndIsrPartitionState], handling: _Handling
    ) -> tuple[TopicPartition, ...]:
        for partition in states:
            self._stop_fetching(partition)
        made = []
        for partition, partition_state in states.items():
            hosted = self.state.all_partitions[partition]
            if self._is_ahead(hosted, partition_state):
                continue
            failure = self._create_log(partition, partition_state.isNew, handling)
            new = hosted.make_leader(partition_state, has_log=failure is None)
            if self._become(partition, new, failure, handling):
                if self.data_plane is not None:
                    self.data_plane.make_leader(partition, hosted)
                if not hosted.is_led_by(self.broker):
                    made.append(partition)
        return tuple(made)

    def _make_followers(
        self, states: Mapping[TopicPartition, LeaderAndIsrPartitionState], handling: _Handling
    ) -> tuple[TopicPartition, ...]:
        made = []
        for partition, partition_state in states.items():
            hosted = self.state.all_partitions[partition]
            if not self.metadata_cache.has_alive_broker(partition_state.leader):
                failure = self._create_log(partition, partition_state.isNew, handling)
                if failure is LogFailure.ConfigNotRead:
                    raise _CutShort(Errors.UNKNOWN_SERVER_ERROR)
                self._become(partition, hosted.with_log(), failure, handling)
                continue
            if self._is_ahead(hosted, partition_state):
                continue
            failure = self._create_log(partition, partition_state.isNew, handling)
            new = hosted.make_follower(partition_state, failure is None, self.design.epoch_after_log)
            if self._become(partition, new, failure, handling) and begins_anew(
                (hosted.leader, hosted.leader_epoch),
                (partition_state.leader, partition_state.leaderEpoch),
                self.design,
            ):
                made.append(partition)
                if self.data_plane is not None:
                    self.data_plane.make_follower(partition)
        for partition in made:
            self._stop_fetching(partition)
            if not self.is_shutting_down():
                partition_state = states[partition]
                self.state.fetchers[partition] = Fetching(partition_state.leader, partition_state.leaderEpoch)
                if self.data_plane is not None:
                    self.data_plane.begin_to_fetch(partition)
        return tuple(made)

    def _is_ahead(self, hosted: HostedPartition, state: LeaderAndIsrPartitionState) -> bool:
        """Whether the replica knows a later write to the partition's state; then it does not change."""
        return self.design.check_partition_epoch and state.partitionEpoch < hosted.partition_epoch

    def _become(
        self, partition: TopicPartition, hosted: HostedPartition, failure: LogFailure | None, handling: _Handling
    ) -> bool:
        """Store a partition's new state; return whether the change is complete.

        Raises:
            _CutShort: the failure ends the request.
        """
        if failure is LogFailure.Storage:
            self.state.all_partitions[partition] = OFFLINE_PARTITION
            handling.errors[partition] = Errors.KAFKA_STORAGE_ERROR
            return False
        self.state.all_partitions[partition] = hosted
        if failure is LogFailure.ConfigNotRead and not self.design.skip_unreadable_config:
            raise _CutShort(Errors.UNKNOWN_SERVER_ERROR)
        return failure is None

    def _create_log(self, partition: TopicPartition, is_new: bool, handling: _Handling) -> LogFailure | None:
        """Create a log, if there is none; return the failure [createLogIfNotExists, getOrCreateLog]."""
        failure = handling.failures.get(partition)
        is_open = self.state.all_partitions[partition].has_log
        if failure is LogFailure.ConfigNotRead and not is_open and not self.design.config_for_new_log:
            return failure
        if partition not in self.state.logs:
            if self.state.has_offline_log_dir and not is_new:
                return LogFailure.Storage
            if failure is not None:
                return failure
            handling.logs.append(partition)
        if self.data_plane is not None:
            self.data_plane.open_log(partition)
        return None

    def _stop_fetching(self, partition: TopicPartition) -> None:
        self.state.fetchers.pop(partition, None)
        if self.data_plane is not None:
            self.data_plane.stop_fetching(partition)

    def _stop(self, partition: TopicPartition, delete: bool, handling: _Handling) -> None:
        """Stop a replica, and with the flag delete it [stopPartitions]."""
        self._stop_fetching(partition)
        if not delete:
            return
        hosted = self.state.all_partitions.pop(partition, None)
        has_log = partition in self.state.logs
        fails = has_log and handling.failures.get(partition) is LogFailure.Storage
        if has_log and not fails:
            handling.logs.append(partition)
            if self.data_plane is not None:
                self.data_plane.delete_log(partition)
        if self.data_plane is not None:
            self.data_plane.stop_replica(partition)
        deletes_missing = self.design.delete_future_replica or (self.design.delete_missing_log and not has_log)
        if fails or (hosted is not None and self.state.has_offline_log_dir and deletes_missing):
            handling.errors[partition] = Errors.KAFKA_STORAGE_ERROR


def begins_anew(
    known: tuple[BrokerId | None, LeaderEpoch], heard: tuple[BrokerId, LeaderEpoch], design: ControlDesign
) -> bool:
    """Whether a replica that hears of its leader, in a later epoch, truncates its log and fetches anew.

    Args:
        known: the leader and the leader epoch that it knows.
        heard: those that it hears of.
        design: the rules of its release.

    [Partition.makeFollower, 0.10.1 to 3.9]
    """
    if design.truncate_every_epoch or known[0] != heard[0]:
        return True
    return design.truncate_missed_epoch and heard[1] > known[1] + 1


S = TypeVar("S", LeaderAndIsrPartitionState, StopReplicaPartitionState)


def _by_partition(states: Iterable[S]) -> dict[TopicPartition, S]:
    """The partition states of a request by partition.

    Raises:
        ValueError: a partition occurs twice.
    """
    found: dict[TopicPartition, S] = {}
    for partition_state in states:
        if partition_state.partition in found:
            raise ValueError(f"{partition_state.partition} occurs twice in a request")
        found[partition_state.partition] = partition_state
    return found


def _refused(partitions: Iterable[TopicPartition], error: Errors) -> LeaderAndIsrResponse:
    """A response with this error for the request and each partition [LeaderAndIsrRequest.getErrorResponse]."""
    return LeaderAndIsrResponse(error, tuple((partition, error) for partition in partitions))
