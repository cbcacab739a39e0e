"""All engines agree about random systems: a few on every commit, and 20,000 in `make long`.

The systems are drawn anew each time, from a seed in the name of each test; `SYSTEMS_SEED=7 make long-engines` repeats
them. A system on which an engine differs is printed in its smallest form. To try it by hand, save it as a file and
run `kafkaspec check` on it with each engine.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from spec.language import SpecificationError, UsageError
from tests.seeds import seed_of_this_run
from tests.spec.checking.everywhere import Differs, agreed
from tests.spec.checking.local.comparing import in_small_pieces
from tests.spec.checking.random_systems import Writer, loaded, shrunk

SEED = seed_of_this_run("SYSTEMS_SEED")
BOUNDS: list[dict[str, Any]] = [
    {"keep_going": True},
    {},
    {"keep_going": True, "deadlock": True},
    {"max_depth": 3, "keep_going": True},
    {"deadlock": True},
    {"max_states": 20},
]
"""Options for the engines, used in turn."""


@pytest.fixture(autouse=True)
def pieces(numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every other test, small systems use the code for large ones."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    if numbers.start // len(numbers) % 2:
        in_small_pieces(monkeypatch)


def difference(text: str, number: int, directory: Path) -> tuple[str, str]:
    """The engine that differs about a system, and how; empty if none does or the system cannot be loaded."""
    try:
        with loaded(text, directory) as system:
            try:
                agreed(system, directory, number, **{"max_states": 300, **BOUNDS[number % len(BOUNDS)]})
            except Differs as differs:
                return differs.where, str(differs)
            except Exception as failure:
                where = traceback.extract_tb(failure.__traceback__)[-1]
                return f"{type(failure).__name__} in {where.name}", "".join(traceback.format_exception(failure))
    except (SpecificationError, UsageError) as refused:
        return "", str(refused)
    return "", ""


def go_through(numbers: range, directory: Path) -> None:
    """Compare all engines on these systems, and fail with the first difference."""
    for number in numbers:
        text = Writer(f"{SEED}, {number}").module()
        where, wrong = difference(text, number, directory)
        assert where or not wrong, f"{wrong}\n\n{text}"  # every written system can be loaded
        if where:
            small = shrunk(text, lambda other: difference(other, number, directory)[0] == where)  # noqa: B023
            pytest.fail(f"{difference(small, number, directory)[1]}\n\n{small}", pytrace=False)


def parts(systems: int, each: int) -> list[Any]:
    """Ranges of this size, with the seed in their names."""
    name = "from {}, SYSTEMS_SEED={}".format
    return [pytest.param(range(at, at + each), id=name(at, SEED)) for at in range(0, systems, each)]


@pytest.mark.parametrize("numbers", parts(10, 5))
def test_all_engines_agree_on_random_systems(numbers: range, tmp_path: Path) -> None:
    """The reference engine, the local one with one worker and with two, simulations, state machines, and files."""
    go_through(numbers, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("numbers", parts(20_000, 200))
def test_all_engines_agree_on_many_random_systems(numbers: range, tmp_path: Path) -> None:
    """As above."""
    go_through(numbers, tmp_path)
