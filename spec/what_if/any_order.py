"""Events of a what-if in any order: what is the worst that can come of them, and the shortest way there.

Brokers die, return and shut down in whatever order their events may happen, the controller goes on batch by batch in
between, and, where that is asked for, another controller takes over at any moment. That is the system `partitions`
with a plan in place of its bounds: `EventsInAnyOrder`. A partition is explored alone, with the replicas that it has.

Partitions that behave alike are explored once. Alike they are if they look the same from the place of each replica in
the assignment: how many replicas, which of them leads, which are in sync and in which order, which are alive, what
happens to the broker of each, and what is configured. What happens to other brokers does not reach a partition, but
that the controller's broker dies is a failover for all. In which order replicas of several dead brokers go offline is
not looked at, in Kafka it is that of a hash map: a way may be a step longer for that, and ends alike.

Left out is what `partitions` leaves out, bounced brokers among it. A queue of requests that is slow brings nothing
else: until a broker is told who leads it follows nobody, and who follows its leader gets in sync some time, however
late. A replica that lags stays so until its broker returns. Unclean elections, where they are ever
permitted, are permitted from the beginning, which is worse. Reassignments are not explored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, NamedTuple

from typing_extensions import TypeVar

from election.ids import BrokerId
from spec.checking import Result, Trace, check
from spec.language import Size, action, initial, invariant, require, sometimes, variable
from spec.language.errors import UsageError
from spec.parts.controlled_cluster import TOPIC, TOPIC_PATH, ControlledCluster
from spec.releases import valuation
from spec.systems.partitions import Partitions
from spec.what_if.cluster import KnownCluster, listed
from spec.what_if.events import (
    AllowUnclean,
    AnotherController,
    ClusterEvent,
    Crash,
    ElectPreferred,
    Reassign,
    Return,
    Shutdown,
)
from spec.what_if.prediction import PartitionHealth
from statemachines.controller import CONTROLLER_EPOCH
from statemachines.leader_and_isr import NO_LEADER, LeaderAndIsr
from statemachines.releases import RELEASES, line_of
from statemachines.topic_partition import TopicPartition
from statemachines.zk_data import (
    TopicPartitionState,
    topic_partition_path,
    topic_partition_state_path,
    topic_partitions_path,
)
from statemachines.znode import Node

__all__ = ["AnyOrder", "EventsInAnyOrder", "Situation", "WorstCase", "in_any_order", "situations"]

MOST_REPLICAS: Final = 4
"""More than that is not explored."""
EXIT_BOUND: Final = 20
Planned = Annotated[str, "an event that is to happen"]
"""Like "crash of 0", where 0 is the first replica's broker."""


class Situation(NamedTuple):
    """A partition, and what is to happen to it, by the places of its replicas: 0 is the preferred one."""

    replicas: int
    leader: BrokerId | None
    isr: tuple[BrokerId, ...]
    live: frozenset[BrokerId]
    events: tuple[str, ...]
    min_isr: int
    unclean: bool


class PlannedCluster(ControlledCluster):
    """A cluster to which something is to happen."""

    pending: frozenset[Planned] = variable("What has not happened yet.")
    unclean_leader: bool = variable("A broker was elected that was not in sync.")


P = TypeVar("P", bound=PlannedCluster, default=PlannedCluster)


