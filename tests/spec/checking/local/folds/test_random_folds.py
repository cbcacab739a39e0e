"""Random specifications with folds give the same whole results on the local and on the reference engine.

`FOLDS_SEED=7 make long-engines` repeats the systems of a run; the seed is in the names of the tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from spec.checking.check import check
from spec.checking.local import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.checking.result import Result
from tests.seeds import seed_of_this_run
from tests.spec.checking.everywhere import checked, same, whole
from tests.spec.checking.local.folds.crowds import fold_from
from tests.spec.checking.local.folds.fold_systems import fold_systems
from tests.spec.checking.random_systems import loaded, unsurprised

SEED = seed_of_this_run("FOLDS_SEED")
FROM = ((1, 10.0), (4, 0.8))
"""At which paths twins are tried, and how short theirs must be. A rule folds at its first path; or later, if ever,
after trials that kept its own path."""


def compare(text: str, directory: Path, changed: pytest.MonkeyPatch) -> None:
    """Require that both engines say the same about a system, and that no recorded path is refuted."""
    options: dict[str, Any] = {"keep_going": True, "max_states": 200}
    opaque_rules: list[str] = []

    def by_tables() -> Result:
        result = check(system, engine=LocalEngine(1), **options)
        opaque_rules.extend(result.opaque_rules)
        return result

    with loaded(text, directory) as system:
        expected = checked(system, ReferenceEngine(), **options)
        for tried, shorter in FROM:
            fold_from(tried, changed, shorter)
            same(f"twins tried at each path of {tried}", whole(by_tables), expected)
            assert not opaque_rules


def compare_random(number: int, systems: int, directory: Path, changed: pytest.MonkeyPatch) -> None:
    """Compare so many systems; Hypothesis reports the smallest that differs."""
    changed.setattr("sys.dont_write_bytecode", True)
    random = settings(
        max_examples=systems,
        deadline=None,
        database=None,
        derandomize=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    with unsurprised():
        random(seed(SEED + number)(given(text=fold_systems())(lambda text: compare(text, directory, changed))))()


NESTED = '''"""Places, and a set of messages."""
from typing import Annotated, Any, NamedTuple

from spec.language import Size, Specification, State, Total, action, variable

Number = Annotated[int, "a number"]
Place = Annotated[int, "a place"]


class B(NamedTuple):
    """A message."""

    n: Number


class Here(State):
    """The state."""

    msgs: frozenset[B] = variable("Messages.")
    row: Total[Place, Number] = variable("A number in each place.")
    limit: Number = variable("A number.")


class Made(Specification[Here]):
    """A fold within a fold asks for the limit."""

    def sizes(self) -> dict[Any, Size]:
        return {Number: range(3), Place: range(4)}

    def some(self, s, n):
        return {m for m in s.msgs if m.n >= n and m.n > s.limit}

    def careless(self, s, n):
        got = len([m in self.some(s, 0) for m in s.msgs])
        last = 0
        for m in s.msgs:
            if m.n == 0: last += 1
        return bool(got) == last % 2

    @action
    def send(self, s, n: Number):
        s.msgs |= {B(n)}

    @action
    def move(self, s, n: Number):
        s.limit = n

    @action
    def swap(self, s, p: Place):
        s.row[p] = (sum(s.row.values()) + 1) % 3
        assert self.careless(s, 0) in (True, False)
'''
"""Random systems found it: after a hundred trials the inner fold was given up, and the path read otherwise."""


def test_a_fold_within_a_fold_reads_the_same_when_it_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    with unsurprised():
        compare(NESTED, tmp_path, monkeypatch)


@pytest.mark.parametrize("number", [pytest.param(0, id=f"FOLDS_SEED={SEED}")])
def test_folds_agree(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few on every commit."""
    compare_random(number, 2, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("number", [pytest.param(at, id=f"{at}, FOLDS_SEED={SEED}") for at in range(1, 51)])
def test_many_folds_agree(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 in all."""
    compare_random(number, 200, tmp_path, monkeypatch)
