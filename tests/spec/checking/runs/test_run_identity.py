"""The identity of a run: code, constants, and the values that the code looks up, at any depth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from spec.atlas.loading import system_named
from spec.checking.check import selected_numbers
from spec.checking.exploration import Options
from spec.checking.model import Model
from spec.checking.runs.run_identity import identity_of
from spec.checking.runs.rundir import Identity, difference
from spec.language.errors import EnvironmentWarning

SETTINGS = {
    "limit": 5,
    "names": ["a", "b"],
    "table": {"deep": [{"er": 1}]},
    "colour": 1,
    "start": 0,
    "of_record": 1,
    "of_class": 1,
    "of_partial": 1,
    "default": 1,
    "closure": 1,
    "range": 2,
    "family": [1],
    "late": 1,
    "unused": 1,
}
"""The settings that the module below reads at its import."""

HELPER = """
import json, os
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import NamedTuple

SETTINGS = json.loads(Path(__file__).with_name("settings.json").read_text())
LIMIT, NAMES, TABLE, START = (SETTINGS[each] for each in ("limit", "names", "table", "start"))
FAMILY, RANGE, UNUSED = SETTINGS["family"], range(SETTINGS["range"]), SETTINGS["unused"]
Colour = Enum("Colour", {"RED": SETTINGS["colour"]})
OPEN = (each for each in "ab")


class Record(NamedTuple):
    held: int = SETTINGS["of_record"]


@dataclass
class Configuration:
    held = SETTINGS["of_class"]


def within(number, limit):
    return number <= limit


def made(limit):
    return lambda number: number <= limit


def bounded(number, limit=SETTINGS["default"]):
    return number <= limit


is_within, is_below = partial(within, limit=SETTINGS["of_partial"]), made(SETTINGS["closure"])


def is_small(number):
    return is_within(number) and is_below(number) and bounded(number) and number <= Configuration.held
"""

SPECIFICATION = """
from typing import Annotated
import helper
from helper import *
from constants import ONLY
from spec.language import *

Number = Annotated[int, "a number"]
Name = Annotated[str, "a name"]


class Here(State):
    number: Number = variable("A number.")
    name: Name = variable("A name.")


def more():
    "One rule, with an action for each member of a family."


class Settled(Specification[Here]):
    def sizes(self):
        return {Number: range(9), Name: helper.NAMES}

    @initial
    def begin(self, s):
        s.number = START

    @action(to=RANGE)
    def go(self, s, to):
        require(is_small(s.number) and Record().held + ONLY)
        s.number = to

    @action(by=each(lambda self: FAMILY, lambda by: more))
    def steps(self, s, by):
        s.number += by

    @invariant
    def holds(self, s):
        from late import LATE, is_early

        return is_early(LATE) and s.number <= LIMIT and TABLE["deep"] and list(helper.Colour) != []

    @view
    def said(self, s):
        return next(helper.OPEN, "")
"""

LATE = """
from helper import SETTINGS

LATE = SETTINGS["late"]


def is_early(number):
    return number < 9
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the specification, its helpers, and the settings that they read."""
    (tmp_path / "settled.py").write_text(SPECIFICATION)
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "constants.py").write_text("ONLY = 1\n")
    (tmp_path / "late.py").write_text(LATE)
    (tmp_path / "settings.json").write_text(json.dumps(SETTINGS))
    return tmp_path


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    """Forget modules imported by a test, and their search paths."""
    before, path = {*sys.modules}, [*sys.path]
    yield
    for name in {*sys.modules} - before:
        del sys.modules[name]
    sys.path[:] = path


def identity(folder: Path) -> Identity:
    """The identity of the specification in a folder, imported as another process would."""
    for name in ("settled", "helper", "constants", "late"):
        sys.modules.pop(name, None)
    model = Model(system_named(str(folder / "settled.py:Settled"))())
    return identity_of(model, Options(selected_numbers(model, (), False)))


@pytest.fixture
def before(folder: Path) -> Identity:
    """The identity before any setting changes."""
    with pytest.warns(
        EnvironmentWarning, match=r"would not notice.*: helper.OPEN in settled.py \(builtins.generator\)$"
    ):
        return identity(folder)


NOTICED = {
    "limit": (6, "the value of LIMIT in settled.py has changed since, from 5 to 6"),
    "names": (["a", "c"], "the value of helper.NAMES in settled.py has changed since, from list('a', 'b')"),
    "table": ({"deep": [{"er": 2}]}, "the value of TABLE in settled.py has changed since"),
    "colour": (True, "the value of helper.Colour in settled.py has changed since"),
    "start": (None, "the value of START in settled.py has changed since, from 0 to None"),
    "of_record": (2, "the value of Record in settled.py has changed since"),
    "of_class": (2, "the value of Configuration.held in helper.py has changed since, from 1 to 2"),
    "of_partial": (2, "the value of is_within in helper.py has changed since"),
    "default": (2, "the value of a default of bounded in helper.py has changed since, from 1 to 2"),
    "closure": (2, "the value of limit of made.<locals>.<lambda> in helper.py has changed since, from 1 to 2"),
    "range": (3, "the range of go has changed since"),
    "late": (2, "the value of late.LATE in settled.py has changed since, from 1 to 2"),
    "family": ([2], "the range of more has changed since"),
}


@pytest.mark.filterwarnings("ignore::spec.language.errors.EnvironmentWarning")
@pytest.mark.parametrize("setting", NOTICED)
def test_a_value_that_changed_is_named(folder: Path, before: Identity, setting: str) -> None:
    """The source is unchanged; a value read at import is not."""
    value, message = NOTICED[setting]
    (folder / "settings.json").write_text(json.dumps({**SETTINGS, setting: value}))
    assert message in difference(before, identity(folder))


@pytest.mark.filterwarnings("ignore::spec.language.errors.EnvironmentWarning")
def test_unused_values_may_change(folder: Path, before: Identity) -> None:
    """They do not belong to the identity."""
    (folder / "settings.json").write_text(json.dumps({**SETTINGS, "unused": 2}))
    assert difference(before, identity(folder)) == ""


@pytest.mark.filterwarnings("ignore::spec.language.errors.EnvironmentWarning")
@pytest.mark.parametrize("module", ["settled", "helper", "constants", "late"])
def test_helper_sources_are_part_of_the_identity(folder: Path, before: Identity, module: str) -> None:
    """Even of a helper that provides only an integer."""
    file = folder / f"{module}.py"
    file.write_text(f"{file.read_text()}# another line\n")
    assert difference(before, identity(folder)) == f"the source of {module}.py has changed since"


def test_the_identity_is_equal_in_every_process(folder: Path) -> None:
    """Regardless of how strings hash there."""
    code = (
        "import json; from spec.checking.model import Model; from spec.atlas.loading import system_named;"
        "from spec.checking.runs.run_identity import identity_of; from spec.checking.exploration import Options;"
        f"print(json.dumps(identity_of(Model(system_named({str(folder / 'settled.py:Settled')!r})()), Options(()))))"
    )
    identities = {
        subprocess.check_output([sys.executable, "-Wignore", "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    }
    assert len(identities) == 1


def test_known_values_give_no_warning(folder: Path) -> None:
    """Most specifications look up numbers, names and tables."""
    (folder / "settled.py").write_text(SPECIFICATION.replace('next(helper.OPEN, "")', '""'))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        identity(folder)
