"""Conformance: whether Kafka's own classes do what the system `controller` says, step by step.

The specification is explored breadth-first. Each of its edges belongs to a class: what is done, and how the broker
that does it stands before and after. Of each class some edges are told to real KafkaControllers, with the shortest
path that leads there, and after each step what is to be seen of them is compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Final, NamedTuple

from spec.checking.check import silent
from spec.checking.edge_coverage import EdgeCoverage, EdgePath, EdgeTours
from spec.checking.exploration import OnProgress
from spec.checking.model import Model
from spec.checking.notebook import Shown
from spec.checking.paths import Path, trace_along
from spec.checking.trace import Trace
from spec.checking.values import jsonable, show
from spec.kafka.divergences import DIVERGENCES, Divergence, divergence_at, divergences_of
from spec.kafka.following import Deviation, Following, PathTask, deviation_in
from spec.kafka.harness import Harness, Response
from spec.language import Step
from spec.parts.zookeeper import Session
from spec.systems.controller import ClusterAtWork, ControllerLife
from statemachines.controller import CONTROLLER, CONTROLLER_EPOCH

__all__ = ["Conformance", "conform"]

STATES = 150_000
"""As many are explored, unless it is said otherwise."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Conformance(Shown):
    """What came of it."""

    release: str
    about: Mapping[str, str]
    """The versions of Kafka, ZooKeeper and Java."""
    constants: Mapping[str, Any]
    switches: Mapping[str, Any]
    states: int
    expanded: int
    edges: int
    classes: int
    runs: int
    steps: int
    """Steps that were compared."""
    every_edge: bool
    """Whether all edges were told, but for those of known divergences; else some of each class."""
    seconds: float
    known: Mapping[str, int]
    """How many edges are of each divergence that is known."""
    vanished: Mapping[str, Trace]
    """Known divergences after which Kafka was as the specification says, with the path."""
    deviations: Sequence[tuple[Deviation, int, Trace]]
    """The shortest of each kind, with how many there were and the path as a trace."""

    @property
    def conforms(self) -> bool:
        """Whether everything was as claimed."""
        return not self.deviations and not self.vanished

    @property
    def exit_code(self) -> int:
        """0 as claimed, 12 a difference."""
        return 0 if self.conforms else 12

    def to_json(self) -> dict[str, Any]:
        """One object, see docs/kafka.md."""
        return {
            "release": self.release,
            "versions": dict(self.about),
            "constants": jsonable(self.constants),
            "switches": jsonable(self.switches),
            "verdict": "conforms" if self.conforms else "differs",
            "states": self.states,
            "expanded": self.expanded,
            "edges": self.edges,
            "classes": self.classes,
            "runs": self.runs,
            "steps": self.steps,
            "every_edge": self.every_edge,
            "seconds": round(self.seconds, 1),
            "divergences": dict(self.known),
            "vanished": {each: trace.to_json() for each, trace in self.vanished.items()},
            "differences": [
                {"what": str(deviation), "times": times, "trace": trace.to_json()}
                for deviation, times, trace in self.deviations
            ],
        }

    def __repr__(self) -> str:
        return f"<Conformance to Kafka {self.release}: {'conforms' if self.conforms else 'differs'}>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield (
            f"{'Conforms' if self.conforms else 'Differs'}: controller beside Kafka {self.about['ready']} "
            f"(ZooKeeper {self.about['zookeeper']}, Java {self.about['java']})"
        )
        yield f"  with {', '.join(f'{name} = {show(value)}' for name, value in self.constants.items())}"
        yield (
            f"  {self.states:,} states, {self.edges:,} edges of {self.classes:,} classes; "
            f"{self.runs:,} {'paths along every edge' if self.every_edge else 'paths'} told, "
            f"{self.steps:,} steps compared, {self.seconds:.0f} s"
        )
        for each in DIVERGENCES:
            if each.id in self.known:
                yield f"  {each.id}, {self.known[each.id]:,} edges: {each.kafka} [{each.source}]"
        for each_id, trace in self.vanished.items():
            yield f"\n{each_id} has vanished: Kafka does what the specification says\n\n{trace}"
        for deviation, times, trace in self.deviations:
            yield f"\n{times} x after {deviation.length} steps: {deviation}\n\n{trace}"


def conform(
    system: ControllerLife,
    kafka: Harness,
    *,
    max_states: int = STATES,
    per_class: int = 1,
    every_edge: bool = False,
    on_progress: OnProgress = silent,
) -> Conformance:
    """Tell real KafkaControllers the paths of a specification, and compare.

    Args:
        system: the specification.
        kafka: the release, running.
        max_states: how many states are explored.
        per_class: how many edges of each class are told.
        every_edge: all edges are told, but for those of known divergences.
        on_progress: told now and then how far it is.

    Raises:
        EnvironmentFailed: Java died.
    """
    return _Conforming(system, kafka, max_states, per_class, every_edge, on_progress).result()


