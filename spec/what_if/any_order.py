"""Events of a what-if in any order: what is the worst that can come of them, and the shortest way there.

Brokers die, return and shut down in whatever order their events may happen, the controller goes on batch by batch in
between, and, where that is asked for, another controller takes over at any moment. That is the system `partitions`
with a `plan` in place of its bounds, `EventsInAnyOrder`; of a partition that moves it is `planned_move`. A
partition is explored alone, with the replicas that it has, and is to have.

Partitions that behave alike are explored once; see `situations`.

Left out is what `partitions` leaves out, bounced brokers among it. A queue of requests that is slow brings nothing
else: until a broker is told who leads it follows nobody, and who follows its leader gets in sync some time, however
late. A replica that lags behind its leader stays so until its broker returns. Unclean elections, where they are ever
permitted, are permitted from the beginning, which is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from election.ids import BrokerId
from spec.checking import Result, Trace, check
from spec.checking.traces.trace import TraceStep
from spec.language import action, require
from spec.language.errors import SpecificationError, UsageError
from spec.language.escapes import escaped
from spec.releases import ByRelease, release_named, valuation
from spec.systems.cluster import ClusterSpec
from spec.systems.partitions import Partitions
from spec.what_if.cluster import KnownCluster
from spec.what_if.events import ClusterEvent, Reassign
from spec.what_if.plan import PARTITION, EventPlan, P
from spec.what_if.planned_move import PlannedMove
from spec.what_if.prediction import PartitionHealth
from spec.what_if.situations import Situation, brokers_by_place, situations
from statemachines.controller.control_design import control_design_of
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES

__all__ = [
    "AnyOrder",
    "BrokenRule",
    "EventsInAnyOrder",
    "PlanBounds",
    "WorstCase",
    "in_any_order",
]

EXIT_BOUND: Final = 20


class BrokenRule(Exception):
    """The system that stands for a cluster breaks a rule of its own: a fault of this program.

    Nothing is known of the cluster then.
    """


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


class EventsInAnyOrder(EventPlan[P], Partitions[P]):
    """`partitions`, where what happens to brokers is planned, and the order is not."""

    name = "events-in-any-order"
    leaves_out = "bounced brokers, reassignment, deletion, log directories"
    rules = RULES

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
        self.leave(s, broker)

    @action(when=lambda self: self.preferred_elections, actor="administrator", receiver="controller")
    def elect_preferred(self, s: P, partition: TopicPartition) -> None:
        """An administrator asks for the preferred leader, where another leads. [ReplicaLeaderElection]"""
        self.happens(s, "election")
        super().elect_preferred(s, partition)

    @action(when=lambda self: self.preferred_elections, actor="administrator")
    def need_no_election(self, s: P) -> None:
        """An administrator asks for the preferred leader, which leads, or there is none to choose from."""
        state = s.state(PARTITION)
        preferred = self.assignments[PARTITION].replicas[0]
        require(s.active and s.idle and (state is None or state.leader == preferred))
        self.happens(s, "election")


WORST: Final[Mapping[str, PartitionHealth]] = {
    "keeps_a_leader": PartitionHealth.Offline,
    "keeps_its_records": PartitionHealth.Unclean,
    "keeps_min_isr": PartitionHealth.UnderMinIsr,
}
"""The property whose counterexample is the way to it, the worst first."""
ARRIVES: Final = "arrives"
"""The one whose counterexample is a way on which a partition does not get where it was to move."""
WITNESSES: Final = ("comes_to_rest", "at_a_bound")


class WorstCase(NamedTuple):
    """What may come of a situation."""

    situation: Situation
    partitions: tuple[TopicPartition, ...]
    """Those that are in it."""
    health: PartitionHealth
    trace: Trace | None
    """The shortest way there; or to where it has not moved as it was to, if all else is well. None: it ends well in
    every order, or was not explored to the end."""
    states: int
    explored: bool
    """Whether every order was explored."""
    arrives: bool | None = None
    """Whether it gets where it was to move, in every order that was explored; None: it was not to move."""

    @property
    def told(self) -> str:
        """In words."""
        health = (
            f"{self.health} in every order" if self.health is PartitionHealth.Online else f"at worst {self.health}"
        )
        moved = {True: ", and has moved", False: ", and may not have moved", None: ""}[self.arrives]
        return health + moved


@dataclass(frozen=True)
class AnyOrder:
    """The worst that can come of events, for each situation, the worst first."""

    cluster: KnownCluster
    release: str
    events: tuple[ClusterEvent, ...]
    cases: tuple[WorstCase, ...]

    @property
    def targets(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """Where partitions are to move to."""
        moves = (each.targets for each in self.events if isinstance(each, Reassign))
        return {partition: target for targets in moves for partition, target in targets.items()}

    @property
    def exit_code(self) -> int:
        """0: every partition has a leader in the end, whatever the order; 12: one may have none; 20: a bound."""
        if any(each.health is PartitionHealth.Offline for each in self.cases):
            return 12
        return 0 if all(each.explored for each in self.cases) else EXIT_BOUND

    def __str__(self) -> str:
        return "\n".join(map(escaped, self._lines()))

    def to_json(self) -> dict[str, Any]:
        """As one object."""
        return {
            "release": self.release,
            "assumed": list(self.cluster.assumed_of(self.release)),
            "events": list(map(str, self.events)),
            "to_be_deleted": sorted(self.cluster.deletion_queued),
            "classes": [
                {
                    "partitions": [list(partition) for partition in each.partitions],
                    "worst": str(each.health),
                    "explored": each.explored,
                    "arrives": each.arrives,
                    "distinct_states": each.states,
                    "counterexample": None if each.trace is None else each.trace.to_json(),
                }
                for each in self.cases
            ],
            "exit": self.exit_code,
        }

    def _lines(self) -> Iterator[str]:
        happens = "; ".join(map(str, self.events)) or "nothing happens"
        yield f"in any order, Kafka {self.release}: {happens}"
        yield from (f"assumed: {each}" for each in self.cluster.assumed_of(self.release))
        yield from self.cluster.deletion_notes
        for each in self.cases:
            yield ""
            number, few = len(each.partitions), ", ".join(map(str, each.partitions[:3]))
            named = few if number <= 3 else f"{few} and {number - 3:,} alike"
            ends = each.told
            if not each.explored:
                ends += ", of the orders that were explored"
            yield f"{number:,} partition{'' if number == 1 else 's'}: {ends} ({each.states:,} states): {named}"
            if each.trace is not None:
                first = each.partitions[0]
                brokers = brokers_by_place(self.cluster.partitions[first], self.targets.get(first, ()))
                told = list(_told(each.trace, brokers, moving=each.situation.is_under_way))
                yield f"  the shortest way, as {first} has it:" if told else "  so it is from the beginning"
                for number, line in enumerate(told, 1):
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
    "reassign": "an administrator asks for the move to {target}",
    "write_reassignment": "an administrator asks for the move to {target}",
    "hear_of_reassignment": "the controller reads where the partition is to move",
    "expand_isr": "the leader takes broker {broker} into the ISR",
    "acknowledge": "the leader acknowledges records, which its ISR has, and no other log",
    "hear_of_isr_changes": "the controller hears of the ISR",
    "answer_partitions": "the controller writes who leads",
    "answer_replicas": "the controller writes who is in sync",
    "answer_alteration": "the controller writes that",
    "next_change": "the controller goes on",
}
"""What each action means; the others are the controller's own business."""
HAPPENINGS: Final = frozenset(
    {
        *("elect_another_controller", "die", "shut_down", "come_back"),
        *("elect_preferred", "need_no_election", "reassign", "write_reassignment"),
    }
)
"""Those that were planned: what comes before the first is how a cluster at rest begins."""
BUSINESS: Final = frozenset({"answer_partitions", "answer_replicas", "answer_alteration", "next_change"})
"""Those that are told for what comes of them, if anything does that is to be seen."""


