"""One specification, checked by every engine, by simulation and by state machines: whole results must be equal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from spec.checking import check, simulate
from spec.checking.exploration import Engine
from spec.checking.local import LocalEngine
from spec.checking.local.learning_budget import LearningBudget
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

ITS_OWN = {"advice", "engine", "folds", "seconds", "compile_seconds", "bytes_per_state", "jobs", "opaque_rules"}
"""Fields of a result in which engines may differ."""

RUNS, STEPS = 12, 12
"""Of each simulation."""

BRIEFLY = settings(
    max_examples=3,
    stateful_step_count=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""Settings for a short run of a Hypothesis machine."""


class Differs(AssertionError):
    """Two results that must be equal differ."""

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
    """Compare two results.

    Raises:
        Differs: they are not equal.
    """
    if found != expected:
        raise Differs(where, found, expected)


# Whole results.


def with_types(trace: Trace | None) -> Any:
    """All of a trace, with the types of its values, since 1 equals True."""
    return trace and (trace.to_json(), repr([dict(state) for state in trace.states]), trace.failing, trace.looked_at)


def whole(ask: Callable[[], BaseResult]) -> dict[str, Any]:
    """All fields of a result, or how it fails."""
    try:
        result = ask()
    except (EvaluationFailed, SpecificationError) as failure:
        trace = getattr(failure, "trace", None)
        return {"failed": str(failure), "notes": getattr(failure, "__notes__", []), "trace": with_types(trace)}
    found = {each.name: getattr(result, each.name) for each in dataclasses.fields(result) if each.name not in ITS_OWN}
    found["counterexamples"] = [*map(with_types, result.counterexamples)]
    if isinstance(result, Result):  # the action credited with a new state depends on the search order
        found["levels"] = [dataclasses.replace(level, seconds=0) for level in result.levels]
        found["actions"] = [dataclasses.replace(action, new_states=None) for action in result.actions]
        found["new states"] = sum(action.new_states or 0 for action in result.actions)
    return found


def checked(specification: Specification, engine: Engine | str, **asked: Any) -> dict[str, Any]:
    """The result from one engine."""
    return whole(lambda: check(specification, engine=engine, **asked))


# Comparisons of everything.


@contextmanager
def learning(share: float, seed: int = 0) -> Iterator[None]:
    """While this is open, learn this share of missing paths, chosen by chance; else states are expanded plainly."""
    chance = Random(seed)
    with patch.object(LearningBudget, "allows", property(lambda budget: chance.random() < share)):
        yield


def agreed(specification: Specification, directory: Path, seed: int = 0, **asked: Any) -> None:
    """Compare the local engine with the reference, and simulations, machines and files with both.

    Args:
        specification: the system.
        directory: for files.
        seed: for random choices. Seeds divisible by 5 also run Spark and state machines, which take longest.
        asked: options for the engines.

    Raises:
        Differs: two results differ.
    """
    expected = checked(specification, "reference", **asked)
    for workers in (1, 2):
        same(f"local, {workers} workers", checked(specification, LocalEngine(workers), **asked), expected)
    for share in (0.0, 0.5):
        with learning(share, seed):
            same(f"local, learning {share:.0%}", checked(specification, LocalEngine(2), **asked), expected)
    with patch("spec.checking.first_tier.KEPT", Random(seed).randrange(40)):
        same("auto, handed over", checked(specification, "auto", **asked), expected)
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
    """Whether an exploration agrees with a finding about a property, or stopped before it could."""
    if "failed" in explored or explored["verdict"] == "bounded":
        return True
    its = next(each for each in explored["properties"] if each.name == name)
    return bool(its.verdict == "undecided" or (its.verdict == verdict and its.length <= length))


def may_fail(explored: dict[str, Any]) -> bool:
    """Whether evaluations may raise. A search skips decided properties, so it may miss their exceptions."""
    return "failed" in explored or any(
        each.verdict not in {"holds", "unwitnessed"} for each in explored["properties"]
    )


def simulated(specification: Specification, seed: int, explored: dict[str, Any]) -> None:
    """Compiled walks give the same result as plain ones, and their findings agree with the exploration."""
    asked: dict[str, Any] = {"runs": RUNS, "steps": STEPS, "seed": seed, "shrinking": False}
    expected = whole(lambda: simulate(specification, plain=True, **asked))
    same("simulate", whole(lambda: simulate(specification, **asked)), expected)
    if "failed" in expected:
        same("a failure in simulate", may_fail(explored), True)
        return
    for each in expected["properties"]:
        if each.verdict in {"violated", "witnessed"}:
            same(f"{each.name} in simulate", is_known(explored, each.name, each.verdict, each.length), True)


def machine_run(specification: Specification, explored: dict[str, Any]) -> None:
    """The findings of a Hypothesis machine agree with the exploration."""
    try:
        run_state_machine_as_test(as_state_machine(specification), settings=BRIEFLY)
    except Violation as violation:
        if violation.trace is not None:
            broken, length = violation.trace.broken, violation.trace.length
            same(f"{broken} in a machine", is_known(explored, broken, "violated", length), True)
    except (EvaluationFailed, SpecificationError):
        same("a failure in a machine", may_fail(explored), True)


def written(specification: Specification, trace: Trace, directory: Path) -> None:
    """A written trace reads back equal, and is a run of the specification."""
    path = directory / "trace.itf.json"
    recorded = RecordedTrace.of(specification, trace)
    recorded.write(path)
    read = RecordedTrace.read(path)
    same("ITF", read, recorded)
    followed = validate(read, specification)
    same("replay", (followed.left, followed.at), ("", trace.length))
    same("the replayed trace", with_types(followed.trace), with_types(trace))


def taken(specification: Specification, trace: Trace, explored: dict[str, Any]) -> None:
    """A walk along a trace breaks the same property, unless an evaluation raises earlier."""
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
            same("a failure in a walk", may_fail(explored), True)
            return
    if trace.broken == DEADLOCK:
        same("a deadlock in a walk", walk.offers(), {})
    elif broken != trace.broken:  # it names one of those that break there
        same("the end of a walk", bool(broken), True)
