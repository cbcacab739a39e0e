"""Missing kernels are compiled by another process, with progress reports; compiled ones are only loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from spec.checking import Statistics, check
from spec.checking.local import LocalEngine
from spec.checking.local.compiling import (
    EXPLORING,
    NICENESS,
    Compilation,
    Kernels,
    background_ended,
    compiled,
    is_compiled,
)
from tests.spec.checking.local.kernels import ENDLESS, KERNEL, PATIENT, kernels, permissions
from tests.spec.checking.toys import Bank, Clock

ROOT = Path(__file__).parents[4]


def test_missing_kernels_are_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """A child process compiles them, with progress reports. After that they are only loaded."""
    load, said = kernels(tmp_path, KERNEL, monkeypatch), list[str]()
    assert not is_compiled([load], Kernels(3))
    assert compiled([load], Kernels(3), said.append) > 0
    assert [process.returncode for process in processes] == [0]
    assert set(said) == {"compiling for states of 3 words, about 5 seconds, once on this machine"}
    assert is_compiled([load], Kernels(3))
    assert compiled([load], Kernels(3), said.append) == 0
    assert len(processes) == 1


def test_without_a_child_process_kernels_compile_in_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """It takes longer."""
    load = kernels(tmp_path, KERNEL, monkeypatch)
    monkeypatch.setattr("sys.executable", "/bin/false")
    assert compiled([load], Kernels(1), lambda doing: None) > 0
    assert [process.returncode for process in processes] == [1]
    assert is_compiled([load], Kernels(1))


@pytest.mark.long
def test_an_interrupted_compilation_goes_on_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """Nicely, until it is done."""
    load = kernels(tmp_path, PATIENT, monkeypatch)

    def interrupt(doing: str) -> None:
        raise KeyboardInterrupt

    with permissions(tmp_path) as permit:
        with pytest.raises(KeyboardInterrupt):
            compiled([load], Kernels(1), interrupt)
        assert not background_ended(within=0)
        assert [psutil.Process(process.pid).nice() for process in processes] == [NICENESS]
        permit()
        assert background_ended(within=60)
    assert [process.returncode for process in processes] == [0]
    assert is_compiled([load], Kernels(1))


WAITS = """
from {kernels} import load
from spec.checking.local.compiling import Kernels, compiled

def tell(doing):
    print(doing, flush=True)