def _told(trace: Trace, brokers: Sequence[BrokerId], *, moving: bool = False) -> Iterator[str]:
    """The steps of a trace that are to be seen from outside, with the partition's own brokers.

    Args:
        trace: the steps.
        brokers: by their places.
        moving: a move is under way from the beginning. Else it begins with the first event that was planned.
    """
    happened = False
    for each in trace.steps:
        action, parameters = each.step.action, each.step.parameters
        happened = happened or action in HAPPENINGS
        begun = happened or (moving and action != "become_controller")
        seen = "; ".join(_seen(each, brokers))
        if not begun or action not in SENTENCES or (action in BUSINESS and not seen):
            continue
        named = {name: _named((value,), brokers) for name, value in parameters.items() if name == "broker"}
        if "target" in parameters:
            named["target"] = _named(parameters["target"], brokers)
        yield SENTENCES[action].format(**named) + (f": {seen}" if seen else "")


def _seen(step: TraceStep, brokers: Sequence[BrokerId]) -> Iterator[str]:
    """What a step has written of leader, ISR and replicas in ZooKeeper, and whose log it has deleted."""
    for place, (_, new) in step.changes.items():
        if not place.startswith("zk.nodes["):
            continue
        if place.endswith(".leader_and_isr.leader"):
            yield "no broker leads" if new == NO_LEADER else f"broker {brokers[new]} leads"
        elif place.endswith(".leader_and_isr.isr"):
            yield f"in sync: {_named(new, brokers)}"
        elif place.endswith(".data.partitions"):
            yield f"replicas: {_named(new[0][1].replicas, brokers)}"
    for number, broker in enumerate(brokers):
        if f"broker {number} deletes its log" in step.said:
            yield f"broker {broker} deletes its log"


def _named(places: Sequence[int], brokers: Sequence[BrokerId]) -> str:
    return ", ".join(str(brokers[place]) for place in places) or "none"


