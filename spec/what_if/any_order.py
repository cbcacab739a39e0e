"""Events of a what-if in any order: what is the worst that can come of them, and the shortest way there.

Brokers die, return and shut down in whatever order their events may happen, the controller goes on batch by batch in
between, and, where that is asked for, another controller takes over at any moment. That is the system `partitions`
with a plan in place of its bounds: `EventsInAnyOrder`. A partition is explored alone, with the replicas that it has.

Partitions that behave alike are explored once; see `situations`.

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
from spec.language.errors import SpecificationError, UsageError
from spec.parts.controlled_cluster import TOPIC, TOPIC_PATH, ControlledCluster
from spec.releases import valuation
from spec.systems.partitions import Partitions
from spec.what_if.cluster import KnownCluster
from spec.what_if.events import ClusterEvent
from spec.what_if.prediction import PartitionHealth
from spec.what_if.situations import Situation, situations
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

__all__ = [
    "AnyOrder",
    "BrokenRule",
    "EventsInAnyOrder",
    "PlanBounds",
    "WorstCase",
    "in_any_order",
]

EXIT_BOUND: Final = 20
Planned = Annotated[str, "an event that is to happen"]
"""One of those of a `Situation`, or the exit of a broker that shuts down."""


class BrokenRule(Exception):
    """The system that stands for a cluster breaks a rule of its own: a fault of this program.

    Nothing is known of the cluster then.
    """


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
    leaves_out = "bounced brokers, reassignment, deletion, log directories"
    situation: ClassVar[Situation]

    def sizes(self) -> Mapping[Any, Size]:
        """With what is planned."""
        exits = tuple(f"exit of {broker}" for broker in self.broker_ids)
        return {**super().sizes(), Planned: tuple(dict.fromkeys((*self.situation.events, *exits)))}

    @property
    def given(self) -> Mapping[Any, Size]:
        """With the ISRs that may come of what happens: of many brokers there are too many in all orders."""
        return {**super().given, LeaderAndIsr.isr: self.isrs}

    @property
    def isrs(self) -> Sequence[tuple[BrokerId, ...]]:
        """Members leave whose brokers die or shut down; at the end those come whose brokers return, or shut down."""
        leave = {*self.broker_ids} - self.situation.live | self.to_which("crash", "shutdown")
        join = self.to_which("return", "shutdown")
        found = {(), self.situation.isr, *((broker,) for broker in self.broker_ids if self.unclean)}
        due = list(found)
        while due:
            isr = due.pop()
            less = (tuple(each for each in isr if each != broker) for broker in leave)
            more = ((*isr, broker) for broker in join if broker not in isr)
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
        preferred = self.assignments[TopicPartition(TOPIC, 0)].replicas[0]
        require(s.active and s.idle and (state is None or state.leader == preferred))
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

    @action(when=lambda self: self.isr_changes > 0, actor="leader", receiver="ZooKeeper")
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
        """When all has happened, as many replicas are in sync as have to be; a dead one will not be for long."""
        state = s.state(TopicPartition(TOPIC, 0))
        return state is None or sum(broker in s.registered for broker in state.isr) >= self.situation.min_isr

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
        return bool(epoch >= self.max_leader_epoch or changes >= self.isr_changes > 0)


WORST: Final[Mapping[str, PartitionHealth]] = {
    "keeps_a_leader": PartitionHealth.Offline,
    "keeps_its_records": PartitionHealth.Unclean,
    "keeps_min_isr": PartitionHealth.UnderMinIsr,
}
"""The property whose counterexample is the way to it, the worst first."""


RULES: Final = (
    *("leader_in_isr", "isr_within_assigned", "leader_epoch_monotone", "one_leader_per_epoch"),
    *("presumed_leader_legit", "clean_election", "legal_psm", "legal_rsm", "new_has_no_state"),
    *("cache_not_ahead", "cache_fresh", "online_has_live_leader", "offline_only_if_stuck", "rsm_domain"),
    *("told_as_written", "elected_from_what_is_there", "isr_survives_election"),
    *("zk.version_step", "zk.one_shot", "zk.ephemeral_owned"),
)
"""The invariants of `partitions` that hold in every release, where no answer is lost. Not among them are those that a
bug of a release breaks, like `fenced_writes` before 2.2 and `dead_not_in_isr`: what comes of these bugs is an
outcome, and told as one."""
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
            "assumed": list(self.cluster.assumed_of(self.release)),
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
        yield from (f"assumed: {each}" for each in self.cluster.assumed_of(self.release))
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
    "answer_alteration": "the controller writes that",
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
        leads = _leads(each.changes, brokers)
        if not begun or action not in SENTENCES or (action.startswith("answer") and not leads):
            continue
        named = {name: brokers[value] for name, value in parameters.items() if name == "broker"}
        yield f"{SENTENCES[action].format(**named)}{leads}"


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


def _require_few(situation: Situation, partition: TopicPartition) -> None:
    """Refuse what the constants of the system do not admit.

    Raises:
        UsageError: there are too many replicas, or events.
    """
    kinds, constants = situation.kinds, EventsInAnyOrder.constants()
    for number, what, constant, less in (
        (situation.replicas, "replicas", "brokers", 0),
        (kinds["crash"] + kinds["shutdown"], "deaths of its brokers", "max_deaths", 0),
        (kinds["return"] + kinds["shutdown"], "returns and shutdowns of its brokers", "isr_changes", 1),
        (kinds["failover"], "controller failovers", "moves", 0),
    ):
        most = (constants[constant].at_most or 0) - less
        if number > most:
            raise UsageError(f"{partition} has {number} {what}; --any-order explores up to {most}")


class PlanBounds(NamedTuple):
    """What keeps the system of a situation finite, and is raised where it cuts something off."""

    max_leader_epoch: int
    """The highest leader epoch."""
    isr_changes: int
    """How often the leader takes a broker into the ISR: one that returns, or one that shuts down, and follows yet."""

    @classmethod
    def of(cls, situation: Situation) -> PlanBounds:
        """Those to begin with."""
        highest = EventsInAnyOrder.constants()["max_leader_epoch"].at_most or 0
        changes = situation.kinds["return"] + situation.kinds["shutdown"]
        epochs = max(2 + len(situation.events), 1 + 2 * situation.kinds["failover"])  # versions of its epoch, too
        return cls(min(epochs, highest), changes and changes + 1)

    def raised(self) -> PlanBounds | None:
        """Higher ones; None: there are none."""
        constants = EventsInAnyOrder.constants()
        higher = PlanBounds(self.max_leader_epoch + 2, self.isr_changes and self.isr_changes + 1)
        admitted = (number <= (constants[name].at_most or 0) for name, number in higher._asdict().items())
        return higher if all(admitted) else None


def system_of(situation: Situation, release: str, bounds: PlanBounds | None = None) -> EventsInAnyOrder:
    """The specification of a situation, within these bounds; else within those to begin with."""
    kinds = situation.kinds
    cls: Any = type("EventsInAnyOrder", (EventsInAnyOrder,), {"situation": situation})
    subject: EventsInAnyOrder = cls(
        brokers=situation.replicas,
        partitions=1,
        creation=False,
        shutdowns=kinds["shutdown"] > 0,
        preferred_elections=kinds["election"] > 0 and situation.replicas > 1,
        max_deaths=kinds["crash"] + kinds["shutdown"],
        moves=kinds["failover"],
        unclean=situation.unclean,
        **(PlanBounds.of(situation) if bounds is None else bounds)._asdict(),
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
        events: what happens.
        release: of its controller.
        max_states: of each situation; else all of them.
        explore: `spec.checking.check`, or what stands for it.

    Raises:
        UsageError: an event cannot be explored, or there are too many, or a partition has too many replicas.
        BrokenRule: this program is at fault.
    """
    line = line_of(release)
    alike = situations(cluster, events, line)
    for situation, partitions in alike.items():
        _require_few(situation, partitions[0])
    asked = {"properties": [*WORST, *RULES, *WITNESSES], "keep_going": True, "max_states": max_states}
    cases = [
        _explored(situation, partitions, line, lambda subject: explore(subject, **asked))
        for situation, partitions in alike.items()
    ]
    cases.sort(key=lambda each: (each.health, each.partitions))
    return AnyOrder(cluster, line, events, tuple(cases))


