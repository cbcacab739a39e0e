"""A cluster whose partition moves: its variables, their sizes, and its controller's client."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final

from typing_extensions import TypeVar

from election.ids import BrokerId
from spec.by_release import ByRelease
from spec.language import Partial, Size, assumption, constant, initial, integers, left_out, say, switches, variable
from spec.parts.zk_client import ZkClientReadingVariables
from spec.parts.zookeeper import Znodes
from spec.systems.cluster import TOPIC, TOPIC_PATH, ClusterSpec, ClusterState, isr_may_change
from statemachines.changes.administration import AdminDesign
from statemachines.controller.calls import Call, Calls, call
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.partition_state_machine import OFFLINE, REASSIGN
from statemachines.controller.state_change import ChangeDone
from statemachines.controller.zk_client import Assignments
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import (
    ISR_CHANGE_NOTIFICATION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import Node, ZkPath

Requests = Annotated[int, "how often administrators requested something"]
"""A number of requests."""
Brokers = Annotated[tuple[BrokerId, ...], "the future brokers of a partition, in the order of their ids"]
"""The target of a reassignment."""

PARTITION: Final = TopicPartition(TOPIC, 0)
"""The partition that moves."""


class ReassignedCluster(ClusterState):
    """A cluster whose partition moves, with the logs on its brokers."""

    reassignment_requests: Requests = variable("How often an administrator requested a reassignment, or gave one up.")
    complete_logs: frozenset[BrokerId] = variable(
        "The brokers, running or not, whose logs have all acknowledged records. Left out: the records themselves, so "
        "that any other log just lags."
    )
    reassignment_targets: Partial[TopicPartition, tuple[BrokerId, ...]] = variable(
        "The targets that the controller remembers from the node, until 2.3.",
        of=lambda self, partition: () if self.design.kip_455 else self.targets,
    )
    replicas_known_to_leader: frozenset[BrokerId] = variable(
        "The replicas that the leader learned of with its leader epoch. Left out where it does not read them.",
        when=lambda self: not self.design.shrink_with_unassigned,
    )

    @property
    def assignment(self) -> ReplicaAssignment:
        """The partition's assignment in ZooKeeper."""
        data: TopicAssignment = self.zk.nodes[TOPIC_PATH].data
        return data.partitions[0][1]

    @property
    def requested_target(self) -> tuple[BrokerId, ...] | None:
        """The target in /admin/reassign_partitions; None if the node does not exist."""
        node = self.zk.nodes.get(REASSIGN_PARTITIONS)
        return None if node is None else node.data[0][1]


class ReassigningZkClient(ZkClientReadingVariables):
    """A client that makes each write of a reassignment in a step of its own; see `Reassignment`."""

    cluster: ReassignedCluster

    def _in_a_step_of_its_own(self, due: Call) -> Calls:
        return ChangeDone(), due

    # Writes.

    def set_topic_assignment(
        self, topic: TopicName, assignments: Mapping[TopicPartition, ReplicaAssignment]
    ) -> Calls:
        """Write the topic's node, in the next step."""
        return self._in_a_step_of_its_own(call(self._assignment_is_due, topic, tuple(assignments.items())))

    def _assignment_is_due(self, topic: TopicName, assignments: Assignments) -> Calls:
        say("it writes the topic's node")
        return super().set_topic_assignment(topic, dict(assignments))

    def update_leader_epoch(self, partition: TopicPartition) -> Calls:
        """Increment the leader epoch in the next step, which also reads it, since a conflict is read again."""
        return self._in_a_step_of_its_own(call(self._epoch_is_due, partition))

    def _epoch_is_due(self, partition: TopicPartition) -> Calls:
        say("it increments the leader epoch")
        return super().update_leader_epoch(partition)

    def delete_recursive(self, path: ZkPath) -> Calls:
        """Delete /admin/reassign_partitions, in the next step."""
        return self._in_a_step_of_its_own(call(self._deletion_is_due, path))

    def _deletion_is_due(self, path: ZkPath) -> Calls:
        say(f"it deletes {path}")
        return super().delete_recursive(path)

    EPOCH_IS_DUE: ClassVar[str] = _epoch_is_due.__name__
    DUE: ClassVar[Mapping[str, str]] = {
        _assignment_is_due.__name__: "write the topic's node",
        EPOCH_IS_DUE: "increment the leader epoch",
        _deletion_is_due.__name__: f"delete {REASSIGN_PARTITIONS}",
    }
    """The writes in steps of their own, in words, by the name of the pending call."""

    # Notifications are deleted when read, since others may arrive before the event ends.

    def get_children(self, path: ZkPath, watch: bool = False) -> Calls:
        """Read a node's children. Notifications are deleted, if the controller may delete them."""
        children = super().get_children(path, watch)
        if path == ISR_CHANGE_NOTIFICATION and self.may_delete:
            self.forget_notifications()
        return children

    def delete(self, paths: Iterable[ZkPath]) -> Calls:
        """The notifications are already deleted. A controller that may not delete them learns so here."""
        return () if self.may_delete else super().delete(paths)


