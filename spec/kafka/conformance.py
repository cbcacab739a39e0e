"""Conformance: whether Kafka's own classes do what a system says, step by step.

The specification is explored breadth-first. Its edges fall into classes: the step, and the state of the process that
takes it, before and after. Some edges of each class are run on Kafka's classes, by the shortest path to the edge.
After each step the observable state is compared. The system's mapping (`mappings`) defines the classes, and what
steps and states are in Kafka.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from spec.checking.check import silent
from spec.checking.exploration import OnProgress
from spec.checking.graph.edge_coverage import EdgeCoverage, EdgeTours
from spec.checking.model import Model, Path
from spec.checking.traces.paths import trace_along
from spec.checking.traces.trace import NotebookDisplay, Trace
from spec.checking.values.text import jsonable, show
from spec.kafka.divergences import DIVERGENCES, Divergence
from spec.kafka.mapping import KafkaRun, PathTask, Response
from spec.kafka.mappings import mapping_of
from spec.kafka.path_follower import Deviation, deviation_in
from spec.language import Specification


@dataclass(frozen=True, kw_only=True, repr=False)
class Conformance(NotebookDisplay):
    """The result of a comparison."""

    system: str
    release: str
    description: Mapping[str, str]
    """The versions of Kafka, ZooKeeper and Java."""
    constants: Mapping[str, Any]
    switches: Mapping[str, Any]
    states: int
    expanded: int
    edges: int
    classes: int
    runs: int
    steps: int
    """The number of steps compared."""
    every_edge: bool
    """Whether all edges were run, except those of known divergences. Otherwise some edges of each class were."""
    seconds: float
    known: Mapping[str, int]
    """The number of edges of each known divergence."""
    vanished: Mapping[str, Trace]
    """Known divergences where Kafka did what the specification says, with the path."""
    deviations: Sequence[tuple[Deviation, int, Trace]]
    """The shortest deviation of each kind, with how many there were and the path as a trace."""

    @property
    def conforms(self) -> bool:
        """Whether Kafka did everything as specified, except for the known divergences."""
        return not self.deviations and not self.vanished

    @property
    def exit_code(self) -> int:
        """0 if Kafka conforms, 12 if it differs."""
        return 0 if self.conforms else 12

    def to_json(self) -> dict[str, Any]:
        """One JSON object, see docs/kafka.md."""
        return {
            "system": self.system,
            "release": self.release,
            "versions": dict(self.description),
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
        return f"<Conformance of {self.system} to Kafka {self.release}: {'conforms' if self.conforms else 'differs'}>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield (
            f"{'Conforms' if self.conforms else 'Differs'}: {self.system} beside Kafka {self.description['ready']} "
            f"(ZooKeeper {self.description['zookeeper']}, Java {self.description['java']})"
        )
        yield f"  with {', '.join(f'{name} = {show(value)}' for name, value in self.constants.items())}"
        yield (
            f"  {self.states:,} states, {self.edges:,} edges of {self.classes:,} classes; "
            f"{self.runs:,} {'paths along every edge' if self.every_edge else 'paths'} run, "
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
    system: Specification,
    kafka: KafkaRun,
    *,
    max_states: int | None = None,
    per_class: int = 1,
    every_edge: bool = False,
    on_progress: OnProgress = silent,
) -> Conformance:
    """Run the paths of a specification on Kafka's own classes, and compare.

    Args:
        system: the specification; its system must have a mapping.
        kafka: the running release, from the mapping's `kafka`.
        max_states: how many states to explore; by default the mapping's number.
        per_class: how many edges of each class to run.
        every_edge: run all edges, except those of known divergences.
        on_progress: receives the statistics now and then.

    Raises:
        UsageError: the system has no mapping.
        EnvironmentFailed: Java died.
    """
    max_states = mapping_of(type(system)).states if max_states is None else max_states
    return _ConformanceRun(system, kafka, max_states, per_class, every_edge, on_progress).result()


@dataclass
class _ConformanceRun:
    """A comparison in progress."""

    system: Specification
    kafka: KafkaRun
    max_states: int
    per_class: int
    every_edge: bool
    on_progress: OnProgress
    runs: int = 0
    steps: int = 0
    vanished: dict[str, Path] = field(default_factory=dict)
    found: dict[Hashable, tuple[Deviation, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        model = Model(self.system)
        self.mapping = mapping_of(type(self.system))(model, self.kafka.release)
        self.coverage = (EdgeTours if self.every_edge else EdgeCoverage)(
            model,
            self.mapping.edge_class,
            max_states=self.max_states,
            per_class=self.per_class,
            ends=lambda of: isinstance(of, Divergence),
        )

    def result(self) -> Conformance:
        """Compare everything."""
        began = monotonic()
        tasks = (self.mapping.task(path.states, path.choices, path.of) for path in self.coverage)
        for task, answer in self.kafka.runs(tasks):
            self._judge(task, answer)
            self.on_progress(self.coverage.statistics())
        known = {of.id: edges for of, edges in self.coverage.edges.items() if isinstance(of, Divergence)}
        return Conformance(
            system=self.system.name,
            release=self.kafka.release,
            description=self.kafka.about,
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
            vanished={each: trace_along(self.mapping.model, path) for each, path in self.vanished.items()},
            deviations=[
                (each, times, trace_along(self.mapping.model, each.path))
                for each, times in sorted(self.found.values(), key=lambda found: found[0].length)
            ],
        )

    def _judge(self, task: PathTask, answer: Response) -> None:
        self.runs += 1
        self.steps += len(answer.seen)
        deviation, of = deviation_in(self.mapping, task, answer), task.of
        if isinstance(of, Divergence):
            if deviation is None and not of.silent:
                self.vanished.setdefault(of.id, task.path)
            if deviation is None or deviation.length == len(task.specified):
                return  # it diverges where it is known to diverge
        if deviation is not None:
            shortest, times = self.found.get(deviation.kind, (deviation, 0))
            self.found[deviation.kind] = min(shortest, deviation, key=lambda each: each.length), times + 1
