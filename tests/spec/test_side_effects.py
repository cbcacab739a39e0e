"""A check leaves its process unchanged."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from spec.checking import check, simulate
from spec.checking.auto import AutoEngine
from spec.checking.local import LocalEngine
from tests.spec.side_effects import changed, surroundings
from tests.spec.toys import Walkers


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda: check(Walkers(), engine="reference"), id="reference"),
        pytest.param(lambda: check(Walkers(), engine=LocalEngine(2)), id="local"),
        pytest.param(lambda: check(Walkers(), engine=LocalEngine(2, run_dir=Path("run"))), id="local, kept"),
        pytest.param(
            lambda: check(Walkers(walkers=5, length=6), engine=AutoEngine(workers=2)),
            id="auto",
            marks=pytest.mark.long,
        ),
        pytest.param(lambda: simulate(Walkers(), runs=300, seed=1, workers=2), id="simulate"),
    ],
)
def test_a_check_leaves_its_surroundings_as_they_were(
    work: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings of the interpreter and the process, threads, children, open and temporary files."""
    for name in ("temporary", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "here")
    before = surroundings()
    work()
    assert changed(before) == {}


def test_concurrent_checks_restore_the_switch_interval() -> None:
    """When two overlap, neither takes the other's setting for the original one."""
    before = sys.getswitchinterval()
    first, second = Event(), Event()

    def look_first(_: object) -> None:
        first.set()
        second.wait()

    def look_second(_: object) -> None:
        second.set()
        earlier.join()

    def explore(look: Callable[[object], None]) -> None:
        check(Walkers(), engine=LocalEngine(1), on_progress=look)

    earlier, later = Thread(target=explore, args=[look_first]), Thread(target=explore, args=[look_second])
    earlier.start()
    first.wait()
    later.start()
    later.join()
    assert sys.getswitchinterval() == before