R = TypeVar("R", bound=ReassignedCluster, default=ReassignedCluster)


def by_node(self: ReassignmentVariables[Any]) -> bool:
    """Whether administrators request reassignments by /admin/reassign_partitions."""
    return not self.design.kip_455 and self.reassignment_requests > 0


def by_api(self: ReassignmentVariables[Any]) -> bool:
    """Whether administrators request reassignments by AlterPartitionReassignments."""
    return self.design.kip_455 and self.reassignment_requests > 0


def may_add(self: ReassignmentVariables[Any]) -> bool:
    """Whether a reassignment may add a broker."""
    first = self.assignments[PARTITION].replicas
    return self.reassignment_requests > 0 and any(not {*target} <= {*first} for target in self.targets)


def may_arrive(self: ReassignmentVariables[Any]) -> bool:
    """Whether a target without any of the first brokers may get in sync."""
    first = self.assignments[PARTITION].replicas
    new = [len(target) for target in self.targets if frozenset(target).isdisjoint(first)]
    return (
        self.reassignment_requests > 0
        and isr_may_change(self)
        and min(new, default=self.isr_changes + 1) <= self.isr_changes
    )


def may_expand(self: ReassignmentVariables[Any]) -> bool:
    """Whether a broker that keeps the partition may be out of sync."""
    return isr_may_change(self) and (self.initial_replicas > 1 or may_add(self))


def may_shrink(self: ReassignmentVariables[Any]) -> bool:
    """Whether an ISR may keep several members for a while."""
    several = self.initial_replicas > 1 or (self.isr_changes > 1 and (self.max_replicas > 1 or not self.asks_for_isr))
    return several and isr_may_change(self)


def may_have_isr_outside_assignment(self: ReassignmentVariables[Any]) -> bool:
    """Whether a controller may fail while it removes a replica that another reassignment has brought in sync."""
    several = self.reassignment_requests > 1 and self.max_replicas > 1 and self.brokers > 2
    return by_api(self) and several and isr_may_change(self) and self.controller_changes > 0


