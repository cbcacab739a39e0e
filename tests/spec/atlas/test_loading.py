"""A specification is found by its name, and receives the requested constants."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from spec.atlas.loading import answering_for, place_in, specification, system_named, under, value_of
from spec.language import Specification, SpecificationError, UsageError, action, assumption, constant, switch
from spec.language.state import State
from spec.systems import SYSTEMS
from tests.spec.decoys import decoys
from tests.spec.toys import Arm, Rope, Turnstile, Walkers

LOCK = """
from spec.language import Specification, action

class Lock(Specification):
    @action
    def turn(self, s):
        pass
"""


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working directory of its own; modules imported from there are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


# Names.


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_is_found(name: str) -> None:
    """Every listed system exists under its own name."""
    assert system_named(name).name == name


def test_a_module_is_found() -> None:
    """`module:Class` names a class in a module."""
    assert system_named("tests.spec.toys:Walkers") is Walkers


def test_the_working_directory_is_importable_only_for_a_module_in_it(tmp_path: Path) -> None:
    """A system of ours or an installed module does not add it; if needed, it is the last place searched."""
    for installed in ("replication", "examples.two_phase_commit:TwoPhaseCommit"):
        system_named(installed)
        assert str(tmp_path) not in sys.path
    (tmp_path / "bolt.py").write_text(LOCK)
    assert system_named("bolt:Lock").__module__ == "bolt"
    assert sys.path[-1] == str(tmp_path)


@pytest.mark.parametrize(
    "program", [pytest.param(["kafkaspec"], marks=pytest.mark.long), ["python", "-m", "spec"]], ids=" ".join
)
def test_files_in_the_working_directory_do_not_run(tmp_path: Path, program: list[str]) -> None:
    """Even with the name of a module that the command or its libraries import, or try to import."""
    ran = decoys(tmp_path)
    command, *more = program
    asked = ["check", "controller-election", "--set", "brokers=2", "--max-depth", "4", "--engine", "local"]
    answer = subprocess.run(
        [Path(sys.executable).with_name(command), *more, *asked], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, ran.read_text()) == (20, ""), answer.stderr


def test_a_file_is_read_once(tmp_path: Path) -> None:
    """Two paths to one file load it once, so its classes are not duplicated."""
    (tmp_path / "lock.py").write_text(LOCK)
    assert system_named("lock.py:Lock") is system_named(f"{tmp_path}/lock.py:Lock")


def test_a_file_with_one_specification_names_it(tmp_path: Path) -> None:
    """Its class may be omitted; in a file with two specifications it may not."""
    (tmp_path / "lock.py").write_text(LOCK)
    (tmp_path / "locks.py").write_text(f"{LOCK}\nclass Other(Lock):\n    pass\n")
    assert system_named("lock.py") is system_named("lock.py:Lock")
    with pytest.raises(UsageError, match=r"^locks\.py is a file: write locks\.py:Class; it has Lock, Other$"):
        system_named("locks.py")


@pytest.mark.parametrize("name", ["json", "this", "pyspark"])
def test_a_file_may_be_called_like_a_module(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file `json.py` is loaded as that file, and the module `json` stays intact, already imported or not."""
    if name != "json":
        monkeypatch.delitem(sys.modules, name, raising=False)
    before = sys.modules.get(name)
    (tmp_path / f"{name}.py").write_text(LOCK)
    assert system_named(f"{name}.py:Lock").__name__ == "Lock"
    assert sys.modules.get(name) is before


def test_files_of_one_name_are_distinguished(tmp_path: Path) -> None:
    """Two directories may have a file of the same name."""
    for number in (1, 2):
        (tmp_path / f"v{number}").mkdir()
        (tmp_path / f"v{number}" / "lock.py").write_text(f"{LOCK}\n    version = {number}\n")
    versions = [getattr(system_named(f"v{number}/lock.py:Lock"), "version", None) for number in (1, 2)]
    assert versions == [1, 2]


def test_a_file_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """After the repair it is read again."""
    (tmp_path / "mended.py").write_text("1 / 0")
    with pytest.raises(UsageError, match=r"mended\.py, line 1: ZeroDivisionError"):
        system_named("mended.py:Lock")
    (tmp_path / "mended.py").write_text(LOCK)
    assert system_named("mended.py:Lock").name == "lock"


