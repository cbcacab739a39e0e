"""Missing kernels are compiled by another process, with progress reports; compiled ones are only loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spec.checking import Statistics, check
from spec.checking.local import LocalEngine
from spec.checking.local.compiling import Kernels, compiled, is_compiled
from tests.spec.checking.local.kernels import ENDLESS, KERNEL, kernels
from tests.spec.checking.toys import Clock

ROOT = Path(__file__).parents[4]


def test_missing_kernels_are_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """A child process compiles them, with progress reports. After that they are only loaded."""
    load, said = kernels(tmp_path, KERNEL, monkeypatch), list[str]()
    assert not is_compiled(load, Kernels(3))
    assert compiled(load, Kernels(3), said.append) > 0
    assert [process.returncode for process in processes] == [0]
    assert set(said) == {"compiling for states of 3 words, about 10 seconds, once on this machine"}
    assert is_compiled(load, Kernels(3))
    assert compiled(load, Kernels(3), said.append) == 0
    assert len(processes) == 1


def test_without_a_child_process_kernels_compile_in_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """It takes longer."""
    load = kernels(tmp_path, KERNEL, monkeypatch)
    monkeypatch.setattr("sys.executable", "/bin/false")
    assert compiled(load, Kernels(1), lambda doing: None) > 0
    assert [process.returncode for process in processes] == [1]
    assert is_compiled(load, Kernels(1))


def test_an_interrupted_compilation_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[subprocess.Popen[bytes]]
) -> None:
    """Ctrl-C reaches the waiting process, and ends the compiling one."""
    load = kernels(tmp_path, ENDLESS, monkeypatch)

    def interrupt(doing: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled(load, Kernels(1), interrupt)
    assert [process.poll() is not None for process in processes] == [True]


def test_the_local_engine_reports_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It compiles before its first state, and counts the seconds apart."""
    monkeypatch.setattr("spec.checking.local.engine.load", kernels(tmp_path, KERNEL, monkeypatch))
    seen = list[Statistics]()
    result = check(Clock(), engine="local", on_progress=seen.append)
    assert result.compile_seconds > 0
    assert {(each.doing.partition(" ")[0], each.distinct) for each in seen if each.doing} == {("compiling", 0)}
    assert seen[-1].doing == ""
    assert check(Clock(), engine="local").compile_seconds == 0


def test_interrupted_while_compiling_the_local_engine_has_no_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All figures are zero, and its run directory can be resumed."""
    monkeypatch.setattr("spec.checking.local.engine.load", kernels(tmp_path, ENDLESS, monkeypatch))

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

def compare(load, run, kernels=compiling.Kernels(1)):
    load(kernels)
    before = loaded()
    run()
    compiled = [name for name, signatures in loaded().items() if signatures - before[name]]
    print(load.__module__, kernels.orbits, compiled)

compare(compiling.load, lambda: check(Bank(), engine="local", keep_going=True))
for orbits, brokers in [("listed", 3), ("related", 5)]:
    kernels = compiling.Kernels(1, orbits)
    compare(compiling.load, lambda: check(Votes(brokers=brokers), engine="local", symmetry=True), kernels)
compare(visited_buckets.load, lambda: check(Bank(), engine="spark", keep_going=True))
compare(compiled_walks.load, lambda: simulate(Bank(), runs=500, shrinking=False))
"""


@pytest.mark.usefixtures("java")
def test_only_preloaded_kernels_are_run() -> None:
    """No kernel is loaded or compiled during a search, so `seconds` are those of exploring."""
    run = subprocess.run([sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "spec.checking.local.compiling none []",
        "spec.checking.local.compiling listed []",
        "spec.checking.local.compiling related []",
        "spec.checking.spark.visited_buckets none []",
        "spec.checking.local.compiled_walks none []",
    ]


TWICE = f"""
{LOADED}
called = ("_copy", "_nodes_of", "clear", "credit", "expand", "insert", "post", "seek", "survey")
for kernels in compiling.Kernels(1), compiling.Kernels(2), compiling.Kernels(2, "listed"):
    before = loaded()
    compiling.load(kernels)
    print([name for name in called if loaded()[name] != before[name]])
"""


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