class EventsInAnyOrder(Partitions[P]):
    """`partitions`, where what happens to brokers is planned, and the order is not.

    A system of its own for each situation: `situation` is a class variable.
    """

    name = "events-in-any-order"
    leaves_out = "bounced brokers, AlterPartition, reassignment, deletion, log directories"
    situation: ClassVar[Situation]

    def sizes(self) -> Mapping[Any, Size]:
        """With what is planned."""
        exits = tuple(f"exit of {broker}" for broker in self.broker_ids)
        return {**super().sizes(), Planned: tuple(dict.fromkeys((*self.situation.events, *exits)))}

    @initial
    def a_cluster_set_up(self, s: P) -> None:
        """The partition is as it was described; its controller begins by looking at it."""
        situation = self.situation
        for path in ("/brokers", "/brokers/topics", TOPIC_PATH):
            s.zk.nodes[path] = Node()
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        if situation.isr:
            partition = TopicPartition(TOPIC, 0)
            leader = NO_LEADER if situation.leader is None else situation.leader
            state = TopicPartitionState.encode(LeaderAndIsr(leader, 0, situation.isr), 0)
            s.zk.nodes[topic_partitions_path(TOPIC)] = Node()
            s.zk.nodes[topic_partition_path(partition)] = Node()
            s.zk.nodes[topic_partition_state_path(partition)] = Node(data=state)
        s.registered = situation.live
        s.pending = frozenset(situation.events)

    def happens(self, s: P, event: str) -> None:
        """It was to happen, and is not to happen again. The first thing happens to a cluster at rest."""
        require(event in s.pending)
        require(s.pending != frozenset(self.situation.events) or (s.active and s.idle))
        s.pending -= {event}

    # What happens.

    @action(when=lambda self: self.max_deaths > 0, actor="broker")
    def die(self, s: P, broker: BrokerId) -> None:
        """A broker dies, and its registration goes."""
        self.happens(s, f"crash of {broker}")
        super().die(s, broker)

    @action(when=lambda self: self.shutdowns, actor="broker", receiver="controller")
    def shut_down(self, s: P, broker: BrokerId) -> None:
        """A broker asks to be shut down: others get what it leads, and it leaves the ISRs. [doControlledShutdown]"""
        self.happens(s, f"shutdown of {broker}")
        s.pending |= {f"exit of {broker}"}
        super().shut_down(s, broker)

    @action(when=lambda self: self.shutdowns, actor="broker")
    def exit(self, s: P, broker: BrokerId) -> None:
        """A broker that has asked is gone, with the answer or without one."""
        require(s.idle)
        self.happens(s, f"exit of {broker}")
        super().die(s, broker)

    @action(when=lambda self: self.returns > 0, actor="broker")
    def come_back(self, s: P, broker: BrokerId) -> None:
        """A broker is started, when the controller knows that it is gone."""
        self.happens(s, f"return of {broker}")
        super().come_back(s, broker)

    @action(when=lambda self: self.preferred_elections, actor="administrator", receiver="controller")
    def elect_preferred(self, s: P, partition: TopicPartition) -> None:
        """An administrator asks for the preferred leader, where another leads. [ReplicaLeaderElection]"""
        self.happens(s, "election")
        super().elect_preferred(s, partition)

    @action(when=lambda self: self.preferred_elections, actor="administrator")
    def need_no_election(self, s: P) -> None:
        """An administrator asks for the preferred leader, which leads, or there is none to choose from."""
        state = s.state(TopicPartition(TOPIC, 0))
        require(s.active and s.idle and (state is None or state.leader == 0))
        self.happens(s, "election")

    @action(when=lambda self: self.moves > 0, actor="another controller", receiver="ZooKeeper")
    def elect_another_controller(self, s: P) -> None:
        """Another controller is elected, which the one here does not know yet."""
        self.happens(s, "failover")
        super().elect_another_controller(s)

    @action(when=lambda self: False)
    def shrink_isr(self, s: P, partition: TopicPartition, broker: BrokerId) -> None:
        """No replica falls behind that was not planned to."""
        raise AssertionError

    @action(when=lambda self: self.returns > 0, actor="leader", receiver="ZooKeeper")
    def expand_isr(self, s: P, partition: TopicPartition, broker: BrokerId) -> None:
        """The leader takes a broker into the ISR that follows it. [Partition.maybeExpandIsr, 2.6]"""
        require(not self.lags(s, broker))
        super().expand_isr(s, partition, broker)

    @property
    def returns(self) -> int:
        """How many brokers are to start."""
        return sum(event.startswith("return") for event in self.situation.events)

    def lags(self, s: P, broker: BrokerId) -> bool:
        """A broker was out of sync at first, and has not been started since."""
        back = f"return of {broker}"
        return broker not in self.situation.isr and (back in s.pending or back not in self.situation.events)

    def answer(self, s: P, change: Any) -> None:
        """With who is elected."""
        before = s.state(TopicPartition(TOPIC, 0))
        super().answer(s, change)
        after = s.state(TopicPartition(TOPIC, 0))
        if before is not None and after is not None and after.leader not in (NO_LEADER, *before.isr):
            s.unclean_leader = True

    # What may come of it.

    def at_rest(self, s: P) -> bool:
        """All has happened, the controller has nothing to do, and who follows its leader is in sync."""
        if s.pending or not self.quiet(s):
            return False
        state = s.state(TopicPartition(TOPIC, 0))
        if state is None or state.leader not in s.registered:
            return True
        return all(broker in state.isr or self.lags(s, broker) for broker in s.registered)

    @invariant(where=at_rest)
    def keeps_a_leader(self, s: P) -> bool:
        """When all has happened, the partition has a leader that runs."""
        state = s.state(TopicPartition(TOPIC, 0))
        return state is not None and state.leader in s.registered

    @invariant(where=at_rest)
    def keeps_its_records(self, s: P) -> bool:
        """When all has happened, no broker was elected that was not in sync."""
        return not s.unclean_leader

    @invariant(where=at_rest)
    def keeps_min_isr(self, s: P) -> bool:
        """When all has happened, as many replicas are in sync as have to be."""
        state = s.state(TopicPartition(TOPIC, 0))
        return state is None or len(state.isr) >= self.situation.min_isr

    @sometimes(where=at_rest)
    def comes_to_rest(self, s: P) -> bool:
        """All that was planned can happen; else nothing would be said of how it ends."""
        return True

    @sometimes
    def at_a_bound(self, s: P) -> bool:
        """A bound of this system may have cut something off: it is to be explored again, with higher ones."""
        node = s.written(TopicPartition(TOPIC, 0))
        if node is None:
            return False
        epoch = node.data.leader_and_isr.leader_epoch
        changes = node.version - epoch
        return bool(epoch >= self.max_leader_epoch or changes > self.returns)


