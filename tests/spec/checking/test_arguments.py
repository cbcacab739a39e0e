"""Arguments given from Python are converted, or refused in one line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest

from spec.checking import Model, Replay, check, simulate
from spec.checking.auto import AutoEngine
from spec.checking.local import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from spec.language import (
    Specification,
    State,
    UsageError,
    action,
    constant,
    integers,
    invariant,
    require,
    switch,
    variable,
)
from spec.testing import as_state_machine
from tests.rows import rows


class LeaseState(State):
    """The state of `Lease`."""

    holders: int = variable("How many hold it.", of=lambda self: integers(0, self.clients))


class Lease(Specification[LeaseState]):
    """Clients hold it in turn."""

    releases = {"1.0": {"fencing": False}, "2.0": {"fencing": True}}

    clients: int = constant(2, "How many.", at_least=1)
    patient: tuple[int, ...] = constant((1,), "The clients that wait.")
    fencing: bool = switch(True, "One at a time.")

    @action
    def acquire(self, s: LeaseState) -> None:
        require(s.holders < (1 if self.fencing else self.clients))
        s.holders += 1

    @action
    def give_back(self, s: LeaseState) -> None:
        require(s.holders)
        s.holders -= 1

    @invariant
    def one(self, s: LeaseState) -> bool:
        return bool(s.holders <= 1)


WORKS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "a class": (lambda: check(Lease), lambda: check(Lease())),
    "a class, to be simulated": (lambda: simulate(Lease, seed=1, runs=9), lambda: simulate(Lease(), seed=1, runs=9)),
    "a class of a release": (
        lambda: check(Lease, release="1.0"),
        lambda: check(Lease(fencing=False), release="1.0"),
    ),
    "one name": (lambda: check(Lease, properties="one"), lambda: check(Lease, properties=["one"])),
    "one name, to be simulated": (
        lambda: simulate(Lease, seed=1, runs=9, properties="one"),
        lambda: simulate(Lease, seed=1, runs=9, properties=("one",)),
    ),
    "names, one after the other": (
        lambda: check(Lease, properties=iter(["one", "type_ok"])),
        lambda: check(Lease, properties=["type_ok", "one"]),
    ),
    "a number of numpy's as a constant": (lambda: check(Lease(clients=np.int64(3))), lambda: check(Lease(clients=3))),
    "numbers of numpy's in a constant": (
        lambda: check(Lease(patient=tuple(np.arange(2)))),
        lambda: check(Lease(patient=(0, 1))),
    ),
    "numbers of numpy's as bounds": (
        lambda: check(Lease, max_depth=np.int32(1), max_states=np.uint8(9), engine=LocalEngine(np.int64(1))),
        lambda: check(Lease, max_depth=1, max_states=9, engine=LocalEngine(workers=1)),
    ),
    "numbers of numpy's for a simulation": (
        lambda: simulate(Lease, seed=np.uint64(7), runs=np.int64(9), steps=np.int8(5), workers=np.int8(2)),
        lambda: simulate(Lease, seed=7, runs=9, steps=5, workers=2),
    ),
    "one run, counted by numpy": (
        lambda: simulate(Lease, seed=7, run=np.int64(3)),
        lambda: simulate(Lease, seed=7, run=3),
    ),
    "an engine's class": (lambda: check(Lease, engine=ReferenceEngine), lambda: check(Lease, engine="reference")),
}


def without_times(answer: Any) -> dict[str, Any]:
    """The answer as JSON, without times."""
    found: dict[str, Any] = answer.to_json()
    for timed in ("seconds", "compile_seconds", "states_per_second"):
        del found[timed]
    found.get("simulation", {}).pop("steps_per_second", None)
    return found


@pytest.mark.parametrize("case", WORKS)
def test_unambiguous_arguments_are_converted(case: str) -> None:
    """The answer is the same as for the full form."""
    asked, in_full = WORKS[case]
    assert without_times(asked()) == without_times(in_full())


def test_a_class_is_accepted_as_a_specification() -> None:
    """It stands for its defaults: in a replay, in a model, and for Hypothesis."""
    meant = [Replay(Lease).model.specification, Model(Lease).specification]
    assert [each.valuation for each in meant] == [Lease().valuation] * 2
    assert as_state_machine(Lease).__doc__ == as_state_machine(Lease()).__doc__


REFUSED: dict[str, tuple[Callable[..., Any], Any, dict[str, Any], str]] = {
    "no specification": (check, "lease", {}, "specification = 'lease': it must be a specification, as Lease()"),
    "another class": (check, int, {}, "specification = <class 'int'>: it must be a specification"),
    "no such name": (check, Lease, {"properties": "two"}, "lease has no property two; it has type_ok, one, deadlock"),
    "names that are none": (check, Lease, {"properties": [1]}, "properties = [1]: it must be names"),
    "nothing for names": (check, Lease, {"properties": None}, "properties = None: it must be names"),
    "less than one state": (
        check,
        Lease,
        {"max_states": -1},
        "max_states = -1: it must be 1 or more",
    ),
    "no depth": (check, Lease, {"max_depth": 0}, "max_depth = 0: it must be 1 or more"),
    "half a state": (check, Lease, {"max_states": 1.5}, "max_states = 1.5: it must be a whole number"),
    "a truth for a depth": (check, Lease, {"max_depth": True}, "max_depth = True: it must be a whole number"),
    "a word for a depth": (check, Lease, {"max_depth": "3"}, "max_depth = '3': it must be a whole number"),
    "several numbers": (check, Lease, {"max_depth": np.arange(2)}, "max_depth = array([0, 1]): it must be a whole"),
    "no run": (simulate, Lease, {"runs": 0}, "runs = 0: it must be 1 or more"),
    "a run too far": (simulate, Lease, {"run": 1 << 64}, f"run = {1 << 64}: it must be 1 or more, up to"),
    "half a step": (simulate, Lease, {"steps": 0.5}, "steps = 0.5: it must be a whole number"),
    "no worker": (simulate, Lease, {"workers": 0}, "workers = 0: it must be 1 or more, up to 1024"),
    "another release": (check, Lease(), {"release": "9.9"}, "release = '9.9': lease has '1.0', '2.0'"),
    "another release of a class": (simulate, Lease, {"release": "9.9"}, "release = '9.9': lease has '1.0', '2.0'"),
    "a number for a release": (check, Lease, {"release": 1.0}, "release = 1.0: lease has '1.0', '2.0'"),
    "no engine": (check, Lease, {"engine": 3}, "engine = 3: it must be an engine, or the name of one: auto, local"),
    "nothing for an engine": (check, Lease, {"engine": None}, "engine = None: it must be an engine"),
    "a class that is none": (check, Lease, {"engine": Lease}, "engine = <class "),
}


@rows("case", [*REFUSED])
def test_meaningless_arguments_are_refused(case: str) -> None:
    """On one line, with the given value and the allowed ones."""
    ask, specification, options, message = REFUSED[case]
    with pytest.raises(UsageError) as refused:
        ask(specification, **options)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.float64(2), "it must be an integer"),
        (True, "it must be an integer"),
        (np.True_, "it must be an integer"),
        (np.arange(3), "it must be an integer"),
    ],
)
def test_a_constant_of_the_wrong_type_is_refused(value: Any, message: str) -> None:
    """Fractions and booleans are not integers, in numpy either."""
    with pytest.raises(UsageError, match=f"^clients = .*: {message}$"):
        Lease(clients=value)


ENGINES: list[Any] = [LocalEngine, SparkEngine, AutoEngine]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("written", [str, Path, PurePosixPath, np.str_])
def test_a_path_may_be_a_string(
    engine: Any, written: Callable[[str], str | os.PathLike[str]], tmp_path: Path
) -> None:
    """For every engine that can keep a run."""
    assert engine(run_dir=written(f"{tmp_path}/run")).run_dir == tmp_path / "run"


def test_a_run_directory_given_as_a_string_is_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is relative to the working directory."""
    monkeypatch.chdir(tmp_path)
    assert check(Lease, engine=LocalEngine(run_dir="kept"), max_depth=1).verdict == "bounded"
    assert (tmp_path / "kept").is_dir()
    assert check(Lease, engine=LocalEngine(run_dir="kept", resume=True)).verdict == "holds"


