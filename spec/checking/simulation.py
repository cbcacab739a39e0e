"""`simulate`: random walks through a specification that is too large to explore, or to see what happens.

A simulation proves nothing. Its counterexample is shrunk, and its seed and the number of its run repeat it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, SupportsIndex

from spec.checking import arguments
from spec.checking.arguments import SpecificationOrClass, as_integer
from spec.checking.check import documentation, selected_numbers
from spec.checking.exploration import Engine
from spec.checking.machine.memory import require_address_space
from spec.checking.model import DEADLOCK, Model, Path, retry_on_opaque_rule
from spec.checking.random.chance import SEEDS, SWARM, Policy
from spec.checking.random.shrinking import Shrinking
from spec.checking.random.sketch import ERROR
from spec.checking.random.walks import PlainWalker, Tally, Walker, Walks
from spec.checking.reference import ReferenceEngine
from spec.checking.result import NO_BOUNDS, ActionResult, BaseResult, PropertyResult, in_full, labelled, versions
from spec.checking.states.limits import too_large
from spec.checking.traces.paths import trace, trace_along, traced_failures
from spec.checking.traces.trace import Line, Report, Trace
from spec.checking.watchdog import Watchdog

RUNS: Final = 100_000
STEPS: Final = 100
"""Steps of a run by default, as in TLC; most known violations occur within 30."""
LONGEST: Final = 1_000_000
"""The most steps of a run."""
MOST_RUNS: Final = 1 << 62
"""The most runs: their numbers are counted in 64 bits."""
AT_FIRST: Final = 20_000
"""Steps of the first batch of runs; later batches are larger."""
QUICK: Final = 0.5
"""Seconds within which a batch of runs should be done."""
PLAINLY, COMPILED = 20_000, 1_000_000
"""Bounds on states for the two engines that look for a shorter path, about a second's work each."""


class SimulationStatistics(NamedTuple):
    """The progress of a simulation."""

    runs: int
    asked: int
    steps: int
    seconds: float
    in_python: float
    """The share of the time, 0 to 1, spent in the specification's own code."""
    doing: str = ""
    """Work before or between runs: compiling."""
    evaluating: str = ""
    """As in `Statistics`."""


OnSimulationProgress = Callable[[SimulationStatistics], None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Simulation(BaseResult):
    """The result of a simulation. Its verdict is never `holds`, and its counterexample is shrunk."""

    seed: int
    runs_asked: int
    steps_asked: int
    """The most steps of each run."""
    tally: Tally
    witnessed: Mapping[str, int]
    """By witness, the number of runs that saw it."""
    example: Trace | None = None
    """The trace of the one run that was requested, if nothing breaks in it."""
    repeat: str = ""
    """The command that repeats the run that failed."""

    @property
    def failing_run(self) -> int | None:
        """The number of the run that ended with a discovery; None if none did."""
        return None if self.tally.discovery is None else self.tally.discovery.run

    @property
    def steps_per_second(self) -> int:
        """Steps per second."""
        return round(self.tally.steps / self.seconds) if self.seconds else 0

    def lines(self, form: Callable[[Trace], Report] = in_full) -> Iterator[Line]:
        """The lines of a result, then the actions never taken, or the trace of the requested run."""
        never = self.never_taken
        yield from super().lines(form)
        if never and self.counterexample is None and self.example is None:
            yield labelled("never taken", ", ".join(never))
        if self.example is not None:
            yield from (Line(), *form(self.example).lines())

    def _figures(self) -> Iterator[Line]:
        tally = self.tally
        yield Line(
            "  ",
            f"{tally.steps:,} steps in {_runs(tally.runs)}, about {tally.sketch.estimate:,} distinct states "
            f"(±{ERROR:.1%}), in {self.seconds:.1f} s ({self.steps_per_second:,} steps/s)",
        )
        ended = f"{tally.early:,} ended early, with no step left"
        yield labelled("longest run", f"{tally.longest:,} states; {ended}")
        yield Line("  ", f"seed {self.seed}")
        if tally.discovery is not None:
            found = tally.discovery
            yield Line("  ", f"run {found.run:,} failed, in {found.steps + 1:,} states, shrunk to the trace below")
        if self.repeat:
            yield labelled("again", self.repeat)

    def _decided(self, judged: PropertyResult) -> str:
        if judged.length is None or judged.name not in self.witnessed:
            return super()._decided(judged)
        return f"{judged.name} ({judged.length}; {_runs(self.witnessed[judged.name])})"

    def to_json(self) -> dict[str, Any]:
        """The one object that `simulate --json` prints: the members of `check`'s object, and a simulation's own."""
        tally = self.tally
        return {
            **self._asked(),
            "bounds": dict(NO_BOUNDS),
            "symmetry": False,
            "compared": None,
            "accept_vacuous": [],
            "engine": "simulation",
            "jobs": None,
            "versions": versions("simulation"),
            "verdict": self.verdict,
            "why": self.because or None,
            "distinct_states": None,
            "generated_states": tally.runs + tally.steps,
            "depth": None,
            "interned": None,
            "seconds": round(self.seconds, 3),
            "compile_seconds": round(self.compile_seconds, 3),
            "states_per_second": None,
            "bytes_per_state": None,
            **self._found(),
            "without_effect": None,
            "folds": None,
            "advice": None,
            "profile": None,
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
                "failing_length": None if tally.discovery is None else tally.discovery.steps + 1,
                "repeat": self.repeat or None,
                "example": None if self.example is None else self.example.to_json(),
            },
        }


