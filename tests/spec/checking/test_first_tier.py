"""A search begins in plain Python, and its result is the same whichever engine ends it."""

from __future__ import annotations

import gc
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spec.checking import Statistics, check, first_tier
from spec.checking.auto import AutoEngine
from spec.checking.local import LocalEngine, compiling
from spec.systems.replication import Replication
from tests.spec.checking.local.kernels import ENDLESS, KERNEL, kernels
from tests.spec.checking.toys import Bank, Clock, Counters, Philosophers
from tests.tiers import long_unless

PROGRAMS = Path(sys.executable).parent
DEEP = Counters(counters=4, top=3)
"""13 levels."""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are loaded at once, compiled at once if necessary, and awaited."""
    for patience in ("ALONE", "COLD", "MOST", "KEPT"):
        monkeypatch.setattr(f"spec.checking.first_tier.{patience}", 0)


@pytest.fixture
def missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more kernel is needed, and not compiled yet."""
    monkeypatch.setattr(compiling, "EXPLORING", [kernels(tmp_path, KERNEL, monkeypatch)])
    monkeypatch.setattr(compiling, "LATER", [])


@pytest.fixture
def never_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]) -> None:
    """Compiling never ends."""
    monkeypatch.setattr(compiling, "EXPLORING", [kernels(tmp_path, ENDLESS, monkeypatch)])
    monkeypatch.setattr(compiling, "LATER", [])


def figures_of(specification: Any, engine: Any, **asked: Any) -> dict[str, Any]:
    """The result without what depends on the engine."""
    found = check(specification, engine=engine, **asked).to_json()
    for figure in (
        "compared",
        "engine",
        "jobs",
        "versions",
        "seconds",
        "compile_seconds",
        "states_per_second",
        "bytes_per_state",
    ):
        del found[figure]
    for action in found["actions"]:
        del action["new_states"]
    return found


@pytest.mark.parametrize("frozen", [False, True])
def test_the_garbage_collector_skips_loaded_kernels(*, frozen: bool) -> None:
    """They go straight to the oldest generation. Objects frozen earlier by the program stay frozen."""
    before = gc.get_freeze_count()
    gc.unfreeze()
    if frozen:
        gc.freeze()
    with first_tier._nothing_collected():
        loaded: list[object] = [[] for _ in range(100_000)]
    assert any(each is loaded for each in gc.get_objects(generation=2)) is not frozen
    assert gc.isenabled()
    assert (gc.get_freeze_count() > 0) is frozen
    if before and not frozen:
        gc.freeze()


