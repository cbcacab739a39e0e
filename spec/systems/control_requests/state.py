"""A controller, the former one, and the brokers that receive their requests: the variables and their sizes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from spec.by_release import ByRelease
from spec.language import (
    Size,
    Specification,
    Total,
    assumption,
    at_most,
    constant,
    initial,
    integers,
    left_out,
    one_of,
    optional,
    part,
    subset_of,
    switches,
    variable,
)
from spec.parts.context import Context, ContextPart, PartitionStates
from spec.parts.receiving_brokers import ReceivingBrokers, ReceivingBrokersPart
from spec.parts.requests import Channels, ChannelsPart, WaitingRequests
from spec.parts.zookeeper import Session, Znodes, ZooKeeperPart
from spec.systems.cluster import CONTROLLER, TOPIC, TOPIC_PATH, Crashes
from statemachines.broker.replica_manager import ReplicaManager
from statemachines.controller.channel_manager import ControllerChannelManager
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.partition_state_machine import PartitionStateMachine
from statemachines.controller.replica_state_machine import ReplicaStateMachine
from statemachines.controller.request_batch import ControllerBrokerRequestBatch
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import PartitionAndReplica, PartitionId, TopicName, TopicPartition
from statemachines.messages.zk_data import (
    TopicAssignment,
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import Node, SessionId, ZkVersion

Reassignments = Annotated[int, "how often a partition was reassigned"]
"""A number of reassignments."""
Expiries = Annotated[int, "how often the session of a broker that runs has ended"]
"""A number of sessions that ended."""

FIRST: Final = TopicPartition(TOPIC, 0)
"""The first partition."""
PARTITIONS: Final = frozenset({"partitions"})
"""The children of a topic's node, once it has leaders."""


class Connection(Enum):
    """The connection over which a broker receives a request."""

    Controller = "of the controller"
    FormerController = "of the former controller"
    Broken = "that broke"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.name