class ReassignmentVariables(ClusterSpec[R]):
    """The variables of a partition that moves, their sizes, and the rests of its events."""

    brokers: int = constant(3, "Brokers that may keep the partition.", at_least=2, at_most=4)
    isr_changes: int = constant(2, "Bound: how often the ISR of the partition is changed.", at_least=0, at_most=9)
    max_crashes: int = constant(1, "Bound: how often brokers die.", at_least=0, at_most=9)
    controller_changes: int = constant(0, "Bound: how often another controller is elected.", at_least=0, at_most=3)
    max_leader_epoch: int = constant(9, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=30)
    initial_replicas: int = constant(1, "Replicas at first, on the first brokers.", at_least=1, at_most=3)
    min_replicas: int = constant(1, "The fewest replicas that an administrator requests.", at_least=1, at_most=3)
    max_replicas: int = constant(2, "The most replicas that an administrator requests.", at_least=1, at_most=3)
    disjoint_targets: bool = constant(
        False, "An administrator requests only brokers that did not keep the partition at first."
    )
    reassignment_requests: int = constant(
        2, "Bound: how often a reassignment is requested, or given up.", at_least=0, at_most=5
    )

    design: ControlDesign = switches(
        ControlDesign,
        ByRelease(ControlDesign),
        only=[
            ControlDesign.fence_zk,
            ControlDesign.keep_last_isr,
            ControlDesign.offline_on_failover,
            ControlDesign.alter_partition,
            ControlDesign.reset_context,
            ControlDesign.kip_455,
            ControlDesign.remember_epoch,
            ControlDesign.trim_adding_removing,
            ControlDesign.shrink_with_unassigned,
            ControlDesign.clear_batch,
            ControlDesign.keep_in_sync,
            ControlDesign.keep_leader,
        ],
    )
    admin: AdminDesign = switches(AdminDesign, ByRelease(AdminDesign), only=[AdminDesign.check_targets])

    @property
    def asks_for_isr(self) -> bool:
        """Whether leaders ask the controller for ISRs: since 2.7."""
        return self.design.alter_partition

    @assumption
    def enough_brokers(self) -> bool:
        """There are enough brokers for every request."""
        free = self.brokers - self.initial_replicas * self.disjoint_targets
        return self.initial_replicas <= self.brokers and self.min_replicas <= min(free, self.max_replicas)

    strategies = (OFFLINE, REASSIGN)
    alters_at_once = True
    zk_client = ReassigningZkClient

    # Sizes.

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The first brokers keep the partition."""
        return {PARTITION: ReplicaAssignment(tuple(range(self.initial_replicas)))}

    @cached_property
    def targets(self) -> tuple[tuple[BrokerId, ...], ...]:
        """The brokers to which an administrator may move the partition."""
        every = (1 + number for number in range(2**self.brokers - 1))
        sets = (tuple(each for each in range(self.brokers) if number & 1 << each) for number in every)
        first = frozenset(range(self.initial_replicas)) if self.disjoint_targets else frozenset()
        lengths = range(self.min_replicas, self.max_replicas + 1)
        return tuple(brokers for brokers in sets if len(brokers) in lengths and first.isdisjoint(brokers))

    @property
    def all_assignments(self) -> Mapping[TopicPartition, Collection[ReplicaAssignment]]:
        """Every assignment that reassignments lead to."""
        return {PARTITION: self.reachable}

    @cached_property
    def reachable(self) -> tuple[ReplicaAssignment, ...]:
        """The assignments that the controller can reach from the first one."""
        found = dict.fromkeys(self.assignments.values())
        for now in (left := list(found)):
            for each in self.next_assignments(now):
                if each not in found:
                    found[each] = None
                    left.append(each)
        return tuple(found)

    def next_assignments(self, now: ReplicaAssignment) -> Iterator[ReplicaAssignment]:
        """The assignments that may follow this one."""
        if self.design.kip_455:
            yield ReplicaAssignment(now.target_replicas)
            yield from (now.reassign_to(target) for target in (now.origin_replicas, *self.targets))
            return
        for target in self.targets:
            yield ReplicaAssignment(target)
            yield ReplicaAssignment(tuple(dict.fromkeys((*target, *now.replicas))))

    @property
    def type_sizes(self) -> Mapping[Any, Size]:
        """With the assignments. Only an uncleanly elected leader must recover."""
        recovery = tuple(LeaderRecoveryState) if self.unclean else (LeaderRecoveryState.RECOVERED,)
        more = {ReplicaAssignment: self.reachable, Brokers: self.targets, LeaderRecoveryState: recovery}
        return {**super().type_sizes, **more}

    def sizes(self) -> Mapping[Any, Size]:
        """With the number of administrators' requests."""
        return {**super().sizes(), Requests: integers(0, self.reassignment_requests)}

    @property
    def more_nodes(self) -> Collection[Znodes]:
        """The topic's node, and the node that requests reassignments."""
        assignments = [TopicAssignment.encode({PARTITION: each}) for each in self.reachable]
        asked = [((PARTITION, target),) for target in self.targets]
        return (
            Znodes(TOPIC_PATH, data=assignments, version=left_out(), children=(frozenset({"partitions"}),)),
            Znodes("/admin"),
            *(() if self.design.kip_455 else (Znodes(REASSIGN_PARTITIONS, asked, version=left_out()),)),
        )

    @initial
    def a_cluster_set_up(self, s: R) -> None:
        """All brokers run, the first replica leads, and all replicas are in sync; there is no controller."""
        keep = self.assignments[PARTITION]
        for path in ("/brokers", "/brokers/topics", "/admin"):
            s.zk.nodes[path] = Node()
        s.zk.nodes[TOPIC_PATH] = Node(
            data=TopicAssignment.encode(self.assignments), children=frozenset({"partitions"})
        )
        for path in (topic_partitions_path(TOPIC), topic_partition_path(PARTITION)):
            s.zk.nodes[path] = Node()
        first = TopicPartitionState(LeaderAndIsr(keep.replicas[0], 0, keep.replicas), 0)
        s.zk.nodes[topic_partition_state_path(PARTITION)] = Node(data=first)
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.registered = frozenset(range(self.brokers))
        s.complete_logs = frozenset(keep.replicas)