DRIVEN: Final[Mapping[str, Any]] = {"registrations": 2, "waiting": 5, "failed_elections": True, "receives": False}
"""The constants that are others than those of the system, unless it is said otherwise."""
BUG_FIXES: Final[Mapping[str, Mapping[str, Any]]] = {"3.0.2": {"reinit_only_if_dead": True}}
"""What a release has that the first of its line, whose switches the specification has, had not."""


class Position(NamedTuple):
    """How a broker stands to what it does: all but names, numbers and the rest of the world."""

    doing: Hashable
    active: bool
    started: bool
    listens: bool
    listening: Hashable
    """What ZkEventThread does, until 1.0."""


@dataclass(frozen=True)
class EdgeClass:
    """What is done, how the broker stands before and after that does it, and what of ZooKeeper decides."""

    action: str
    parameters: tuple[Hashable, ...]
    before: Position | None = None
    after: Position | None = None
    decisive: tuple[Hashable, ...] = ()


def edge_class(
    before: ClusterAtWork, step: Step, after: ClusterAtWork, known: Sequence[Divergence]
) -> EdgeClass | Divergence:
    """The class of an edge; a divergence that is known is a class of its own."""
    divergence = divergence_at(before, step, after, known)
    if divergence is not None:
        return divergence
    broker = _broker_of(before, step)
    others = tuple(
        value if name != "path" or value == CONTROLLER else "a registration"
        for name, value in sorted(step.parameters.items())
        if name not in ("broker", "session")
    )
    if broker is None:
        return EdgeClass(step.action, others)
    me, node = before.controllers[broker], before.zk.nodes.get(CONTROLLER)
    decisive = (
        me.session in before.zk.sessions,
        tuple(queued.event for queued in (*me.queue[:1], *me.posted[:1])),
        None if node is None else (node.data == broker, node.owner == me.session),
        me.epoch == before.zk.nodes[CONTROLLER_EPOCH].data,
        me.epoch in before.receiver.requests,  # if so, whether another one is sent is not to be seen
    )
    return EdgeClass(step.action, others, _position(me), _position(after.controllers[broker]), decisive)


def _broker_of(before: ClusterAtWork, step: Step) -> int | None:
    """Which broker a step is about: that makes it, or that had the session which ends, or left a node."""
    its = step.parameters
    session: Session | None = before.zk.nodes[its["path"]].owner if "path" in its else its.get("session")
    broker: int | None = its.get("broker") if session is None else session.client
    return broker


def _position(me: Any) -> Position:
    return Position(me.doing, me.active, me.started, me.listens, me.listening)


@dataclass
class _Conforming:
    """A comparison under way."""

    system: ControllerLife
    kafka: Harness
    max_states: int
    per_class: int
    every_edge: bool
    on_progress: OnProgress
    runs: int = 0
    steps: int = 0
    vanished: dict[str, Path] = field(default_factory=dict)
    found: dict[Hashable, tuple[Deviation, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model = Model(self.system)
        self.following = Following(self.model)
        self.coverage = (EdgeTours if self.every_edge else EdgeCoverage)(
            self.model,
            partial(edge_class, known=divergences_of(self.kafka.release)),
            max_states=self.max_states,
            per_class=self.per_class,
            ends=lambda of: isinstance(of, Divergence),
        )

    def result(self) -> Conformance:
        """Compare everything."""
        began = monotonic()
        for task, answer in self.kafka.runs(map(self._told, self.coverage)):
            self._judge(task, answer)
            self.on_progress(self.coverage.statistics())
        known = {of.id: edges for of, edges in self.coverage.edges.items() if isinstance(of, Divergence)}
        return Conformance(
            release=self.kafka.release,
            about=self.kafka.about,
            constants=self.system.values_of(switches=False),
            switches=self.system.values_of(switches=True),
            states=self.coverage.states,
            expanded=self.coverage.expanded,
            edges=sum(self.coverage.edges.values()),
            classes=len(self.coverage.edges) - len(known),
            runs=self.runs,
            steps=self.steps,
            every_edge=self.every_edge,
            seconds=monotonic() - began,
            known=known,
            vanished={each: trace_along(self.model, path) for each, path in self.vanished.items()},
            deviations=[
                (each, times, trace_along(self.model, each.path))
                for each, times in sorted(self.found.values(), key=lambda found: found[0].length)
            ],
        )

    def _told(self, path: EdgePath) -> PathTask:
        return self.following.task(path.states, path.choices, path.of)

    def _judge(self, task: PathTask, answer: Response) -> None:
        self.runs += 1
        self.steps += len(answer.seen)
        deviation, of = deviation_in(task, answer), task.of
        if isinstance(of, Divergence):
            if deviation is None and not of.silent:
                self.vanished.setdefault(of.id, task.path)
            if deviation is None or deviation.length == len(task.steps):
                return  # it diverges where it is known to
        if deviation is not None:
            shortest, times = self.found.get(deviation.kind, (deviation, 0))
            self.found[deviation.kind] = min(shortest, deviation, key=lambda each: each.length), times + 1
