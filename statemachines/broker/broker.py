"""Broker: one broker of a cluster in memory, made of the parts that obey a controller.

It keeps replicas as `ReplicaManager` says, answers its controller by `KafkaApis`, changes ISRs by
`AlterPartitionManager` or, until 2.6, `ZkAlterPartitionManager`, and stops by `KafkaServer`.

Logs and fetchers are a seam (`Logs`): a follower that fetches catches up, unless `Logs` says otherwise. Then its
leader asks for it to join the ISR. A leader that was refused does not ask again until something else happens
(`retry_refused_isrs`). Left out: that leaders shrink ISRs by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

from election.ids import BrokerEpoch, BrokerId, LeaderEpoch
from statemachines.broker.alter_partition_manager import AlterPartitionManager
from statemachines.broker.hosted_partition import CommittedPartitionState
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.kafka_server import (
    CONTROLLED_SHUTDOWN_MAX_RETRIES,
    AskController,
    KafkaServer,
    NotAnswered,
    ShutdownStep,
)
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.broker.replica_manager import InMemoryReplicas, ReplicaManager
from statemachines.broker.zk_alter_partition_manager import ZkAlterPartitionManager
from statemachines.controller.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from statemachines.controller.calls import EventFailure
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import ControlResponse
from statemachines.controller.controlled_shutdown import controlled_shutdown_response
from statemachines.controller.kafka_zk_client import ZkRequest, ZkResponse
from statemachines.messages.control_requests import ControlRequest, UpdateMetadataRequest
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.zookeeper.tree import Code

__all__ = ["Broker", "AlwaysCaughtUp", "Logs"]


@runtime_checkable
class Logs(Protocol):
    """The logs of replicas, as far as ISRs depend on them."""

    def is_caught_up(self, replica: PartitionAndReplica, leader: BrokerId) -> bool:
        """Whether a follower that fetches from this leader has all that it needs to join the ISR."""


class AlwaysCaughtUp:
    """Logs of which nothing is kept: a replica that can catch up does."""

    def is_caught_up(self, replica: PartitionAndReplica, leader: BrokerId) -> bool:
        """It has."""
        return True


class Broker:
    """One broker, which runs or does not.

    Args:
        broker: its id.
        design: that of its release.
        broker_epoch: asked for the epoch of its registration, as far as the broker knows.
        ask_zookeeper: makes requests to ZooKeeper in the broker's session.
        logs: the logs of replicas.
    """

    def __init__(
        self,
        broker: BrokerId,
        design: ControlDesign,
        broker_epoch: Callable[[], BrokerEpoch],
        ask_zookeeper: Callable[[tuple[ZkRequest, ...]], tuple[ZkResponse, ...]],
        logs: Logs,
    ) -> None:
        self.broker, self.design, self.broker_epoch = broker, design, broker_epoch
        self.logs = logs
        self.is_running = False
        self.ask_zookeeper = ask_zookeeper
        self._replicas = InMemoryReplicas()
        self._make()

    def _make(self) -> None:
        """A process that knows nothing but its logs."""
        self.metadata_cache = MetadataCache()
        self.server = self._made_server(CONTROLLED_SHUTDOWN_MAX_RETRIES)
        self.shutdown: ShutdownStep | None = None
        """What is due while it stops; None: it has not begun to."""
        self.awaits_controller = False
        """It has asked the controller to be let go, and waits for the answer."""
        self.remaining: tuple[TopicPartition, ...] = ()
        """What it still leads, by the last answer."""
        self.replica_manager = ReplicaManager(
            self.broker, self.metadata_cache, self._replicas, self.design, lambda: self.shutdown is not None
        )
        self.replica_manager.restart()
        self.apis = KafkaApis(self.replica_manager, self.broker_epoch)
        self.isr_changes: AlterPartitionManager | ZkAlterPartitionManager = (
            AlterPartitionManager(self.replica_manager, self.broker_epoch)
            if self.design.alter_partition
            else ZkAlterPartitionManager(self.replica_manager)
        )
        self._awaits_isrs = False
        """It has asked the controller for ISRs, and waits for the answer."""
        self._lacking: dict[TopicPartition, None] = {}
        """The partitions that it leads and that have a replica outside the ISR."""
        self._refused: set[PartitionAndReplica] = set()

    # It starts and stops.

    def start(self) -> None:
        """Its process starts."""
        self._make()
        self.is_running = True

    def stop(self) -> None:
        """Its process ends; its logs stay."""
        self.is_running = False
        self._make()

    def shut_down(self, attempts: int = CONTROLLED_SHUTDOWN_MAX_RETRIES) -> None:
        """It begins to stop.

        Args:
            attempts: how often it asks the controller to be let go.
        """
        self.server = self._made_server(attempts)
        self.shutdown = self.server.controlled_shutdown()

    def shutdown_answered(self, answer: tuple[TopicPartition, ...] | EventFailure | Code | None) -> None:
        """The controller has answered which partitions it still leads, or what failed; None: there is no answer."""
        assert isinstance(self.shutdown, AskController)
        self.awaits_controller = False
        self.remaining = answer if isinstance(answer, tuple) else ()
        response = NotAnswered.Lost if answer is None else controlled_shutdown_response(answer)
        self.shutdown = self.server.answered(self.shutdown, response)

    def _made_server(self, attempts: int) -> KafkaServer:
        return KafkaServer(self.broker, self.metadata_cache, self.broker_epoch, self.design, attempts)

    # It obeys.

    def handle(self, request: ControlRequest) -> ControlResponse:
        """A request of a controller arrives, and is answered."""
        response = self.apis.handle(request)
        if not isinstance(request, UpdateMetadataRequest):
            self._look_at(TopicPartition(each.topicName, each.partitionIndex) for each in request.partitionStates)
        return response

    def follows(self, partition: TopicPartition, leader: Broker) -> bool:
        """Whether it fetches a partition from this leader, both in the same leader epoch."""
        fetching = self.replica_manager.state.fetchers.get(partition)
        if fetching is None or fetching.leader != leader.broker:
            return False
        hosted, led = (each.replica_manager.state.all_partitions[partition] for each in (self, leader))
        return hosted.leader_epoch == led.leader_epoch

    # It changes ISRs.

    def replicas_that_may_join(self) -> Iterator[PartitionAndReplica]:
        """The replicas that may join an ISR of this leader's, if they have caught up."""
        for partition in self._lacking:
            if isinstance(self.isr_changes, AlterPartitionManager) and (
                partition in self.isr_changes.state.unsent_isr_updates
            ):
                continue
            for replica in self.replica_manager.state.all_partitions[partition].assignment.replicas:
                each = PartitionAndReplica(partition, replica)
                if each not in self._refused and self.isr_changes.may_expand_isr(partition, replica):
                    yield each

    def has_caught_up(self, replica: PartitionAndReplica) -> None:
        """A follower has caught up, and is to join the ISR. Until 2.6 that is written at once."""
        if isinstance(self.isr_changes, AlterPartitionManager):
            self.isr_changes.maybe_expand_isr(*replica)
            return
        update = self.isr_changes.maybe_expand_isr(*replica)
        while update is not None:
            responses = self.ask_zookeeper(self.isr_changes.requests(update))
            update = self.isr_changes.answered(update, responses)
        partition = replica.topic_partition
        self._changed(partition, (replica.replica,), self.replica_manager.led(partition).leader_epoch)

    @property
    def isr_changes_to_send(self) -> tuple[TopicPartition, ...]:
        """The partitions of whose ISRs it has to tell the controller now: to ask for them, or until 2.6 to notify."""
        if isinstance(self.isr_changes, ZkAlterPartitionManager):
            return tuple(sorted(self.isr_changes.state.isr_change_set))
        return () if self._awaits_isrs else tuple(sorted(self.isr_changes.state.unsent_isr_updates))

    def alter_partition_request(self) -> AlterPartitionRequest:
        """What it asks of the controller, or asks again as there was no answer [since 2.7]."""
        assert isinstance(self.isr_changes, AlterPartitionManager)
        self._awaits_isrs = True
        in_flight = self.isr_changes.state.in_flight
        request = self.isr_changes.maybe_propagate_isr_changes() if in_flight is None else in_flight.request
        assert request is not None
        return request

    def alter_partition_answered(self, response: AlterPartitionResponse | None) -> None:
        """The controller has answered; None: there is no answer, and the request is to be sent again."""
        assert isinstance(self.isr_changes, AlterPartitionManager)
        self._awaits_isrs = False
        in_flight = self.isr_changes.state.in_flight
        assert in_flight is not None
        if self.isr_changes.answered(response or AlterPartitionResponse(Errors.NOT_CONTROLLER)):
            for partition, change in in_flight.proposed:
                sent = change.sent_leader_and_isr
                self._changed(partition, sent.isr, sent.leader_epoch)

    def notify_isr_changes(self) -> None:
        """It tells the controller which ISRs it has changed [until 2.6]."""
        assert isinstance(self.isr_changes, ZkAlterPartitionManager)
        notification = self.isr_changes.isr_change_notification()
        if notification is not None:
            (response,) = self.ask_zookeeper((notification,))
            if response.code is Code.OK:
                self.isr_changes.notified()

    def retry_refused_isrs(self) -> None:
        """Something else has happened: what was refused may be asked for again."""
        self._refused.clear()

    def _changed(self, partition: TopicPartition, isr: Iterable[BrokerId], leader_epoch: LeaderEpoch) -> None:
        """These were to be in sync: who is not was refused, unless the request was of an earlier leader epoch."""
        self._look_at((partition,))
        hosted = self.replica_manager.state.all_partitions.get(partition)
        if hosted is None or not isinstance(hosted.state, CommittedPartitionState):
            return
        if hosted.leader_epoch == leader_epoch:
            self._refused |= {PartitionAndReplica(partition, each) for each in isr if each not in hosted.state.isr}

    def _look_at(self, partitions: Iterable[TopicPartition]) -> None:
        """Something may have changed of these partitions."""
        for partition in partitions:
            hosted = self.replica_manager.state.all_partitions.get(partition)
            if (
                hosted is None
                or not hosted.is_led_by(self.broker)
                or {*hosted.assignment.replicas} <= {*hosted.state.isr}
            ):
                self._lacking.pop(partition, None)
            else:
                self._lacking[partition] = None
