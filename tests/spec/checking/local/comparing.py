"""The same question put to two engines, and all that must come out the same."""

from __future__ import annotations

from typing import Any

from spec.checking.check import silent
from spec.checking.exploration import Engine, Exploration, Question
from spec.checking.local import LocalEngine
from spec.checking.model import EvaluationFailed, Model
from spec.checking.reference import ReferenceEngine
from spec.language import Specification


def comparable(found: Exploration) -> dict[str, Any]:
    """All that must be equal whatever the engine."""
    return {
        "ended": found.ended,
        "figures": found.figures[:4],
        "enabled": [each.enabled for each in found.coverage],
        "taken": [each.taken for each in found.coverage],
        "new states": sum(each.new_states for each in found.coverage),
        "findings": {
            number: (each.length, each.path[0], list(each.path[1])) for number, each in found.findings.items()
        },
    }


def explored(engine: Engine, specification: Specification, *names: str, **bounds: Any) -> dict[str, Any]:
    """What an engine finds about the properties with these names, or about all of them; or how it fails."""
    model = Model(specification)
    properties = model.numbers(names) if names else tuple(range(len(model.properties)))
    try:
        return comparable(engine.explore(model, Question(properties, **bounds), silent))
    except EvaluationFailed as failure:
        return {"failed": str(failure), "in the state": failure.state}


def agreed(specification: Specification, *names: str, **bounds: Any) -> dict[str, Any]:
    """What all engines find, of which the local one has one worker and has two.

    Credit for new states may go to another action than it does in the reference engine, but not with the workers.
    """
    expected = explored(ReferenceEngine(), specification, *names, **bounds)
    for workers in (1, 2):
        assert explored(LocalEngine(workers), specification, *names, **bounds) == expected, f"{workers} workers"
    return expected


def new_states(specification: Specification, workers: int) -> list[int]:
    """By action, the states that it reached first."""
    model = Model(specification)
    question = Question(tuple(range(len(model.properties))), keep_going=True)
    return [each.new_states for each in LocalEngine(workers).explore(model, question, silent).coverage]
