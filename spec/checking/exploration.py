"""The contract of all engines: the options of an exploration, and its result.

An engine explores the states breadth-first, in whole levels: level 1 is the initial states, and expanding all of
level n gives level n + 1. A property is decided in the level in which its first discovery is complete. So statistics
describe whole levels, and every engine reports the same ones.

Among discoveries of one property the shortest counts; among equals the lowest end state in code order (packed
states compared as integers), then the lowest predecessor, the action declared first, the first of its
instances; and so on backwards to the initial state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from spec.checking.model import DEADLOCK, TYPE_OK, Model, Path


@dataclass(frozen=True)
class Options:
    """The properties that an engine looks for, and its bounds."""

    properties: tuple[int, ...]
    """The numbers of the properties to check. `type_ok` is always among them."""
    keep_going: bool = False
    """Explore everything, whatever is found."""
    max_states: int | None = None
    """Stop after the level that reaches this many distinct states."""
    max_depth: int | None = None
    """Do not expand the level of this depth."""
    symmetry: bool = False
    """Explore orbits (`spec.checking.symmetry.reduction`): states are representatives, paths are those of the
    model."""


class Statistics(NamedTuple):
    """Statistics of an exploration, at its end or so far."""

    depth: int
    """The deepest level that is complete; initial states are level 1."""
    generated: int
    """Initial states and successors, counted each time one is found."""
    distinct: int
    queue: int
    """States found and not yet expanded."""
    seconds: float
    bytes_per_state: float | None = None
    """Bytes allocated for the visited set, divided by distinct states; None where an engine does not measure them."""
    in_python: float | None = None
    """The share of the time, 0 to 1, spent in running actions and properties and learning from them; None for an
    engine that spends all its time so."""
    doing: str = ""
    """Work before or beside the exploration: compiling."""
    evaluating: str = ""
    """If one evaluation takes long: its seconds so far, the action or property, and the state."""


OnProgress = Callable[[Statistics], None]
"""Called with statistics now and then; decides itself what to show. A long evaluation is reported from another
thread."""


@dataclass
class Coverage:
    """Counts of one action, see `ActionResult`; `changing` are the successors that differ from their state."""

    enabled: int = 0
    taken: int = 0
    new_states: int = 0
    changing: int = 0
    bounded: int = 0


class Jobs(NamedTuple):
    """How much of an exploration Spark did in jobs."""

    levels: int = 0
    """Levels expanded by a job."""
    workers: int = 0
    """The most worker processes that took part in one of these jobs."""


class LearnedRule(NamedTuple):
    """The learning of one action or property, with all its instances."""

    paths: int = 0
    """The paths that were learned."""
    misses: int = 0
    """How often an instance of it had no path for a state; fewer are counted where states need many paths at once."""
    seconds: float = 0.0
    """The time that it took."""


@dataclass(frozen=True)
class Discovery:
    """A property and a path that decides it: at its end an invariant is broken or a witness seen."""

    length: int
    """States on the path."""
    path: Path


@dataclass
class Exploration:
    """The findings of an engine."""

    ended: str
    """complete; or the reason that it stopped earlier: found, states, depth, memory, interrupted."""
    statistics: Statistics
    coverage: tuple[Coverage, ...]
    discoveries: dict[int, Discovery] = field(default_factory=dict)
    """The first discovery of each property, by the property's number."""
    bytes_per_state: float | None = None
    compared: str = ""
    """What was compared to justify merging orbits, in words; empty without symmetry."""
    folds: str = ""
    """Which rules were recorded as folds, and what of them was compared besides paths, in words; empty if none."""
    compile_seconds: float = 0.0
    """Seconds of compiling, before or beside exploring, beyond `statistics.seconds`; 0 if all was compiled."""
    kept: str = ""
    """For a run that was interrupted or ran out of memory: how to resume it; empty if nothing was kept."""
    levels: tuple[Statistics, ...] = ()
    """The statistics at the end of each level, from the first on; `queue` is the number of states in the level."""
    advice: str = ""
    """For a search that ran mostly in plain Python because learning did not pay: the action or property that was the
    reason, in a sentence. For another one: an action or property that is evaluated in plain Python, if it took most
    of the paths."""
    learned: Mapping[str, LearnedRule] = field(default_factory=dict)
    """By name of the action or property, the learning of an engine that learns."""
    interned: Mapping[str, int] = field(default_factory=dict)
    """By cell, how many interned values occur in the states."""
    jobs: Jobs | None = None
    """For the whole run, including the part before it was resumed. None for another engine, unless it continued a
    run in which a Spark job had expanded a level."""


class Engine(Protocol):
    """Explores a model."""

    name: str

    def explore(self, model: Model, options: Options, on_progress: OnProgress) -> Exploration:
        """Explore the states until every property is decided, or a bound is reached."""


def split_properties(model: Model, numbers: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of the properties of states, and of those of steps, without `type_ok` and deadlock."""
    plain = [n for n in numbers if model.properties[n].name not in {TYPE_OK, DEADLOCK}]
    return (
        tuple(n for n in plain if not model.properties[n].over_steps),
        tuple(n for n in plain if model.properties[n].over_steps),
    )


def is_violation(model: Model, number: int) -> bool:
    """Whether a discovery of this property is a violation; for a `sometimes` it is a witness."""
    return model.properties[number].kind != "sometimes"


def stops_exploration(model: Model, options: Options, number: int) -> bool:
    """Whether an exploration ends with the level that discovers this property."""
    return number == model.sought or (is_violation(model, number) and not options.keep_going)


def exploration_end(model: Model, options: Options, found: Iterable[int], statistics: Statistics) -> str:
    """Why an exploration ends with this complete, judged level, see `Exploration`; empty if it continues."""
    if any(stops_exploration(model, options, number) for number in found):
        return "found"
    if not statistics.queue:
        return "complete"
    if options.max_states is not None and statistics.distinct >= options.max_states:
        return "states"
    if options.max_depth is not None and statistics.depth >= options.max_depth:
        return "depth"
    return ""
