"""The state of a cluster under a controller: its variables, its parts, and the sizes of both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from typing_extensions import TypeVar

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from spec.language import (
    Size,
    Specification,
    Total,
    at_most,
    constant,
    integers,
    left_out,
    one_of,
    part,
    subset_of,
    variable,
)
from spec.parts.context import Context, ContextPart, PartitionStates
from spec.parts.event_thread import EventThread, EventThreadPart
from spec.parts.requests import Batch, BatchPart, RequestsWithoutMetadata
from spec.parts.zk_client import ZkClientReadingVariables
from spec.parts.zookeeper import Session, Znodes, ZooKeeperPart
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.partition_state_machine import (
    OFFLINE,
    PREFERRED,
    REASSIGN,
    PartitionLeaderElectionStrategy,
    PartitionStateMachine,
)
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.controller.zk_requests import PartitionUpdate
from statemachines.messages.control_requests import LeaderAndIsrPartitionState, StopReplicaPartitionState
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, PartitionId, TopicName, TopicPartition
from statemachines.messages.zk_data import (
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import SessionId, ZkVersion

Crashes = Annotated[int, "how often brokers died"]
"""A number of deaths."""

CONTROLLER: BrokerId = 9
"""The controller's broker; it keeps no replica."""
TOPIC: TopicName = "t"
TOPIC_PATH = f"/brokers/topics/{TOPIC}"


class Role(NamedTuple):
    """The leader that a broker obeys, for one of its replicas."""

    leader: int
    """-1 if there is none."""
    leader_epoch: LeaderEpoch


class ClusterState(PartitionStates):
    """A controller, the ZooKeeper that it writes to, and the brokers that obey it."""

    context: Context
    partition_requests: Batch
    replica_requests: Batch
    thread: EventThread
    registered: frozenset[BrokerId] = variable(
        "The brokers that run and are registered. Left out: their sessions, and their nodes below /brokers/ids."
    )
    crashes: Crashes = variable("How often a broker died.")
    roles: Total[PartitionAndReplica, Role | None] = variable(
        "The newest LeaderAndIsr that a replica obeys; None if it has received none since its broker started, or was "
        "stopped since. Left out: queues of requests, so that a broker obeys at once."
    )
    active: bool = variable("The controller believes it is controller. [isActive]")
    isr_change_notification: frozenset[TopicPartition] = variable(
        "The partitions whose leaders have changed their ISRs. The controller is notified and has not read them yet."
    )

    rebalanced: bool = variable(
        "The controller's latest event is a check whether preferred replicas lead.",
        when=lambda self: self.rebalances,
    )

    @property
    def broker_epochs(self) -> Mapping[BrokerId, BrokerEpoch]:
        """All brokers have the same epoch, since none is bounced."""
        return dict.fromkeys(self.registered, 0)

    @property
    def idle(self) -> bool:
        """Whether no event is under way."""
        return self.thread.idle


C = TypeVar("C", bound=ClusterState, default=ClusterState)


def leaders_write(self: ClusterVariables[Any]) -> bool:
    """Whether leaders write their ISRs to ZooKeeper themselves."""
    return isr_may_change(self) and not self.asks_for_isr


def leaders_await_controller(self: ClusterVariables[Any]) -> bool:
    """Whether leaders ask the controller for an ISR, and it writes the ISR in steps of its own."""
    return isr_may_change(self) and self.asks_for_isr and not self.alters_at_once


def may_replace_live_leader(self: ClusterVariables[Any]) -> bool:
    """Whether a leader may be elected in place of a running one."""
    return not {PREFERRED, REASSIGN}.isdisjoint(self.strategies)


def isr_may_change(self: ClusterVariables[Any]) -> bool:
    """Whether leaders change the ISR."""
    return self.isr_changes > 0 and self.brokers > 1