def test_a_small_system_needs_no_kernels(tmp_path: Path) -> None:
    """The reference engine explores it, and nothing is compiled."""
    run = subprocess.run(
        [PROGRAMS / "kafkaspec", *["check", "replication", "--set", "brokers=1", "--json"]],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    answer = json.loads(run.stdout)
    assert (answer["engine"], answer["compile_seconds"]) == ("reference", 0)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert run.stderr == ""


@pytest.mark.parametrize(
    "asked",
    long_unless(
        {"keep_going": True}.__eq__,
        [
            {},
            {"keep_going": True},
            {"deadlock": True},
            {"max_depth": 5},
            {"max_states": 40},
            {"properties": ["type_ok"]},
        ],
    ),
    ids=str,
)
def test_a_large_system_is_handed_over(impatient: None, asked: dict[str, Any]) -> None:
    """All options are passed on, and the result is that of any engine."""
    for specification in (Bank(), Counters(), Philosophers()):
        engine = AutoEngine(workers=1)
        found = figures_of(specification, engine, **asked)
        assert engine.name == "local"
        assert found == figures_of(specification, "reference", **asked)


@pytest.mark.long
def test_orbits_are_handed_over(impatient: None) -> None:
    """As orbits."""
    engine, subject = AutoEngine(), Replication.of(brokers=2, max_leader_epoch=1)
    assert figures_of(subject, engine, symmetry=True) == figures_of(subject, "reference", symmetry=True)
    assert engine.name == "local"


@pytest.mark.long
def test_missing_kernels_are_compiled_meanwhile(impatient: None, missing: None) -> None:
    """Progress reports it while the reference engine goes on, and the result has its seconds."""
    seen = list[Statistics]()
    engine = AutoEngine()
    result = check(DEEP, engine=engine, on_progress=seen.append)
    assert (engine.name, result.verdict) == ("local", check(DEEP, engine="reference").verdict)
    assert result.compile_seconds > 0
    compiling_meanwhile = [each for each in seen if each.doing]
    assert compiling_meanwhile
    assert all(each.doing.startswith("compiling for states of ") and each.distinct for each in compiling_meanwhile)
    assert seen[-1].doing == ""


def test_the_verdict_does_not_wait_for_a_compiler(
    never_compiled: None, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """If the reference engine ends first, its result counts, and compiling goes on for the next search."""
    for patience in ("ALONE", "COLD", "KEPT"):
        monkeypatch.setattr(f"spec.checking.first_tier.{patience}", 0)
    result = check(DEEP, engine="auto")
    assert (result.engine, result.compile_seconds) == ("reference", 0)
    assert processes[0].poll() is None


def interrupting(when: Callable[[Statistics], bool]) -> Callable[[Statistics], None]:
    """An `on_progress` that raises Ctrl-C on this condition."""

    def on_progress(statistics: Statistics) -> None:
        if when(statistics):
            raise KeyboardInterrupt

    return on_progress


def test_interrupted_while_the_reference_engine_explores() -> None:
    """The last complete level is reported."""
    found = check(DEEP, on_progress=interrupting(lambda statistics: statistics.depth == 3))
    whole = check(DEEP, engine="reference", max_depth=3)
    assert (found.verdict, found.engine, found.depth) == ("interrupted", "reference", 3)
    assert (found.distinct_states, found.generated_states) == (whole.distinct_states, whole.generated_states)


def test_interrupted_while_it_compiles(
    impatient: None, never_compiled: None, processes: list[subprocess.Popen[bytes]]
) -> None:
    """The last complete level is reported, and compiling goes on."""
    found = check(DEEP, on_progress=interrupting(lambda statistics: bool(statistics.doing)))
    assert (found.verdict, found.engine) == ("interrupted", "reference")
    whole = check(DEEP, engine="reference", max_depth=found.depth)
    assert (found.distinct_states, found.generated_states) == (whole.distinct_states, whole.generated_states)
    assert processes[0].poll() is None


def test_interrupted_before_the_local_engine_has_begun(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is that of the reference engine so far."""

    def interrupted(*_: Any) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr("spec.checking.local.engine.is_compiled", interrupted)
    found = check(DEEP)
    assert (found.verdict, found.engine, found.depth > 0) == ("interrupted", "reference", True)


def test_an_interrupt_during_the_local_engine_is_handled(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result has the last complete level, and the seconds of both engines."""
    monkeypatch.setattr("spec.checking.first_tier.KEPT", 200)
    monkeypatch.setattr("spec.checking.first_tier.ALONE", math.inf)  # however long these states take
    depths, seconds = list[int](), list[float]()

    def on_progress(statistics: Statistics) -> None:
        depths.append(statistics.depth)
        if statistics.bytes_per_state is not None:
            seconds.append(statistics.seconds)
            raise KeyboardInterrupt

    found = check(Replication.of(brokers=3), on_progress=on_progress)
    assert (found.verdict, found.engine) == ("interrupted", "local")
    assert found.depth >= max(depths[:-1]) > 1
    assert 0 < found.seconds <= seconds[0]


def test_a_kept_run_begins_with_the_local_engine(tmp_path: Path) -> None:
    """The reference engine cannot keep runs."""
    engine = AutoEngine(run_dir=tmp_path / "run")
    assert figures_of(Bank(), engine) == figures_of(Bank(), LocalEngine())
    assert engine.name == "local"


def test_levels_exclude_the_seconds_of_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seconds of the levels are those of exploring."""
    loaded: list[float] = []

    def load(tier: first_tier.FirstTier) -> None:
        began = time.perf_counter()
        time.sleep(0.2)
        tier._loaded, tier._loaded_after = True, tier._explored
        tier._loading = time.perf_counter() - began
        loaded.append(tier._loading)

    monkeypatch.setattr(first_tier.FirstTier, "_is_over", lambda *_: True)
    monkeypatch.setattr(first_tier.FirstTier, "_load", load)
    result = check(Clock())
    assert (result.engine, len(loaded)) == ("reference", 1)
    assert result.levels[-1].seconds <= result.seconds


@pytest.mark.long
def test_a_search_whose_paths_are_all_different_stays_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning them would take longer than evaluating each once."""
    monkeypatch.setattr("spec.checking.first_tier.ALONE", 0.02)
    # A property adds up all counters. With folds, all states with one sum share a path.
    assert check(Counters(counters=6, top=4), folds=False).engine == "reference"
    assert check(Counters(counters=6, top=4)).engine == "local"


def test_a_search_of_tiny_levels_stays_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beginning and ending a level takes longer than the level."""
    monkeypatch.setattr("spec.checking.first_tier.ALONE", 0.02)
    assert check(Clock(hours=3_000)).engine == "reference"