WORST: Final[Mapping[str, PartitionHealth]] = {
    "keeps_a_leader": PartitionHealth.Offline,
    "keeps_its_records": PartitionHealth.Unclean,
    "keeps_min_isr": PartitionHealth.UnderMinIsr,
}
"""The property whose counterexample is the way to it, the worst first."""


WITNESSES: Final = ("comes_to_rest", "at_a_bound")


class WorstCase(NamedTuple):
    """What may come of a situation."""

    situation: Situation
    partitions: tuple[TopicPartition, ...]
    """Those that are in it."""
    health: PartitionHealth
    trace: Trace | None
    """The shortest way there; None: it ends well in every order, or was not explored to the end."""
    states: int
    explored: bool
    """Whether every order was explored."""


@dataclass(frozen=True)
class AnyOrder:
    """The worst that can come of events, for each situation, the worst first."""

    cluster: KnownCluster
    release: str
    events: tuple[ClusterEvent, ...]
    cases: tuple[WorstCase, ...]

    @property
    def exit_code(self) -> int:
        """0: every partition has a leader in the end, whatever the order; 12: one may have none; 20: a bound."""
        if any(each.health is PartitionHealth.Offline for each in self.cases):
            return 12
        return 0 if all(each.explored for each in self.cases) else EXIT_BOUND

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def to_json(self) -> dict[str, Any]:
        """As one object."""
        return {
            "release": self.release,
            "assumed": list(self.cluster.assumed),
            "events": list(map(str, self.events)),
            "classes": [
                {
                    "partitions": [list(partition) for partition in each.partitions],
                    "worst": str(each.health),
                    "explored": each.explored,
                    "distinct_states": each.states,
                    "counterexample": None if each.trace is None else each.trace.to_json(),
                }
                for each in self.cases
            ],
            "exit": self.exit_code,
        }

    def _lines(self) -> Iterator[str]:
        yield f"in any order, Kafka {self.release}: {'; '.join(map(str, self.events))}"
        yield from (f"assumed: {each}" for each in self.cluster.assumed)
        for each in self.cases:
            yield ""
            number, few = len(each.partitions), ", ".join(map(str, each.partitions[:3]))
            named = few if number <= 3 else f"{few} and {number - 3:,} alike"
            ends = f"at worst {each.health}" if each.trace is not None else f"{each.health} in every order"
            if not each.explored:
                ends += ", of the orders that were explored"
            yield f"{number:,} partition{'' if number == 1 else 's'}: {ends} ({each.states:,} states): {named}"
            if each.trace is not None:
                first = each.partitions[0]
                yield f"  the shortest way, as {first} has it:"
                brokers = self.cluster.partitions[first].assignment.replicas
                for number, line in enumerate(_told(each.trace, first, brokers), 1):
                    yield f"  {number:4}. {line}"