def _explored(
    situation: Situation,
    partitions: tuple[TopicPartition, ...],
    release: str,
    explore: Callable[[EventsInAnyOrder], Result],
) -> WorstCase:
    """The worst of a situation, with bounds that cut nothing off, if there are such."""
    bounds: PlanBounds | None = PlanBounds.of(situation)
    while bounds is not None:
        try:
            result = explore(system_of(situation, release, bounds))
        except (SpecificationError, UsageError) as wrong:
            large = f"{partitions[0]}, with {situation.replicas} replicas and {len(situation.events)} events"
            raise UsageError(f"--any-order: {large}, cannot be explored: {wrong}") from wrong
        if result.verdict == "interrupted":
            raise KeyboardInterrupt
        _require_sound(result, partitions[0])
        if _verdict(result, "at_a_bound") != "witnessed":
            break
        bounds = bounds.raised()
    if _verdict(result, "comes_to_rest") == "unwitnessed":
        raise UsageError(f"--any-order: these events cannot all happen to {partitions[0]}, in whatever order")
    broken = {trace.broken: trace for trace in result.counterexamples}
    name = next((name for name in WORST if name in broken), None)
    health = PartitionHealth.Online if name is None else WORST[name]
    trace = None if name is None else broken[name]
    explored = bounds is not None and all(
        each.verdict in ("holds", "violated") for each in result.properties if each.name in WORST
    )
    return WorstCase(situation, partitions, health, trace, result.distinct_states, explored)


def _require_sound(result: Result, partition: TopicPartition) -> None:
    """What is not one of the outcomes breaks in no cluster.

    Raises:
        BrokenRule: it does.
    """
    for trace in result.counterexamples:
        if trace.broken not in WORST:
            raise BrokenRule(f"{trace.broken}, in the system that stands for {partition}:\n{trace}")


def _verdict(result: Result, name: str) -> str:
    return next(each.verdict for each in result.properties if each.name == name)