compiled([load], Kernels(1), tell)
"""


@pytest.mark.long
def test_a_compilation_survives_its_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the search that waits for it. The compilation ends later, and holds none of the search's pipes."""
    load = kernels(tmp_path, PATIENT, monkeypatch)
    (tmp_path / "waits.py").write_text(WAITS.format(kernels=load.__module__))
    waiting = subprocess.Popen(
        [sys.executable, tmp_path / "waits.py"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with permissions(tmp_path) as permit:
        assert waiting.stdout is not None
        assert waiting.stdout.readline().startswith("compiling")
        (process,) = psutil.Process(waiting.pid).children()
        os.killpg(waiting.pid, signal.SIGINT)
        assert "KeyboardInterrupt" in waiting.communicate(timeout=60)[0]
        assert process.is_running()
        permit()
        process.wait(60)
    assert is_compiled([load], Kernels(1))


@pytest.mark.long
def test_processes_that_compile_the_same_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """The second finds everything compiled."""
    load = kernels(tmp_path, PATIENT, monkeypatch)
    with (
        permissions(tmp_path) as permit,
        Compilation([load], Kernels(1)) as one,
        Compilation([load], Kernels(1)) as other,
    ):
        permit()
        permit()
        assert one.done(within=60)
        assert other.done(within=60)
    assert [process.returncode for process in processes] == [0, 0]
    assert (tmp_path / "compiled").read_text() == "x"


@pytest.mark.long
def test_exploring_begins_before_all_kernels_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """Those that only a discovery needs are awaited then, and the time does not count as exploring."""
    load, seen = kernels(tmp_path, PATIENT, monkeypatch), list[Statistics]()
    compiled(EXPLORING, Kernels(1), print)
    monkeypatch.setattr("spec.checking.local.engine.LATER", [load])
    processes.clear()
    with permissions(tmp_path) as permit:

        def on_progress(statistics: Statistics) -> None:
            seen.append(statistics)
            if statistics.doing and len(processes) == 1:
                permit()

        began = time.perf_counter()
        result = check(Bank(), engine="local", on_progress=on_progress)
        elapsed = time.perf_counter() - began
    assert result.verdict == "violated"
    assert 0 < result.compile_seconds < elapsed - result.seconds
    assert any(each.distinct and each.doing.startswith("compiling") for each in seen)


@pytest.mark.long
def test_the_local_engine_reports_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It compiles before its first state, and counts the seconds apart."""
    monkeypatch.setattr("spec.checking.local.engine.EXPLORING", [kernels(tmp_path, KERNEL, monkeypatch)])
    seen = list[Statistics]()
    result = check(Clock(), engine="local", on_progress=seen.append)
    assert result.compile_seconds > 0
    assert {(each.doing.partition(" ")[0], each.distinct) for each in seen if each.doing} == {("compiling", 0)}
    assert seen[-1].doing == ""
    assert check(Clock(), engine="local").compile_seconds == 0


@pytest.mark.long
def test_interrupted_while_compiling_the_local_engine_has_no_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """All figures are zero, and its run directory can be resumed."""
    monkeypatch.setattr("spec.checking.local.engine.EXPLORING", [kernels(tmp_path, ENDLESS, monkeypatch)])

    def interrupt(statistics: Statistics) -> None:
        raise KeyboardInterrupt

    found = check(Clock(), engine=LocalEngine(run_dir=tmp_path / "run"), on_progress=interrupt)
    assert (found.verdict, found.distinct_states, found.depth) == ("interrupted", 0, 0)
    assert found.why == f"the run can be resumed from {tmp_path / 'run'}"
    monkeypatch.undo()
    assert check(Clock(), engine=LocalEngine(run_dir=tmp_path / "run", resume=True)).distinct_states == 12


LOADED = """
from numba.core.dispatcher import Dispatcher
from spec.checking.local import compact, compiled_walks, compiling, expanding, representing
from spec.checking.local import seeking, storing, traversing
from spec.checking.spark import exchange, visited_buckets
from spec.checking.spark.engine import KERNELS as spark

MODULES = (compact, expanding, traversing, representing, seeking, storing, compiled_walks, exchange, visited_buckets)

def loaded():
    every = [each for module in MODULES for each in vars(module).items()]
    return {name: set(each.signatures) for name, each in every if isinstance(each, Dispatcher)}
"""
RUN = f"""
from spec.checking import check, simulate
from tests.spec.checking.symmetry.test_reduction import Votes
from tests.spec.checking.toys import Bank
{LOADED}

def compare(name, loads, run, kernels=compiling.Kernels(1)):
    compiling.load(loads, kernels)
    before = loaded()
    run()
    compiled = [name for name, signatures in loaded().items() if signatures - before[name]]
    print(name, kernels.orbits, compiled)

local = [*compiling.EXPLORING, *compiling.LATER]
compare("local", local, lambda: check(Bank(), engine="local", keep_going=True))
for orbits, brokers in [("listed", 3), ("related", 5)]:
    kernels = compiling.Kernels(1, orbits)
    compare("local", local, lambda: check(Votes(brokers=brokers), engine="local", symmetry=True), kernels)
compare("spark", spark, lambda: check(Bank(), engine="spark", keep_going=True))
compare("walks", [compiled_walks.load], lambda: simulate(Bank(), runs=500, shrinking=False))
"""


@pytest.mark.long
@pytest.mark.usefixtures("java")
def test_only_preloaded_kernels_are_run() -> None:
    """No kernel is loaded or compiled during a search, so `seconds` are those of exploring."""
    run = subprocess.run([sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "local none []",
        "local listed []",
        "local related []",
        "spark none []",
        "walks none []",
    ]


TWICE = f"""
{LOADED}
called = ("_copy", "_nodes_of", "clear", "credit", "expand", "insert", "post", "seek", "survey")
for kernels in compiling.Kernels(1), compiling.Kernels(2), compiling.Kernels(2, "listed"):
    before = loaded()
    compiling.load([*compiling.EXPLORING, *compiling.LATER], kernels)
    print([name for name in called if loaded()[name] != before[name]])
"""


@pytest.mark.long
def test_no_kernel_is_compiled_again_without_need() -> None:
    """Only hot loops over the words of a state depend on their number, and only kernels with steps on orbits."""
    run = subprocess.run([sys.executable, "-c", TWICE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "['_copy', '_nodes_of', 'clear', 'credit', 'expand', 'insert', 'post', 'seek', 'survey']",
        "['expand', 'insert', 'post']",
        "['expand', 'seek']",
    ]


RENAMED = """
import sys
from typing import NamedTuple
import numpy as np
from spec.checking.local.jit import compiled

class {name}(NamedTuple):
    items: np.ndarray

@compiled
def first(given):
    return given.items[0]

print(first({name}(np.arange(7, 9))))
"""


@pytest.mark.long
def test_kernels_of_another_version_are_recompiled(tmp_path: Path) -> None:
    """Cached code may refer to types that no longer exist under their names."""
    for name in ("Before", "After"):
        (tmp_path / "renamed.py").write_text(RENAMED.format(name=name))
        run = subprocess.run(
            [sys.executable, "-c", "import renamed"],
            env={"PYTHONPATH": f"{ROOT}:{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout == "7\n"