def test_an_error_names_the_users_line(tmp_path: Path) -> None:
    """An exception deep inside a library is reported with the line of the user's file that led there."""
    (tmp_path / "deep.py").write_text("import json\n\njson.loads('{')\n")
    with pytest.raises(UsageError, match=r"^deep\.py, line 3: JSONDecodeError"):
        system_named("deep.py:Lock")


def test_a_syntax_error_is_reported_with_its_place(tmp_path: Path) -> None:
    """The place is in the file with the error, which may be an import of the named file."""
    (tmp_path / "other.py").write_text("\n\ndef (")
    (tmp_path / "lock.py").write_text("import other\n")
    with pytest.raises(UsageError, match=r"^other\.py, line 3: "):
        system_named("lock.py:Lock")


# Constants.


class Day(Enum):
    """The days of a short week."""

    MONDAY = 1
    FRIDAY = 5


class Typed(Specification):
    """One constant of each type."""

    count: int = constant(1, "An integer.")
    on: bool = constant(True, "A truth.")
    word: str = constant("x", "A string.")
    pair: tuple[int, ...] = constant((1, 2), "A tuple.")
    some: frozenset[int] = constant(frozenset({1}), "A set.")
    form: int = switch(1, "One of several.", among=(1, 2))
    raw: bytes = constant(b"", "Bytes.")
    nothing: None = constant(None, "Nothing.")
    day: Day = constant(Day.MONDAY, "A member of an enumeration.")
    days: Day = switch(Day.MONDAY, "One of some members.", among=(Day.MONDAY, Day.FRIDAY))
    mixed: Any = switch("off", "Forms of several types.", among=("off", True, 1, None))

    @action
    def go(self, s: State) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("count", "-3", -3),
        ("on", "FALSE", False),
        ("on", "true", True),
        ("word", "3", "3"),
        ("word", "a=b", "a=b"),
        ("word", "", ""),
        ("pair", "(3,)", (3,)),
        ("pair", "3, 4", (3, 4)),
        ("some", "{1, 2}", frozenset({1, 2})),
        ("some", "[]", frozenset()),
        ("form", "2", 2),
        ("pair", "((1, None), {2, 3})", ((1, None), frozenset({2, 3}))),
        ("pair", "(frozenset(), frozenset({1}))", (frozenset(), frozenset({1}))),
        ("some", "{{1}, {2}}", frozenset({frozenset({1}), frozenset({2})})),
        ("raw", r"b'\x00a'", b"\x00a"),
        ("nothing", "None", None),
        ("day", "FRIDAY", Day.FRIDAY),
        ("days", "FRIDAY", Day.FRIDAY),
        ("mixed", "true", True),
        ("mixed", "1", 1),
        ("mixed", "None", None),
        ("mixed", "off", "off"),
    ],
)
def test_a_value_is_written_as_its_type_is(name: str, text: str, value: object) -> None:
    """A string needs no quotes; other values are written as in Python, booleans in upper or lower case."""
    found = value_of(name, Typed.constants()[name], text)
    assert (found, type(found)) == (value, type(value))
    assert getattr(specification(Typed, settings=[f"{name}={text}"]), name) == value


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("count", "true", "count = true: it must be an integer"),
        ("count", "True", "count = True: it must be an integer"),
        ("on", "0", "on = 0: it must be true or false"),
        ("pair", "[1]", r"pair = \[1\]: it must be a tuple, written as in Python"),
        ("pair", "__import__('os')", "pair = .*: it must be a tuple, written as in Python"),
        ("some", "1", "some = 1: it must be a frozenset, written as in Python"),
        ("form", "3", "form = 3: it must be one of 1, 2"),
        ("day", "SUNDAY", "day = SUNDAY: it must be one of MONDAY, FRIDAY"),
        ("pair", "(set(1, 2),)", r"pair = .*: it must be a tuple, written as in Python"),
    ],
)
def test_a_value_of_another_type_is_refused(name: str, text: str, message: str) -> None:
    """The message has the given value and the allowed ones. The value is never executed."""
    with pytest.raises(UsageError, match=f"^{message}$"):
        value_of(name, Typed.constants()[name], text)


def test_defaults_hold_without_settings() -> None:
    """A system without releases uses the defaults of its constants."""
    assert specification(Typed).valuation == {name: each.default for name, each in Typed.constants().items()}