class ControlledBrokers(PartitionStates):
    """A controller and the former one, their channels, and the brokers that receive their requests."""

    context: Context
    channels: Channels
    former_channels: Channels
    receivers: ReceivingBrokers
    registered: frozenset[BrokerId] = variable(
        "The brokers that run and are registered. Left out: the registration that remains for a while after a "
        "broker's death, since such a broker resembles a slow one."
    )
    expiries: Expiries = variable("How often a broker that runs lost its session.")
    shutting_down: frozenset[BrokerId] = variable(
        "The registered brokers that have asked for a controlled shutdown, and will stop.",
        of=lambda self: subset_of(self.broker_ids if self.shutdowns else ()),
    )
    crashes: Crashes = variable("How often a broker died.")
    brokers_changed: bool = variable(
        "The watch for /brokers/ids has fired, and the controller has not read it since. [BrokerChange is queued]"
    )
    reassignments: Reassignments = variable("How often the partition was reassigned.")
    isr_change_notification: frozenset[TopicPartition] = variable(
        "The partitions whose leaders have written their ISRs. The controller is notified and has not read them yet.",
        of=lambda self: subset_of(tuple(self.assignments) if leader_writes_isr(self) else ()),
    )
    late_requests: Total[BrokerId, ControlRequest | None] = variable(
        "A request that a broker has received, and handles after requests that arrive over the next connection."
    )

    @property
    def broker_epochs(self) -> Mapping[BrokerId, BrokerEpoch]:
        """The number of earlier lives of each broker."""
        return self.receivers.broker_epochs

    @property
    def running(self) -> frozenset[BrokerId]:
        """The brokers that run, registered or not."""
        return self.registered | self.receivers.unaware_of_registration

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The assignment of each partition in ZooKeeper."""
        data: TopicAssignment = self.zk.nodes[TOPIC_PATH].data
        return data.decode(TOPIC)


C = ControlledBrokers


def may_reassign(self: ControlRequestsVariables) -> bool:
    """Whether a partition is reassigned."""
    return self.reassignments > 0


def replicas_may_stop(self: ControlRequestsVariables) -> bool:
    """Whether controllers stop replicas."""
    return self.brokers > 1 and (self.shutdowns or self.reassignments > 0)


def isr_may_grow(self: ControlRequestsVariables) -> bool:
    """Whether followers join the ISR, after they left it or because they were never in it."""
    out_of_sync = not self.initially_in_sync or registrations_change(self)
    return self.isr_changes > 0 and self.brokers > 1 and out_of_sync


def controller_writes_isr(self: ControlRequestsVariables) -> bool:
    """Whether leaders ask the controller for the larger ISR."""
    return isr_may_grow(self) and self.design.alter_partition


def leader_writes_isr(self: ControlRequestsVariables) -> bool:
    """Whether leaders write the larger ISR themselves."""
    return isr_may_grow(self) and not self.design.alter_partition


def registrations_change(self: ControlRequestsVariables) -> bool:
    """Whether registrations come and go: brokers die, or lose their sessions."""
    return self.max_crashes > 0 or self.expiries > 0


KINDS: Final = {
    LeaderAndIsrRequest: "LeaderAndIsr",
    UpdateMetadataRequest: "UpdateMetadata",
    StopReplicaRequest: "StopReplica",
}
"""The names of requests."""


class ControlRequestsVariables(Specification[C]):
    """The variables and parts of controllers, channels and brokers, and their sizes."""

    brokers: int = constant(2, "Brokers; each keeps every partition.", at_least=1, at_most=3)
    partitions: int = constant(1, "Partitions; all prefer the first broker.", at_least=1, at_most=2)
    max_crashes: int = constant(1, "Bound: how often brokers die.", at_least=0, at_most=5)
    controller_changes: int = constant(1, "Bound: how often another controller is elected.", at_least=0, at_most=3)
    isr_changes: int = constant(0, "Bound: how often followers join the ISR of the partition.", at_least=0, at_most=3)
    initially_in_sync: bool = constant(True, "All replicas are in sync at first; else only the leader is.")
    max_queued_requests: int = constant(
        10, "Bound: how many requests wait for a broker in one queue.", at_least=1, at_most=20
    )
    max_leader_epoch: int = constant(3, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=9)
    shutdowns: bool = constant(False, "Brokers ask for a controlled shutdown.")
    lost_replies: bool = constant(True, "Replies are lost, so that requests are sent again.")
    late_copies: bool = constant(
        False, "When a request is sent again, its first copy may be handled after later requests."
    )
    expiries: int = constant(
        0,
        "Bound: how often a running broker loses its session and registers again.",
        at_least=0,
        at_most=3,
    )
    reassignments: int = constant(
        0,
        "Bound: how often the last replica of the first partition is removed, or added again.",
        at_least=0,
        at_most=3,
    )
    new_topic: bool = constant(
        False, "The topic is new. Brokers have no logs, and cannot always read its configuration."
    )

    design: ControlDesign = switches(
        ControlDesign,
        ByRelease(ControlDesign),
        only=[
            ControlDesign.offline_on_failover,
            ControlDesign.fence_stop,
            ControlDesign.metadata_first,
            ControlDesign.broker_epoch,
            ControlDesign.newer_broker_epoch,
            ControlDesign.truncate_every_epoch,
            ControlDesign.truncate_missed_epoch,
            ControlDesign.skip_unreadable_config,
            ControlDesign.alter_partition,
            ControlDesign.read_back_isr,
            ControlDesign.check_alter_epochs,
            ControlDesign.live_isr_check,
            ControlDesign.stop_at_same_epoch,
            ControlDesign.epoch_after_log,
            ControlDesign.brokers_only_metadata,
            ControlDesign.metadata_without_election,
            ControlDesign.notify_shutting_down,
        ],
    )

    @assumption
    def one_partition_changes(self) -> bool:
        """ISRs change and replicas move only if there is a single partition."""
        return self.partitions == 1 or not (self.isr_changes or self.reassignments)

    @assumption
    def some_replica_stays(self) -> bool:
        """A reassignment leaves the partition a replica."""
        return not self.reassignments or self.brokers > 1

    partition_state_machine: ClassVar[type[PartitionStateMachine]] = PartitionStateMachine
    replica_state_machine: ClassVar[type[ReplicaStateMachine]] = ReplicaStateMachine
    request_batch: ClassVar[type[ControllerBrokerRequestBatch]] = ControllerBrokerRequestBatch
    channel_manager: ClassVar[type[ControllerChannelManager]] = ControllerChannelManager
    replica_manager: ClassVar[type[ReplicaManager]] = ReplicaManager

    # Sizes.

    @cached_property
    def broker_ids(self) -> tuple[BrokerId, ...]:
        """The brokers."""
        return tuple(range(self.brokers))

    @cached_property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Every broker keeps every partition, and all partitions prefer the first broker."""
        everywhere = ReplicaAssignment(self.broker_ids)
        return {TopicPartition(TOPIC, number): everywhere for number in range(self.partitions)}

    @cached_property
    def ways(self) -> Mapping[TopicPartition, tuple[ReplicaAssignment, ...]]:
        """All assignments that each partition may have. Only the first partition is reassigned."""
        ways: dict[TopicPartition, tuple[ReplicaAssignment, ...]] = {
            partition: (assignment,) for partition, assignment in self.assignments.items()
        }
        if self.reassignments:
            whole, less = map(ReplicaAssignment, self.targets)
            more = less.reassign_to(whole.replicas)
            leaving = whole.reassign_to(less.replicas)
            ways[FIRST] = (whole, leaving, less, more)
        return ways

    @property
    def targets(self) -> tuple[tuple[BrokerId, ...], tuple[BrokerId, ...]]:
        """The targets of reassignments: all brokers, and all but the last."""
        whole = self.assignments[FIRST].replicas
        return whole, whole[:-1]

    @cached_property
    def requests(self) -> WaitingRequests:
        """The requests that may wait."""
        return WaitingRequests(
            CONTROLLER,
            self.broker_ids,
            self.ways,
            controller_epochs=range(1, 2 + self.controller_changes),
            broker_epochs=range(self.max_crashes + self.expiries + 1),
            leader_epochs=range(self.max_leader_epoch + 1),
            isr_changes=self.isr_changes,
            stops=replicas_may_stop(self),
        )

    @property
    def connections(self) -> tuple[Connection, ...]:
        """The connections that can exist."""
        there = {
            Connection.Controller: True,
            Connection.FormerController: self.controller_changes > 0,
            Connection.Broken: self.late_copies,
        }
        return tuple(each for each, may_be in there.items() if may_be)

    @property
    def type_sizes(self) -> Mapping[Any, Size]:
        """The sizes of the types that the parts share."""
        return {
            BrokerId: self.broker_ids,
            TopicName: (TOPIC,),
            PartitionId: range(self.partitions),
            TopicPartition: tuple(self.assignments),
            PartitionAndReplica: [
                PartitionAndReplica(each, broker) for each in self.assignments for broker in self.broker_ids
            ],
            ControllerEpoch: integers(0, 1 + self.controller_changes),
            BrokerEpoch: integers(0, self.max_crashes + self.expiries),
            LeaderEpoch: integers(0, self.max_leader_epoch),
            ZkVersion: integers(0, self.max_leader_epoch + self.isr_changes),
            tuple[BrokerId, ...]: at_most(self.brokers),
        }

    def sizes(self) -> Mapping[Any, Size]:
        """The sizes of variables. There is one session, the controllers'."""
        return {
            **self.type_sizes,
            SessionId: [Session("controller", 0)],
            Crashes: integers(0, self.max_crashes),
            Expiries: integers(0, self.expiries),
            Reassignments: integers(0, self.reassignments),
            Connection: self.connections,
            (ControlRequest | None): optional(self.requests.domain) if self.late_copies else (None,),
        }

    @property
    def topic_data(self) -> Sequence[TopicAssignment]:
        """The possible data of the topic's node."""
        return [TopicAssignment.encode({**self.assignments, FIRST: way}) for way in self.ways[FIRST]]

    @part
    def zk(self) -> ZooKeeperPart:
        """The controller's epoch and the nodes of the topic; nothing is watched, and no session ends."""
        partitions, epochs = tuple(self.assignments), self.domain_of(ControllerEpoch)
        leader_and_isr = self.domain_of(LeaderAndIsr, partition_epoch=(0,))
        state = self.domain_of(TopicPartitionState, leader_and_isr=leader_and_isr)
        znodes: Collection[Znodes] = (
            Znodes(one_of("/brokers", "/brokers/topics", topic_partitions_path(TOPIC))),
            Znodes(TOPIC_PATH, data=self.topic_data, version=left_out(), children=(frozenset(), PARTITIONS)),
            Znodes(one_of(*map(topic_partition_path, partitions))),
            Znodes(
                one_of(*map(topic_partition_state_path, partitions)), data=state, version=self.domain_of(ZkVersion)
            ),
            Znodes(CONTROLLER_EPOCH, data=epochs, version=epochs),
        )
        sessions = self.domain_of(SessionId)
        return ZooKeeperPart(sessions=sessions, znodes=znodes, max_events=0, expiries=False, one_write=False)

    @part
    def context(self) -> ContextPart:
        """The controller's knowledge."""
        return ContextPart(self.type_sizes, self.ways)

    @part
    def channels(self) -> ChannelsPart:
        """The channels of the controller."""
        return self.channels_to(self.broker_ids)

    @part
    def former_channels(self) -> ChannelsPart:
        """The channels of the former controller; none if there is never another controller."""
        return self.channels_to(self.broker_ids if self.controller_changes else ())

    def channels_to(self, brokers: tuple[BrokerId, ...]) -> ChannelsPart:
        """Channels to these brokers."""
        return ChannelsPart(
            one_of(*brokers), self.requests.domain, self.max_queued_requests, self.design, self.channel_manager
        )

    @part
    def receivers(self) -> ReceivingBrokersPart:
        """The receiving brokers."""
        return ReceivingBrokersPart(
            self.requests, self.design, controller_writes_isr(self), self.replica_manager, expires=self.expiries > 0
        )

    @initial
    def a_cluster_set_up(self, s: C) -> None:
        """All brokers run and have received no request; there is no controller yet."""
        for path in ("/brokers", "/brokers/topics"):
            s.zk.nodes[path] = Node()
        below = frozenset() if self.new_topic else PARTITIONS
        s.zk.nodes[TOPIC_PATH] = Node(data=TopicAssignment.encode(self.assignments), children=below)
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.registered = frozenset(self.broker_ids)
        if self.new_topic:
            return
        for path in (topic_partitions_path(TOPIC), *map(topic_partition_path, self.assignments)):
            s.zk.nodes[path] = Node()
        for partition, assignment in self.assignments.items():
            leader = assignment.replicas[0]
            first = TopicPartitionState(
                LeaderAndIsr(leader, 0, assignment.replicas if self.initially_in_sync else (leader,)), 0
            )
            s.zk.nodes[topic_partition_state_path(partition)] = Node(data=first)
        s.receivers.logs = frozenset(
            PartitionAndReplica(each, broker) for each in self.assignments for broker in self.broker_ids
        )
