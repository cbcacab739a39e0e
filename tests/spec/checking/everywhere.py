"""One specification, asked of everything that can answer: whole results must be the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from spec.checking import check, simulate
from spec.checking.exploration import Engine
from spec.checking.local import LocalEngine
from spec.checking.model import DEADLOCK, EvaluationFailed
from spec.checking.result import BaseResult, Result
from spec.checking.spark import SparkEngine
from spec.checking.traces.itf import RecordedTrace
from spec.checking.traces.paths import as_variables
from spec.checking.traces.trace import Trace
from spec.checking.traces.validate import validate
from spec.language import Specification, SpecificationError
from spec.testing import Violation, as_state_machine
from spec.testing.walk import Walk, WalkedGraph

ITS_OWN = {"engine", "seconds", "compile_seconds", "bytes_per_state", "jobs", "opaque_rules"}
"""What an engine may tell that others do not."""

RUNS, STEPS = 12, 12
"""Of a simulation."""

BRIEFLY = settings(
    max_examples=3,
    stateful_step_count=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""How long a machine runs."""


class Differs(AssertionError):
    """Two answers are not the same."""

    def __init__(self, where: str, found: Any, expected: Any):
        super().__init__(f"{where}: {_difference(found, expected)}")
        self.where = where


def _difference(found: Any, expected: Any) -> str:
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        return "; ".join(
            f"{name}: {found[name]!r}, not {expected[name]!r}" for name in found if found[name] != expected[name]
        )
    return f"{found!r}, not {expected!r}"


def same(where: str, found: Any, expected: Any) -> None:
    """Two answers are the same.

    Raises:
        Differs: they are not.
    """
    if found != expected:
        raise Differs(where, found, expected)


# Whole results.


def told(trace: Trace | None) -> Any:
    """All of a trace, and the types of the values in it, for 1 equals True."""
    return trace and (trace.to_json(), repr([dict(state) for state in trace.states]), trace.failing, trace.looked_at)


def whole(ask: Callable[[], BaseResult]) -> dict[str, Any]:
    """All that a result has, or how it fails."""
    try:
        result = ask()
    except (EvaluationFailed, SpecificationError) as failure:
        trace = getattr(failure, "trace", None)
        return {"failed": str(failure), "notes": getattr(failure, "__notes__", []), "trace": told(trace)}
    found = {each.name: getattr(result, each.name) for each in dataclasses.fields(result) if each.name not in ITS_OWN}
    found["counterexamples"] = [*map(told, result.counterexamples)]
    if isinstance(result, Result):  # whose action a new state is credited to depends on the order of the search
        found["levels"] = [dataclasses.replace(level, seconds=0) for level in result.levels]
        found["actions"] = [dataclasses.replace(action, new_states=None) for action in result.actions]
        found["new states"] = sum(action.new_states or 0 for action in result.actions)
    return found


def checked(specification: Specification, engine: Engine | str, **asked: Any) -> dict[str, Any]:
    """What an engine says."""
    return whole(lambda: check(specification, engine=engine, **asked))


# Everything.


def agreed(specification: Specification, directory: Path, seed: int = 0, **asked: Any) -> None:
    """The local engine says what the reference says, simulations and machines nothing else; files keep it.

    Args:
        specification: the system.
        directory: for files.
        seed: of what is left to chance; those that 5 divides are for Spark and machines too, which take longest.
        asked: of the engines.

    Raises:
        Differs: they do not.
    """
    expected = checked(specification, "reference", **asked)
    for workers in (1, 2):
        same(f"local, {workers} workers", checked(specification, LocalEngine(workers), **asked), expected)
    simulated(specification, seed, expected)
    if seed % 5 == 0:
        same("spark, without jobs", checked(specification, SparkEngine(), **asked), expected)
        machine_run(specification, expected)
    if "failed" not in expected:
        result = check(specification, engine="reference", **asked)
        for trace in result.counterexamples:
            written(specification, trace, directory)
            taken(specification, trace, expected)


def is_known(explored: dict[str, Any], name: str, verdict: str, length: int) -> bool:
    """Whether an exploration knows of what was found about a property, or stopped before it could know."""
    if "failed" in explored or explored["verdict"] == "bounded":
        return True
    its = next(each for each in explored["properties"] if each.name == name)
    return bool(its.verdict == "undecided" or (its.verdict == verdict and its.length <= length))


def may_fail(explored: dict[str, Any]) -> bool:
    """Whether there may be an evaluation that raises: nobody asks again about a property that is decided."""
    return "failed" in explored or any(
        each.verdict not in {"holds", "unwitnessed"} for each in explored["properties"]
    )


def simulated(specification: Specification, seed: int, explored: dict[str, Any]) -> None:
    """Compiled walks come to what plain ones come to, and that an exploration knows."""
    asked: dict[str, Any] = {"runs": RUNS, "steps": STEPS, "seed": seed, "shrinking": False}
    expected = whole(lambda: simulate(specification, plain=True, **asked))
    same("simulate", whole(lambda: simulate(specification, **asked)), expected)
    if "failed" in expected:
        same("what simulate comes to", may_fail(explored), True)
        return
    for each in expected["properties"]:
        if each.verdict in {"violated", "witnessed"}:
            same(f"{each.name} in simulate", is_known(explored, each.name, each.verdict, each.length), True)


def machine_run(specification: Specification, explored: dict[str, Any]) -> None:
    """A Hypothesis machine comes to what an exploration knows."""
    try:
        run_state_machine_as_test(as_state_machine(specification), settings=BRIEFLY)
    except Violation as violation:
        if violation.trace is not None:
            broken, length = violation.trace.broken, violation.trace.length
            same(f"{broken} in a machine", is_known(explored, broken, "violated", length), True)
    except (EvaluationFailed, SpecificationError):
        same("what a machine comes to", may_fail(explored), True)


def written(specification: Specification, trace: Trace, directory: Path) -> None:
    """A trace is read as it was written, and the specification has it."""
    path = directory / "trace.itf.json"
    recorded = RecordedTrace.of(specification, trace)
    recorded.write(path)
    read = RecordedTrace.read(path)
    same("ITF", read, recorded)
    followed = validate(read, specification)
    same("replay", (followed.left, followed.at), ("", trace.length))
    same("what is replayed", told(followed.trace), told(trace))


def taken(specification: Specification, trace: Trace, explored: dict[str, Any]) -> None:
    """A walk of a machine that takes the steps of a trace comes to what it breaks, unless something raises before."""
    walk, broken = Walk(WalkedGraph(specification)), ""
    model = walk.graph.model
    begun = [
        each for each in walk.graph.initial_steps if each.state and as_variables(model, each.state) == trace.initial
    ]
    for step in (begun[0].step, *(each.step for each in trace.steps)):
        try:
            broken = ""
            walk.go(step)
        except Violation as violation:
            broken = violation.trace.broken if violation.trace else ""
        except EvaluationFailed:
            same("what a walk comes to", may_fail(explored), True)
            return
    if trace.broken == DEADLOCK:
        same("a deadlock in a walk", walk.offers(), {})
    elif broken != trace.broken:  # it tells one of those that are broken there
        same("the end of a walk", bool(broken), True)