def _require_few(situation: Situation, partition: TopicPartition) -> None:
    """Refuse what the constants of the system do not admit.

    Raises:
        UsageError: there are too many replicas, or events.
    """
    kinds, constants = situation.kinds, ClusterSpec.constants()
    new = len(situation.new)
    if situation.moves and not situation.has_state:
        raise UsageError(f"{partition} never had a leader; --any-order explores no reassignment of it")
    if situation.moves and (kinds["shutdown"] or kinds["election"]):
        to_move = "is being reassigned" if situation.is_under_way else "is to move"
        raise UsageError(
            f"{partition} {to_move}; --any-order explores that with --crash, --return, --failover and --unclean, "
            "and without --shutdown and --prefer"
        )
    for number, what, constant, less in (
        (situation.brokers, "replicas, old and new," if new else "replicas", "brokers", 0),
        (kinds["crash"] + kinds["shutdown"], "deaths of its brokers", "max_deaths", 0),
        (
            kinds["return"] + kinds["shutdown"] + len(situation.new | situation.waiting),
            "returns and new replicas" if new else "returns and shutdowns of its brokers",
            "isr_changes",
            1,
        ),
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
    """How often the leader takes a broker into the ISR: one that returns, is new or has waited for a leader, or shuts
    down and follows yet."""

    @classmethod
    def of(cls, situation: Situation) -> PlanBounds:
        """Those to begin with."""
        highest = ClusterSpec.constants()["max_leader_epoch"].at_most or 0
        kinds = situation.kinds
        changes = kinds["return"] + kinds["shutdown"] + len(situation.new | situation.waiting)
        epochs = max(2 + len(situation.events), 1 + 2 * kinds["failover"])  # versions of its epoch, too
        if situation.moves:
            epochs += 2 + situation.replicas + 2 * kinds["failover"]  # who is told, who leaves, and all of that again
        return cls(min(epochs, highest), changes and changes + 1)

    def raised(self) -> PlanBounds | None:
        """Higher ones; None: there are none."""
        constants = ClusterSpec.constants()
        higher = PlanBounds(self.max_leader_epoch + 2, self.isr_changes and self.isr_changes + 1)
        admitted = (number <= (constants[name].at_most or 0) for name, number in higher._asdict().items())
        return higher if all(admitted) else None


def system_of(situation: Situation, release: str, bounds: PlanBounds | None = None) -> EventPlan[Any]:
    """The specification of a situation, within these bounds; else within those to begin with."""
    kinds = situation.kinds
    of: type[EventPlan[Any]] = PlannedMove if situation.moves else EventsInAnyOrder
    own: dict[str, Any] = {
        "partitions": 1,
        "creation": False,
        "shutdowns": kinds["shutdown"] > 0,
        "preferred_elections": kinds["election"] > 0 and situation.replicas > 1,
    }
    if situation.moves:
        own = {"requests": 1, "first_replicas": min(situation.replicas, 3)}
    cls: Any = type(of.__name__, (of,), {"situation": situation})
    subject: EventPlan[Any] = cls(
        brokers=situation.brokers,
        max_deaths=kinds["crash"] + kinds["shutdown"] or min(1, kinds["return"]),  # else no broker comes or goes
        moves=kinds["failover"],
        unclean=situation.unclean,
        **own,
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
    line = release_named(release, ByRelease(control_design_of))
    alike = situations(cluster, events, line)
    for situation, partitions in alike.items():
        _require_few(situation, partitions[0])

    def explored(subject: EventPlan[Any]) -> Result:
        arrives = [ARRIVES] if isinstance(subject, PlannedMove) else []
        asked = [*WORST, *arrives, *subject.rules, *WITNESSES]
        return explore(subject, properties=asked, keep_going=True, max_states=max_states)

    cases = [_explored(situation, partitions, line, explored) for situation, partitions in alike.items()]
    cases.sort(key=lambda each: (each.health, each.partitions))
    return AnyOrder(cluster, line, events, tuple(cases))


def _explored(
    situation: Situation,
    partitions: tuple[TopicPartition, ...],
    release: str,
    explore: Callable[[EventPlan[Any]], Result],
) -> WorstCase:
    """The worst of a situation, with bounds that cut nothing off, if there are such."""
    bounds: PlanBounds | None = PlanBounds.of(situation)
    while bounds is not None:
        try:
            result = explore(system_of(situation, release, bounds))
        except (SpecificationError, UsageError) as wrong:
            large = f"{partitions[0]}, with {situation.brokers} replicas and {len(situation.events)} events"
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
    outcomes = (*WORST, ARRIVES)
    trace = next((broken[name] for name in outcomes if name in broken), None)
    health = PartitionHealth.Online if trace is None else WORST.get(trace.broken, PartitionHealth.Online)
    explored = bounds is not None and all(
        each.verdict in ("holds", "violated") for each in result.properties if each.name in outcomes
    )
    arrives = ARRIVES not in broken if situation.moves else None
    return WorstCase(situation, partitions, health, trace, result.distinct_states, explored, arrives)


def _require_sound(result: Result, partition: TopicPartition) -> None:
    """What is not one of the outcomes breaks in no cluster.

    Raises:
        BrokenRule: it does.
    """
    for trace in result.counterexamples:
        if trace.broken not in (*WORST, ARRIVES):
            raise BrokenRule(f"{trace.broken}, in the system that stands for {partition}:\n{trace}")


def _verdict(result: Result, name: str) -> str:
    return next(each.verdict for each in result.properties if each.name == name)