# Constants of a variant.


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, (Arm, {"lock": True, "patience": 1})),
        ({"switched_off": ["lock"]}, (Arm, {"lock": False, "patience": 1})),
        ({"settings": ["patience=0", "room=3"]}, (Arm, {"room": 3, "lock": True, "patience": 0})),
        ({"settings": ["lock=false", "kind=arm"], "release": "1.1"}, (Arm, {"lock": False, "patience": 1})),
        ({"settings": ["lock=false"], "switched_off": ["lock"]}, (Arm, {"lock": False, "patience": 1})),
        ({"settings": ["kind=rope"]}, (Rope, {})),
        ({"release": "1.1"}, (Rope, {})),
    ],
)
def test_the_other_constants_select_the_variant(
    asked: dict[str, Any], expected: tuple[type[Turnstile], dict[str, Any]]
) -> None:
    """In any order; a release's values for constants of another variant are ignored."""
    variant, constants = expected
    kind = "rope" if variant is Rope else "arm"
    found = specification(Turnstile, **asked)
    assert type(found) is variant
    assert found.valuation == {"room": 2, "people": 4, "kind": kind} | constants


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"settings": ["kind=rope", "lock=false"]},
            "turnstile with kind = rope has no constant lock; it has room, people, kind",
        ),
        (
            {"settings": ["kind=rope"], "switched_off": ["lock"]},
            "--without lock: turnstile with kind = rope has no switch lock; it has none",
        ),
        (
            {"switched_off": ["look"]},
            "--without look: turnstile with kind = arm has no switch look; it has lock",
        ),
        (
            {"settings": ["force=true"]},
            "turnstile with kind = arm has no constant force; it has room, people, kind, lock, patience",
        ),
        (
            {"switched_on": ["patience"]},
            "--with patience: patience is a constant, not a switch; write --set patience=VALUE",
        ),
        ({"settings": ["patience=some"]}, "patience = some: it must be an integer"),
        (
            {"settings": ["lock=false"], "switched_on": ["lock"]},
            "--set lock=false and --with lock: lock has one value",
        ),
        (
            {"settings": ["lock=true", "kind=rope", "kind=arm"]},
            "--set kind=rope and --set kind=arm: kind has one value",
        ),
        ({"settings": ["room=1", "room=1", "room=2"]}, "--set room=1 and --set room=2: room has one value"),
        ({"settings": ["kind=wall"]}, "kind = wall: it must be one of rope, arm"),
    ],
)
def test_an_option_that_a_variant_lacks_is_refused(asked: dict[str, Any], message: str) -> None:
    """By its name and the available ones; constants of an unselected subclass do not count."""
    with pytest.raises(UsageError) as refused:
        specification(Turnstile, **asked)
    assert str(refused.value) == message


def test_no_setting_is_ignored() -> None:
    """Values of a release may be ignored; a requested constant of another variant, or of none, is refused."""
    assert under(Turnstile, "1.1", {"kind": "arm", "lock": False}).valuation["lock"] is False
    assert type(under(Turnstile, constants={"kind": "rope"})) is Rope
    with pytest.raises(UsageError, match=r"^turnstile with kind = rope has no constant lock; it has room, "):
        under(Turnstile, constants={"kind": "rope", "lock": True})

    class Misspelt(Turnstile):
        releases = {"2.0": {"lok": True}}

    with pytest.raises(UsageError, match=r"^misspelt has no constant lok; it has room, "):
        under(Misspelt)


# Blame.


class Careless(Typed):
    """Its assumption raises."""

    @assumption
    def compared(self) -> bool:
        """Never returns."""
        return self.count < self.word  # type: ignore[operator, no-any-return]


def test_a_specifications_exception_is_reported_with_its_place() -> None:
    """An exception from the specification's code becomes a SpecificationError."""
    reported = pytest.raises(SpecificationError, match=r"^test_loading\.py, line \d+: TypeError: ")
    with reported as raised, answering_for(Careless):
        specification(Careless)
    assert place_in(Careless, raised.value.__cause__) in str(raised.value)


def test_other_exceptions_pass() -> None:
    """An exception from elsewhere passes unchanged, and so does one already reported."""
    walkers = "toys.py"
    with pytest.raises(KeyError), answering_for(Walkers):
        raise KeyError(walkers)
    with pytest.raises(UsageError, match=r"^as it was$"), answering_for(Careless):
        raise UsageError("as it was")
    assert place_in(Walkers, KeyError()) == place_in(Walkers, None) == ""