def _runs(number: int) -> str:
    return f"{number:,} run{'' if number == 1 else 's'}"


def silent(progress: SimulationStatistics) -> None:
    """An `OnSimulationProgress` that shows nothing."""


def simulate(
    specification: SpecificationOrClass,
    *,
    runs: SupportsIndex = RUNS,
    steps: SupportsIndex = STEPS,
    seed: SupportsIndex | None = None,
    run: SupportsIndex | None = None,
    properties: Iterable[str] | str = (),
    deadlock: bool = False,
    workers: SupportsIndex | None = 1,
    policy: Policy = SWARM,
    plain: bool = False,
    shrinking: bool = True,
    on_progress: OnSimulationProgress = silent,
    release: str | None = None,
    folds: bool = True,
) -> Simulation:
    """Walk through a specification at random, and report violations.

    The result depends only on the specification, the seed, the policy and the bounds.

    Args:
        specification: the system, under its constants, or its class, as in `check`.
        runs: how many, numbered from 1. The simulation ends with the first run that breaks something.
        steps: the most steps of a run.
        seed: determines everything random; chosen at random if not given.
        run: do only the run with this number, and show its trace.
        properties: a name, or names, of the only properties to check; witnesses are then left out.
        deadlock: look for states without an enabled action; a state closed by a bound does not count.
        workers: threads; None for one per core.
        policy: how a step is chosen.
        plain: walk on the model itself, without tables; slow.
        shrinking: look for a shorter counterexample than the run's own.
        on_progress: called with statistics now and then.
        release: one of the system's `releases`, from which its constants were taken; the result records it.
        folds: as in `check`.

    Raises:
        UsageError: an unknown property, or an argument that is out of range or meaningless.
        EvaluationFailed: an action or property raised, or broke the rules for such functions. A note names the run.
        SpecificationError: the specification is malformed.
    """
    seed = int.from_bytes(os.urandom(4), "big") if seed is None else as_integer("seed", seed, 0, SEEDS - 1)
    steps, runs = as_integer("steps", steps, 1, LONGEST), as_integer("runs", runs, 1, MOST_RUNS)
    first, last = 1, runs + 1
    if run is not None:
        first = as_integer("run", run, 1, MOST_RUNS)
        last = first + 1
    threads = arguments.as_workers(workers) or len(os.sched_getaffinity(0))
    model = Model(arguments.as_specification(specification, release), folds=folds)
    specification = model.specification
    walks = Walks(
        model, selected_numbers(model, arguments.as_names("properties", properties), deadlock), steps, seed, policy
    )
    with ExitStack() as until_done:
        until_done.enter_context(model.hidden_state.unchanged())
        pool = until_done.enter_context(ThreadPoolExecutor(threads))
        so_far = SimulationStatistics(0, last - first, 0, 0.0, 0.0)

        def tell(doing: str) -> None:
            if doing:
                on_progress(so_far._replace(doing=doing))

        plain = plain or bool(too_large(model))
        compile_seconds = 0.0 if plain else _compiled(model, tell)
        watched = until_done.enter_context(Watchdog(model, on_progress, so_far))
        until_done.enter_context(traced_failures(model))

        def walked(_: bool) -> tuple[_Batches, str, Path | None]:
            batches = _Batches(_walker(walks, pool, threads, plain), watched)
            how = batches.walk(first, last)
            end = batches.tally.discovery
            if end is not None:
                return batches, how, batches.walker.path(end.run, end.steps)
            return batches, how, batches.walker.path(first) if run is not None and how == "bounded" else None

        done, ended, path = retry_on_opaque_rule(walked)
        model.hidden_state.require_unchanged()
        so_far = done.so_far()
        tally, counterexample, example = done.tally, None, None
        if tally.discovery is not None:
            assert path is not None
            if shrinking:
                engine, max_states = _engine(threads, plain)
                shrinking_by = Shrinking(model, tally.discovery.property, engine, max_states, tell)
                path = shrinking_by.shrunk(path)
            counterexample = trace(model, tally.discovery.property, path)
            ended = "deadlock" if counterexample.broken == DEADLOCK else "violated"
        elif path is not None:
            example = trace_along(model, path)
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
        compile_seconds=compile_seconds,
        properties=tuple(_property(model, number, tally, counterexample) for number in walks.properties),
        witnessed={model.properties[number].name: many for number, many in tally.witnessed.items()},
        actions=tuple(
            ActionResult(action.name, enabled, taken, None, None)
            for action, enabled, taken in zip(model.actions, tally.enabled, tally.taken, strict=True)
        ),
        counterexamples=() if counterexample is None else (counterexample,),
        example=example,
        leaves_out=specification.leaves_out,
        why=_why(ended, tally.runs, last - first, steps),
        documentation=documentation(model),
        opaque_rules=tuple(sorted(model.opaque_rules)),
    )