SENTENCES: Final = {
    "become_controller": "the new controller reads what there is",
    "elect_another_controller": "another broker is elected controller",
    "die": "broker {broker} dies",
    "shut_down": "broker {broker} asks to be shut down",
    "exit": "broker {broker} is gone",
    "come_back": "broker {broker} starts",
    "broker_change": "the controller sees which brokers there are",
    "elect_preferred": "an administrator asks for the preferred leader",
    "need_no_election": "an administrator asks for the preferred leader, to no avail",
    "expand_isr": "the leader takes broker {broker} into the ISR",
    "hear_of_isr_changes": "the controller hears of the ISR",
    "answer_partitions": "the controller writes who leads",
    "answer_replicas": "the controller writes who is in sync",
}
"""What each action means; the others are the controller's own business."""
HAPPENINGS: Final = frozenset(
    {"elect_another_controller", "die", "shut_down", "come_back", "elect_preferred", "need_no_election"}
)
"""Those that were planned: what comes before the first is how the cluster is told to begin."""


def _told(trace: Trace, partition: TopicPartition, brokers: Sequence[BrokerId]) -> Iterator[str]:
    """The steps of a trace that are to be seen from outside, with the partition's own brokers."""
    begun = False
    for each in trace.steps:
        action, parameters = each.step.action, each.step.parameters
        begun = begun or action in HAPPENINGS
        written = [new for place, (_, new) in each.changes.items() if place.endswith(WRITTEN)]
        if not begun or action not in SENTENCES or (action.startswith("answer") and not written):
            continue
        named = {name: brokers[value] for name, value in parameters.items() if name == "broker"}
        sentence = SENTENCES[action].format(**named)
        yield f"{sentence}{_leads(each.changes, brokers)}"


WRITTEN: Final = (".leader_and_isr.leader", ".leader_and_isr.isr")


def _leads(changes: Mapping[str, tuple[Any, Any]], brokers: Sequence[BrokerId]) -> str:
    """What a step has written of leader and ISR in ZooKeeper."""
    told = []
    for place, (_, new) in changes.items():
        if not place.startswith("zk.nodes["):
            continue
        if place.endswith(".leader_and_isr.leader"):
            told.append("no broker leads" if new == NO_LEADER else f"broker {brokers[new]} leads")
        elif place.endswith(".leader_and_isr.isr"):
            told.append(f"in sync: {', '.join(str(brokers[each]) for each in new)}")
    return f": {'; '.join(told)}" if told else ""


def situations(cluster: KnownCluster, events: Sequence[ClusterEvent]) -> dict[Situation, tuple[TopicPartition, ...]]:
    """The partitions that are alike, by their situations.

    Raises:
        UsageError: an event cannot be explored, or a partition has too many replicas.
    """
    by_default = any(isinstance(event, AllowUnclean) and event.topic is None for event in events)
    of_topics = {event.topic for event in events if isinstance(event, AllowUnclean)}
    planned = tuple(_planned(cluster, events))
    found: dict[Situation, list[TopicPartition]] = {}
    for partition, status in sorted(cluster.partitions.items()):
        replicas = status.assignment.replicas
        if status.assignment.is_being_reassigned:
            raise UsageError(f"{partition} is being reassigned; --any-order does not explore reassignments")
        if len(replicas) > MOST_REPLICAS:
            raise UsageError(f"{partition} has {len(replicas)} replicas; --any-order explores up to {MOST_REPLICAS}")
        place = {broker: number for number, broker in enumerate(replicas)}
        permitted = cluster.unclean.get(partition.topic, by_default) or partition.topic in of_topics
        situation = Situation(
            len(replicas),
            None if status.leader is None else place[status.leader],
            tuple(place[broker] for broker in status.isr),
            frozenset(place[broker] for broker in replicas if broker in cluster.live),
            tuple(
                event if broker is None else f"{event} of {place[broker]}"
                for event, broker in planned
                if broker is None or broker in place
            ),
            cluster.min_isr[partition.topic],
            permitted,
        )
        found.setdefault(situation, []).append(partition)
    return {situation: tuple(partitions) for situation, partitions in found.items()}


