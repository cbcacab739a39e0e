"""A small cluster in memory, for the tests of a controller's state machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from statemachines.controller.calls import EventWaiting, call
from statemachines.controller.context import ContextState, ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_driver import EventDriver
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import BatchState, ControllerBrokerRequestBatch
from statemachines.controller.state_change import EventDone, FailedStateChange
from statemachines.controller.zk_requests import retry_requests_until_connected
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, TopicPartition
from statemachines.messages.zk_data import (
    TopicConfig,
    TopicPartitionState,
    topic_config_path,
    topic_partition_state_path,
)
from statemachines.tables.partition import OfflinePartition, OnlinePartition, PartitionState
from statemachines.tables.replica import OnlineReplica, ReplicaState
from statemachines.zookeeper.server import ZooKeeper

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
CONTROLLER = 9
EPOCH, EPOCH_ZK_VERSION = 5, 5
OfPartitions = type[PartitionStateMachine]
OfReplicas = type[ReplicaStateMachine]
OfBatch = type[ControllerBrokerRequestBatch]


class Cluster:
    """A ZooKeeper, and a controller of epoch 5 with its two state machines.

    Args:
        live: the registered brokers, with epoch 100 + id.
        design: that of the release.
        unclean: unclean leader election in the controller's configuration.
        partitions, replicas, batch: the classes, which may be mutants.
        context_state, batch_state: hold the controller's knowledge; dicts by default.
        send: takes the requests; by default `sent` collects them.
    """

    def __init__(
        self,
        live: Iterable[int] = (1, 2, 3),
        design: ControlDesign | None = None,
        unclean: bool = False,
        partitions: OfPartitions = PartitionStateMachine,
        replicas: OfReplicas = ReplicaStateMachine,
        batch: OfBatch = ControllerBrokerRequestBatch,
        context_state: ContextState | None = None,
        batch_state: BatchState | None = None,
        send: Callable[[int, ControlRequest], object] | None = None,
    ) -> None:
        self.zookeeper = ZooKeeper()
        for path in ("/brokers", "/brokers/topics", "/config", "/config/topics"):
            self.zookeeper.create(None, path)
        self.zookeeper.create(None, CONTROLLER_EPOCH, 0)
        for epoch in range(1, EPOCH + 1):
            self.zookeeper.set(None, CONTROLLER_EPOCH, epoch)
        self.context = ControllerContext(context_state)
        self.context.state.epoch, self.context.state.epoch_zk_version = EPOCH, EPOCH_ZK_VERSION
        self.context.add_live_brokers({broker: 100 + broker for broker in live})
        self.sent: list[tuple[int, ControlRequest]] = []
        self.log: list[FailedStateChange] = []
        to = send or (lambda broker, request: self.sent.append((broker, request)))
        self.batch = batch(CONTROLLER, self.context, to, batch_state, design)
        self.partitions = partitions(self.context, self.batch, design, self.log.append, unclean)
        self.replicas = replicas(self.context, self.batch, design, self.log.append, unclean)

    # Setting up.

    def assign(
        self, partition: TopicPartition, *replicas: int, adding: Sequence[int] = (), removing: Sequence[int] = ()
    ) -> None:
        """Create a topic's node, and assign a partition."""
        if f"/brokers/topics/{partition.topic}" not in self.zookeeper.state.nodes:
            self.zookeeper.create(None, f"/brokers/topics/{partition.topic}")
        assignment = ReplicaAssignment(replicas, tuple(adding), tuple(removing))
        self.context.update_partition_full_replica_assignment(partition, assignment)

    def lead(
        self,
        partition: TopicPartition,
        leader: int,
        isr: Sequence[int],
        leader_epoch: int = 0,
        controller_epoch: int = EPOCH - 1,
        replicas: Sequence[int] = (),
    ) -> None:
        """A partition is assigned to its ISR, or to `replicas`, and has a leader; the controller has read it."""
        self.assign(partition, *(replicas or isr))
        path = topic_partition_state_path(partition)
        parts = path.split("/")
        for depth in range(4, len(parts)):
            if (above := "/".join(parts[: depth + 1])) not in self.zookeeper.state.nodes:
                self.zookeeper.create(None, above)
        state = TopicPartitionState(LeaderAndIsr(leader, leader_epoch, tuple(isr)), controller_epoch)
        self.zookeeper.set(None, path, state)
        known = LeaderIsrAndControllerEpoch(
            LeaderAndIsr(leader, leader_epoch, tuple(isr), partition_epoch=1), controller_epoch
        )
        self.context.put_partition_leadership_info(partition, known)
        online = self.context.is_replica_online(leader, partition)
        self.context.put_partition_state(partition, OnlinePartition if online else OfflinePartition)
        for broker in replicas or isr:
            self.context.put_replica_state(PartitionAndReplica(partition, broker), OnlineReplica)

    def configure(self, topic: str, unclean: bool | None) -> None:
        """Configure unclean leader election for a topic."""
        self.zookeeper.create(None, topic_config_path(topic), TopicConfig(unclean))

    def leader_writes(self, partition: TopicPartition, isr: Sequence[int]) -> None:
        """The leader changes its ISR without the controller's knowledge."""
        path = topic_partition_state_path(partition)
        data, _ = self.zookeeper.get(None, path)
        self.zookeeper.set(None, path, data._replace(leader_and_isr=data.leader_and_isr._replace(isr=tuple(isr))))

    def elect_another_controller(self) -> None:
        """A newer controller has incremented the epoch."""
        self.zookeeper.set(None, CONTROLLER_EPOCH, EPOCH + 1)

    def shut_down(self, *brokers: int) -> None:
        """Brokers ask for a controlled shutdown."""
        self.context.state.shutting_down_broker_ids |= frozenset(brokers)

    # Acting.

    def drive(
        self,
        controller: EventDriver,
        step: EventWaiting | EventDone,
        before: Mapping[int, Callable[[], object]] | None = None,
        lose: Mapping[int, tuple[int, int]] | None = None,
    ) -> EventDone:
        """Run an event, batch by batch.

        Args:
            controller: makes its calls.
            step: its first step.
            before: called before the batch with this number, counted from 0.
            lose: for the batch with this number, how many replies arrive and how many requests are carried out,
                before the connection is lost.
        """
        number = 0
        while isinstance(step, EventWaiting):
            (before or {}).get(number, lambda: None)()
            lost = (lose or {}).get(number, (None, None))
            requests = controller.requests(step.awaits)
            step = controller.answered(step, retry_requests_until_connected(self.zookeeper, None, requests, *lost))
            number += 1
            assert number < 200, "an event that does not come to an end"
        return step

    def become(
        self, target: PartitionState, *partitions: TopicPartition, strategy: Any = None, **interference: Any
    ) -> EventDone:
        """Change the states of partitions."""
        driver = EventDriver(self.partitions, self.replicas, self.batch)
        change = call(driver.partitions_become, partitions, target, strategy)
        return self.drive(driver, driver.process(change), **interference)

    # Reading the result.

    def written(self, partition: TopicPartition) -> TopicPartitionState:
        """A partition's state in ZooKeeper."""
        state: TopicPartitionState = self.zookeeper.get(None, topic_partition_state_path(partition))[0]
        return state

    def state(self, partition: TopicPartition) -> LeaderAndIsr:
        """The leader and ISR in it."""
        return self.written(partition).leader_and_isr

    def version(self, partition: TopicPartition) -> int:
        """The version of its node."""
        return self.zookeeper.get(None, topic_partition_state_path(partition))[1].version

    def known(self, partition: TopicPartition) -> LeaderAndIsr:
        """The controller's knowledge of it."""
        known = self.context.leadership_of(partition)
        assert known is not None
        return known.leader_and_isr

    def replica_state(self, partition: TopicPartition, broker: int) -> ReplicaState:
        """The state of a replica."""
        return self.context.replica_state(PartitionAndReplica(partition, broker))

    def leader_and_isr(self) -> dict[tuple[int, TopicPartition], LeaderAndIsrPartitionState]:
        """The leaders that replicas have received, by broker and partition."""
        return {
            (broker, state.partition): state
            for broker, request in self.sent
            if isinstance(request, LeaderAndIsrRequest)
            for state in request.partitionStates
        }

    def stopped(self) -> dict[tuple[int, TopicPartition], StopReplicaPartitionState]:
        """The replicas that have received StopReplica."""
        return {
            (broker, state.partition): state
            for broker, request in self.sent
            if isinstance(request, StopReplicaRequest)
            for state in request.partitionStates
        }

    def metadata(self) -> dict[int, UpdateMetadataRequest]:
        """The last metadata of all partitions that each broker has received."""
        return {broker: request for broker, request in self.sent if isinstance(request, UpdateMetadataRequest)}

    def causes(self) -> list[Any]:
        """The reasons why states did not change, in order."""
        return [failed.cause for failed in self.log]