def _why(verdict: str, done: int, of: int, steps: int) -> str:
    """The meaning of a verdict without a discovery."""
    nothing = f"nothing was found in {_runs(done)} of up to {steps:,} steps"
    return {"interrupted": f"{nothing}, of {of:,}", "bounded": f"{nothing}, which proves nothing"}.get(verdict, "")


def _walker(walks: Walks, pool: ThreadPoolExecutor, workers: int, plain: bool) -> Walker:
    """The walker, plain or compiled."""
    if plain:
        return PlainWalker(walks)
    require_address_space()
    from spec.checking.local.compiled_walks import CompiledWalker

    return CompiledWalker(walks, pool, workers)


def _engine(workers: int, plain: bool) -> tuple[Engine, int]:
    """The engine that looks for shorter paths, and its bound on states."""
    if plain:
        return ReferenceEngine(), PLAINLY
    from spec.checking.local.engine import LocalEngine

    return LocalEngine(workers), COMPILED


def _compiled(model: Model, tell: Callable[[str], None]) -> float:
    """Compile the code for walks, if necessary; the seconds that it took."""
    from spec.checking.local.compiled_walks import load
    from spec.checking.local.compiling import Kernels, compiled

    return compiled([load], Kernels(model.layout.words), tell)


class _Batches:
    """Runs in batches. The size of a batch does not affect the result."""

    def __init__(self, walker: Walker, on_progress: OnSimulationProgress):
        self.walker, self.on_progress = walker, on_progress
        model = walker.asked.model
        self.tally = Tally(enabled=[0] * len(model.actions), taken=[0] * len(model.actions))
        self.began = self.ended_at = time.perf_counter()
        self.asked = 0

    @property
    def seconds(self) -> float:
        """Seconds taken by the runs so far."""
        return self.ended_at - self.began

    def walk(self, first: int, last: int) -> str:
        """Do these runs, up to one that ends with a discovery; the verdict if none does."""
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
        while first < last and self.tally.discovery is None:
            end, began = min(last, first + batch), time.perf_counter()
            self.tally.add(self.walker.walk(first, end, self._tell))
            first = end
            if time.perf_counter() - began < QUICK:
                batch *= 2
        self._tell(0, 0)

    def _tell(self, runs: int, steps: int) -> None:
        self.on_progress(self.so_far(runs, steps))

    def so_far(self, runs: int = 0, steps: int = 0) -> SimulationStatistics:
        """The statistics, including these runs and steps that the tally does not count yet."""
        tally, seconds = self.tally, time.perf_counter() - self.began
        share = self.walker.seconds_in_python / seconds if seconds else 0.0
        return SimulationStatistics(tally.runs + runs, self.asked, tally.steps + steps, seconds, share)


def _property(model: Model, number: int, tally: Tally, counterexample: Trace | None) -> PropertyResult:
    judged = model.properties[number]
    if tally.discovery is not None and tally.discovery.property == number and counterexample is not None:
        return PropertyResult(judged.name, judged.kind, "violated", counterexample.length)
    if number in tally.earliest:
        return PropertyResult(judged.name, judged.kind, "witnessed", tally.earliest[number])
    return PropertyResult(judged.name, judged.kind, "undecided", None)
