"""`simulate`: random walks through a specification, for what is too large to be explored, or to see what happens.

It proves nothing. What it finds is shrunk, and can be had again from its seed and the number of the run.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from spec.checking.chance import SEEDS, SWARM, Manner
from spec.checking.check import asked
from spec.checking.exploration import Engine
from spec.checking.model import DEADLOCK, TYPE_OK, Model
from spec.checking.reference import ReferenceEngine
from spec.checking.result import EXIT_CODES, ActionResult, PropertyResult
from spec.checking.shrinking import Shrinking
from spec.checking.trace import Trace, jsonable, trace
from spec.checking.walks import PlainWalker, Tally, Walker, Walks
from spec.language.errors import UsageError
from spec.language.specification import Specification

RUNS: Final = 100_000
STEPS: Final = 100
"""As TLC has it; most of what is known to break does so within 30."""
LONGEST: Final = 1_000_000
"""Steps of a run, at most."""
AT_FIRST: Final = 20_000
"""Steps that are done before anybody looks at them; more and more later on."""
QUICK: Final = 0.5
"""Seconds within which a batch of runs should be done."""
PLAINLY, COMPILED = 20_000, 1_000_000
"""States among which a shorter way is looked for, about a second's work each."""


class Walked(NamedTuple):
    """How far a simulation has come."""

    runs: int
    asked: int
    steps: int
    seconds: float
    in_python: float
    """The share of the time, 0 to 1, in which the specification's own code was run."""


Watch = Callable[[Walked], None]


@dataclass(frozen=True)
class Simulation:
    """What came of a simulation."""

    system: str
    constants: Mapping[str, Any]
    switches: Mapping[str, Any]
    release: str | None
    verdict: str
    """violated, deadlock, bounded or interrupted."""
    seed: int
    runs_asked: int
    steps_asked: int
    """At most, for each run."""
    tally: Tally
    seconds: float
    properties: tuple[PropertyResult, ...]
    witnessed: Mapping[str, int]
    """By witness, the runs that saw it."""
    actions: tuple[ActionResult, ...]
    counterexample: Trace | None
    """Shrunk."""
    example: Trace | None = None
    """What happens in the one run that was asked for, if nothing breaks in it."""
    leaves_out: str = ""
    repeat: str = ""
    """The command that does the run again that failed."""

    @property
    def exit_code(self) -> int:
        """What the command line exits with."""
        return EXIT_CODES[self.verdict]

    @property
    def why(self) -> str:
        """What a verdict means that is no finding."""
        done = f"{self.tally.runs:,} run{'' if self.tally.runs == 1 else 's'} of up to {self.steps_asked:,} steps"
        if self.verdict == "interrupted":
            return f"nothing was found in {done}, of {self.runs_asked:,}"
        return f"nothing was found in {done}, which proves nothing" if self.verdict == "bounded" else ""

    @property
    def failing_run(self) -> int | None:
        """The number of the run that ended badly."""
        return None if self.tally.end is None else self.tally.end.run

    @property
    def steps_per_second(self) -> int:
        """Steps by seconds."""
        return round(self.tally.steps / self.seconds) if self.seconds else 0

    def to_json(self) -> dict[str, Any]:
        """The one object that `simulate --json` prints: that of `check`, and what only a simulation has."""
        tally, example = self.tally, None
        if self.example is not None:
            example = {name: part for name, part in self.example.to_json().items() if name != "property"}
        return {
            "system": self.system,
            "constants": jsonable(self.constants),
            "switches": jsonable(self.switches),
            "release": self.release,
            "engine": "simulation",
            "verdict": self.verdict,
            "distinct_states": None,
            "generated_states": tally.runs + tally.steps,
            "depth": None,
            "seconds": round(self.seconds, 3),
            "states_per_second": None,
            "bytes_per_state": None,
            "properties": [vars(each) for each in self.properties],
            "actions": [vars(each) for each in self.actions],
            "counterexample": None if self.counterexample is None else self.counterexample.to_json(),
            "simulation": {
                "seed": self.seed,
                "runs": tally.runs,
                "runs_asked": self.runs_asked,
                "steps": tally.steps,
                "steps_asked": self.steps_asked,
                "steps_per_second": self.steps_per_second,
                "longest_run": tally.longest,
                "ended_early": tally.early,
                "distinct_states_about": tally.sketch.estimate,
                "witnessed": dict(self.witnessed),
                "failing_run": self.failing_run,
                "failing_length": None if tally.end is None else tally.end.steps + 1,
                "repeat": self.repeat or None,
                "example": example,
            },
        }


def silent(progress: Walked) -> None:
    """Shows nothing."""