def _planned(cluster: KnownCluster, events: Sequence[ClusterEvent]) -> Iterator[tuple[str, BrokerId | None]]:
    """What happens to which broker, or to all."""
    seen: set[tuple[str, BrokerId | None]] = set()
    for event in events:
        match event:
            case Crash(brokers) | Shutdown(brokers) | Return(brokers):
                if strangers := set(brokers) - cluster.brokers:
                    there = listed(cluster.brokers)
                    raise UsageError(f"{event}: there is no broker {listed(strangers)}; there are {there}")
                one_by_one: list[tuple[str, BrokerId | None]] = [
                    (type(event).__name__.lower(), broker) for broker in brokers
                ]
                if cluster.controller in brokers and not isinstance(event, Return):
                    one_by_one.append(("failover", None))
            case ElectPreferred():
                one_by_one = [("election", None)]
            case AnotherController():
                one_by_one = [("failover", None)]
            case Reassign():
                raise UsageError(f"{event}: --any-order does not explore reassignments")
            case AllowUnclean():
                one_by_one = []
        for each in one_by_one:
            if each in seen and each != ("failover", None):
                raise UsageError(f"{event}: in any order a thing can happen to a broker once")
            if each not in seen:
                yield each
            seen.add(each)


def system_of(situation: Situation, release: str, max_leader_epoch: int) -> EventsInAnyOrder:
    """The specification of a situation, bounded by this leader epoch."""
    kinds = [event.split()[0] for event in situation.events]
    cls: Any = type("EventsInAnyOrder", (EventsInAnyOrder,), {"situation": situation})
    subject: EventsInAnyOrder = cls(
        brokers=situation.replicas,
        partitions=1,
        creation=False,
        shutdowns="shutdown" in kinds,
        preferred_elections="election" in kinds and situation.replicas > 1,
        max_deaths=kinds.count("crash") + kinds.count("shutdown"),
        isr_changes=kinds.count("return") and kinds.count("return") + 1,
        moves=kinds.count("failover"),
        max_leader_epoch=max_leader_epoch,
        unclean=situation.unclean,
        **valuation(cls.releases, release),
    )
    return subject


def in_any_order(
    cluster: KnownCluster,
    *events: ClusterEvent,
    release: str = RELEASES[-1],
    max_states: int | None = None,
    explore: Callable[..., Result] = check,
) -> AnyOrder:
    """Explore every order of events, with all that a controller does in between.

    Args:
        cluster: how it is.
        events: what happens, each once.
        release: of its controller.
        max_states: of each situation; else all of them.
        explore: `spec.checking.check`, or what stands for it.

    Raises:
        UsageError: an event cannot be explored.
    """
    line = line_of(release)
    cases = [
        _explored(
            situation,
            partitions,
            line,
            lambda subject: explore(subject, properties=[*WORST, *WITNESSES], keep_going=True, max_states=max_states),
        )
        for situation, partitions in situations(cluster, events).items()
    ]
    cases.sort(key=lambda each: (each.health, each.partitions))
    return AnyOrder(cluster, line, events, tuple(cases))


def _explored(
    situation: Situation,
    partitions: tuple[TopicPartition, ...],
    release: str,
    explore: Callable[[EventsInAnyOrder], Result],
) -> WorstCase:
    """The worst of a situation, with bounds that cut nothing off."""
    highest = 1 + 2 * len(situation.events)
    result = explore(system_of(situation, release, highest))
    while _verdict(result, "at_a_bound") == "witnessed":
        highest += 2
        result = explore(system_of(situation, release, highest))
    if result.verdict == "interrupted":
        raise KeyboardInterrupt
    if _verdict(result, "comes_to_rest") == "unwitnessed":
        raise UsageError(f"--any-order: these events cannot all happen to {partitions[0]}, in whatever order")
    broken = {trace.broken: trace for trace in result.counterexamples}
    name = next((name for name in WORST if name in broken), None)
    health = PartitionHealth.Online if name is None else WORST[name]
    trace = None if name is None else broken[name]
    explored = all(each.verdict in ("holds", "violated") for each in result.properties if each.name in WORST)
    return WorstCase(situation, partitions, health, trace, result.distinct_states, explored)


def _verdict(result: Result, name: str) -> str:
    return next(each.verdict for each in result.properties if each.name == name)
