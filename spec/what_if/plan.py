"""What is to happen to a partition, and the order is not planned: events in place of the bounds of a system.

`EventPlan` is what is common to the systems of `any_order`, over whatever their controllers do: brokers die, return,
and another controller takes over, each as often as that was planned; and what may come of it when all has happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from typing_extensions import TypeVar

from election.ids import BrokerId
from spec.language import Size, action, initial, invariant, require, sometimes, variable
from spec.systems.cluster import TOPIC, TOPIC_PATH, ClusterSpec, ClusterState
from spec.what_if.situations import Situation
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.messages.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.zookeeper.tree import Node

__all__ = ["EventPlan", "PlannedCluster"]

Planned = Annotated[str, "an event that is to happen"]
"""One of those of a `Situation`, or the exit of a broker that shuts down."""
PARTITION: Final = TopicPartition(TOPIC, 0)
"""The partition that is asked about."""


class PlannedCluster(ClusterState):
    """A cluster to which something is to happen."""

    pending: frozenset[Planned] = variable("What has not happened yet.")
    unclean_leader: bool = variable("A broker was elected that was not in sync.")


P = TypeVar("P", bound=PlannedCluster, default=PlannedCluster)


class EventPlan(ClusterSpec[P]):
    """A cluster under control, where what happens to brokers is planned, and the order is not.

    A system of its own for each situation: `situation` is a class variable.
    """

    situation: ClassVar[Situation]
    rules: ClassVar[tuple[str, ...]] = ()
    """The invariants that hold in every release; what a bug of a release breaks is no rule: what comes of it is an
    outcome, and told as one."""

    def sizes(self) -> Mapping[Any, Size]:
        """With what is planned."""
        exits = tuple(f"exit of {broker}" for broker in self.broker_ids)
        return {**super().sizes(), Planned: tuple(dict.fromkeys((*self.situation.events, *exits)))}

    @property
    def type_sizes(self) -> Mapping[Any, Size]:
        """With the ISRs that may come of what happens: of many brokers there are too many in all orders."""
        return {**super().type_sizes, LeaderAndIsr.isr: self.isrs}

    @property
    def leaving(self) -> frozenset[BrokerId]:
        """The brokers that may leave an ISR: those that die or shut down."""
        return frozenset(self.broker_ids) - self.situation.live | self.to_which("crash", "shutdown")

    @property
    def joining(self) -> frozenset[BrokerId]:
        """The brokers that may join one: those that return, or shut down and follow yet, or wait for a leader."""
        return self.to_which("return", "shutdown") | self.situation.waiting

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

    def to_which(self, *kinds: str) -> frozenset[BrokerId]:
        """The brokers to which something of these kinds is to happen."""
        events = (event.split() for event in self.situation.events)
        return frozenset(int(words[2]) for words in events if words[0] in kinds)

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
        s.pending = frozenset(situation.events)

    def happens(self, s: P, event: str) -> None:
        """It was to happen, and once less from now on. The first thing happens to a cluster at rest."""
        again = (each for each in self.situation.events if each.startswith(f"{event} ("))
        due = next((each for each in (event, *again) if each in s.pending), None)
        require(due is not None)
        require(s.pending != frozenset(self.situation.events) or (s.active and s.idle))
        s.pending -= {due}

    # What happens.

    @action(when=lambda self: self.max_deaths > 0, actor="broker")
    def die(self, s: P, broker: BrokerId) -> None:
        """A broker dies, and its registration goes."""
        self.happens(s, f"crash of {broker}")
        self.leave(s, broker)

    def leave(self, s: P, broker: BrokerId) -> None:
        """A broker is gone, for one planned reason or another."""
        super().die(s, broker)

    @action(when=lambda self: self.returns > 0, actor="broker")
    def come_back(self, s: P, broker: BrokerId) -> None:
        """A broker is started, when the controller knows that it is gone."""
        self.happens(s, f"return of {broker}")
        super().come_back(s, broker)

    @action(when=lambda self: self.moves > 0, actor="another controller", receiver="ZooKeeper")
    def elect_another_controller(self, s: P) -> None:
        """Another controller is elected, which the one here does not know yet."""
        self.happens(s, "failover")
        super().elect_another_controller(s)

    @action(when=lambda self: False)
    def shrink_isr(self, s: P, partition: TopicPartition, broker: BrokerId) -> None:
        """No replica falls behind that was not planned to."""
        raise AssertionError

    @action(when=lambda self: self.isr_changes > 0, actor="leader", receiver="{self.isr_receiver}")
    def expand_isr(self, s: P, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader takes a broker into the ISR that follows it. [Partition.maybeExpandIsr]"""
        require(not self.lags(s, broker))
        super().expand_isr(s, partition, broker)

    @property
    def returns(self) -> int:
        """How many brokers are to start."""
        return sum(event.startswith("return") for event in self.situation.events)

    def lags(self, s: P, broker: BrokerId) -> bool:
        """A broker was out of sync at first, though a leader ran, and has not been started since."""
        back, situation = f"return of {broker}", self.situation
        out = broker not in situation.isr and broker not in situation.waiting
        return out and (back in s.pending or back not in situation.events)

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
        if s.pending or not self.quiet(s):
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