def simulate(
    specification: Specification,
    *,
    runs: int = RUNS,
    steps: int = STEPS,
    seed: int | None = None,
    run: int | None = None,
    properties: Iterable[str] = (),
    deadlock: bool = False,
    workers: int = 1,
    manner: Manner = SWARM,
    plain: bool = False,
    shrinking: bool = True,
    watch: Watch = silent,
    release: str | None = None,
) -> Simulation:
    """Let chance walk through a specification, and say what breaks.

    What comes of it depends on the specification, the seed, the manner and the bounds, and on nothing else.

    Args:
        specification: the system, under its constants.
        runs: how many, numbered from 1. It ends with the first that breaks something.
        steps: after which a run ends.
        seed: of all that is left to chance; one is chosen if there is none.
        run: do only the run with this number, and show what happens in it.
        properties: names of the only ones to look at; witnesses are then left out.
        deadlock: look for states without an enabled action; a state closed by a bound is none.
        workers: threads.
        manner: how a step is chosen.
        plain: walk on the model itself, without tables; slow.
        shrinking: look for a shorter counterexample than the run's own.
        watch: told now and then how far it is.
        release: what to write into the result.

    Raises:
        UsageError: an unknown property, or a bound that is out of range.
        EvaluationFailed: an action or property raised, or did what it must not. A note says in which run.
        SpecificationError: the specification is not well made.
    """
    seed = secrets.randbits(32) if seed is None else seed
    for name, value, least, most in (
        ("runs", runs, 1, None),
        ("steps", steps, 1, LONGEST),
        ("seed", seed, 0, SEEDS - 1),
        ("run", 1 if run is None else run, 1, None),
        ("workers", workers, 1, None),
    ):
        if value < least or (most is not None and value > most):
            raise UsageError(f"{name} = {value}: it must be {least} or more{f', up to {most}' if most else ''}")
    model = Model(specification)
    walks = Walks(model, asked(model, tuple(properties), deadlock), steps, seed, manner)
    first, last = (1, runs + 1) if run is None else (run, run + 1)
    with ExitStack() as until_done:
        pool = until_done.enter_context(ThreadPoolExecutor(workers))
        walker, engine, max_states = _chosen(walks, pool, workers, plain)
        done = _Batches(walker, watch)
        ended = done.walk(first, last)
        tally, counterexample, example = done.tally, None, None
        if tally.end is not None:
            path = walker.path(tally.end.run, tally.end.steps)
            if shrinking:
                path = Shrinking(model, tally.end.property, engine, max_states).shrunk(path)
            counterexample = trace(model, tally.end.property, path)
            ended = "deadlock" if counterexample.broken == DEADLOCK else "violated"
        elif run is not None and ended == "bounded":
            example = replace(trace(model, model.numbers([TYPE_OK])[0], walker.path(run)), broken="", sentence="")
    return Simulation(
        system=specification.name,
        constants=specification.values_of(switches=False),
        switches=specification.values_of(switches=True),
        release=release,
        verdict=ended,
        seed=seed,
        runs_asked=last - first,
        steps_asked=steps,
        tally=tally,
        seconds=done.seconds,
        properties=tuple(_property(model, number, tally, counterexample) for number in walks.properties),
        witnessed={model.properties[number].name: many for number, many in tally.witnessed.items()},
        actions=tuple(
            ActionResult(action.name, enabled, taken, None)
            for action, enabled, taken in zip(model.actions, tally.enabled, tally.taken, strict=True)
        ),
        counterexample=counterexample,
        example=example,
        leaves_out=specification.leaves_out,
    )


def _chosen(walks: Walks, pool: ThreadPoolExecutor, workers: int, plain: bool) -> tuple[Walker, Engine, int]:
    """The fastest walker that can hold the model; and who looks for a shorter way, among how many states."""
    if not plain:
        from spec.checking.local.engine import LocalEngine, too_large
        from spec.checking.local.walks import CompiledWalker

        if not too_large(walks.model):
            return CompiledWalker(walks, pool, workers), LocalEngine(workers), COMPILED
    return PlainWalker(walks), ReferenceEngine(), PLAINLY


class _Batches:
    """Runs, some at a time. How many makes no difference to what comes of them."""

    def __init__(self, walker: Walker, watch: Watch):
        self.walker, self.watch = walker, watch
        model = walker.asked.model
        self.tally = Tally(enabled=[0] * len(model.actions), taken=[0] * len(model.actions))
        self.began = self.ended_at = time.perf_counter()
        self.asked = 0

    @property
    def seconds(self) -> float:
        """So far."""
        return self.ended_at - self.began

    def walk(self, first: int, last: int) -> str:
        """Do these runs, up to one that ends badly; what becomes of it if none does."""
        self.asked = last - first
        try:
            self._walk(first, last)
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            self.ended_at = time.perf_counter()
        return "bounded"

    def _walk(self, first: int, last: int) -> None:
        batch = max(1, AT_FIRST // self.walker.asked.steps)
        while first < last and self.tally.end is None:
            behind, began = min(last, first + batch), time.perf_counter()
            self.tally.add(self.walker.walk(first, behind, self._tell))
            first = behind
            if time.perf_counter() - began < QUICK:
                batch *= 2
        self._tell(0, 0)

    def _tell(self, runs: int, steps: int) -> None:
        tally, seconds = self.tally, time.perf_counter() - self.began
        share = self.walker.seconds_in_python / seconds if seconds else 0.0
        self.watch(Walked(tally.runs + runs, self.asked, tally.steps + steps, seconds, share))


def _property(model: Model, number: int, tally: Tally, counterexample: Trace | None) -> PropertyResult:
    judged = model.properties[number]
    if tally.end is not None and tally.end.property == number and counterexample is not None:
        return PropertyResult(judged.name, judged.kind, "violated", counterexample.length)
    if number in tally.earliest:
        return PropertyResult(judged.name, judged.kind, "witnessed", tally.earliest[number])
    return PropertyResult(judged.name, judged.kind, "undecided", None)
