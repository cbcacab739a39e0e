"""Two engines on the same model, and the parts of their results that must be equal."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from spec.checking.check import silent
from spec.checking.exploration import Engine, Exploration, Options
from spec.checking.local import LocalEngine, masks, seeking, worker_pool
from spec.checking.local import engine as local
from spec.checking.model import EvaluationFailed, Model
from spec.checking.reference import ReferenceEngine
from spec.language import Specification


def comparable(found: Exploration) -> dict[str, Any]:
    """All that must be equal for every engine."""
    return {
        "ended": found.ended,
        "statistics": found.statistics[:4],
        "levels": [each[:4] for each in found.levels],
        "enabled": [each.enabled for each in found.coverage],
        "taken": [each.taken for each in found.coverage],
        "changing": [each.changing for each in found.coverage],
        "bounded": [each.bounded for each in found.coverage],
        "new states": sum(each.new_states for each in found.coverage),
        "discoveries": {
            number: (each.length, each.path[0], list(each.path[1])) for number, each in found.discoveries.items()
        },
    }


def explored(engine: Engine, specification: Specification, *names: str, **bounds: Any) -> dict[str, Any]:
    """The findings of an engine about the properties with these names, or about all; or how it fails."""
    model = Model(specification)
    properties = model.numbers(names) if names else tuple(range(len(model.properties)))
    try:
        return comparable(engine.explore(model, Options(properties, **bounds), silent))
    except EvaluationFailed as failure:
        return {"failed": str(failure), "in the state": failure.state, "reached by": failure.path}


def agreed(specification: Specification, *names: str, **bounds: Any) -> dict[str, Any]:
    """The findings of the reference engine, which the local one must equal with one worker and with two.

    Credit for new states may go to another action than in the reference engine: see `reached_first`.
    """
    expected = explored(ReferenceEngine(), specification, *names, **bounds)
    for workers in (1, 2):
        assert explored(LocalEngine(workers), specification, *names, **bounds) == expected, f"{workers} workers"
    return expected


def agreed_if_resumed(specification: Specification, depth: int, **bounds: Any) -> None:
    """Stop at a depth and resume from the kept run: the result is the same."""
    expected = explored(ReferenceEngine(), specification, **bounds)
    for workers in (1, 2):
        with TemporaryDirectory() as directory:
            run = Path(directory, "run")
            explored(LocalEngine(workers, run_dir=run), specification, max_depth=depth, **bounds)
            found = explored(LocalEngine(workers, run_dir=run, resume=True), specification, **bounds)
        assert found == expected, f"{workers} workers"


def new_states(specification: Specification, workers: int) -> list[int]:
    """For each action, the number of states credited to it."""
    model = Model(specification)
    options = Options(tuple(range(len(model.properties))), keep_going=True)
    return [each.new_states for each in LocalEngine(workers).explore(model, options, silent).coverage]


def reached_first(specification: Specification) -> list[int]:
    """For each action, the number of states for which it is the lowest that leads there from the level before."""
    model, found = Model(specification), Counter[int]()
    level = {state for state, _ in model.initial_states() if state is not None}
    met = set(level)
    while level:
        steps = [step for state in level for step in model.expand(state).steps]
        by = {step.after: step.action for step in sorted(steps, key=attrgetter("action"), reverse=True)}
        level = {state for state in by if state is not None} - met
        met |= level
        found.update(by[state] for state in level)
    return [found[action] for action in range(len(model.actions))]


def in_small_pieces(changed: pytest.MonkeyPatch) -> None:
    """Make small systems use the code for large ones.

    Blocks have a few states, and several workers search them for discoveries. Few unknown paths are put off at once.
    Masks have few bits, are tuned early and all remembered.
    """
    changed.setattr(worker_pool, "WORK_ITEM", 3)
    changed.setattr(seeking, "PARALLEL_FROM", 1)
    changed.setattr(worker_pool, "PATIENCE", 2)
    changed.setattr(worker_pool, "ROOM", 4)
    changed.setattr(masks, "GROUP", 3)
    changed.setattr(masks, "MIN_GAIN", 0.01)
    changed.setattr(masks, "FEWEST", 1)
    changed.setattr(masks, "MOST_NEW", 1.0)
    changed.setattr(local, "TUNINGS", [3, 10, 30, 100])
