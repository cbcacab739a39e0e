"""What is to happen to a partition, and the order is not planned: events in place of the bounds of a system.

`EventPlan` is what is common to the systems of `any_order`, over whatever their controllers do. The events are those
of `events`, which apply themselves to an `ExploredCluster`: each happens as often as that was planned. And there is
what may come of it when all has happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from typing_extensions import TypeVar

from election.ids import BrokerId
from spec.language import Size, Total, action, initial, integers, invariant, require, sometimes, variable
from spec.systems.cluster import TOPIC, TOPIC_PATH, ClusterSpec, ClusterState
from spec.what_if.events import ClusterEvent, Crash, Return, Shutdown
from spec.what_if.situations import PARTITION, Situation
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition
from statemachines.messages.zk_data import (
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import Node

__all__ = ["EventPlan", "ExploredCluster", "PlannedCluster"]

PlannedEvent = Annotated[ClusterEvent, "an event that is to happen"]
"""One of those of a `Situation`."""
Times = Annotated[int, "how often something is to happen"]
"""A number of times."""


class PlannedCluster(ClusterState):
    """A cluster to which something is to happen."""

    pending: Total[PlannedEvent, Times] = variable("How often each event has yet to happen.")
    exiting: frozenset[BrokerId] = variable("The brokers that have asked to be shut down, and run yet.")
    unclean_leader: bool = variable("A broker was elected that was not in sync.")


P = TypeVar("P", bound=PlannedCluster, default=PlannedCluster)


class ExploredCluster:
    """What events apply themselves to where a system is explored: its variables.

    Args:
        system: the system.
        s: a state of it.
    """

    def __init__(self, system: Any, s: Any) -> None:
        self.system, self.s = system, s

    def partitions(self) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Those that there are, as they are assigned at first."""
        assignments: Mapping[TopicPartition, ReplicaAssignment] = self.system.assignments
        return assignments

    def crash(self, *brokers: BrokerId) -> None:
        """They die, and their registrations go."""
        for broker in brokers:
            ClusterSpec.crash(self.system, self.s, broker)

    def restart(self, *brokers: BrokerId) -> None:
        """They are started, when the controller knows that they are gone."""
        for broker in brokers:
            ClusterSpec.restart(self.system, self.s, broker)

    def fail_over(self) -> None:
        """Another controller is elected, which the one here does not know yet."""
        ClusterSpec.elect_another_controller(self.system, self.s)

    def shut_down(self, broker: BrokerId, attempts: int) -> None:
        """Not here."""
        raise NotImplementedError

    def reassign(self, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> None:
        """Not here."""
        raise NotImplementedError

    def elect(self, partitions: Iterable[TopicPartition]) -> None:
        """Not here."""
        raise NotImplementedError

    def rebalance(self) -> None:
        """Not here: it depends on partitions that are not explored with this one."""
        raise NotImplementedError

    def create_topic(self, name: TopicName, *, partitions: int, replication_factor: int) -> None:
        """Not here: that is explored which is there."""
        raise NotImplementedError

    def allow_unclean(self, topic: TopicName | None) -> None:
        """Not here: a situation says whether they are permitted, from the beginning."""
        raise NotImplementedError


class EventPlan(ClusterSpec[P]):
    """A cluster under control, where what happens to brokers is planned, and the order is not.

    A system of its own for each situation: `situation` is a class variable.
    """

    situation: ClassVar[Situation]
    explored: ClassVar[type[ExploredCluster]] = ExploredCluster
    """What events apply themselves to."""
    rules: ClassVar[tuple[str, ...]] = ()
    """The invariants that hold in every release; what a bug of a release breaks is no rule: what comes of it is an
    outcome, and told as one."""

    @property
    def planned(self) -> Mapping[ClusterEvent, int]:
        """How often each event is to happen."""
        return Counter(self.situation.events)

    def sizes(self) -> Mapping[Any, Size]:
        """With what is planned."""
        planned = self.planned
        return {**super().sizes(), PlannedEvent: tuple(planned), Times: integers(0, max(planned.values(), default=0))}

    @property
    def type_sizes(self) -> Mapping[Any, Size]:
        """With the ISRs that may come of what happens: of many brokers there are too many in all orders."""
        return {**super().type_sizes, LeaderAndIsr.isr: self.isrs}

    @property
    def leaving(self) -> frozenset[BrokerId]:
        """The brokers that may leave an ISR: those that die or shut down."""
        return frozenset(self.broker_ids) - self.situation.live | self.situation.brokers_with(Crash, Shutdown)

    @property
    def joining(self) -> frozenset[BrokerId]:
        """The brokers that may join one: those that return, or shut down and follow yet, or wait for a leader."""
        return self.situation.brokers_with(Return, Shutdown) | self.situation.waiting

    @property
    def isrs(self) -> Sequence[tuple[BrokerId, ...]]:
        """Every ISR that may come of the first one; who joins it stands at its end."""
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
        """The partition is as it was described; its controller begins by looking at it."""
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

    # What happens.

    crash: Any = None
    restart: Any = None
    elect_another_controller: Any = None
    """These are events."""
    shrink_isr: Any = None
    """No replica falls behind that was not planned to."""

    @action(when=lambda self: self.situation.events)
    def happen(self, s: P, event: PlannedEvent) -> None:
        """Something happens that was planned; the first, to a cluster at rest."""
        require(s.pending[event] > 0)
        is_first = all(s.pending[each] == times for each, times in self.planned.items())
        require(not is_first or (s.active and s.idle))
        s.pending[event] -= 1
        event.apply(self.explored(self, s))

    @action(when=lambda self: self.isr_changes > 0, actor="leader", receiver="{self.isr_receiver}")
    def expand_isr(self, s: P, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader takes a broker into the ISR that follows it. [Partition.maybeExpandIsr]"""
        require(not self.lags(s, broker))
        super().expand_isr(s, partition, broker)

    def lags(self, s: P, broker: BrokerId) -> bool:
        """A broker was out of sync at first, though a leader ran, and has not been started since."""
        back, situation = Return(broker), self.situation
        out = broker not in situation.isr and broker not in situation.waiting
        return out and (back not in self.planned or s.pending[back] == self.planned[back])

    def nothing_is_to_come(self, s: P) -> bool:
        """All has happened that was planned."""
        return not s.exiting and not any(s.pending[event] for event in self.planned)

    def answer(self, s: P, change: Any) -> None:
        """With who is elected."""
        before = s.state(PARTITION)
        super().answer(s, change)
        after = s.state(PARTITION)
        if before is not None and after is not None and after.leader not in (NO_LEADER, *before.isr):
            s.unclean_leader = True

    # What may come of it.

    def at_rest(self, s: P) -> bool:
        """All has happened, the controller has nothing to do, and who follows its leader is in sync."""
        if not self.nothing_is_to_come(s) or not self.quiet(s):
            return False
        state = s.state(PARTITION)
        if state is None or state.leader not in s.registered:
            return True
        return all(broker in state.isr or self.lags(s, broker) for broker in self.followers(s))

    def followers(self, s: P) -> frozenset[BrokerId]:
        """The brokers that run and keep the partition."""
        return s.registered

    @invariant(where=at_rest)
    def keeps_a_leader(self, s: P) -> bool:
        """When all has happened, the partition has a leader that runs."""
        state = s.state(PARTITION)
        return state is not None and state.leader in s.registered

    @invariant(where=at_rest)
    def keeps_its_records(self, s: P) -> bool:
        """When all has happened, no broker was elected that was not in sync."""
        return not s.unclean_leader

    @invariant(where=at_rest)
    def keeps_min_isr(self, s: P) -> bool:
        """When all has happened, as many replicas are in sync as have to be; a dead one will not be for long."""
        state = s.state(PARTITION)
        return state is None or sum(broker in s.registered for broker in state.isr) >= self.situation.min_isr

    @sometimes(where=at_rest)
    def comes_to_rest(self, s: P) -> bool:
        """All that was planned can happen; else nothing would be said of how it ends."""
        return True

    @sometimes
    def at_a_bound(self, s: P) -> bool:
        """A bound of this system may have cut something off: it is to be explored again, with higher ones."""
        node = s.written(PARTITION)
        if node is None:
            return False
        epoch = node.data.leader_and_isr.leader_epoch
        changes = node.version - epoch
        return bool(epoch >= self.max_leader_epoch or changes >= self.isr_changes > 0)
