"""A planned move of a partition, with other events: the system `reassignment` with a plan in place of bounds.

An administrator requests the one planned move at some time; or it is under way from the start, and the controller
continues it. Added brokers copy the partition, which may take any time: other events may happen before one of them is
in sync, and it may die before that. Each write of the controller for the move is a step; between these steps brokers
may die and another controller may take over.

The system leaves out what `reassignment` leaves out, including controlled shutdown and requested elections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from election.ids import BrokerId
from spec.language import constant, initial, invariant, require
from spec.systems.cluster import TOPIC_PATH
from spec.systems.reassignment import PARTITION, ReassignedCluster, Reassignment, by_node
from spec.what_if.plan import EventPlan, ExploredCluster, PlannedCluster
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS, TopicAssignment
from statemachines.zookeeper.tree import Node

RULES: Final = (
    *("leader_in_isr", "leader_epoch_monotone", "one_leader_per_epoch", "presumed_leader_legit", "clean_election"),
    *("legal_psm", "legal_rsm", "new_has_no_state", "cache_not_ahead", "psm_domain"),
    *("election_from_current_state", "isr_survives_election"),
    *("assignment_shape", "assignment_known", "reassigns_what_is_requested", "ends_once_in_sync"),
    *("zk.version_step", "zk.one_shot", "zk.ephemeral_owned"),
)
"""The invariants of `reassignment` that hold in every release."""


class MovingCluster(PlannedCluster, ReassignedCluster):
    """A cluster with a partition that should move."""


class ExploredMove(ExploredCluster):
    """The target of events that include a move."""

    def reassign(self, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> None:
        """Request the move as an administrator. [AlterPartitionReassignments; until 2.3 a node]"""
        system, s = self.system, self.s
        if by_node(system):
            if system.admin.check_targets and not all(map(s.registered.issuperset, targets.values())):
                return  # the tool refuses
            system.zk.servers(s.zk).create(None, REASSIGN_PARTITIONS, tuple(targets.items()))
            return
        require(s.active and s.idle and s.context.epoch == s.epoch)
        system.begin(s, ControllerEventProcessor.process_api_partition_reassignment, tuple(targets.items()))


class PlannedMove(EventPlan[MovingCluster], Reassignment[MovingCluster]):
    """`reassignment` with planned events, including the move, in any order."""

    name = "planned-move"
    leaves_out = "bounced brokers, controlled shutdown, requested elections, deletion of topics"

    explored = ExploredMove
    rules = RULES
    reassign: Any = None
    write_reassignment: Any = None
    """A planned event replaces this action."""
    only_administrators_request: Any = None
    """The controller learns of the request by `write_reassignment`."""

    brokers: int = constant(3, "Brokers with a present or future replica of the partition.", at_least=1, at_most=6)

    # Sizes.

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The described assignment."""
        replicas, adding, removing = range(self.situation.replicas), self.situation.adding, self.situation.removing
        return {PARTITION: ReplicaAssignment(tuple(replicas), adding, removing)}

    @cached_property
    def targets(self) -> tuple[tuple[BrokerId, ...], ...]:
        """The planned target."""
        return (self.situation.target,)

    def next_assignments(self, now: ReplicaAssignment) -> Iterator[ReplicaAssignment]:
        """The assignment during the move, and after it: there is no way back."""
        both = self.assignments[PARTITION].reassign_to(self.situation.target)
        yield both if self.design.kip_455 else ReplicaAssignment(both.replicas)
        yield ReplicaAssignment(self.situation.target)

    @property
    def added(self) -> frozenset[BrokerId]:
        """The brokers that must copy the partition."""
        return frozenset(self.situation.target) - {*self.assignments[PARTITION].origin_replicas}

    @property
    def leaving(self) -> frozenset[BrokerId]:
        """As in the plan, and the brokers that the move removes."""
        return super().leaving | {*self.assignments[PARTITION].replicas} - {*self.situation.target}

    @property
    def joining(self) -> frozenset[BrokerId]:
        """As in the plan, and the brokers that the move adds."""
        return super().joining | self.added

    @property
    def isrs(self) -> Sequence[tuple[BrokerId, ...]]:
        """The ISRs in the order of ids: Kafka has a set of brokers there, whose order has no effect."""
        return sorted({tuple(sorted(isr)) for isr in super().isrs})

    @initial
    def a_cluster_set_up(self, s: MovingCluster) -> None:
        """The partition is as described; replicas in sync have all acknowledged records."""
        super().a_cluster_set_up(s)
        s.zk.nodes["/admin"] = Node()
        s.zk.nodes[TOPIC_PATH] = Node(
            data=TopicAssignment.encode(self.assignments), children=frozenset({"partitions"})
        )
        s.complete_logs = frozenset(self.situation.isr)

    # The controller and brokers.

    def change_isr(self, s: MovingCluster, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> None:
        """Change the ISR, which is sorted by id."""
        super().change_isr(s, partition, tuple(sorted(isr)))

    def lags(self, s: MovingCluster, broker: BrokerId) -> bool:
        """An added broker does not lag: it copies the partition."""
        return broker not in self.added and super().lags(s, broker)

    # Outcomes.

    def followers(self, s: MovingCluster) -> frozenset[BrokerId]:
        """The live replicas."""
        return s.registered & {*s.assignment.replicas}

    @invariant(where=EventPlan.at_rest)
    def keeps_its_records(self, s: MovingCluster) -> bool:
        """After all events no broker outside the ISR was elected, and the leader has all records."""
        state = s.state(PARTITION)
        led_from_less = state is not None and state.leader in s.registered - s.complete_logs
        return super().keeps_its_records(s) and not led_from_less

    @invariant(where=EventPlan.at_rest)
    def arrives(self, s: MovingCluster) -> bool:
        """After all events the partition is on its target brokers."""
        return s.assignment == ReplicaAssignment(self.situation.target)
