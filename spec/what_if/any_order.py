"""Events of a what-if in any order: the worst in the end and on the way, and the shortest way there.

Brokers die, return and shut down in every order that their events allow. In between, the controller proceeds batch by
batch, and, if requested, another controller takes over at any moment. This is the system `partitions` with a `plan`
in place of its bounds, `EventsInAnyOrder`; for a partition that moves it is `planned_move`. Each partition is
explored alone, with its present and future replicas.

Partitions that behave alike are explored once; see `situations`.

The exploration leaves out what `partitions` leaves out, such as bounced brokers. Slow request queues add no outcomes:
a broker that has not heard of its leader just joins the ISR later. A replica that lags behind its leader lags until
its broker returns. If unclean elections are ever permitted, they are permitted from the start, which is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

from election.ids import BrokerId
from spec.by_release import ByRelease, release_named, valuation
from spec.checking import Result, Trace, check
from spec.language.errors import SpecificationError, UsageError, escaped
from spec.systems.cluster import ClusterSpec
from spec.what_if.events import AnotherController, ClusterEvent, Crash, ElectPreferred, Reassign, Return, Shutdown
from spec.what_if.events_in_any_order import EventsInAnyOrder
from spec.what_if.known_cluster import KnownCluster, listed
from spec.what_if.plan import EventPlan
from spec.what_if.planned_move import PlannedMove
from spec.what_if.prediction import PartitionHealth
from spec.what_if.situations import Situation, brokers_by_place, situations
from spec.what_if.trace_sentences import sentences_of
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES

EXIT_BOUND: Final = 20


class BrokenRule(Exception):
    """The system that models a cluster breaks one of its own rules: a fault of this program.

    The result says nothing about the cluster.
    """


HEALTH_BY_PROPERTY: Final[Mapping[str, PartitionHealth]] = {
    "keeps_a_leader": PartitionHealth.Offline,
    "keeps_its_records": PartitionHealth.Unclean,
    "keeps_min_isr": PartitionHealth.UnderMinIsr,
}
"""The property whose counterexample is the way to each outcome, the worst first."""
HEALTH_ON_THE_WAY: Final[Mapping[str, PartitionHealth]] = {
    "keeps_a_leader_on_the_way": PartitionHealth.Offline,
    "keeps_min_isr_on_the_way": PartitionHealth.UnderMinIsr,
}
"""The same for the moments after the first event in which the controller rests."""
ARRIVES: Final = "arrives"
"""The property whose counterexample is a way on which a partition does not complete its move."""
OUTCOMES: Final = (*HEALTH_BY_PROPERTY, *HEALTH_ON_THE_WAY, ARRIVES)
"""The properties that describe a cluster; if another one breaks, this program is at fault."""
WITNESSES: Final = ("comes_to_rest", "at_a_bound")


class WorstCase(NamedTuple):
    """The worst outcome of a situation."""

    situation: Situation
    partitions: tuple[TopicPartition, ...]
    """The partitions in this situation."""
    health: PartitionHealth
    """The worst after all events."""
    trace: Trace | None
    """The shortest way there; or, if all else is well, to a state where the partition has not moved as planned. None:
    it ends well in every order, or was not explored completely."""
    states: int
    explored: bool
    """Whether every order was explored."""
    on_the_way: PartitionHealth
    """The worst in any moment after the first event in which the controller rests; no better than `health`."""
    trace_on_the_way: Trace | None = None
    """The shortest way there; None: it is not worse than `health`."""
    arrives: bool | None = None
    """Whether the partition completes its move in every explored order; None: no move was planned."""
    is_refused: bool = False
    """Whether the controller refuses the move in every order, because a new broker is dead."""

    @property
    def lines(self) -> str:
        """The outcome in words."""
        ends = " in the end" if self.trace_on_the_way else ""
        health = (
            f"{self.health}{ends} in every order"
            if self.health is PartitionHealth.Online
            else f"at worst {self.health}{ends}"
        )
        way = f", on the way at worst {self.on_the_way}" if self.trace_on_the_way else ""
        moved = {True: ", and has moved", False: ", and may not have moved", None: ""}[self.arrives]
        if self.situation.missing:
            moved = f", and its move {'is refused' if self.is_refused else 'does not end'}"
        return health + way + moved

    @property
    def ways(self) -> Iterator[tuple[str, Trace]]:
        """The ways to show, each with its name."""
        if self.trace_on_the_way:
            yield f"the shortest way to {self.on_the_way}", self.trace_on_the_way
        if self.trace:
            yield "the shortest way", self.trace


@dataclass(frozen=True)
class AnyOrder:
    """The worst outcome of the events for each situation, the worst first."""

    cluster: KnownCluster
    release: str
    events: tuple[ClusterEvent, ...]
    cases: tuple[WorstCase, ...]

    @property
    def targets(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The planned replicas of partitions that should move."""
        moves = (each.moves for each in self.events if isinstance(each, Reassign))
        return dict(chain.from_iterable(moves))

    @property
    def exit_code(self) -> int:
        """0: every partition keeps a leader in every order, and no move is refused; 12: otherwise; 20: a bound."""
        if any(each.on_the_way is PartitionHealth.Offline or each.is_refused for each in self.cases):
            return 12
        return 0 if all(each.explored for each in self.cases) else EXIT_BOUND

    def __str__(self) -> str:
        return "\n".join(map(escaped, self._lines()))

    def to_json(self) -> dict[str, Any]:
        """The result as one object."""
        return {
            "release": self.release,
            "assumed": list(self.cluster.assumed_of(self.release)),
            "events": list(map(str, self.events)),
            "to_be_deleted": sorted(self.cluster.deletion_queued),
            "classes": [
                {
                    "partitions": [list(partition) for partition in each.partitions],
                    "worst": str(each.health),
                    "worst_on_the_way": str(each.on_the_way),
                    "explored": each.explored,
                    "arrives": each.arrives,
                    "refused": each.is_refused,
                    "distinct_states": each.states,
                    "counterexample": each.trace and each.trace.to_json(),
                    "counterexample_on_the_way": each.trace_on_the_way and each.trace_on_the_way.to_json(),
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
        down = {broker for each in self.events if isinstance(each, Crash | Shutdown) for broker in each.brokers}
        if len(down) > 1 and any(isinstance(each, Return) for each in self.events):
            yield f"in any order, brokers {listed(down)} may be down at once: one may go before another is back"
        for each in self.cases:
            yield ""
            number, few = len(each.partitions), ", ".join(map(str, each.partitions[:3]))
            named = few if number <= 3 else f"{few} and {number - 3:,} alike"
            ends = each.lines
            if not each.explored:
                ends += ", of the orders explored"
            yield f"{number:,} partition{'' if number == 1 else 's'}: {ends} ({each.states:,} states): {named}"
            first = each.partitions[0]
            brokers = brokers_by_place(self.cluster.partitions[first], self.targets.get(first, ()))
            for place in sorted(each.situation.missing):
                yield f"  {first} needs broker {brokers[place]}, which is dead"
            for way, trace in each.ways:
                sentences = list(sentences_of(trace, brokers, moving=each.situation.is_under_way))
                yield f"  {way}, for {first}:" if sentences else "  from the start"
                for number, line in enumerate(sentences, 1):
                    yield f"  {number:4}. {line}"


def _require_few(situation: Situation, partition: TopicPartition) -> None:
    """Refuse a situation that the constants of the system do not admit.

    Raises:
        UsageError: there are too many replicas or events.
    """
    kinds, constants = situation.kinds, ClusterSpec.constants()
    new = len(situation.new)
    if situation.moves and not situation.has_state:
        raise UsageError(f"{partition} never had a leader; --any-order explores no reassignment of it")
    if situation.moves and (kinds[Shutdown] or kinds[ElectPreferred]):
        to_move = "is being reassigned" if situation.is_under_way else "moves"
        raise UsageError(
            f"{partition} {to_move}; --any-order explores that with --crash, --return, --failover and --unclean, "
            "and without --shutdown and --prefer"
        )
    for number, what, constant, less in (
        (situation.brokers, "replicas, old and new," if new else "replicas", "brokers", 0),
        (kinds[Crash] + kinds[Shutdown], "deaths of its brokers", "max_crashes", 0),
        (
            kinds[Return] + kinds[Shutdown] + len(situation.new | situation.waiting),
            "returns and new replicas" if new else "returns and shutdowns of its brokers",
            "isr_changes",
            1,
        ),
        (kinds[AnotherController], "controller failovers", "controller_changes", 0),
    ):
        most = (constants[constant].at_most or 0) - less
        if number > most:
            raise UsageError(f"{partition} has {number} {what}; --any-order explores up to {most}")


class PlanBounds(NamedTuple):
    """The bounds that keep the system of a situation finite; they are raised when they cut something off."""

    max_leader_epoch: int
    """The highest leader epoch."""
    isr_changes: int
    """How often the leader may add a broker to the ISR: one that returns, is new, has waited for a leader, or is
    shutting down and still follows."""

    @classmethod
    def of(cls, situation: Situation) -> PlanBounds:
        """The initial bounds."""
        highest = ClusterSpec.constants()["max_leader_epoch"].at_most or 0
        kinds = situation.kinds
        changes = kinds[Return] + kinds[Shutdown] + len(situation.new | situation.waiting)
        epochs = max(
            2 + len(situation.events), 1 + 2 * kinds[AnotherController]
        )  # versions of the controller epoch, too
        if situation.moves:
            epochs += (
                2 + situation.replicas + 2 * kinds[AnotherController]
            )  # who is informed, who leaves, and all of that again
        return cls(min(epochs, highest), changes and changes + 1)

    def raised(self) -> PlanBounds | None:
        """Higher bounds; None: there are none."""
        constants = ClusterSpec.constants()
        higher = PlanBounds(self.max_leader_epoch + 2, self.isr_changes and self.isr_changes + 1)
        admitted = (number <= (constants[name].at_most or 0) for name, number in higher._asdict().items())
        return higher if all(admitted) else None


def system_of(situation: Situation, release: str, bounds: PlanBounds | None = None) -> EventPlan[Any]:
    """The specification of a situation, within these bounds; by default within the initial ones."""
    kinds = situation.kinds
    of: type[EventPlan[Any]] = PlannedMove if situation.moves else EventsInAnyOrder
    own: dict[str, Any] = {
        "partitions": 1,
        "topic_creation": False,
        "shutdowns": kinds[Shutdown] > 0,
        "preferred_elections": kinds[ElectPreferred] > 0 and situation.replicas > 1,
    }
    if situation.moves:
        own = {"reassignment_requests": 1, "initial_replicas": min(situation.replicas, 3)}
    subject: EventPlan[Any] = of(
        situation=situation,
        brokers=situation.brokers,
        max_crashes=kinds[Crash] + kinds[Shutdown] or min(1, kinds[Return]),  # otherwise no broker starts or dies
        controller_changes=kinds[AnotherController],
        unclean=situation.unclean,
        **own,
        **(PlanBounds.of(situation) if bounds is None else bounds)._asdict(),
        **valuation(of.releases, release),
    )
    return subject


def in_any_order(
    cluster: KnownCluster,
    *events: ClusterEvent,
    release: str = RELEASES[-1],
    max_states: int | None = None,
    explore: Callable[..., Result] = check,
) -> AnyOrder:
    """Explore every order of events, with everything that a controller does in between.

    Args:
        cluster: its present state.
        events: the events.
        release: the controller's release.
        max_states: the most states of each situation; by default all of them.
        explore: `spec.checking.check`, or a substitute for it.

    Raises:
        UsageError: an event cannot be explored, there are too many, or a partition has too many replicas.
        BrokenRule: this program is at fault.
    """
    line = release_named(release, ByRelease(ControlDesign))
    alike = situations(cluster, events, line)
    for situation, partitions in alike.items():
        _require_few(situation, partitions[0])

    def explored(subject: EventPlan[Any]) -> Result:
        arrives = [ARRIVES] if isinstance(subject, PlannedMove) else []
        asked = [*HEALTH_BY_PROPERTY, *HEALTH_ON_THE_WAY, *arrives, *subject.rules, *WITNESSES]
        return explore(subject, properties=asked, keep_going=True, max_states=max_states)

    cases = [_explored(situation, partitions, line, explored) for situation, partitions in alike.items()]
    cases.sort(key=lambda each: (each.on_the_way, each.health, each.partitions))
    return AnyOrder(cluster, line, events, tuple(cases))


def _explored(
    situation: Situation,
    partitions: tuple[TopicPartition, ...],
    release: str,
    explore: Callable[[EventPlan[Any]], Result],
) -> WorstCase:
    """The worst outcome of a situation, with bounds that cut nothing off if possible."""
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
        raise UsageError(f"--any-order: these events cannot all happen to {partitions[0]} in any order")
    broken = {trace.broken: trace for trace in result.counterexamples}
    end = next((name for name in (*HEALTH_BY_PROPERTY, ARRIVES) if name in broken), ARRIVES)
    health = HEALTH_BY_PROPERTY.get(end, PartitionHealth.Online)
    worse = next((name for name, its in HEALTH_ON_THE_WAY.items() if name in broken and its < health), "")
    return WorstCase(
        situation,
        partitions,
        health,
        broken.get(end),
        result.distinct_states,
        explored=bounds is not None
        and all(each.verdict in ("holds", "violated") for each in result.properties if each.name in OUTCOMES),
        on_the_way=HEALTH_ON_THE_WAY.get(worse, health),
        trace_on_the_way=broken.get(worse),
        arrives=ARRIVES not in broken if situation.moves else None,
        is_refused=bool(situation.missing) and not situation.is_under_way and ControlDesign(release).kip_455,
    )


def _require_sound(result: Result, partition: TopicPartition) -> None:
    """Require that no property is broken except the outcomes.

    Raises:
        BrokenRule: another property is broken.
    """
    for trace in result.counterexamples:
        if trace.broken not in OUTCOMES:
            raise BrokenRule(f"{trace.broken}, in the system that stands for {partition}:\n{trace}")


def _verdict(result: Result, name: str) -> str:
    return next(each.verdict for each in result.properties if each.name == name)