class ClusterVariables(Specification[C]):
    """The variables and parts of a cluster under a controller, and their sizes."""

    brokers: int = constant(2, "Brokers that keep replicas.", at_least=1, at_most=6)
    max_crashes: int = constant(2, "Bound: how often brokers die.", at_least=0, at_most=9)
    isr_changes: int = constant(1, "Bound: how often the ISR of a partition is changed.", at_least=0, at_most=9)
    controller_changes: int = constant(1, "Bound: how often another controller is elected.", at_least=0, at_most=3)
    max_leader_epoch: int = constant(4, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=30)
    unclean: bool = constant(False, "Brokers are configured to elect leaders from outside the ISR.")

    partition_state_machine: ClassVar[type[PartitionStateMachine]] = PartitionStateMachine
    replica_state_machine: ClassVar[type[ReplicaStateMachine]] = ReplicaStateMachine
    request_batch: ClassVar[type[ControllerBrokerRequestBatch]] = RequestsWithoutMetadata
    event_processor: ClassVar[type[ControllerEventProcessor]] = ControllerEventProcessor
    zk_client: ClassVar[type[ZkClientReadingVariables]] = ZkClientReadingVariables

    # For each system to define.

    design: ControlDesign
    """The design of this release's controller: the switches."""
    deletable: ClassVar[tuple[TopicName, ...]] = ()
    """The topics that may be deleted. Their nodes keep their children."""
    alters_at_once: ClassVar[bool] = False
    """Whether the requests that change an ISR for a leader need no steps of their own."""

    @property
    def strategies(self) -> tuple[PartitionLeaderElectionStrategy, ...]:
        """The strategies by which leaders are elected."""
        return (OFFLINE,)

    @property
    def asks_for_isr(self) -> bool:
        """Whether a leader asks the controller to change an ISR. [AlterPartition]"""
        return False

    @property
    def rebalances(self) -> bool:
        """Whether the controller checks by itself that preferred replicas lead. [auto.leader.rebalance.enable]"""
        return False

    @property
    def isr_receiver(self) -> str:
        """The recipient of a leader's ISR."""
        return "controller" if self.asks_for_isr else "ZooKeeper"

    @property
    def loses_answers(self) -> bool:
        """Whether a connection may be lost after ZooKeeper acts and before it answers."""
        return False

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The brokers that keep each partition at first."""
        raise NotImplementedError

    @property
    def all_assignments(self) -> Mapping[TopicPartition, Collection[ReplicaAssignment]]:
        """All assignments that each partition may have, in ZooKeeper or in the controller's context."""
        return {partition: (assignment,) for partition, assignment in self.assignments.items()}

    def assigned(self, s: C, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """The brokers that keep a partition now, according to ZooKeeper."""
        return self.assignments[partition].replicas

    def is_to_be_deleted(self, s: C, partition: TopicPartition) -> bool:
        """Whether its topic is marked for deletion, so that it no longer needs a leader."""
        return False

    @property
    def more_nodes(self) -> Collection[Znodes]:
        """Further nodes in ZooKeeper, the topic's among them."""
        return (Znodes(TOPIC_PATH),)

    # Sizes.

    @property
    def broker_ids(self) -> Sequence[BrokerId]:
        """The brokers, in the order in which a controller goes through them."""
        return range(self.brokers)

    @property
    def replicas(self) -> Sequence[PartitionAndReplica]:
        """A replica of every partition on every broker."""
        return [PartitionAndReplica(each, broker) for each in self.assignments for broker in self.broker_ids]

    @property
    def type_sizes(self) -> Mapping[Any, Size]:
        """The sizes of the types that the controller's parts share."""
        brokers, partitions = self.broker_ids, tuple(self.assignments)
        return {
            BrokerId: brokers,
            TopicName: (TOPIC,),
            PartitionId: range(len(partitions)),
            TopicPartition: partitions,
            PartitionAndReplica: self.replicas,
            ControllerEpoch: integers(0, 1 + 2 * self.controller_changes),
            BrokerEpoch: (0,),
            LeaderEpoch: integers(0, self.max_leader_epoch),
            ZkVersion: integers(0, self.max_leader_epoch + self.isr_changes),
            tuple[BrokerId, ...]: at_most(self.brokers),
            LeaderAndIsrPartitionState.leader: (NO_LEADER, *brokers),
        }

    @property
    def request_sizes(self) -> Mapping[Any, Size]:
        """The same in waiting requests, without the fields that brokers do not read here."""
        unseen = (
            LeaderAndIsrPartitionState.controllerEpoch,
            LeaderAndIsrPartitionState.isr,
            LeaderAndIsrPartitionState.partitionEpoch,
            LeaderAndIsrPartitionState.leaderRecoveryState,
            StopReplicaPartitionState.leaderEpoch,
        )
        return {**self.type_sizes, **dict.fromkeys(unseen, left_out())}

    def sizes(self) -> Mapping[Any, Size]:
        """A batch of requests is about existing partitions, each at most once."""
        some = at_most(len(self.assignments))
        return {
            **self.type_sizes,
            SessionId: [Session("controller", 0)],
            Crashes: integers(0, self.max_crashes),
            Role.leader: (NO_LEADER, *self.broker_ids),
            tuple[TopicName, ...]: some,
            tuple[TopicPartition, ...]: some,
            tuple[PartitionUpdate, ...]: some,
        }

    @part
    def zk(self) -> ZooKeeperPart:
        """The controller's epoch and the nodes of the topic; nothing is watched, and no session ends."""
        partitions, epochs = tuple(self.assignments), self.domain_of(ControllerEpoch)
        leader_and_isr = self.domain_of(LeaderAndIsr, partition_epoch=(0,))
        state = self.domain_of(TopicPartitionState, leader_and_isr=leader_and_isr)
        below_partitions = below_partition = None
        if TOPIC in self.deletable:
            below_partitions = subset_of(tuple(str(each.partition) for each in partitions))
            below_partition = subset_of(("state",))
        znodes: Collection[Znodes] = (
            Znodes(one_of("/brokers", "/brokers/topics")),
            Znodes(topic_partitions_path(TOPIC), children=below_partitions),
            *self.more_nodes,
            Znodes(one_of(*map(topic_partition_path, partitions)), children=below_partition),
            Znodes(
                one_of(*map(topic_partition_state_path, partitions)), data=state, version=self.domain_of(ZkVersion)
            ),
            Znodes(CONTROLLER_EPOCH, data=epochs, version=epochs),
        )
        return ZooKeeperPart(sessions=self.domain_of(SessionId), znodes=znodes, max_events=0, expiries=False)

    @part
    def context(self) -> ContextPart:
        """The controller's knowledge."""
        return ContextPart(self.type_sizes, self.all_assignments, self.deletable)

    @part
    def partition_requests(self) -> BatchPart:
        """The batch of the partition state machine: leaders of one partition, during an election for another."""
        several = len(self.assignments) > 1
        return BatchPart(
            self.request_sizes, self.all_assignments, recipients=self.replicas if several else (), stopped=()
        )

    @part
    def replica_requests(self) -> BatchPart:
        """The batch of the replica state machine: results for one broker, while another is removed from ISRs."""
        recipients = [
            replica for replica in self.replicas if replica.replica != self.broker_ids[0] or self.brokers > 2
        ]
        sizes = {**self.request_sizes, LeaderAndIsrPartitionState.isNew: (False,)}
        return BatchPart(sizes, self.all_assignments, recipients, stopped=self.replicas)

    @part
    def thread(self) -> EventThreadPart:
        """The rest of the event that the controller processes."""
        return EventThreadPart(self.sizes())
