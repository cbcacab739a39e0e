"""A system whose rule a test fills in, with every state at the beginning; and what an engine finds in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from spec.checking.check import check
from spec.checking.exploration import Engine
from spec.checking.local import LocalEngine, recording
from spec.checking.local.tables import DecisionTables
from spec.checking.model import EvaluationFailed, Model
from spec.checking.reference import ReferenceEngine
from spec.language import Specification, State, action, initial, integers, require, subset_of, variable

Judged = Callable[[Any], bool] | type["Crowd"]
"""A function of the state, or a class with one."""


class CrowdState(State):
    """Members of a crowd, and a number."""

    there: frozenset[int] = variable("Members.", of=lambda self: subset_of(range(4)))
    limit: int = variable("A number.", of=lambda self: integers(0, 3))


class Crowd(Specification[CrowdState]):
    """All states are initial. An action is enabled where a function of the state is true."""

    @initial(there=subset_of(range(4)), limit=range(4))
    def begin(self, s: CrowdState, there: frozenset[int], limit: int) -> None:
        s.there, s.limit = there, limit

    @action
    def act(self, s: CrowdState) -> None:
        require(self.judged(s))

    def judged(self, s: CrowdState) -> bool:
        """The function of a test."""
        raise NotImplementedError

    def helped(self, s: CrowdState, n: int) -> bool:
        """A helper that folds."""
        return any(m == n for m in s.there)


class Found(NamedTuple):
    """What an engine finds."""

    enabled: int | str
    """The number of states in which the function is true; or how it fails."""
    opaque: tuple[str, ...]
    """Rules whose paths plain values refuted."""


def crowd(judged: Judged) -> Specification:
    """The system with this function."""
    cls = judged if isinstance(judged, type) else type("Judging", (Crowd,), {"judged": lambda self, s: judged(s)})
    made: Specification = cls()
    return made


def found(judged: Judged, engine: Engine) -> Found:
    """What an engine finds about a function of the state."""
    try:
        result = check(crowd(judged), engine=engine, keep_going=True)
    except EvaluationFailed as failure:
        return Found(str(failure), ())
    return Found(result.actions[0].enabled, result.opaque_rules)


def fold_from(paths: int, changed: pytest.MonkeyPatch, shorter: float = 10) -> None:
    """Try twins at each so many paths, and let rules fold even if their twins read as much; or see `SHORTER`."""
    changed.setattr(recording, "TRIED", paths)
    changed.setattr(recording, "OTHERS", 1)
    changed.setattr(recording, "SHORTER", shorter)


def require_agreement(judged: Judged, changed: pytest.MonkeyPatch) -> None:
    """Require that folds, from the first path on, find in every state what the reference engine finds."""
    fold_from(1, changed)
    assert found(judged, LocalEngine(1)) == found(judged, ReferenceEngine())


def paths(judged: Judged, folds: bool) -> int:
    """The number of paths that are recorded."""
    return tables(judged, folds).learned


def tables(judged: Judged, folds: bool) -> DecisionTables:
    """The tables of the action, with the paths of all initial states."""
    model = Model(crowd(judged), folds=folds)
    made = DecisionTables(model, model.numbers(["type_ok"]))
    for state in model.first_states():
        words = words_of(model, model.layout.pack(state))
        made.learn(0, [*words, *words, made.recorder.no_step])
    return made


def words_of(model: Model, packed: int) -> list[int]:
    words = model.layout.words
    return [packed >> 64 * (words - 1 - at) & (1 << 64) - 1 for at in range(words)]
