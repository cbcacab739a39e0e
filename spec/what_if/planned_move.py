"""A partition is to move, and other things are to happen: the system `reassignment` with a plan in place of bounds.

An administrator asks for the one move that was planned, some time; or it is under way from the beginning, and the
controller goes on with it. Brokers that are added copy the partition, which
takes however long: other events may come before one of them is in sync, and it may die before it ever is. What the
controller writes for the move is a step each, between which brokers die and another controller takes over.

Left out is what `reassignment` leaves out; a controlled shutdown and an election that is asked for among it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations
from typing import Any, Final

from election.ids import BrokerId
from spec.language import Size, constant, initial, invariant, require
from spec.systems.cluster import TOPIC_PATH
from spec.systems.reassignment import PARTITION, ReassignedCluster, Reassignment, by_node
from spec.what_if.events import Crash, Return
from spec.what_if.plan import EventPlan, ExploredCluster, PlannedCluster
from statemachines.controller.calls import EventWaiting
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.controller.state_change import ChangeDone, ElectionOutcome, EventDone, StateChangeFailure
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS, TopicAssignment
from statemachines.zookeeper.tree import Code, Node

__all__ = ["PlannedMove"]

ELECTED: Final = LeaderAndIsr(NO_LEADER, 0, ())
"""It stands for any leader and ISR that an election came to."""


RULES: Final = (
    *("leader_in_isr", "leader_epoch_monotone", "one_leader_per_epoch", "presumed_leader_legit", "clean_election"),
    *("legal_psm", "legal_rsm", "new_has_no_state", "cache_not_ahead", "psm_domain"),
    *("election_from_current_state", "isr_survives_election"),
    *("assignment_shape", "assignment_known", "reassigns_what_is_requested", "ends_once_in_sync"),
    *("zk.version_step", "zk.one_shot", "zk.ephemeral_owned"),
)
"""The invariants of `reassignment` that hold in every release."""


class MovingCluster(PlannedCluster, ReassignedCluster):
    """A cluster with a partition that is to move."""


class ExploredMove(ExploredCluster):
    """Where a partition moves."""

    def reassign(self, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> None:
        """An administrator has the partition move. [AlterPartitionReassignments; until 2.3 by a node]"""
        system, s = self.system, self.s
        if by_node(system):
            system.zk.servers(s.zk).create(None, REASSIGN_PARTITIONS, tuple(targets.items()))
            return
        require(s.active and s.idle and s.context.epoch == s.epoch)
        system.begin(s, ControllerEventProcessor.process_api_partition_reassignment, tuple(targets.items()))


class PlannedMove(EventPlan[MovingCluster], Reassignment[MovingCluster]):
    """`reassignment`, where what happens is planned, the move among it, and the order is not."""

    name = "planned-move"
    leaves_out = "bounced brokers, controlled shutdown, elections that are asked for, deletion of topics"

    explored = ExploredMove
    rules = RULES
    reassign: Any = None
    write_reassignment: Any = None
    """That is an event."""
    only_administrators_request: Any = None
    """It knows them by `write_reassignment`."""

    brokers: int = constant(3, "Brokers that keep the partition, or are to.", at_least=1, at_most=6)

    # How large it is.

    @property
    def assignments(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """As it was described."""
        replicas, adding, removing = range(self.situation.replicas), self.situation.adding, self.situation.removing
        return {PARTITION: ReplicaAssignment(tuple(replicas), adding, removing)}

    @cached_property
    def targets(self) -> tuple[tuple[BrokerId, ...], ...]:
        """The one that is planned."""
        return (self.situation.target,)

    def next_assignments(self, now: ReplicaAssignment) -> Iterator[ReplicaAssignment]:
        """Where the partition moves, and where it has arrived: there is no way back."""
        both = self.assignments[PARTITION].reassign_to(self.situation.target)
        yield both if self.design.kip_455 else ReplicaAssignment(both.replicas)
        yield ReplicaAssignment(self.situation.target)

    @property
    def groups_of_brokers(self) -> Iterator[tuple[BrokerId, ...]]:
        """Those that may come or go together: to which something happens."""
        some = sorted(self.situation.brokers_with(Crash, Return))
        return chain.from_iterable(combinations(some, length) for length in range(len(some) + 1))

    @property
    def added(self) -> frozenset[BrokerId]:
        """The brokers that have to copy the partition."""
        return frozenset(self.situation.target) - {*self.assignments[PARTITION].origin_replicas}

    @property
    def leaving(self) -> frozenset[BrokerId]:
        """And those that are not to keep the partition any more."""
        return super().leaving | {*self.assignments[PARTITION].replicas} - {*self.situation.target}

    @property
    def joining(self) -> frozenset[BrokerId]:
        """And those that are to keep it from now on."""
        return super().joining | self.added

    @property
    def isrs(self) -> Sequence[tuple[BrokerId, ...]]:
        """In the order of ids: Kafka has a set of brokers there, of which nothing goes by the order."""
        return sorted({tuple(sorted(isr)) for isr in super().isrs})

    def sizes(self) -> Mapping[Any, Size]:
        """Of an election is known whether there was one."""
        return {**super().sizes(), ElectionOutcome: (ELECTED, *StateChangeFailure, *Code)}

    @initial
    def a_cluster_set_up(self, s: MovingCluster) -> None:
        """The partition is as it was described; who is in sync has all that was acknowledged."""
        super().a_cluster_set_up(s)
        s.zk.nodes["/admin"] = Node()
        s.zk.nodes[TOPIC_PATH] = Node(
            data=TopicAssignment.encode(self.assignments), children=frozenset({"partitions"})
        )
        s.complete_logs = frozenset(self.situation.isr)

    # What the controller and brokers do about it.

    def advance(self, s: MovingCluster, step: EventWaiting | EventDone) -> None:
        """All that an event asks of an election that is over is whether there was one."""
        step = self.answered_at_once(s, step)
        if isinstance(step, EventWaiting) and isinstance(step.awaits.what, ChangeDone):
            results = (
                (partition, ELECTED if isinstance(outcome, LeaderAndIsr) else outcome)
                for partition, outcome in step.awaits.what.results
            )
            step = step._replace(awaits=step.awaits._replace(what=ChangeDone(tuple(results))))
        super().advance(s, step)

    def change_isr(self, s: MovingCluster, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> None:
        """Who joins stands where its id has it stand."""
        super().change_isr(s, partition, tuple(sorted(isr)))

    def lags(self, s: MovingCluster, broker: BrokerId) -> bool:
        """A broker that is added copies the partition."""
        return broker not in self.added and super().lags(s, broker)

    # What may come of it.

    def followers(self, s: MovingCluster) -> frozenset[BrokerId]:
        """Those that run of its replicas."""
        return s.registered & {*s.assignment.replicas}

    @invariant(where=EventPlan.at_rest)
    def keeps_its_records(self, s: MovingCluster) -> bool:
        """When all has happened, no broker was elected that was not in sync, and who leads has all records."""
        state = s.state(PARTITION)
        led_from_less = state is not None and state.leader in s.registered - s.complete_logs
        return super().keeps_its_records(s) and not led_from_less

    @invariant(where=EventPlan.at_rest)
    def arrives(self, s: MovingCluster) -> bool:
        """When all has happened, the partition is kept by the brokers that it was to move to."""
        return s.assignment == ReplicaAssignment(self.situation.target)