@pytest.mark.parametrize("engine", [LocalEngine, AutoEngine])
@pytest.mark.parametrize("memory", ["much", "", "0", "-1G", 0, -1, 1.5e9, True])
def test_memory_is_a_number_of_bytes_or_a_size(engine: Any, memory: Any) -> None:
    """Zero is refused. It does not mean all available memory."""
    with pytest.raises(UsageError, match=f"^memory = {memory!r}: it must be "):
        engine(memory=memory)
    assert engine(memory=np.int64(1 << 30)).memory == engine(memory="1G").memory == 1 << 30


@pytest.mark.parametrize("level", [-1, 0.5, "many", True])
def test_a_level_of_the_driver_is_a_whole_number(level: Any) -> None:
    """Zero is allowed: then every level is a job."""
    with pytest.raises(UsageError, match=f"^driver_level = {level!r}: it must be (a whole number, )?0 or more$"):
        SparkEngine(driver_level=level)
    assert SparkEngine(driver_level=np.int64(0)).driver_level == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers = 0: it must be 1 or more, up to 1024"),
        ({"workers": -3}, "workers = -3: it must be 1 or more, up to 1024"),
        ({"workers": 10**6}, "workers = 1000000: it must be 1 or more, up to 1024"),
        ({"workers": 0.5}, "workers = 0.5: it must be a whole number, 1 or more, up to 1024"),
        ({"run_dir": ""}, "run_dir = '': it must be a path"),
        ({"run_dir": b"run"}, "run_dir = b'run': it must be a path"),
        ({"run_dir": 3}, "run_dir = 3: it must be a path"),
        ({"resume": True}, "there is nothing to resume without a run directory"),
    ],
)
def test_impossible_engine_options_are_refused(engine: Any, options: dict[str, Any], message: str) -> None:
    """When the engine is made, before any exploration."""
    with pytest.raises(UsageError) as refused:
        engine(**options)
    assert str(refused.value) == message
