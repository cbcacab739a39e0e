"""Interned values: engines agree on them, runs keep them, and nothing depends on their numbers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import namedtuple
from collections.abc import Mapping
from enum import Enum, Flag
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spec.checking import check
from spec.checking.exploration import Engine, Options
from spec.checking.local import LocalEngine
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.checking.runs.dataframes import states_of_run
from spec.checking.runs.interned_values import as_json, from_json
from spec.checking.runs.run_identity import identity_of
from spec.checking.spark import SparkEngine
from spec.language import (
    Domain,
    OutOfDomain,
    Specification,
    SpecificationError,
    State,
    Total,
    UsageError,
    action,
    frozen,
    integers,
    interchangeable,
    interned,
    require,
    subset_of,
    tuple_of,
    variable,
)
from spec.language.domains import FrozenMapping, InternedDomain
from spec.systems.partitions import Partitions
from tests.rows import rows
from tests.spec.checking.spark.test_engine import comparable, exploration
from tests.spec.toys import Errands

OCCUR = {"agenda": 259}
"""How many lists of errands occur."""
DYING = """
import os, signal, sys
from pathlib import Path
from spec.checking import check
from spec.checking.local import LocalEngine
from spec.checking.runs import rundir
from tests.spec.toys import Errands

levels = 0

def reached(where):
    global levels
    levels += where == "before files"
    if (where, levels) == ("before commit", 6):
        os.kill(os.getpid(), signal.SIGKILL)

rundir.reached = reached
check(Errands(), keep_going=True, engine=LocalEngine(run_dir=Path(sys.argv[1])))
"""


def explored(engine: Engine, specification: Specification, **bounds: Any) -> dict[str, Any]:
    """What must be equal on all engines."""
    found = comparable(exploration(engine, specification, **bounds))
    return {**found, "statistics": found["statistics"][:4]}


def test_the_values_that_occur_are_counted() -> None:
    """Those in states, as deep as the exploration came."""
    found = check(Errands(), keep_going=True, engine="reference")
    assert found.interned == found.to_json()["interned"] == OCCUR
    assert "259 values of agenda" in str(found)
    shallow = check(Errands(), keep_going=True, engine="reference", max_depth=2)
    assert shallow.interned == {"agenda": 7}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("bounds", [{}, {"keep_going": True}, {"max_depth": 5}, {"max_states": 300}], ids=str)
def test_the_local_engine_agrees_with_the_reference(workers: int, bounds: dict[str, Any]) -> None:
    """In paths and counts, too."""
    assert explored(LocalEngine(workers=workers), Errands(), **bounds) == explored(
        ReferenceEngine(), Errands(), **bounds
    )


def test_other_numbers_give_the_same_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """And paths of the same lengths."""

    def figures() -> list[Any]:
        found = []
        for engine in (ReferenceEngine(), LocalEngine(workers=2)):
            for each in (Errands(), Partitions(max_crashes=1, isr_changes=0, controller_changes=0)):
                its = explored(engine, each, keep_going=True)
                its["discoveries"] = {number: length for number, (length, *_) in its["discoveries"].items()}
                found.append(its)
        return found

    as_they_are = figures()
    number_of = InternedDomain._number_of
    monkeypatch.setattr(InternedDomain, "_number_of", lambda self, text: self.size - number_of(self, text))
    assert figures() == as_they_are


# Runs.


@pytest.mark.parametrize("resume", ["local", pytest.param("spark", marks=pytest.mark.long)])
def test_a_killed_run_is_resumed(resume: str, tmp_path: Path) -> None:
    """Another process reads the values from the commits."""
    assert subprocess.run([sys.executable, "-c", DYING, str(tmp_path)], check=False).returncode == -signal.SIGKILL
    engines: Mapping[str, Engine] = {
        "local": LocalEngine(run_dir=tmp_path, resume=True),
        "spark": SparkEngine(tmp_path, resume=True, driver_level=10_000),
    }
    found, expected = (check(Errands(), keep_going=True, engine=each) for each in (engines[resume], "reference"))
    assert (found.interned, found.distinct_states) == (OCCUR, expected.distinct_states)
    assert [each.to_json() for each in found.counterexamples] == [each.to_json() for each in expected.counterexamples]


def test_a_run_is_the_same_whatever_was_met() -> None:
    """Else it could not be resumed after a part that another engine explored."""
    model, options = Model(Errands()), Options((0,))
    before = identity_of(model, options)
    assert before["ranges"], "the specification is no part of the project"
    ReferenceEngine().explore(model, options, lambda statistics: None)
    assert identity_of(model, options) == before


def test_a_kept_run_has_the_values_as_text(tmp_path: Path) -> None:
    """Read without exploring again."""
    check(Errands(), engine=LocalEngine(run_dir=tmp_path / "run"), max_depth=2)
    table = states_of_run(tmp_path / "run", Errands())
    assert sorted(table["agenda"])[:2] == ["()", "(Errand(place=BANK, people={ann, bob}),)"]


class Colour(Enum):
    RED = 1


class Pair(NamedTuple):
    one: Any
    other: Any = None


@rows(
    "value",
    [
        *(None, True, 1, -(10**30), 1.5, float("inf"), "é\n", b"\x00", Colour.RED, (), ((),)),
        *(Pair(1, (True, "x")), frozenset({"b", "a"}), frozenset({Pair(1), Colour.RED})),
        FrozenMapping({("a", 1): Colour.RED, "b": frozenset()}),
    ],
)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    again = from_json(json.loads(json.dumps(as_json(value))))
    assert (again, type(again)) == (value, type(value))


@rows(
    "written",
    [
        *({"tuple": 1}, {"record": []}, {"record": ["os", "system", "true"]}, {"record": ["no.such", "Module"]}),
        *({"member": [__name__, "Colour", "GREEN"]}, {"member": [__name__, "Pair", "one"]}),
        *(
            {"record": [__name__, "Pair", 1]},
            {"record": [__name__, "Colour", 1]},
            {"bytes": "x"},
            {},
            {"a": 1, "b": 2},
        ),
        *({"record": ["builtins", "tuple"]}, {"mapping": [[1]]}, {"set": [{"tuple": [{"set": 3}]}]}, ["list"]),
    ],
)
def test_what_is_no_value_is_refused(written: Any) -> None:
    """A file names classes; they are looked up among those that are loaded, and nothing is run."""
    with pytest.raises(UsageError, match="an interned value cannot be read"):
        from_json(written)


# Values.


def test_a_value_has_one_form() -> None:
    """Sets and mappings iterate in the order of their members' texts, whoever made them."""
    domain: Domain[Any] = interned(())
    for value in (frozenset({"b", "a", "c"}), FrozenMapping({"z": 1, "y": 2})):
        assert value in domain
        codes = domain.codes((value,))
        (canonical,) = domain.value(codes)
        assert canonical == value
        assert [*canonical] == sorted(value)
        assert domain.codes((canonical,)) == codes


