"""Broker: one broker of a cluster in memory, made of the parts that obey a controller.

`ReplicaManager` keeps its replicas, and `DataPlane` their logs. `KafkaApis` answers its controller.
`AlterPartitionManager` or, until 2.6, `ZkAlterPartitionManager` changes its ISRs. `KafkaServer` shuts it down.

A follower that has caught up joins the ISR by its fetch. After a refusal Kafka's leader asks again at the next one;
here a follower that would learn nothing does not fetch, so the leader remembers refusals until something changes
(`retry_refused_isrs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from election.ids import BrokerEpoch, BrokerId, LeaderEpoch
from statemachines.broker.alter_partition_manager import AlterPartitionManager, IsrUpdate, ZkAlterPartitionManager
from statemachines.broker.data_plane import DataPlane, Settings
from statemachines.broker.hosted_partition import Changes, CommittedPartitionState, HostedPartitions, InMemoryReplicas
from statemachines.broker.in_sync_replicas import may_expire
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.kafka_server import (
    CONTROLLED_SHUTDOWN_MAX_RETRIES,
    AskController,
    Backoff,
    KafkaServer,
    NotAnswered,
    ShutdownStep,
)
from statemachines.broker.log import leader_epoch_checkpoint, offset_checkpoint
from statemachines.broker.log.unified_log import Disk
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.broker.partition import Milliseconds
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from statemachines.controller.calls import EventFailure
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import ControlResponse
from statemachines.controller.controlled_shutdown import controlled_shutdown_response
from statemachines.controller.zk_requests import ZkRequest, ZkResponse
from statemachines.messages.control_requests import ControlRequest, UpdateMetadataRequest
from statemachines.messages.errors import Errors
from statemachines.messages.records import Offset, Produced
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.zookeeper.tree import Code

HIGH_WATERMARK_CHECKPOINT_MS: Final[Milliseconds] = 5_000
"""How often a broker writes its high watermarks, by default."""
ISR_CHANGE_PROPAGATION_MS: Final[Milliseconds] = 2_500
"""How often a leader looks whether it should notify the controller of ISRs [until 2.6]."""
ISR_CHANGE_BLACKOUT_MS: Final[Milliseconds] = 5_000
"""It does so when no ISR has changed for longer than this,"""
ISR_CHANGE_INTERVAL_MS: Final[Milliseconds] = 60_000
"""or when it has not done so for longer than this."""


class Task(NamedTuple):
    """What a broker does again and again, by the clock."""

    period: Milliseconds
    run: Callable[[], object]


class Broker:
    """One broker, running or not.

    Args:
        broker: its id.
        design: the design of its release.
        broker_epoch: returns the epoch of its registration, as far as the broker knows.
        ask_zookeeper: sends requests to ZooKeeper in the broker's session.
        settings: the rules, the clock and the configuration of its logs.
    """

    def __init__(
        self,
        broker: BrokerId,
        design: ControlDesign,
        broker_epoch: Callable[[], BrokerEpoch],
        ask_zookeeper: Callable[[tuple[ZkRequest, ...]], tuple[ZkResponse, ...]],
        settings: Settings,
    ) -> None:
        self.broker, self.design, self.broker_epoch = broker, design, broker_epoch
        self.settings = settings
        self.is_running = False
        self.ask_zookeeper = ask_zookeeper
        self.disks: dict[TopicPartition, Disk] = {}
        """What the broker finds when it starts."""
        self.changes = Changes()
        """Which fetches may have something to do now."""
        self._replicas = InMemoryReplicas(all_partitions=HostedPartitions(self.changes))
        self._make()

    def _make(self) -> None:
        """Start from a process that knows nothing but its logs."""
        self.metadata_cache = MetadataCache()
        self.server = self._made_server(CONTROLLED_SHUTDOWN_MAX_RETRIES)
        self.shutdown = None
        self.awaits_controller = False
        """It has asked the controller for permission to stop, and waits for the reply."""
        self.remaining: tuple[TopicPartition, ...] = ()
        """The partitions that it still leads, by the last reply."""
        self.replica_manager = ReplicaManager(
            self.broker, self.metadata_cache, self._replicas, self.design, lambda: self.shutdown is not None
        )
        self.replica_manager.restart()
        self.data_plane = DataPlane(
            self.broker, self.replica_manager.state, self.metadata_cache, self.settings, self.disks, self.changes
        )
        self.replica_manager.data_plane = self.data_plane
        self.apis = KafkaApis(self.replica_manager, self.broker_epoch)
        self.isr_changes: AlterPartitionManager | ZkAlterPartitionManager = (
            AlterPartitionManager(self.replica_manager, self.broker_epoch)
            if self.design.alter_partition
            else ZkAlterPartitionManager(self.replica_manager)
        )
        if isinstance(self.isr_changes, AlterPartitionManager) and self.settings.design.clear_pending:
            self.data_plane.clear_pending = self.isr_changes.clear_pending
        self._awaits_isrs = False
        """It has asked the controller for ISR changes, and waits for the reply."""
        self._lacking: dict[TopicPartition, None] = {}
        """The partitions that it leads with a replica outside the ISR."""
        self._refused: set[PartitionAndReplica] = set()
        self._last_isr_change = self._last_notification = self.settings.now()
        design = self.settings.design
        self.tasks = {
            "isr-expiration": Task(design.replica_lag_time_max_ms // (1 + design.expire_twice), self.shrink_isrs),
            "highwatermark-checkpoint": Task(HIGH_WATERMARK_CHECKPOINT_MS, self.data_plane.checkpoint),
        }
        """The tasks of its scheduler, by Kafka's names."""
        if not self.design.alter_partition:
            self.tasks["isr-change-propagation"] = Task(ISR_CHANGE_PROPAGATION_MS, self.maybe_propagate_isr_changes)

    # Clients.

    def produce(self, partition: TopicPartition, produced: Produced) -> None:
        """A producer sends a record [handleProduceRequest]."""
        if self._has_heard_of(partition):
            self.data_plane.append(partition, produced)
        elif produced.acks != 0:
            produced.error = Errors.UNKNOWN_TOPIC_OR_PARTITION

    def consume(self, partition: TopicPartition, offset: Offset) -> tuple[Any, ...] | Errors:
        """A consumer reads from an offset on [handleFetchRequest]."""
        if self._has_heard_of(partition):
            return self.data_plane.consume(partition, offset)
        return Errors.UNKNOWN_TOPIC_OR_PARTITION

    def _has_heard_of(self, partition: TopicPartition) -> bool:
        """Whether UpdateMetadata has named the partition or, until 1.1, another of its topic."""
        known = self.metadata_cache.state.partition_states
        if self.settings.design.look_up_partition:
            return partition in known
        return any(each.topic == partition.topic for each in known)

    # Start and stop.

    @property
    def shutdown(self) -> ShutdownStep | None:
        """The next step of its shutdown; None if it is not shutting down."""
        return self._shutdown

    @shutdown.setter
    def shutdown(self, step: ShutdownStep | None) -> None:
        self._shutdown = step
        self.backoff_ends = self.settings.now() + step.milliseconds if isinstance(step, Backoff) else None
        """When it need not wait any longer; None if it does not wait."""

    def start(self) -> None:
        """The process starts."""
        self._make()
        self.is_running = True

    def stop(self, cleanly: bool = False, keep: Callable[[TopicPartition], int | None] = lambda _: None) -> None:
        """The process ends; its logs stay.

        Args:
            cleanly: it stops by itself, and writes everything to the disk.
            keep: otherwise, how many records of a log are left; None for all.
        """
        self.is_running = False
        if cleanly:
            self.data_plane.stopped()
        else:
            self.data_plane.left(keep)
        self._make()

    @property
    def files(self) -> dict[str, str]:
        """The texts of the files beside its logs, by path: the high watermarks and, since 0.11, the leader epochs."""
        texts = {
            offset_checkpoint.NAME: offset_checkpoint.render(
                {each: it.high_watermark for each, it in self.disks.items()}
            )
        }
        if self.settings.design.epochs_in_records:
            for partition, disk in self.disks.items():
                epochs = self.data_plane.partitions[partition].log.epochs if self.is_running else disk.epochs
                texts[f"{partition}/{leader_epoch_checkpoint.NAME}"] = leader_epoch_checkpoint.render(epochs)
        return texts

    def shut_down(self, attempts: int = CONTROLLED_SHUTDOWN_MAX_RETRIES) -> None:
        """Begin a controlled shutdown.

        Args:
            attempts: how often it asks the controller for permission.
        """
        self.server = self._made_server(attempts)
        self.shutdown = self.server.controlled_shutdown()

    def shutdown_answered(self, answer: tuple[TopicPartition, ...] | EventFailure | Code | None) -> None:
        """Process the controller's reply: the partitions still led, or the failure; None if there is no reply."""
        assert isinstance(self.shutdown, AskController)
        self.awaits_controller = False
        self.remaining = answer if isinstance(answer, tuple) else ()
        response = NotAnswered.Lost if answer is None else controlled_shutdown_response(answer)
        self.shutdown = self.server.answered(self.shutdown, response)

    def _made_server(self, attempts: int) -> KafkaServer:
        return KafkaServer(self.broker, self.metadata_cache, self.broker_epoch, self.design, attempts)

    # Requests of the controller.

    def handle(self, request: ControlRequest) -> ControlResponse:
        """Handle a controller's request, and return the response."""
        alive = self.metadata_cache.state.alive_brokers
        response = self.apis.handle(request)
        if isinstance(request, UpdateMetadataRequest):
            if alive != self.metadata_cache.state.alive_brokers:
                self.changes.isrs.update(self._lacking)
        else:
            self._look_at(each.partition for each in request.partitionStates)
        return response

    # Changes of ISRs.

    def may_expand_isr(self, partition: TopicPartition, replica: BrokerId) -> bool:
        """Whether a follower that has caught up would join the ISR, or be proposed."""
        if partition not in self._lacking or replica in self.replica_manager.led(partition).state.isr:
            return False
        if PartitionAndReplica(partition, replica) in self._refused:
            return False
        if isinstance(self.isr_changes, AlterPartitionManager) and (
            partition in self.isr_changes.state.unsent_isr_updates
        ):
            return False
        return self.isr_changes.may_expand_isr(partition, replica)

    def expand_isr(self, partition: TopicPartition, replica: BrokerId) -> None:
        """A follower has caught up, and should join the ISR. Until 2.6 that is written at once."""
        if isinstance(self.isr_changes, AlterPartitionManager):
            self.isr_changes.maybe_expand_isr(partition, replica)
        else:
            self._write(partition, self.isr_changes.maybe_expand_isr(partition, replica))
            leader_epoch = self.replica_manager.led(partition).leader_epoch
            self._changed(partition, (replica,), leader_epoch)

    def shrink_isrs(self) -> None:
        """The task that removes replicas from ISRs that have lagged behind for too long [maybeShrinkIsr].

        A failure ends it before it has looked at all partitions.
        """
        shrink_with_unassigned = self.design.shrink_with_unassigned
        for partition, lagging in self.data_plane.out_of_sync():
            hosted = self.replica_manager.led(partition)
            if not may_expire(hosted.state.isr, self.broker, hosted.assignment.replicas, shrink_with_unassigned):
                return
            if isinstance(self.isr_changes, AlterPartitionManager):
                self.isr_changes.maybe_shrink_isr(partition, lagging)
            else:
                self._write(partition, self.isr_changes.maybe_shrink_isr(partition, lagging))
                self._look_at((partition,))
                self.data_plane.advance(partition)

    def _write(self, partition: TopicPartition, update: IsrUpdate | None) -> None:
        """Write an ISR to ZooKeeper [until 2.6]."""
        assert isinstance(self.isr_changes, ZkAlterPartitionManager)
        while update is not None:
            responses = self.ask_zookeeper(self.isr_changes.requests(update))
            update = self.isr_changes.answered(update, responses)
            self._last_isr_change = self.settings.now()

    @property
    def isr_changes_to_send(self) -> tuple[TopicPartition, ...]:
        """Partitions to report to the controller now: to request ISRs, or until 2.6 to notify it of changes."""
        if isinstance(self.isr_changes, ZkAlterPartitionManager):
            return tuple(sorted(self.isr_changes.state.isr_change_set))
        return () if self._awaits_isrs else tuple(sorted(self.isr_changes.state.unsent_isr_updates))

    def alter_partition_request(self) -> AlterPartitionRequest:
        """The request to the controller, new or repeated for lack of a reply [since 2.7]."""
        assert isinstance(self.isr_changes, AlterPartitionManager)
        self._awaits_isrs = True
        in_flight = self.isr_changes.state.in_flight
        request = self.isr_changes.maybe_propagate_isr_changes() if in_flight is None else in_flight.request
        assert request is not None
        return request

    def alter_partition_answered(self, response: AlterPartitionResponse | None) -> None:
        """Process the controller's reply; None if there is none, and the request must be sent again."""
        assert isinstance(self.isr_changes, AlterPartitionManager)
        self._awaits_isrs = False
        in_flight = self.isr_changes.state.in_flight
        assert in_flight is not None
        if self.isr_changes.answered(response or AlterPartitionResponse(Errors.NOT_CONTROLLER)):
            for partition, change in in_flight.proposed:
                sent = change.sent_leader_and_isr
                self._changed(partition, sent.isr, sent.leader_epoch)
                if self.settings.design.advance_on_commit:
                    self.data_plane.advance(partition)

    def maybe_propagate_isr_changes(self) -> None:
        """The task that notifies the controller of the ISRs that have changed, if it is time [until 2.6]."""
        now = self.settings.now()
        is_quiet = self._last_isr_change + ISR_CHANGE_BLACKOUT_MS < now
        if is_quiet or self._last_notification + ISR_CHANGE_INTERVAL_MS < now:
            self.notify_isr_changes()

    def notify_isr_changes(self) -> None:
        """Notify the controller of the ISRs that have changed [until 2.6]."""
        assert isinstance(self.isr_changes, ZkAlterPartitionManager)
        notification = self.isr_changes.isr_change_notification()
        if notification is not None:
            (response,) = self.ask_zookeeper((notification,))
            if response.code is Code.OK:
                self.isr_changes.notified()
                self._last_notification = self.settings.now()

    def retry_refused_isrs(self) -> None:
        """The cluster has changed: refused changes may be requested again."""
        self.changes.isrs.update(each.topic_partition for each in self._refused)
        self._refused.clear()

    def _changed(self, partition: TopicPartition, isr: Iterable[BrokerId], leader_epoch: LeaderEpoch) -> None:
        """Note which of the requested replicas are missing, so refused, unless a later leader epoch has begun."""
        self._look_at((partition,))
        hosted = self.replica_manager.state.all_partitions.get(partition)
        if hosted is None or not isinstance(hosted.state, CommittedPartitionState):
            return
        if hosted.leader_epoch == leader_epoch:
            self._refused |= {PartitionAndReplica(partition, each) for each in isr if each not in hosted.state.isr}

    def _look_at(self, partitions: Iterable[TopicPartition]) -> None:
        """Check again which of these partitions have a replica outside the ISR."""
        for partition in partitions:
            self.changes.isrs.add(partition)
            hosted = self.replica_manager.state.all_partitions.get(partition)
            if (
                hosted is None
                or not hosted.is_led_by(self.broker)
                or {*hosted.assignment.replicas} <= {*hosted.state.isr}
            ):
                self._lacking.pop(partition, None)
            else:
                self._lacking[partition] = None
