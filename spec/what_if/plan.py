"""Planned events of a partition in any order, in place of the bounds of a system.

`EventPlan` is shared by the systems of `any_order`, whatever their controllers do. The events of `events` apply
themselves to an `ExploredCluster`, and each happens as often as planned. The properties are the possible outcomes
after all events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from typing_extensions import TypeVar

from election.ids import BrokerId
from spec.language import Size, Total, action, constant, initial, integers, invariant, require, sometimes, variable
from spec.systems.cluster import TOPIC, TOPIC_PATH, ClusterSpec, ClusterState
from spec.what_if.events import ClusterEvent, Crash, Return, Shutdown
from spec.what_if.situations import PARTITION, Situation
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import Node

PlannedEvent = Annotated[ClusterEvent, "a planned event"]
"""One of those of a `Situation`."""
Times = Annotated[int, "how often a planned event has yet to happen"]
"""A number of times."""


class PlannedCluster(ClusterState):
    """A cluster with pending events."""

    pending: Total[PlannedEvent, Times] = variable("How often each event has yet to happen.")
    exiting: frozenset[BrokerId] = variable("The brokers that asked for their shutdown and still run.")
    unclean_leader: bool = variable("A broker outside the ISR was elected.")


P = TypeVar("P", bound=PlannedCluster, default=PlannedCluster)


AT_REST: Final = Situation(replicas=1, leader=0, isr=(0,), live=frozenset({0}), events=(), min_isr=1, unclean=False)
"""A partition with one replica, to which nothing happens."""


class ExploredCluster:
    """The target of events in an explored system: its variables.

    Args:
        system: the system.
        s: a state of it.
    """

    def __init__(self, system: Any, s: Any) -> None:
        self.system, self.s = system, s

    def partitions(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """The partitions with their initial assignments."""
        assignments: Mapping[TopicPartition, ReplicaAssignment] = self.system.assignments
        return assignments

    def crash(self, *brokers: BrokerId) -> None:
        """Let brokers die, which removes their registrations."""
        for broker in brokers:
            ClusterSpec.crash(self.system, self.s, broker)

    def restart(self, *brokers: BrokerId) -> None:
        """Start brokers; the controller must know that they died."""
        for broker in brokers:
            ClusterSpec.restart(self.system, self.s, broker)

    def fail_over(self) -> None:
        """Elect another controller; the present one does not know it yet."""
        ClusterSpec.elect_another_controller(self.system, self.s)


class EventPlan(ClusterSpec[P]):
    """A cluster with a controller and planned events of brokers, in any order."""

    situation: Situation = constant(AT_REST, "The partition as it is at first, and its planned events.")
    explored: ClassVar[type[Any]] = ExploredCluster
    """The class of the events' target. It has what the planned events need; `situations` refuses other events."""
    rules: ClassVar[tuple[str, ...]] = ()
    """The invariants that hold in every release. An invariant that a release's bug breaks is not among them: the
    effects of the bug are outcomes, and are reported as outcomes."""

    @property
    def planned(self) -> Mapping[ClusterEvent, int]:
        """How often each event happens."""
        return Counter(self.situation.events)

    def sizes(self) -> Mapping[Any, Size]:
        """The sizes of the cluster, and of planned events."""
        planned = self.planned
        return {**super().sizes(), PlannedEvent: tuple(planned), Times: integers(0, max(planned.values(), default=0))}

    @property
    def type_sizes(self) -> Mapping[Any, Size]:
        """The sizes with only the ISRs that the events can produce: many brokers have too many in all orders."""
        return {**super().type_sizes, LeaderAndIsr.isr: self.isrs}

    @property
    def leaving(self) -> frozenset[BrokerId]:
        """The brokers that may leave the ISR: those that die or shut down."""
        return frozenset(self.broker_ids) - self.situation.live | self.situation.brokers_with(Crash, Shutdown)

    @property
    def joining(self) -> frozenset[BrokerId]:
        """The brokers that may join the ISR: they return, follow during their shutdown, or wait for a leader."""
        return self.situation.brokers_with(Return, Shutdown) | self.situation.waiting

    @property
    def isrs(self) -> Sequence[tuple[BrokerId, ...]]:
        """Every ISR that the first one can become; brokers that join are at its end."""
        found = {(), self.situation.isr, *((broker,) for broker in self.broker_ids if self.unclean)}
        due = list(found)
        while due:
            isr = due.pop()
            less = (tuple(each for each in isr if each != broker) for broker in self.leaving)
            more = ((*isr, broker) for broker in self.joining if broker not in isr)
            fresh = {*less, *more} - found
            found |= fresh
            due += fresh
        return sorted(found)

    @initial
    def a_cluster_set_up(self, s: P) -> None:
        """The partition is as described; its controller starts by reading it."""
        situation = self.situation
        for path in ("/brokers", "/brokers/topics", TOPIC_PATH):
            s.zk.nodes[path] = Node()
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        if situation.has_state:
            leader = NO_LEADER if situation.leader is None else situation.leader
            state = TopicPartitionState.encode(LeaderAndIsr(leader, 0, situation.isr), 0)
            s.zk.nodes[topic_partitions_path(TOPIC)] = Node()
            s.zk.nodes[topic_partition_path(PARTITION)] = Node()
            s.zk.nodes[topic_partition_state_path(PARTITION)] = Node(data=state)
        s.registered = situation.live
        for event, times in self.planned.items():
            s.pending[event] = times

    # Events.

    crash: Any = None
    restart: Any = None
    elect_another_controller: Any = None
    """Planned events replace these actions."""
    shrink_isr: Any = None
    """Only planned events let a replica fall behind."""

    @action(when=lambda self: self.situation.events)
    def happen(self, s: P, event: PlannedEvent) -> None:
        """A planned event happens; the first one happens to a cluster at rest."""
        require(s.pending[event] > 0)
        is_first = all(s.pending[each] == times for each, times in self.planned.items())
        require(not is_first or (s.active and s.idle))
        s.pending[event] -= 1
        event.apply(self.explored(self, s))

    @action(when=lambda self: self.isr_changes > 0, actor="leader", receiver="{self.isr_receiver}")
    def expand_isr(self, s: P, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader adds a following broker to the ISR. [Partition.maybeExpandIsr]"""
        require(not self.lags(s, broker))
        super().expand_isr(s, partition, broker)

    def lags(self, s: P, broker: BrokerId) -> bool:
        """A broker was out of sync at first although a leader ran, and has not been restarted since."""
        back, situation = Return(broker), self.situation
        out = broker not in situation.isr and broker not in situation.waiting
        return out and (back not in self.planned or s.pending[back] == self.planned[back])

    def nothing_is_to_come(self, s: P) -> bool:
        """All planned events have happened."""
        return not s.exiting and not any(s.pending[event] for event in self.planned)

    def answer(self, s: P) -> None:
        """As in the cluster; also records unclean elections."""
        before = s.state(PARTITION)
        super().answer(s)
        after = s.state(PARTITION)
        if before is not None and after is not None and after.leader not in (NO_LEADER, *before.isr):
            s.unclean_leader = True

    # Outcomes.

    def at_rest(self, s: P) -> bool:
        """All events have happened, the controller is idle, and every follower is in sync."""
        if not self.nothing_is_to_come(s) or not self.quiet(s):
            return False
        state = s.state(PARTITION)
        if state is None or state.leader not in s.registered:
            return True
        return all(broker in state.isr or self.lags(s, broker) for broker in self.followers(s))

    def followers(self, s: P) -> frozenset[BrokerId]:
        """The live brokers with a replica of the partition."""
        return s.registered

    def on_the_way(self, s: P) -> bool:
        """An event has happened, and the controller has done all that it can do for now."""
        return self.quiet(s) and any(s.pending[event] < times for event, times in self.planned.items())

    def is_led(self, s: P) -> bool:
        """The partition has a live leader."""
        state = s.state(PARTITION)
        return state is not None and state.leader in s.registered

    def has_min_isr(self, s: P) -> bool:
        """The ISR has at least min.insync.replicas live members; a dead one will leave it soon."""
        state = s.state(PARTITION)
        return state is None or sum(broker in s.registered for broker in state.isr) >= self.situation.min_isr

    @invariant(where=at_rest)
    def keeps_a_leader(self, s: P) -> bool:
        """After all events the partition has a live leader."""
        return self.is_led(s)

    @invariant(where=at_rest)
    def keeps_its_records(self, s: P) -> bool:
        """After all events no broker outside the ISR was elected."""
        return not s.unclean_leader

    @invariant(where=at_rest)
    def keeps_min_isr(self, s: P) -> bool:
        """After all events enough replicas are in sync."""
        return self.has_min_isr(s)

    @invariant(where=on_the_way)
    def keeps_a_leader_on_the_way(self, s: P) -> bool:
        """A partition that had a leader before the events has one whenever the controller rests."""
        return not self.situation.in_sync_at_first or self.is_led(s)

    @invariant(where=on_the_way)
    def keeps_min_isr_on_the_way(self, s: P) -> bool:
        """A partition that had enough replicas in sync before the events has them whenever the controller rests."""
        return self.situation.in_sync_at_first < self.situation.min_isr or self.has_min_isr(s)

    @sometimes(where=at_rest)
    def comes_to_rest(self, s: P) -> bool:
        """All planned events can happen; otherwise the outcomes would say nothing."""
        return True

    @sometimes
    def at_a_bound(self, s: P) -> bool:
        """A bound may have cut something off: the system must be explored again with higher bounds."""
        node = s.written(PARTITION)
        if node is None:
            return False
        epoch = node.data.leader_and_isr.leader_epoch
        changes = node.version - epoch
        return bool(epoch >= self.max_leader_epoch or changes >= self.isr_changes > 0)