class Power(Flag):
    READ = 1
    WRITE = 2


class Bag(frozenset[Any]):
    """A set of its own kind."""


@rows(
    "value",
    [
        *([], {}, set(), object(), lambda: 1, float("nan"), ([],), frozenset({Pair(object)}), Path()),
        *(Power(0), Power.READ | Power.WRITE, Bag({1})),
    ],
)
def test_a_value_that_can_be_changed_or_is_not_known_is_refused(value: Any) -> None:
    domain = interned(None)
    assert value not in domain
    with pytest.raises(OutOfDomain, match=r"is not a value made of None, booleans"):
        domain.codes(value)


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_refused_value_violates_type_ok(engine: str) -> None:
    class Kept(State):
        value: Any = variable("Any value.", of=lambda self: interned(None))

    class Keeper(Specification[Kept]):
        @action
        def keep(self, s: Kept) -> None:
            """Keep something that is no number."""
            s.value = (float("nan"),)

    found = check(Keeper(), engine=engine)
    assert found.counterexample is not None
    assert found.counterexample.broken == "type_ok"


@rows(
    "one, other",
    [((1,), (True,)), (FrozenMapping({"k": Pair(1)}), FrozenMapping({"k": Pair(True)})), (Pair(1), (1, None))],
)
def test_values_that_are_equal_and_not_the_same_are_refused(one: Any, other: Any) -> None:
    """Python's dictionaries take 1 and True for one."""
    domain: Domain[Any] = interned(())
    domain.codes(one)
    with pytest.raises(SpecificationError, match="in Python, and is another value"):
        domain.codes(other)


def test_two_classes_of_one_name_are_refused() -> None:
    """Their values would have one text."""

    def made() -> Any:
        class Local(NamedTuple):
            number: int

        return Local

    domain: Domain[Any] = interned(())
    domain.codes(made()(1))
    with pytest.raises(SpecificationError, match="two classes that are called"):
        domain.codes(made()(2))


