"""The contract of all engines: the options that an exploration is given, and what it gives back.

An engine goes through the states breadth-first, in whole levels: level 1 is the initial states, and expanding
level n whole gives level n + 1. A property is decided in the level in which its first discovery is complete, so
statistics are of whole levels, and every engine has the same ones.

Among discoveries of one property the shortest counts; among equals the lowest end state in code order (packed
states compared as integers), then the lowest predecessor, the action declared first, the first of its
instances; and so on backwards to the initial state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from spec.checking.model import DEADLOCK, TYPE_OK, Model, Path


@dataclass(frozen=True)
class Options:
    """What an engine is to look for, and within which bounds."""

    properties: tuple[int, ...]
    """Numbers of the properties to look at. `type_ok` is always among them."""
    keep_going: bool = False
    """Explore everything, whatever is found."""
    max_states: int | None = None
    """Stop after the level with which this many distinct states are reached."""
    max_depth: int | None = None
    """Do not expand the level of this depth."""
    symmetry: bool = False
    """Go through orbits (`spec.checking.symmetry.reduction`): states are representatives, paths are those of the
    model."""


class Statistics(NamedTuple):
    """Statistics of an exploration, at its end or so far."""

    depth: int
    """The deepest level that is complete; initial states are level 1."""
    generated: int
    """Initial states and successors, each time one is found."""
    distinct: int
    queue: int
    """States found and not yet expanded."""
    seconds: float
    bytes_per_state: float | None = None
    """Bytes allocated for the visited set by distinct states; None where an engine does not measure them."""
    in_python: float | None = None
    """The share of the time, 0 to 1, in which actions and properties were run, and what came of it was learned; None
    where nothing else is done."""
    doing: str = ""
    """What is done before states are explored, or beside it: compiling."""
    evaluating: str = ""
    """If one evaluation takes long: its seconds so far, what is evaluated, and in which state."""


OnProgress = Callable[[Statistics], None]
"""Called with statistics now and then, and decides itself what to show. Of an evaluation that takes long it is told
from another thread."""


@dataclass
class Coverage:
    """Counts of one action, see `ActionResult`."""

    enabled: int = 0
    taken: int = 0
    new_states: int = 0
    changing: int = 0


class Jobs(NamedTuple):
    """How much of an exploration Spark did by jobs."""

    levels: int = 0
    """Levels that were expanded by a job."""
    workers: int = 0
    """Worker processes that took part in one of these jobs, at most."""


@dataclass(frozen=True)
class Discovery:
    """A property and a path that decides it: an invariant is broken at its end, or a witness is seen."""

    length: int
    """States on the path."""
    path: Path


@dataclass
class Exploration:
    """What an engine found."""

    ended: str
    """complete; or found, states, depth, memory, interrupted: what stopped it before."""
    statistics: Statistics
    coverage: tuple[Coverage, ...]
    discoveries: dict[int, Discovery] = field(default_factory=dict)
    """By number of the property, the first discovery of each."""
    bytes_per_state: float | None = None
    compared: str = ""
    """What was compared so that orbits may be merged, in words; empty without symmetry."""
    compile_seconds: float = 0.0
    """What compiling took, before or beside exploring, beyond the seconds of `statistics`; 0 if all was there."""
    kept: str = ""
    """For a run that was interrupted or out of memory: how to resume it; empty if nothing was kept."""
    levels: tuple[Statistics, ...] = ()
    """What was known when each level was complete, from the first on; its `queue` is the states of the level."""
    jobs: Jobs | None = None
    """Of the whole run, the part before it was resumed included. None for another engine, unless it went on with
    a run in which Spark had expanded a level by a job."""


class Engine(Protocol):
    """What explores a model."""

    name: str

    def explore(self, model: Model, options: Options, on_progress: OnProgress) -> Exploration:
        """Go through the states until every property is decided, or a bound is reached."""


def split_properties(model: Model, numbers: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of properties of states, and those of properties of steps, without `type_ok` and deadlock."""
    plain = [n for n in numbers if model.properties[n].name not in {TYPE_OK, DEADLOCK}]
    return (
        tuple(n for n in plain if not model.properties[n].over_steps),
        tuple(n for n in plain if model.properties[n].over_steps),
    )


def is_violation(model: Model, number: int) -> bool:
    """Whether a discovery of this property is a violation; that of a `sometimes` is a witness."""
    return model.properties[number].kind != "sometimes"


def stops_exploration(model: Model, options: Options, number: int) -> bool:
    """Whether an exploration ends with the level in which it has a discovery of this property."""
    return number == model.sought or (is_violation(model, number) and not options.keep_going)


def exploration_end(model: Model, options: Options, found: Iterable[int], statistics: Statistics) -> str:
    """Why an exploration ends with a level that is complete and judged, see `Exploration`; empty if it goes on."""
    if any(stops_exploration(model, options, number) for number in found):
        return "found"
    if not statistics.queue:
        return "complete"
    if options.max_states is not None and statistics.distinct >= options.max_states:
        return "states"
    if options.max_depth is not None and statistics.depth >= options.max_depth:
        return "depth"
    return ""