class Named(Enum):
    """Members that call themselves by one name."""

    A = 1
    B = 2

    @property
    def name(self) -> str:
        return "same"


class Counted(NamedTuple("Counted", [("one", int), ("two", int)])):
    """A record that is made otherwise than from its fields."""

    __slots__ = ()

    def __new__(cls, one: int) -> Any:
        return super().__new__(cls, one, one + 1)


def test_no_code_of_a_value_is_asked() -> None:
    domain: Domain[Any] = interned(())
    assert len({domain.codes(each) for each in Named}) == 2
    value = Counted(1)
    assert domain.value(domain.codes(value)) == (1, 2)
    assert from_json(as_json(value)) == (1, 2)
    assert from_json(as_json(Named.B)) is Named.B
    assert from_json(json.loads(json.dumps(as_json(7**9000)))) == 7**9000


called: Any = namedtuple


@rows(
    "value, why",
    [
        (called("Loose", "x")(1), "another process does not find"),
        (type("Inner", (Pair,), {"__slots__": ()})(1), "another process does not find"),
    ],
)
def test_a_class_that_is_not_found_by_its_name_cannot_be_kept(value: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        as_json(value)


def test_engines_agree_on_mappings_of_parts_of_a_state() -> None:
    """Lazy parts within a mapping are read before it is numbered."""

    class Kept(State):
        some: frozenset[str] = variable("Some names.", of=lambda self: subset_of(("p", "q")))
        v: Any = variable("A mapping.", of=lambda self: interned(None))

    class Keeper(Specification[Kept]):
        @action
        def keep(self, s: Kept) -> None:
            """Keep the names."""
            s.v = frozen({1: s.some, len(s.some): 1})

        @action(name=("p", "q"))
        def take(self, s: Kept, name: str) -> None:
            """Take another name."""
            s.some |= {name}

    assert explored(LocalEngine(workers=2), Keeper()) == explored(ReferenceEngine(), Keeper())


def test_a_record_that_could_be_changed_is_refused() -> None:
    class Loose(Pair):
        pass

    with pytest.raises(SpecificationError, match="give it __slots__"):
        interned(()).codes(Loose(1))
    with pytest.raises(SpecificationError, match=r"interned\(\[1\]\)"):
        interned([1])


def test_two_values_with_one_number_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It never happens, as far as one can tell."""
    monkeypatch.setattr(InternedDomain, "_number_of", lambda self, text: 7)
    domain = interned(())
    domain.codes((1,))
    with pytest.raises(SpecificationError, match="two interned values have the same number"):
        domain.codes((2,))


def test_a_mapping_may_have_interned_values() -> None:
    """Each key has a variable of its own."""

    class Notes(State):
        notes: Total[int, Any] = variable("A note for each.", of=lambda self, key: interned(""))

    class Board(Specification[Notes]):
        def sizes(self) -> Mapping[Any, Any]:
            return {int: range(2)}

        @action(at=range(2))
        def write(self, s: Notes, at: int) -> None:
            """Write the other's note, once."""
            require(len(s.notes[at]) < 3)
            s.notes[at] = s.notes[1 - at] + str(at)

    expected = explored(ReferenceEngine(), Board(), keep_going=True)
    assert explored(LocalEngine(workers=2), Board(), keep_going=True) == expected
    assert expected["interned"]["notes[0]"] > 3


@rows("of", [lambda: (interned(()), integers(0, 1))])
def test_an_interned_value_is_no_part_of_another(of: Any) -> None:
    class Nested(State):
        pair: tuple[Any, int] = variable("A pair.", of=lambda self: tuple_of(*of()))

    class Nesting(Specification[Nested]):
        @action
        def stay(self, s: Nested) -> None:
            """Nothing."""

    with pytest.raises(SpecificationError, match=r"variable pair: interned\(\.\.\.\) is the domain of"):
        check(Nesting())


def test_interchangeable_values_are_not_reduced_beside_interned_ones() -> None:
    """A name in an interned value would not be exchanged."""

    class Clients(State):
        queue: tuple[str, ...] = variable("Who waits.", of=lambda self: interned(()))

    class Waiting(Specification[Clients]):
        @action(client=interchangeable("client", ("a", "b")))
        def wait(self, s: Clients, client: str) -> None:
            """Wait."""
            require(len(s.queue) < 3)
            s.queue = (*s.queue, client)

    assert check(Waiting(), engine="reference").distinct_states == 15
    with pytest.raises(UsageError, match="--symmetry: variable queue of waiting is interned"):
        check(Waiting(), engine="reference", symmetry=True)
