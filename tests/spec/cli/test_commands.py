"""The command keeps its contract: arguments, output on stdout and stderr, and exit codes."""

from __future__ import annotations

import errno
import json
import math
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import click
import pytest

from spec.atlas.anomalies import anomalies, read
from spec.checking.local.recording import Recorder
from spec.checking.model import Model
from spec.checking.spark import SparkEngine
from spec.checking.spark.engine import DRIVER_LEVEL
from spec.checking.traces.trace import Line
from spec.cli.command import kafkaspec
from spec.cli.command import run as run_command
from spec.cli.options import SearchOptions
from spec.cli.progress import Progress
from spec.cli.running import engine_of
from spec.diagrams import FORMATS, NAMES, draw
from spec.systems import SYSTEMS
from tests.spec.atlas.test_anomalies import ATLAS, BY_FORM
from tests.tiers import long_unless

COMMAND = str(Path(sys.executable).with_name("kafkaspec"))
"""The installed command."""

OWN = '''
"""A specification for each thing that can come out."""

from spec.language import *
from spec.by_release import since


class Counts(State):
    count: Total = variable("How often.", of=lambda self: mapping(("here",), integers(0, self.top + 1)))


class Counter(Specification[Counts]):
    """A counter with a button."""

    leaves_out = "time"
    releases = since({"0.10.1": {"stops": False, "form": "old"}, "2.1": {"stops": True, "form": "new"}})

    top = constant(3, "Where it stops.", at_least=1, at_most=9)
    names = constant(("a", "b"), "Names.")
    patient = constant(True, "On or off, and still no switch.")
    stops = switch(True, "It stops at the top.")
    form = switch("old", "How it is done.", among=["old", "new"])

    @assumption
    def odd(self):
        """The top is odd."""
        return self.top % 2

    @action(by=(1, 2))
    def press(self, s, by):
        """The button is pressed."""
        require(by == 1 and s.count["here"] < self.top + (not self.stops))
        s.count["here"] += by

    @action
    def reset(self, s):
        """Back to nothing."""
        require(s.count["here"])
        s.count["here"] = 0

    @invariant
    def never_beyond(self, s):
        """It never goes beyond the top."""
        return s.count["here"] <= self.top

    @sometimes
    def full(self, s):
        """The top is reached."""
        return s.count["here"] == self.top


class Stuck(Counter):
    reset = None


class Idle(Counter):
    @action
    def sleep(self, s):
        """Never."""
        require(False)


class Failing(Counter):
    @action
    def divide(self, s):
        """It raises in one state."""
        require(1 // (2 - s.count["here"]) > 9)


class FailingInvariant(Counter):
    @invariant
    def divisible(self, s):
        return 1 // (s.count["here"] - 2) < 9


class FailingBeyond(Counter):
    @invariant
    def never_beyond(self, s):
        return 1 // (s.count["here"] - 2) < 9


class Interrupted(Counter):
    @action
    def abort_reassignment(self, s):
        """Ctrl-C is pressed."""
        if s.count["here"] == 2:
            raise KeyboardInterrupt
        require(False)


class Wrong(Counter):
    @invariant
    def silent(self, s):
        s.count["here"] < 9


class Digits(State):
    digit: Total = variable("Twelve.", of=lambda self: mapping(range(12), integers(0, 9)))


class Slow(Specification[Digits]):
    """It does not come to an end while a test waits."""

    @action(at=range(12))
    def turn(self, s, at):
        require(s.digit[at] < 9)
        s.digit[at] += 1


class NoWord:
    pass
'''


OWN_ATLAS = (
    ATLAS
    + """
[[anomaly]]
id = "raising"
ticket = "none"
sentence = "An action raises."
system = "own.py:Failing"
switch = "stops"
property = "never_beyond"
length = 5
size = "small"

[[anomaly]]
id = "interrupting"
ticket = "none"
sentence = "It is interrupted."
system = "own.py:Interrupted"
switch = "stops"
property = "never_beyond"
length = 5
size = "small"
"""
)


class Answer(NamedTuple):
    """A command's exit code and output."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return the object that is all of stdout."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)


Ask = Callable[..., Answer]


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working directory with a file and an atlas; modules imported from there are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("spec.atlas.anomalies.anomalies", lambda: read(OWN_ATLAS))
    (tmp_path / "own.py").write_text(OWN)
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Ask]:
    """Call the command's entry point in this process, without progress lines, however slow it is."""
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("spec.cli.progress.QUICK", math.inf)
    monkeypatch.setattr(Progress.__init__, "__defaults__", (None, math.inf))

    def asked(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["kafkaspec", *arguments])
        with pytest.raises(SystemExit) as left:
            run_command()
        assert isinstance(left.value.code, int)
        return Answer(left.value.code, *capsys.readouterr())

    yield asked
    signal.signal(signal.SIGTERM, handler)


def run(*arguments: str) -> Answer:
    """Run the installed command."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True)
    return Answer(done.returncode, done.stdout, done.stderr)


# Results.


@pytest.mark.parametrize(
    ("arguments", "verdict", "code"),
    [
        ("own.py:Counter", "holds", 0),
        ("own.py:Counter --without stops", "violated", 12),
        ("own.py:Stuck --deadlock", "deadlock", 11),
        ("own.py:Stuck", "holds", 0),
        ("own.py:Counter --max-depth 2", "bounded", 20),
        ("own.py:Counter --max-states 2", "bounded", 20),
        ("own.py:Idle", "vacuous", 21),
        ("own.py:Idle --property never_beyond", "holds", 0),
        ("own.py:Idle --accept-vacuous sleep", "holds", 0),
        ("own.py:Counter --without stops --property type_ok", "holds", 0),
        ("own.py:Counter --without stops --continue", "violated", 12),
    ],
)
def test_a_verdict_has_its_exit_code(ask: Ask, arguments: str, verdict: str, code: int) -> None:
    """The command exits with the code of its verdict, and says nothing on stderr."""
    answer = ask("check", *arguments.split(), "--json")
    assert (answer.code, answer.json()["verdict"], answer.err) == (code, verdict, "")


def test_json_is_as_promised(ask: Ask) -> None:
    """The object has the promised members, in the promised order."""
    found = ask("check", "own.py:Counter", "--without", "stops", "--json").json()
    assert list(found) == [
        *("system", "constants", "switches", "release", "leaves_out", "bounds", "symmetry"),
        *("compared", "accept_vacuous", "engine", "jobs", "versions", "verdict", "why"),
        *("distinct_states", "generated_states", "depth", "interned"),
        *("seconds", "compile_seconds"),
        *("states_per_second", "bytes_per_state"),
        *("properties", "actions", "counterexample", "counterexamples", "shown"),
        *("opaque_rules", "known", "without_effect", "folds", "advice", "profile"),
    ]
    assert (found.pop("counterexamples"), found.pop("shown")) == ([found["counterexample"]], None)
    figures = ("seconds", "states_per_second")
    assert all(isinstance(found.pop(name), int | float) for name in figures)
    assert list(found.pop("versions")) == ["python", "kafkaspec"]
    assert found == {
        "system": "counter",
        "constants": {"top": 3, "names": ["a", "b"], "patient": True},
        "switches": {"stops": False, "form": "new"},
        "release": None,
        "leaves_out": "time",
        "bounds": {"max_states": None, "max_depth": None},
        "symmetry": False,
        "compared": None,
        "accept_vacuous": [],
        "opaque_rules": [],
        "known": [],
        "without_effect": [],
        "folds": None,
        "advice": None,
        "profile": [],
        "engine": "reference",
        "jobs": None,
        "verdict": "violated",
        "why": "never_beyond is violated, in 5 states",
        "distinct_states": 5,
        "generated_states": 8,
        "depth": 5,
        "interned": {},
        "compile_seconds": 0.0,
        "bytes_per_state": None,
        "properties": [
            {"name": "type_ok", "kind": "invariant", "verdict": "undecided", "length": None},
            {"name": "never_beyond", "kind": "invariant", "verdict": "violated", "length": 5},
            {"name": "full", "kind": "sometimes", "verdict": "witnessed", "length": 4},
        ],
        "actions": [
            {"name": "press", "enabled": 4, "taken": 4, "new_states": 4, "bounded": 0},
            {"name": "reset", "enabled": 3, "taken": 3, "new_states": 0, "bounded": 0},
        ],
        "counterexample": {
            "property": "never_beyond",
            "length": 5,
            "initial": {"count": {"here": 0}},
            "steps": [
                {"action": "press", "parameters": {"by": 1}, "changes": {"count[here]": [n, n + 1]}} for n in range(4)
            ],
        },
    }


def test_json_without_a_counterexample(ask: Ask) -> None:
    """The list is empty if the property holds, and a requested release is named in full."""
    found = ask("check", "own.py:Counter", "--json", "--release", "3.9.1").json()
    assert (found["counterexample"], found["release"], found["verdict"]) == (None, "3.9", "holds")
    assert [each["verdict"] for each in found["properties"]] == ["holds", "holds", "witnessed"]


def test_text_has_the_settings(ask: Ask) -> None:
    """The result has verdict, constants, switches, release, engine, and the system's omissions."""
    answer = ask("check", "own.py:Counter", "--release", "2.1")
    assert answer.out.splitlines()[0] == "counter: holds"
    for part in ("top = 3", "stops = true", "form = new", "release 2.1", "engine reference", "time", "full (4)"):
        assert part in answer.out


def test_continue_reports_every_property(ask: Ask) -> None:
    """Every property is decided, and each violation has its counterexample."""
    found = ask("check", "own.py:Counter", "--without", "stops", "--continue", "--json").json()
    assert [each["verdict"] for each in found["properties"]] == ["holds", "violated", "witnessed"]
    both = ["check", "own.py:Stuck", "--without", "stops", "--deadlock", "--continue"]
    found = ask(*both, "--json").json()
    assert [each["length"] for each in found["counterexamples"]] == [5, 5]
    assert found["counterexample"] == found["counterexamples"][0]
    text = ask(*both).out
    assert "\n\nnever_beyond: It never goes beyond the top.\n\n  1  initially\n" in text
    assert "\n\ndeadlock: In every state some action is enabled.\n\n  1  initially\n" in text


def test_show_prints_a_trace_to_the_goal(ask: Ask) -> None:
    """The shortest path to it, with exit 0, whatever else may go wrong in the system."""
    full = ["check", "own.py:Counter", "--without", "stops", "--show"]
    answer = ask(*full, "full")
    assert (answer.code, answer.out.splitlines()[0]) == (0, "counter: full is witnessed, in 4 states")
    assert "\n\nfull: The top is reached.\n\n  1  initially\n" in answer.out
    assert "\n     ! full is witnessed here\n" in answer.out
    found = ask(*full, "s.count['here'] > self.top", "--json").json()
    assert (found["verdict"], found["counterexample"], found["counterexamples"]) == ("witnessed", None, [])
    assert (found["shown"]["property"], found["shown"]["length"]) == ("s.count['here'] > self.top", 5)
    assert found["properties"] == [
        {"name": "type_ok", "kind": "invariant", "verdict": "undecided", "length": None},
        {"name": "s.count['here'] > self.top", "kind": "sometimes", "verdict": "witnessed", "length": 5},
    ]
    assert ask(*full, "s.count['here'] == 0").out.startswith(
        "counter: s.count['here'] == 0 is witnessed, in 1 state\n"
    )


def test_an_unreachable_goal_is_vacuous(ask: Ask) -> None:
    """Exits 21 if no state satisfies it, and 20 if a bound was reached before."""
    never = ["check", "own.py:Counter", "--show", "s.count['here'] > 3"]
    answer = ask(*never)
    assert (answer.code, answer.out.splitlines()[0]) == (
        21,
        "counter: vacuous: s.count['here'] > 3 is never witnessed",
    )
    assert ask(*never, "--max-depth", "2").code == 20
    assert ask(*never, "--json").json()["shown"] is None


def test_a_goal_that_raises_reports_the_trace(ask: Ask) -> None:
    """The error is that of a raising property, with the path there."""
    answer = ask("check", "own.py:Counter", "--show", "1 // (2 - s.count['here']) > 9")
    assert (answer.code, answer.out) == (75, "")
    assert answer.err.startswith("Error: 1 // (2 - s.count['here']) > 9: ZeroDivisionError: ")
    assert "The way there, in 3 states:" in answer.err


def test_a_bound_that_is_reached_is_named(ask: Ask) -> None:
    """The result names the bound."""
    assert "the bound on depth was reached" in ask("check", "own.py:Counter", "--max-depth", "2").out
    assert "the bound on states was reached" in ask("check", "own.py:Counter", "--max-states", "2").out


def test_actions_never_taken_are_named(ask: Ask) -> None:
    """A vacuous result names them."""
    assert "action sleep is never taken" in ask("check", "own.py:Idle").out
    answer = ask("check", "own.py:Counter", "--set", "top=1", "--property", "full", "--without", "stops")
    assert answer.code == 0


@pytest.mark.parametrize(
    ("engine", "chosen"), [("auto", "reference"), ("local", "local"), ("reference", "reference")]
)
def test_the_result_names_the_engine_that_explored(ask: Ask, engine: str, chosen: str) -> None:
    """With `--engine auto`, it names the chosen engine."""
    assert ask("check", "own.py:Counter", "--engine", engine, "--json").json()["engine"] == chosen


@pytest.mark.parametrize("command", [["check", "--engine", "local"], ["simulate", "--runs", "1", "--seed", "7"]])
@pytest.mark.parametrize("folds", [True, False])
def test_folds_can_be_turned_off(ask: Ask, monkeypatch: pytest.MonkeyPatch, command: list[str], folds: bool) -> None:
    """Then rules are recorded as they stand."""
    asked, make = set[bool](), Recorder.__init__

    def noted(self: Recorder, model: Model) -> None:
        make(self, model)
        if model.specification.name == "counter":  # kernels are loaded with another one
            asked.add(self.tried > 0)

    monkeypatch.setattr(Recorder, "__init__", noted)
    ask(*command, "own.py:Counter", *([] if folds else ["--no-folds"]))
    assert asked == {folds}


def test_spark_without_a_job_says_so(ask: Ask) -> None:
    """No level of a small system is worth a job."""
    asked = ("check", "own.py:Counter", "--engine", "spark")
    assert "no level; with --engine spark --driver-level 0 every level is a job" in ask(*asked).out
    assert ask(*asked, "--json").json()["jobs"] == {"levels": 0, "workers": 0}


def test_the_driver_expands_levels_up_to_the_size_that_was_asked_for() -> None:
    """The default is the one in `--help`."""
    for given, level in ((None, DRIVER_LEVEL), (0, 0), (70, 70)):
        engine = engine_of(SearchOptions("spark", given, None, None, None, None))
        assert isinstance(engine, SparkEngine)
        assert engine.driver_level == level
    assert f"default: {DRIVER_LEVEL:,}." in " ".join(run("check", "--help").out.split())


# Constants.


@pytest.mark.parametrize(
    ("options", "release", "stops", "form"),
    [
        ("", None, True, "new"),
        ("--release 0.10", "0.10.2", False, "old"),
        ("--release 2.8.1", "2.8", True, "new"),
        ("--release 2.1.0", "2.1", True, "new"),
        ("--release 2.0.0", "2.0", False, "old"),
        ("--release 2.0 --release 2.0", "2.0", False, "old"),
        ("--release 0.11 --with stops", "0.11", True, "old"),
        ("--with stops --release 0.11", "0.11", True, "old"),
        ("--release 1.1 --set form=new", "1.1", False, "new"),
        ("--set form=old --without stops", None, False, "old"),
        ("--set stops=false", None, False, "new"),
        ("--set stops=false --without stops", None, False, "new"),
        ("--release 2.0 --with stops --set stops=TRUE --with stops", "2.0", True, "old"),
    ],
)
def test_a_release_comes_first(ask: Ask, options: str, release: str | None, stops: bool, form: str) -> None:
    """A release gives all constants, the newest if none is named; the other options override it."""
    found = ask("check", "own.py:Counter", "--json", *options.split()).json()
    assert (found["release"], found["switches"]) == (release, {"stops": stops, "form": form})


def test_settings_are_values(ask: Ask) -> None:
    """Integers, booleans and tuples are written as in Python; a repeated setting counts once."""
    settings = ["--set", "top=0x7", "--set", "top=7", "--set", 'names=("x",)', "--set", "patient=false"]
    found = ask("check", "own.py:Counter", "--json", *settings).json()
    assert found["constants"] == {"top": 7, "names": ["x"], "patient": False}


@pytest.mark.parametrize(
    ("options", "switches"),
    [
        ("", {"epoch_update": "multi"}),
        ("--release 0.10 --with fence_zk", {"epoch_update": "cas_swallowed"}),
    ],
)
def test_the_controller_election_is_checked(ask: Ask, options: str, switches: dict[str, Any]) -> None:
    """A system of ours, at its smallest."""
    arguments = ["check", "controller-election", "--json", "--set", "elections=1", "--set", "brokers=1"]
    found = ask(*arguments, *options.split()).json()
    switches = switches | {"fence_zk": True, "conditional_increment": True}
    assert (found["system"], found["switches"], found["verdict"]) == ("controller-election", switches, "holds")


@pytest.mark.parametrize(
    ("options", "switches"),
    [
        ("--without lock", {"kind": "arm", "lock": False}),
        ("--without lock --set patience=0", {"kind": "arm", "lock": False}),
        ("--release 1.1", {"kind": "rope"}),
        ("--release 1.1 --set kind=arm --set lock=true", {"kind": "arm", "lock": True}),
        ("--set kind=rope", {"kind": "rope"}),
    ],
)
def test_constants_of_a_variant_can_be_set(ask: Ask, options: str, switches: dict[str, Any]) -> None:
    """Release and settings pick a variant, which has constants of its own; it remains the same system."""
    found = ask("check", "tests.spec.toys:Turnstile", "--json", *options.split()).json()
    assert (found["system"], found["switches"]) == ("turnstile", switches)
    assert ("patience" in found["constants"]) is (switches["kind"] == "arm")


# A specification of one's own.


def test_a_user_module_is_found(tmp_path: Path) -> None:
    """`package.module:Class` is found in the working directory, and a file may import its neighbours."""
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "counting.py").write_text(OWN)
    (package / "alone.py").write_text("from counting import Counter\n\nclass Mine(Counter):\n    pass\n")
    assert run("check", "mine.counting:Counter", "--json").json()["system"] == "counter"
    assert run("check", "mine/alone.py:Mine", "--json").json()["system"] == "mine"
    assert run("check", str(package / "alone.py") + ":Mine", "--json").json()["system"] == "mine"


BAD_FILES = {
    "has a syntax error": ("class A(\n", r"bad\.py, line 1: '\(' was never closed"),
    "imports an unknown module": ("\nimport no_such_thing\n", r"bad\.py, line 2: .*no_such_thing.*"),
    "imports an unknown name of spec": ("from spec.language import nonsense\n", r"bad\.py, line 1: .*nonsense.*"),
    "raises": ("x = 1\n1 / 0\n", r"bad\.py, line 2: ZeroDivisionError: division by zero"),
    "leaves": ("import sys\nsys.exit(0)\n", r"bad\.py, line 2: SystemExit: 0"),
    "has no such class": ("A = 3\n", r"bad\.py has no specification A; it has none"),
    "has a class that is none": ("class A:\n    pass\n", r"bad\.py has no specification A; it has none"),
    "only imports the class": (
        "from spec.language import Specification as A\n",
        r"bad\.py has no specification A; it has none",
    ),
    "has no action": (
        "from spec.language import *\nclass A(Specification):\n    pass\n",
        r"a: it has no action",
    ),
    "has a parameter without a domain": (
        "from spec.language import *\nclass A(Specification):\n    @action\n    def go(self, s, broker): pass\n",
        r"bad\.py, line 2: action A\.go: parameter broker has neither a range nor a type",
    ),
    "has a mutable constant": (
        "from spec.language import *\nclass A(Specification):\n    a = constant([], 'A list.')\n",
        r"bad\.py, line 3: constant\(\[\]\): its default must be immutable",
    ),
    "has a variable whose domain raises": (
        "from spec.language import *\nclass S(State):\n    x: int = variable('X.', of=lambda self:\n"
        "        integers(0, self.nope))\nclass A(Specification[S]):\n    @action\n    def go(self, s): pass\n",
        r"bad\.py, line 4: AttributeError: 'A' object has no attribute 'nope'",
    ),
    "has a range that raises": (
        "from spec.language import *\nclass A(Specification):\n"
        "    @action(x=lambda self: undefined)\n    def go(self, s, x): pass\n",
        r"bad\.py, line 3: NameError: name 'undefined' is not defined",
    ),
    "has an assumption that raises": (
        "from spec.language import *\nclass A(Specification):\n    @assumption\n    def fine(self): return 1 < 'a'\n",
        r"bad\.py, line 4: TypeError: .*",
    ),
    "begins outside a domain": (
        "from spec.language import *\nclass S(State):\n"
        "    x: bool = variable('X.')\nclass A(Specification[S]):\n"
        "    @initial\n    def begin(self, s): s.x = 2\n    @action\n    def go(self, s): pass\n",
        r"the initial state is outside its domain: x: 2 is not one of False, True",
    ),
}


@pytest.mark.parametrize("bad", BAD_FILES)
def test_a_bad_file_is_a_one_line_error(ask: Ask, tmp_path: Path, bad: str) -> None:
    """The error says what is wrong in a file that ..., and where."""
    content, message = BAD_FILES[bad]
    (tmp_path / "bad.py").write_text(content)
    answer = ask("check", "bad.py:A", "--json")
    assert (answer.code, answer.json()["exit"]) == (2, 2)
    assert re.fullmatch(f"Error: {message}\n", answer.err), answer.err


# Mistakes.

TEXT_ERRORS = {
    # Unknown names.
    "chek": "No such command 'chek'. Did you mean 'check'?",
    "check": "Missing argument 'SYSTEM'.",
    "check nosuch": (
        f"no system is called nosuch; there are {', '.join(SYSTEMS)}, or a specification of your own as "
        "path/to/file.py:Class or package.module:Class"
    ),
    "check own.py": (
        "own.py is a file: write own.py:Class; it has Counter, Stuck, Idle, Failing, FailingInvariant, "
        "FailingBeyond, Interrupted, Wrong, Slow"
    ),
    "check nofile.py:Counter": "there is no file nofile.py",
    "check nofile.py": "there is no file nofile.py",
    "check .:Counter": (
        f"no system is called .:Counter; there are {', '.join(SYSTEMS)}, or a specification of your own as "
        "path/to/file.py:Class or package.module:Class"
    ),
    "check no_package.module:Counter": "no module no_package is here or installed",
    "check spec.no_module:Counter": "no module spec.no_module is here or installed",
    "check os.path:Counter": "os.path has no specification Counter; it has none",
    "check own.py:Counter --property none": (
        "counter has no property none; it has type_ok, never_beyond, full, deadlock"
    ),
    "check own.py:Counter --release 4": r"no release is called 4; there are 0.10.1, ",
    "check own.py:Counter --release 2": r"no release is called 2; there are 0.10.1, ",
    "check own.py:Counter --release 2.9.1": r"no release is called 2.9.1; there are 0.10.1, ",
    "check own.py:Slow --release 3.9": "release 3.9: the system has no releases",
    "check own.py:Counter --engine fast": (
        "Invalid value for '--engine': 'fast' is not one of 'auto', 'local', 'spark', 'reference'."
    ),
    "check own.py:Counter --nosuch": "No such option '--nosuch'.",
    "check own.py:Counter again": "Got unexpected extra argument (again)",
    # Constants and switches.
    "check own.py:Counter --set top": "--set top: write NAME=VALUE",
    "check own.py:Counter --set =3": "--set =3: write NAME=VALUE",
    "check own.py:Counter --set tip=3": "counter has no constant tip; it has top, names, patient, stops, form",
    "check own.py:Counter --set top=high": "top = high: it must be an integer",
    "check own.py:Counter --set top=1.5": "top = 1.5: it must be an integer",
    "check own.py:Counter --set top=": "top = : it must be an integer",
    "check own.py:Counter --set patient=1": "patient = 1: it must be true or false",
    "check own.py:Counter --set names=a,b": "names = a,b: it must be a tuple, written as in Python",
    "check own.py:Counter --set form=newest": "form = newest: it must be one of old, new",
    "check own.py:Counter --with form": (
        "--with form: it has several forms; write --set form=VALUE, with one of old, new"
    ),
    "check own.py:Counter --without patient": (
        "--without patient: patient is a constant, not a switch; write --set patient=VALUE"
    ),
    "check own.py:Counter --with halts": "--with halts: counter has no switch halts; it has stops",
    "check own.py:Slow --with halts": "--with halts: slow has no switch halts; it has none",
    # Constants of a variant.
    "check tests.spec.toys:Turnstile --set kind=rope --without lock": (
        "--without lock: turnstile with kind = rope has no switch lock; it has none"
    ),
    "check tests.spec.toys:Turnstile --release 1.1 --set lock=false": (
        "turnstile with kind = rope has no constant lock; it has room, people, kind"
    ),
    "check tests.spec.toys:Turnstile --with look": (
        "--with look: turnstile with kind = arm has no switch look; it has lock"
    ),
    # Two values for one thing.
    "check own.py:Counter --with stops --without stops": ("--with stops and --without stops: stops has one value"),
    "check own.py:Counter --set stops=true --without stops": (
        "--set stops=true and --without stops: stops has one value"
    ),
    "check own.py:Counter --set top=1 --set top=3": "--set top=1 and --set top=3: top has one value",
    "check tests.spec.toys:Turnstile --set lock=true --set kind=arm --set kind=rope": (
        "--set kind=arm and --set kind=rope: kind has one value"
    ),
    "check own.py:Counter --release 2.0 --release 2.1": "Invalid value for '--release': '2.0' and '2.1' are",
    "check own.py:Counter --max-depth 2 --max-depth 3": "Invalid value for '--max-depth': '2' and '3' are different",
    # Options that do not fit.
    "check own.py:Counter --workers 0": "Invalid value for '--workers': 0 is not in the range x>=1.",
    "check own.py:Counter --workers 1000000": "workers = 1000000: it must be 1 or more, up to 1024",
    "check own.py:Counter --max-depth deep": "Invalid value for '--max-depth': 'deep' is not a valid whole number.",
    "check own.py:Counter --max-states 0": "Invalid value for '--max-states': 0 is not in the range x>=1.",
    "check own.py:Counter --engine reference --workers 2": (
        "--workers: the reference engine is one process; use --engine local"
    ),
    "check own.py:Counter --driver-level 0": ("--driver-level is for the Spark engine; add --engine spark"),
    "check own.py:Counter --engine local --driver-level 0": (
        "--driver-level is for the Spark engine; add --engine spark"
    ),
    "check own.py:Counter --engine spark --driver-level -1": (
        "Invalid value for '--driver-level': -1 is not in the range x>=0."
    ),
    "check own.py:Counter --engine reference --run-dir kept": (
        "--run-dir: the reference engine keeps no run; use --engine local"
    ),
    "check own.py:Counter --engine reference --resume kept": (
        "--resume: the reference engine keeps no run; use --engine local"
    ),
    "check own.py:Counter --engine reference --memory 1": "--memory 1: the reference engine cannot explore",
    "check own.py:Counter --engine local --memory 1": "--memory 1: the local engine cannot explore",
    "check own.py:Counter --engine spark --memory 512M": "--memory 512M: the Spark engine cannot explore",
    "check own.py:Counter --engine reference --memory 100000000000000": "--memory 95367431M: the machine has only",
    "check own.py:Counter --memory much": (
        "Invalid value for '--memory': 'much' is not a size: write a number of bytes, or a number with K, M, G or T, "
        "like 512M or 8G"
    ),
    "check own.py:Counter --run-dir kept --resume other": (
        "--run-dir and --resume name different directories; a resumed run stays where it is"
    ),
    "check own.py:Counter --engine reference --symmetry": "--symmetry: counter has no interchangeable values",
    # --show.
    "check own.py:Counter --show nothing": (
        "nothing cannot be shown: counter has the witnesses full, and the actions press, reset; or write "
    ),
    "check own.py:Counter --show s.time": "s.time cannot be shown: there is no variable time; there are count",
    "check own.py:Counter --show s.count": "s.count cannot be shown: it answers ",
    "check own.py:Counter --show s.count=={}=": "s.count=={}= cannot be shown: it is not a Python expression: ",
    "check own.py:Counter --show full --continue": "--show and --continue: --show searches for nothing but its goal",
    "check own.py:Counter --show full --property full": "--show and --property: --show searches for nothing but ",
    "check own.py:Counter --show full --deadlock": "--show and --deadlock: --show searches for nothing but its goal",
    # --show.
    "check own.py:Counter --trace nowhere/trace.itf.json": (
        "--trace nowhere/trace.itf.json: the directory nowhere does not exist"
    ),
    "simulate own.py:Counter --trace nowhere/trace.itf.json": (
        "--trace nowhere/trace.itf.json: the directory nowhere does not exist"
    ),
    "replay trace.itf.json": "trace.itf.json cannot be read: No such file or directory",
    "diagram trace.itf.json": "trace.itf.json is a saved trace: draw it with `kafkaspec sequence trace.itf.json`",
    "graph own.py:Counter --nodes 2": "the graph has more than 2 nodes: use --by, such as --by s.",
    "list nothing": "no system is called nothing; there are",
    "explore trace.itf.json": "trace.itf.json cannot be read: No such file or directory",
    "explore trace.itf.json --set top=2": ("trace.itf.json: a trace contains its constants; leave those options out"),
    "explore own.py:Counter --serve --states 7": "--states is for a file; --serve writes none, and serves every",
    "explore own.py:Counter --serve -o page.html": "--output is for a file; --serve writes none, and serves every",
    "explore own.py:Counter --port 8000": "--port needs --serve",
    "explore own.py:Counter --serve --port 70000": "Invalid value for '--port': 70000 is not in the range",
    "sequence trace.itf.json": "trace.itf.json cannot be read: No such file or directory",
    "replay trace.itf.json --on 3.9": "--on and --afterwards are for an anomaly, not for a trace in a file",
    # Replays.
    "replay T1": "T1 is an anomaly: name a release of Kafka, such as --on 3.9.1",
    "replay t18": "no scenario is called t18; there are ",
    "replay t8-": "t8- is short for several scenarios: t8-joined-below-the-epoch, t8-under-kip-320",
    "replay story.txt": "story.txt cannot be read: No such file or directory",
    "replay t1-loss --afterwards 3": "--afterwards is for an anomaly on real brokers: name the release with --on",
    "replay t1-loss --format text": "--format is for a trace in a file, whose name ends with .json, not for ",
    "replay T1 --on 3.9 --trace kept.itf.json": "--trace is for a scenario, not for T1",
    "replay t1-loss --trace nowhere/t1.itf.json": "nowhere/t1.itf.json cannot be written: No such file or directory",
    "replay --on 3.9": "--on, --afterwards, --format, --trace and --spec need an argument: name what to replay",
    "replay T1 --on 3.9": "T1 cannot be replayed; ",
    # Simulations.
    "simulate": "Missing argument 'SYSTEM'.",
    "simulate nosuch": "no system is called nosuch; there are ",
    "simulate own.py:Counter --runs 0": "Invalid value for '--runs': 0 is not in the range x>=1.",
    "simulate own.py:Counter --steps 1000001": "steps = 1000001: it must be 1 or more, up to 1000000",
    f"simulate own.py:Counter --seed 1 --run {1 << 63}": f"run = {1 << 63}: it must be 1 or more, up to ",
    "simulate own.py:Counter --seed -1": (
        "Invalid value for '--seed': -1 is not in the range 0<=x<=18446744073709551615."
    ),
    "simulate own.py:Counter --seed 1 --run 2 --runs 3": ("--runs and --run: give a number of runs or a single run"),
    "simulate own.py:Counter --run 2": "--run needs a --seed",
    "simulate own.py:Counter --property none": (
        "counter has no property none; it has type_ok, never_beyond, full, deadlock"
    ),
    "simulate own.py:Counter --set tip=3": "counter has no constant tip; it has top, names, patient, stops, form",
    # Anomalies.
    "anomalies T2": "no anomaly is called T2; there are T1, T20, raising, interrupting",
    "anomalies T1 T20": "Got unexpected extra argument (T20)",
    "anomalies --max-depth 2": "--max-depth needs the ID of an anomaly to explore",
    "anomalies --json --workers 2": "--workers needs the ID of an anomaly to explore",
    "anomalies --engine auto": "--engine needs the ID of an anomaly to explore",
    "anomalies --driver-level 0": "--driver-level needs the ID of an anomaly to explore",
    "anomalies T1 --driver-level 0": "--driver-level is for the Spark engine; add --engine spark",
    "anomalies T1 --engine reference --workers 2": (
        "--workers: the reference engine is one process; use --engine local"
    ),
    "anomalies T1 --max-states 0": "Invalid value for '--max-states': 0 is not in the range x>=1.",
    # Elections and diagrams.
    "elect": ("Missing argument 'STRATEGY'. Choose from: offline, reassign, preferred, controlled-shutdown"),
    "elect fair": (
        "Invalid value for 'STRATEGY': 'fair' is not one of "
        "'offline', 'reassign', 'preferred', 'controlled-shutdown'."
    ),
    "elect offline --replicas 1,2 --isr 1": "Missing option '--live'.",
    "elect preferred --replicas 1 --isr 1 --live 1 --unclean": (
        "--unclean: preferred elects from the ISR only; --unclean is for offline"
    ),
    "elect offline --replicas one --isr 1 --live 1": (
        "--replicas one: write broker ids separated by commas, like 1,2,3"
    ),
    "elect offline --replicas 1,,2 --isr 1 --live 1": (
        "--replicas 1,,2: write broker ids separated by commas, like 1,2,3"
    ),
    "elect offline --replicas 1,1_0 --isr 1 --live 1": (
        "--replicas 1,1_0: write broker ids separated by commas, like 1,2,3"
    ),
    "elect offline --replicas 1,1 --isr 1 --live 1": "replicas: broker 1 occurs twice in (1, 1), allowed is once",
    "elect offline --replicas -1 --isr 1 --live 1": (
        "replicas: -1 is no broker id, allowed are the integers from 0 on"
    ),
    "diagram": "Missing argument 'WHAT'.",
    "diagram broker": f"there is no diagram broker; there are {', '.join(NAMES)}",
    "diagram controller --release 0.9": "no release is called 0.9; there are 0.10.1, 0.10.2",
    "diagram replica --release new": "no release is called new; there are 0.10.1, 0.10.2",
    "diagram partition --format png": ("Invalid value for '--format': 'png' is not one of 'mermaid', 'dot', 'svg'."),
    "diagram partition -o no/where": "no/where cannot be written: No such file or directory",
    "graph controller -o no/where": "no/where cannot be written: No such file or directory",
    "explore controller -o no/where": "no/where cannot be written: No such file or directory",
}


@pytest.mark.parametrize("asked", TEXT_ERRORS)
def test_a_usage_error_is_one_line(ask: Ask, asked: str) -> None:
    """It exits 2, prints nothing on stdout and one line on stderr, with the mistake and the allowed values."""
    answer = ask(*asked.split())
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"Error: {TEXT_ERRORS[asked]}")
    assert not answer.out or "--json" in asked


@pytest.mark.parametrize(
    "asked",
    [
        *(["check", "own.py:Counter", option, ""] for option in ("--release", "--with", "--without", "--property")),
        *(["check", "own.py:Counter", option, ""] for option in ("--run-dir", "--resume")),
        *(["check", ""], ["simulate", ""], ["anomalies", ""], ["diagram", ""]),
        *(["diagram", "replica", "-o", ""], ["diagram", "replica", "--release", " "]),
        ["elect", "offline", "--replicas", "", "--isr", "1", "--live", "1"],
    ],
    ids=shlex.join,
)
def test_an_empty_option_is_refused(ask: Ask, asked: list[str]) -> None:
    """An empty value has no default meaning, such as the working directory."""
    answer = ask(*asked)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "it is empty" in answer.err


def test_a_run_may_be_named_twice(ask: Ask, tmp_path: Path) -> None:
    """As `--run-dir` and `--resume`, by different spellings of its path."""
    asked = ("check", "own.py:Counter", "--engine", "local", "--json")
    assert ask(*asked, "--run-dir", "kept", "--max-depth", "2").code == 20
    assert ask(*asked, "--resume", "kept", "--run-dir", f"{tmp_path}/./kept").code == 0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("top=0", "top = 0: it must be at least 1"),
        ("top=11", "top = 11: it must be at most 9"),
        ("top=4", "odd: The top is odd."),
    ],
)
def test_a_violated_assumption_has_its_own_exit_code(ask: Ask, setting: str, message: str) -> None:
    """Well-typed constants that violate an assumption exit 10, with the assumption's name."""
    assert ask("check", "own.py:Counter", "--set", setting) == Answer(10, "", f"Error: {message}\n")


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        ("Failing", r"divide\(\): ZeroDivisionError: .* \(own.py, line \d+\)\n  in the state count\[here\] = 2"),
        ("FailingInvariant", r"divisible: ZeroDivisionError: .* \(own.py, line \d+\)\n  in the state .* = 2"),
        (
            "Wrong",
            r"silent: it answers None, not True or False\n"
            r"  in the state in which every variable has the first value of its domain",
        ),
    ],
)
def test_an_exception_is_reported_with_its_state(ask: Ask, cls: str, message: str) -> None:
    """It exits 75, with the action or property, its line in the file, and the state."""
    answer = ask("check", f"own.py:{cls}")
    assert (answer.code, answer.out) == (75, "")
    assert re.match(f"Error: {message}\n\nThe way there, in ", answer.err), answer.err
    line = re.search(r"line (\d+)", answer.err)
    assert line is None or "//" in OWN.splitlines()[int(line[1]) - 1]


@pytest.mark.long
def test_the_installed_command_has_the_same_exit_codes() -> None:
    """The installed command returns the codes of verdicts and mistakes, too, and prints no traceback."""
    found = run("check", "own.py:Counter", "--without", "stops", "--json")
    assert (found.code, found.json()["verdict"]) == (12, "violated")
    asked = {
        2: ("check", "own.py:Nothing"),
        10: ("check", "own.py:Counter", "--set", "top=2"),
        75: ("check", "own.py:Failing"),
    }
    answers = {code: run(*arguments) for code, arguments in asked.items()}
    assert {code: answer.code for code, answer in answers.items()} == {code: code for code in asked}
    assert not any(answer.out for answer in answers.values())
    assert not any("Traceback" in answer.err for answer in (found, *answers.values()))


def test_internal_errors_keep_their_traceback(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in the command itself is not the user's mistake, so its traceback is printed."""
    monkeypatch.setattr("spec.checking.Result.lines", lambda result: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        ask("check", "own.py:Counter")


@pytest.mark.parametrize("fault", [EOFError(), BrokenPipeError(errno.EPIPE, "Broken pipe")], ids=repr)
def test_a_fault_is_no_interruption(fault: Exception, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no broken pipe either, although click catches such exceptions."""

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("spec.checking.Result.lines", fail)
    with pytest.raises(type(fault)):
        ask("check", "own.py:Counter")


# Interrupts, and output streams.


def heed_interrupts() -> None:
    """A process started in the background may ignore Ctrl-C, and its children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def begun(*arguments: str, stderr: int = subprocess.PIPE, command: str = "check") -> subprocess.Popen[str]:
    """Start a run that does not end by itself."""
    return subprocess.Popen(
        [COMMAND, command, "own.py:Slow", *arguments],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        preexec_fn=heed_interrupts,
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "options"),
    [
        pytest.param(signal.SIGINT, (), id="Ctrl-C"),
        pytest.param(signal.SIGTERM, ("--json",), id="SIGTERM, as JSON", marks=pytest.mark.long),
    ],
)
def test_an_interrupted_run_says_so(number: signal.Signals, options: tuple[str, ...]) -> None:
    """Interrupted after a progress line, it exits 130 with its figures, and says that nothing was kept."""
    with begun(*options, "--workers", "1") as process:
        assert process.stderr is not None
        progress = process.stderr.readline()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert re.fullmatch(
        r"depth \d+, (?:[\d.,]+(?: [kM])? (?:generated|distinct|queued), )+[\d.,]+(?: [kM])?/s, "
        r"(?:\d+ bytes/state, )?(?:\d+% in Python, )?[\d,]+ MB, \d+:\d\d\n",
        progress,
    )
    assert process.returncode == 130
    assert "nothing was kept" in (err if options else out)
    if options:
        assert Answer(130, out, err).json()["verdict"] == "interrupted"
    else:
        assert out.startswith("slow: interrupted: nothing was kept")


@pytest.mark.long
def test_a_terminal_gets_a_progress_line() -> None:
    """On a terminal the progress line is updated in place and erased at the end; stdout has none of it."""
    terminal, theirs = pty.openpty()
    with begun(stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while seen.count(b"distinct") < 3:
            assert select.select([terminal], [], [], 60)[0]
            seen += os.read(terminal, 4096)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        out = process.stdout.read()
        process.wait(60)
    os.close(terminal)
    assert process.returncode == 130
    assert b"\r" in seen
    assert b"\n" not in seen
    assert out.startswith("slow: interrupted")
    assert "queued" not in out


@pytest.mark.long
def test_a_terminal_that_closes_interrupts_the_run() -> None:
    """It exits 130 as after Ctrl-C, though its output has no reader; its levels are kept."""
    terminal, theirs = pty.openpty()

    def begin() -> None:
        heed_interrupts()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup
        os.login_tty(theirs)

    kept = Path("run/_commits/0001.json")
    command = [COMMAND, "check", "own.py:Slow", "--engine", "local", "--run-dir", "run"]
    with subprocess.Popen(command, preexec_fn=begin) as process:
        os.close(theirs)
        while not kept.exists():  # it prints progress again and again
            assert select.select([terminal], [], [], 60)[0]
            os.read(terminal, 4096)
        os.close(terminal)
        try:
            assert process.wait(60) == 130
        finally:
            process.kill()
    assert kept.exists()


@pytest.mark.parametrize(
    "arguments",
    long_unless(
        ["list"].__eq__,
        [["list"], ["--help"], [], ["check", "own.py:Counter"], ["check", "own.py:Counter", "--json"]],
    ),
)
def test_a_closed_pipe_is_no_error(arguments: list[str]) -> None:
    """`kafkaspec list | head -1`: a command whose reader has closed the pipe exits silently."""
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run([COMMAND, *arguments], stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    said = [line for line in done.stderr.splitlines() if not line.startswith("depth ")]  # but progress, if it is slow
    assert said == [] or not arguments
    assert "Traceback" not in done.stderr


def test_a_user_system_is_listed(ask: Ask) -> None:
    """The list has its constants with their ranges, and its properties and actions; as JSON too."""
    text = ask("list", "own.py:Counter").out
    assert "\n    top = 3  " in text
    listed = ask("list", "own.py:Counter", "--json").json()
    assert {each["name"]: each["switch"] for each in listed["constants"]}["stops"] is True
    assert listed["actions"][0]["name"] == "press"
    assert listed["actions"][0]["parameters"].keys() == {"by"}
    assert "never_beyond" in [each["name"] for each in listed["properties"]]


def test_list_json_is_one_object(ask: Ask) -> None:
    """In the order of the text."""
    assert [each["name"] for each in ask("list", "--json").json()["systems"]] == list(SYSTEMS)


@pytest.mark.long
def test_list_can_be_piped_to_head() -> None:
    """The same in a shell."""
    done = subprocess.run(["/bin/sh", "-c", f"{COMMAND} list | head -1"], capture_output=True, text=True)
    assert (done.stdout.split()[0], done.stderr) == ("system", "")


# Scenarios.


def test_scenarios_are_listed(ask: Ask) -> None:
    """Each with its title, as text and as JSON."""
    listed = ask("replay").out.splitlines()
    named = ask("replay", "--json").json()
    assert [line.split(None, 1) for line in listed] == [[each["name"], each["title"]] for each in named]
    assert "t1-loss-by-truncation" in [each["name"] for each in named]


def test_a_scenario_is_printed(ask: Ask) -> None:
    """A transcript expects its own violation, so that is no failure."""
    answer = ask("replay", "t1-loss")
    assert (answer.code, answer.err) == (0, "")
    assert "      ! breaks leader_completeness\n" in answer.out
    replayed = ask("replay", "t1-loss", "--json").json()
    assert (replayed["scenario"], replayed["broken"]["leader_completeness"], len(replayed["steps"])) == (
        "t1-loss-by-truncation",
        19,
        19,
    )


def test_a_scenario_is_kept_as_a_trace(ask: Ask) -> None:
    """The trace is a run of its system, with all steps."""
    replayed = ask("replay", "t1-loss", "--trace", "t1.itf.json", "--json").json()
    followed = ask("replay", "t1.itf.json", "--json")
    assert (followed.code, followed.json()["system"]) == (0, "replication")
    assert followed.json()["length"] == len(replayed["steps"]) + 1


OWN_STORY = """It is pressed twice.

    system own.py:Counter
    press(by=1)
    press(by=1)
    count[here]: {count}
    holds never_beyond
"""


def test_a_user_transcript_is_replayed(ask: Ask) -> None:
    """It exits 12 where the system differs, after the steps up to there, and 2 for a meaningless line."""
    Path("story.txt").write_text(OWN_STORY.format(count=2))
    refused = ask("replay", "story.txt")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("Error: story.txt:3: it names 'own.py:Counter', which is no system of kafkaspec")
    assert ask("replay", "story.txt", *ON_OWN).code == 0
    assert ask("replay", "story.txt", *ON_OWN, "--json").json()["broken"] == {}
    Path("story.txt").write_text(OWN_STORY.format(count=3))
    answer = ask("replay", "story.txt", *ON_OWN)
    assert (answer.code, answer.err) == (12, "Error: story.txt:6: count[here] is 2, not 3\n")
    assert "   3  press(by=1)\n" in answer.out
    assert ask("replay", "story.txt", *ON_OWN, "--json").json()["exit"] == 12
    Path("story.txt").write_text(OWN_STORY.format(count=3).replace("press", "push"))
    answer = ask("replay", "story.txt", *ON_OWN)
    assert (answer.code, answer.out) == (2, "")
    assert "story.txt:4: step 2, push(by=1): there is no action push; there are press, reset" in answer.err


# Kept traces.


@pytest.fixture
def kept(ask: Ask) -> Path:
    """A counterexample of five states."""
    ask("check", "own.py:Counter", "--engine", "reference", "--without", "stops", "--trace", "kept.itf.json")
    return Path("kept.itf.json")


@pytest.mark.parametrize(
    "command", ["check own.py:Counter --engine reference", "simulate own.py:Counter --seed 1 --runs 1000"]
)
def test_a_counterexample_is_kept_and_followed(ask: Ask, command: str) -> None:
    """The file names its specification and constants."""
    answer = ask(*command.split(), "--without", "stops", "--trace", "kept.itf.json")
    assert (answer.code, answer.err) == (12, "")
    followed = ask("replay", "kept.itf.json", *ON_OWN)
    assert followed == (
        0,
        "own.py:Counter: this is a run of it, in 5 states, and never_beyond breaks in the last, as recorded\n",
        "",
    )
    replayed = ask("replay", "kept.itf.json", *ON_OWN, "--json").json()
    assert (replayed["verdict"], replayed["system"], replayed["length"]) == ("follows", "own.py:Counter", 5)


@pytest.mark.parametrize(
    "system", ["venv.__main__:X", "pyspark.shell:X", "theirs.py", "theirs:Counter", "no\x1b[2J\n"]
)
@pytest.mark.parametrize("command", ["replay", "replay --format text", "explain", "sequence", "explore"])
def test_a_trace_runs_no_code(ask: Ask, kept: Path, command: str, system: str) -> None:
    """A trace never imports the code it names, except a system of kafkaspec; it is refused in one line."""
    Path("theirs.py").write_text("open('ran', 'w').close()\n")
    document = json.loads(kept.read_text())
    document["#meta"]["kafkaspec"]["system"] = system
    kept.write_text(json.dumps(document))
    known = {*sys.modules}
    answer = ask(*command.split(), str(kept))
    assert (answer.code, answer.out) == (2, "")
    assert re.fullmatch(r"Error: kept\.itf\.json: it names .*--spec FILE:Class\n", answer.err)
    assert not Path("ran").exists()
    assert not {"venv", "pyspark.shell", "theirs"} & ({*sys.modules} - known)


def test_an_outdated_trace_exits_12(ask: Ask, kept: Path) -> None:
    """It prints the step, the guard that refuses it and its values, and exits 12."""
    kept.write_text(kept.read_text().replace('"stops": "false"', '"stops": "true"'))
    answer = ask("replay", "kept.itf.json", *ON_OWN)
    assert (answer.code, answer.err) == (12, "")
    assert re.sub(r"line \d+", "line N", answer.out) == (
        "own.py:Counter: state 5: press(by=1) cannot be done: "
        'require(by == 1 and s.count["here"] < self.top + (not self.stops)) (own.py, line N) does not hold, '
        "where count[here] = 3\n"
    )
    outdated = ask("replay", "kept.itf.json", *ON_OWN, "--json")
    assert outdated.code == 12
    assert (outdated.json()["state"], outdated.json()["looked_at"]) == (5, {"count[here]": 3})


# Other formats.

BRIEFLY = """\
never_beyond: It never goes beyond the top.

  1  initially
       count[here]: 0
  2  press(by=1)
       count[here]: 0 -> 1
  3  press(by=1)
       count[here]: 1 -> 2
  4  press(by=1)
       count[here]: 2 -> 3
  5  press(by=1)
     ! never_beyond breaks here
       count[here]: 3 -> 4

  never_beyond does not hold; it looked at
    count[here]: 4
"""


@pytest.mark.parametrize(
    "command",
    [
        "check own.py:Counter --engine reference --without stops",
        "check own.py:Counter --engine reference --without stops --show full",
        "simulate own.py:Counter --seed 1 --runs 1000 --without stops",
        "anomalies raising --engine reference",
    ],
)
def test_traces_are_printed_in_brief(ask: Ask, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Every command that prints traces does so; the rest of its report is unchanged."""
    full = ask(*command.split())
    monkeypatch.setattr(
        "spec.checking.traces.brief.Brief.lines", lambda it: [Line(words=f"the brief form of {it.trace.broken}")]
    )
    answer = ask(*command.split(), "--brief")
    assert (answer.code, answer.err) == (full.code, full.err)
    briefly = re.findall(r"^the brief form of \w+$", answer.out, re.MULTILINE)
    assert len(briefly) == len(re.findall(r"^ +1  initially$", full.out, re.MULTILINE)) == (full.err == "")
    assert "initially" not in answer.out


@pytest.mark.usefixtures("kept")
def test_a_kept_trace_is_printed(ask: Ask) -> None:
    """In full as by `check`, in brief, and as a complete program."""
    full = ask("replay", "kept.itf.json", *ON_OWN, "--format", "text")
    assert (full.code, full.err) == (0, "")
    found = ask("check", "own.py:Counter", "--engine", "reference", "--without", "stops").out
    assert found.endswith(f"\n\n{full.out}")
    assert ask("replay", "kept.itf.json", *ON_OWN, "--format", "brief") == (0, BRIEFLY, "")
    printed = ask("replay", "kept.itf.json", *ON_OWN, "--format", "python")
    Path("kept.py").write_text(printed.out)
    done = subprocess.run([sys.executable, "kept.py"], capture_output=True, text=True)
    assert (printed.code, done.returncode, done.stderr) == (0, 0, "")


@pytest.mark.parametrize("form", ["text", "brief", "python"])
def test_an_outdated_trace_is_not_printed(ask: Ask, kept: Path, form: str) -> None:
    """It says where trace and specification diverge, and exits 12."""
    kept.write_text(kept.read_text().replace('"stops": "false"', '"stops": "true"'))
    answer = ask("replay", "kept.itf.json", *ON_OWN, "--format", form)
    assert answer.code == 12
    assert answer.out.startswith("own.py:Counter: state 5: press(by=1) cannot be done")


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("replay kept.itf.json --format text --json", "--format and --json: choose one form for the trace"),
        ("replay K1 --format text", "--format is for a trace in a file, whose name ends with .json, not for K1"),
        ("check own.py:Counter --brief --json", "--brief and --json: JSON always has every step"),
        ("anomalies --brief", "--brief needs the ID of an anomaly to explore"),
    ],
)
def test_contradictory_formats_are_usage_errors(ask: Ask, arguments: str, said: str) -> None:
    """In one line."""
    answer = ask(*arguments.split())
    assert (answer.code, answer.err) == (2, f"Error: {said}\n")


ON_OWN = ["--spec", "own.py:Counter"]
COUNTING = ["check", "own.py:Counter", "--engine", "reference", "--without", "stops"]


def test_colours_follow_the_option(ask: Ask, kept: Path) -> None:
    """In a pipe, only with the option; the text stays the same, and other output has no colours."""
    assert kept.is_file()
    of_the_trace = ["kept.itf.json", *ON_OWN]
    for command in (COUNTING, ["replay", *of_the_trace, "--format", "text"], ["explain", *of_the_trace]):
        plain, styled = ask(*command), ask(*command, "--color", "always")
        assert "\x1b[" not in plain.out
        assert "\x1b[" in styled.out
        assert re.sub(r"in [\d.]+ s.*", "", click.unstyle(styled.out)) == re.sub(r"in [\d.]+ s.*", "", plain.out)
    assert "\x1b" not in ask(*COUNTING, "--json", "--color", "always").out


def test_a_terminal_gets_colours_and_lines_that_fit() -> None:
    """Output to a file has neither."""
    terminal, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen([COMMAND, *COUNTING], stdout=theirs, stderr=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    seen = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # Linux raises it when the other side is closed
            break
    assert process.wait(60) == 12
    os.close(terminal)
    lines = seen.decode().replace("\r\n", "\n").splitlines()
    assert max(len(click.unstyle(line)) for line in lines) <= 60
    assert any("\x1b[" in line for line in lines)


@pytest.mark.usefixtures("kept")
def test_a_state_of_a_kept_trace_is_explained(ask: Ask) -> None:
    """It lists the enabled actions with their effects, and the guards that refuse the others."""
    answer = ask("explain", "kept.itf.json", *ON_OWN, "--step", "1")
    assert (answer.code, answer.err) == (0, "")
    assert re.sub(r"line \d+", "line N", answer.out).splitlines() == [
        "own.py:Counter: state 1",
        "  press(by=1) can be done",
        "    count[here]: 0 -> 1",
        '  press(by=2) cannot be done: require(by == 1 and s.count["here"] < self.top + (not self.stops)) '
        "(own.py, line N)",
        '  reset() cannot be done: require(s.count["here"]) (own.py, line N)',
    ]
    one = ask("explain", "kept.itf.json", *ON_OWN, "--action", "press", "--set", "by=1")
    assert one.out.splitlines()[0] == "own.py:Counter: state 5"
    assert one.out.splitlines()[-1] == "    count[here]: 4"
    (explained,) = ask("explain", "kept.itf.json", *ON_OWN, "--action", "press", "--set", "by=1", "--json").json()[
        "steps"
    ]
    assert (explained["enabled"], explained["action"], explained["looked_at"]) == (False, "press", {"count[here]": 4})


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--step", "6"], "there is no state 6; the trace has 5"),
        (["--action", "push"], "there is no action push; there are press, reset"),
        (["--set", "by"], "--set by: write it as NAME=VALUE"),
        (["--set", "by=3"], "by=3: by is one of 1, 2"),
        (["--set", "who=3"], "no action has a parameter who"),
        (["--action", "reset", "--set", "by=1"], "reset has no parameter by"),
    ],
    ids=["state", "action", "no value", "value", "parameter", "not of this action"],
)
def test_an_unexplainable_step_is_refused(ask: Ask, options: list[str], said: str) -> None:
    """In one line, with the available values."""
    assert ask("explain", "kept.itf.json", *ON_OWN, *options) == (2, "", f"Error: {said}\n")


def test_an_outdated_trace_is_not_explained(ask: Ask, kept: Path) -> None:
    """It says where trace and specification diverge."""
    kept.write_text(kept.read_text().replace('"stops": "false"', '"stops": "true"'))
    answer = ask("explain", "kept.itf.json", *ON_OWN)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(
        "Error: the specification does not have this trace: state 5: press(by=1) cannot be done"
    )
    assert ask("explain", "kept.itf.json", *ON_OWN, "--step", "4").code == 0


BOTH = "check own.py:Stuck --engine reference --without stops --deadlock --continue"


def test_a_directory_gets_a_trace_for_each_property_that_breaks(ask: Ask) -> None:
    """Each file has the property's name, and can be replayed."""
    Path("kept").mkdir()
    assert ask(*BOTH.split(), "--trace", "kept").err == ""
    assert sorted(each.name for each in Path("kept").iterdir()) == ["deadlock.itf.json", "never_beyond.itf.json"]
    for each in Path("kept").iterdir():
        assert ask("replay", str(each), "--spec", "own.py:Stuck").code == 0


def test_a_file_gets_the_first_of_several_traces(ask: Ask) -> None:
    """A note on stderr says that there are more."""
    assert ask(*BOTH.split(), "--trace", "kept.itf.json").err == (
        "kept.itf.json has only the first trace, not the other; give --trace a directory to keep them all\n"
    )
    assert "never_beyond breaks in the last" in ask("replay", "kept.itf.json", *ON_OWN).out


@pytest.mark.parametrize(
    ("shown", "end"),
    [("full", ", and full is witnessed in the last, as recorded"), ("press", ""), ("s.count['here'] == 3", "")],
)
def test_a_shown_trace_is_written_and_replayed(ask: Ask, shown: str, end: str) -> None:
    """If the specification has no name for the goal, the trace is a plain run."""
    Path("kept").mkdir()
    command = ["check", "own.py:Counter", "--engine", "reference", "--show", shown]
    length = ask(*command, "--trace", "kept.itf.json", "--json").json()["shown"]["length"]
    assert ask("replay", "kept.itf.json", *ON_OWN) == (
        0,
        f"own.py:Counter: this is a run of it, in {length} states{end}\n",
        "",
    )
    ask(*command, "--trace", "kept")
    (kept,) = Path("kept").iterdir()
    assert kept.name == ("shown.itf.json" if "count" in shown else f"{shown}.itf.json")
    assert kept.read_text() == Path("kept.itf.json").read_text()


@pytest.mark.parametrize("command", [("check", "own.py:Counter"), ("replay", "t1-loss-by-truncation")], ids=" ".join)
def test_trace_files_are_named_after_properties(ask: Ask, command: tuple[str, ...]) -> None:
    """A file name that no command would read as a trace is refused, and nothing is written."""
    answer = ask(*command, "--trace", "kept")
    assert answer.code == 2
    assert "kept is not a file whose name ends with .json, FILE.itf.json, or an existing directory" in answer.err
    assert not Path("kept").exists()


def test_an_unreached_goal_writes_no_trace(ask: Ask) -> None:
    """A note on stderr says so."""
    answer = ask("check", "own.py:Counter", "--show", "s.count['here'] > 3", "--trace", "kept.itf.json")
    assert answer.err == "There is no way to s.count['here'] > 3, so kept.itf.json was not written\n"


def test_without_a_counterexample_nothing_is_written(ask: Ask) -> None:
    """The file of an earlier run stays intact, and a note says so."""
    Path("kept.itf.json").write_text("of another run")
    answer = ask("check", "own.py:Counter", "--engine", "reference", "--trace", "kept.itf.json")
    assert (answer.code, answer.err) == (0, "There is no counterexample, so kept.itf.json was not written\n")
    assert Path("kept.itf.json").read_text() == "of another run"


def test_an_unwritable_trace_is_reported_after_the_result(ask: Ask) -> None:
    """The result is not lost."""
    Path("full.itf.json").symlink_to("/dev/full")
    answer = ask("check", "own.py:Stuck", "--engine", "reference", "--deadlock", "--trace", "full.itf.json")
    assert (answer.code, answer.err) == (74, "Error: full.itf.json cannot be written: No space left on device\n")
    assert answer.out.startswith("stuck: deadlock, in 4 states")


def test_json_stays_one_object_where_a_file_cannot_be_written(ask: Ask) -> None:
    """The error goes to stderr, and stdout has only the result."""
    Path("full.itf.json").symlink_to("/dev/full")
    stuck = ["check", "own.py:Stuck", "--engine", "reference", "--deadlock", "--json"]
    answer = ask(*stuck, "--trace", "full.itf.json")
    assert (answer.code, answer.json()["verdict"]) == (74, "deadlock")


def test_a_check_is_reported(ask: Ask) -> None:
    """In each requested format; the printed output stays the same."""
    command = ["check", "own.py:Counter", "--without", "stops", "--engine", "reference", "--release", "3.9"]
    answer = ask(*command, "--report", "r.html", "--report", "r.md", "--junit-xml", "r.xml")
    assert (answer.code, answer.err) == (12, "")
    assert answer.out.startswith("counter: never_beyond is violated, in 5 states\n")
    assert "never_beyond is violated, in 5 states" in Path("r.html").read_text()
    assert Path("r.md").read_text().startswith("# counter: never_beyond is violated, in 5 states\n")
    assert '<testcase classname="counter" name="never_beyond" ' in Path("r.xml").read_text()
    assert "| release | 3.9 |" in Path("r.md").read_text()


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ("--report r.txt", "r.txt: a report must be FILE.html or FILE.md; for JUnit use --junit-xml FILE"),
        ("--report no/where.html", "no/where.html cannot be written: No such file or directory"),
        ("--report .", ".: a report must be FILE.html or FILE.md; for JUnit use --junit-xml FILE"),
        ("--junit-xml no/where.xml", "no/where.xml cannot be written: No such file or directory"),
        ("--junit-xml .", ". cannot be written: Is a directory"),
        ("--junit-xml a.xml --junit-xml b.xml", "'a.xml' and 'b.xml' are different values"),
    ],
)
def test_an_impossible_report_is_refused_before_exploring(ask: Ask, asked: str, wrong: str) -> None:
    """The system's own exploration would not end."""
    answer = ask("check", "own.py:Slow", *asked.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Error: ")
    assert answer.err.endswith(f"{wrong}\n")
    assert answer.err.count("\n") == 1


def test_an_unwritable_report_keeps_verdict_and_other_reports(ask: Ask) -> None:
    """Every writable report is written, and every other one is named in an error."""
    for name in ("full.html", "full.xml"):
        Path(name).symlink_to("/dev/full")
    command = ["check", "own.py:Stuck", "--engine", "reference", "--deadlock", "--json"]
    answer = ask(*command, "--report", "full.html", "--report", "r.md", "--junit-xml", "full.xml")
    assert (answer.code, answer.json()["verdict"]) == (74, "deadlock")
    assert answer.err == (
        "Error: full.html cannot be written: No space left on device\n"
        "Error: full.xml cannot be written: No space left on device\n"
    )
    assert Path("r.md").read_text().startswith("# stuck: deadlock, in 4 states\n")


@pytest.mark.parametrize(
    ("asked", "code", "text"),
    [("own.py:Failing", 75, "ZeroDivisionError"), ("own.py:Interrupted", 130, "nothing was kept")],
)
def test_an_unfinished_check_is_reported_in_each_file(ask: Ask, asked: str, code: int, text: str) -> None:
    """The file of an earlier run would claim success."""
    files = {"--junit-xml": "r.xml", "--report": "r.html"}
    for name in (*files.values(), "r.md"):
        Path(name).write_text("of another run")
    options = [word for option in files.items() for word in option]
    answer = ask("check", asked, "--engine", "reference", *options, "--report", "r.md")
    assert answer.code == code
    assert '<error message="' in Path("r.xml").read_text()
    for name in (*files.values(), "r.md"):
        assert text in Path(name).read_text()


def test_an_exception_is_reported_with_its_trace(ask: Ask) -> None:
    """And with its constants."""
    ask("check", "own.py:Failing", "--engine", "reference", "--report", "r.html", "--report", "r.md")
    page, markdown = Path("r.html").read_text(), Path("r.md").read_text()
    assert '<p class="verdict bad">no result</p>' in page
    assert markdown.startswith("# failing: the check has no result\n")
    assert "<h2>The way there, in 3 states</h2>" in page
    assert "press(by=1)" in page
    assert "## The way there, in 3 states\n" in markdown
    assert "! divide() fails here" in markdown
    assert "| top | 3 |" in markdown


@pytest.mark.usefixtures("kept")
def test_a_kept_trace_is_drawn(ask: Ask) -> None:
    """As Mermaid, or as SVG in a file."""
    answer = ask("sequence", "kept.itf.json", *ON_OWN)
    assert (answer.code, answer.err, answer.out.splitlines()[0]) == (0, "", "sequenceDiagram")
    assert answer.out.count("press by=1") == 4
    assert ask("sequence", "kept.itf.json", *ON_OWN, "--format", "svg", "-o", "kept.svg") == (0, "", "")
    assert Path("kept.svg").read_text().startswith("<svg ")


def test_a_deadlock_is_drawn(ask: Ask) -> None:
    """Although no property is decided in its last state."""
    ask("check", "own.py:Stuck", "--engine", "reference", "--deadlock", "--trace", "stuck.itf.json")
    answer = ask("sequence", "stuck.itf.json", "--spec", "own.py:Stuck")
    assert (answer.code, answer.err, answer.out.splitlines()[0]) == (0, "", "sequenceDiagram")


def test_an_outdated_trace_is_not_drawn(ask: Ask, kept: Path) -> None:
    """It says where trace and specification diverge, as a replay does."""
    kept.write_text(kept.read_text().replace('"stops": "false"', '"stops": "true"'))
    answer = ask("sequence", "kept.itf.json", *ON_OWN, "-o", "kept.mmd")
    assert (answer.code, answer.out[:47]) == (12, "own.py:Counter: state 5: press(by=1) cannot be ")
    assert not Path("kept.mmd").exists()


def test_a_page_is_written_of_a_system_and_of_a_trace(ask: Ask, kept: Path) -> None:
    """One page begins at the initial states, the other has the trace."""
    assert ask("explore", "own.py:Counter", "--set", "top=5", "-o", "system.html") == (0, "", "")
    assert ask("explore", str(kept), *ON_OWN, "-o", "trace.html") == (0, "", "")
    pages = {name: Path(f"{name}.html").read_text() for name in ("system", "trace")}
    assert {name: '"trace":[]' in page for name, page in pages.items()} == {"system": True, "trace": False}
    assert '"top":"5"' in pages["system"]
    answer = ask("explore", "own.py:Counter", "--states", "2", "-o", "part.html")
    assert answer == (0, "", "The system has more than these 2 states; --serve shows them all.\n")


def test_a_state_graph_is_written(ask: Ask) -> None:
    """In one of three formats, to stdout or a file."""
    assert ask("graph", "own.py:Counter").out.startswith('digraph "counter" {')
    assert ask("graph", "own.py:Counter", "--format", "aut", "-o", "counter.aut") == (0, "", "")
    assert Path("counter.aut").read_text().startswith("des (0,")


def test_explore_reports_an_exception_as_a_specification_error(ask: Ask) -> None:
    """As in a check."""
    answer = ask("explore", "own.py:Failing", "-o", "page.html")
    assert (answer.code, answer.out) == (75, "")
    assert not Path("page.html").exists()


def test_replay_reports_an_exception_as_a_specification_error(ask: Ask, kept: Path) -> None:
    """As in a check, for an action of the trace or its property. Other properties are not evaluated."""
    assert ask("replay", str(kept), "--spec", "own.py:FailingInvariant").code == 0
    answer = ask("replay", str(kept), "--spec", "own.py:FailingBeyond")
    assert (answer.code, answer.out) == (75, "")
    assert "ZeroDivisionError" in answer.err


# Simulations.


@pytest.mark.parametrize(
    ("arguments", "verdict", "code"),
    [
        ("own.py:Counter", "bounded", 20),
        ("own.py:Counter --without stops", "violated", 12),
        ("own.py:Counter --release 1.1", "violated", 12),
        ("own.py:Counter --without stops --property type_ok", "bounded", 20),
        ("own.py:Stuck --deadlock", "deadlock", 11),
        ("own.py:Stuck", "bounded", 20),
    ],
)
def test_a_simulation_has_the_exit_codes_of_a_check(ask: Ask, arguments: str, verdict: str, code: int) -> None:
    """Except that a simulation never concludes that a property holds."""
    answer = ask("simulate", *arguments.split(), "--runs", "300", "--seed", "1", "--json")
    assert (answer.code, answer.json()["verdict"], answer.err) == (code, verdict, "")


def test_json_of_a_simulation(ask: Ask) -> None:
    """It has the members of a check, with null for unknown figures, and some of its own."""
    found = ask("simulate", "own.py:Counter", "--without", "stops", "--seed", "7", "--json").json()
    checked = ask("check", "own.py:Counter", "--without", "stops", "--json").json()
    assert list(found) == [*checked, "simulation"]
    same = ("system", "constants", "switches", "release", "verdict", "counterexample")
    assert {name: found[name] for name in same} == {name: checked[name] for name in same}
    unknown = (
        "jobs",
        "distinct_states",
        "depth",
        "states_per_second",
        "bytes_per_state",
        "without_effect",
        "profile",
    )
    assert {found[name] for name in unknown} == {None}
    assert found["engine"] == "simulation"
    assert {each["new_states"] for each in found["actions"]} == {None}
    its = found["simulation"]
    assert found["generated_states"] == its["runs"] + its["steps"]
    assert (its["seed"], its["runs_asked"], its["steps_asked"]) == (7, 100_000, 100)
    assert its["failing_run"] == its["runs"]
    assert its["failing_length"] >= found["counterexample"]["length"] == 5
    assert (its["distinct_states_about"], its["example"]) == (5, None)


def test_the_seed_is_always_printed(ask: Ask) -> None:
    """Whether given or drawn; the same seed repeats the whole output."""
    asked = ("simulate", "own.py:Counter", "--runs", "5")
    seed = re.search(r"^  seed (\d+)$", ask(*asked).out, re.MULTILINE)
    assert seed is not None
    again = [ask(*asked, "--seed", seed[1], "--workers", workers, "--json").json() for workers in ("1", "2")]
    for each in again:
        del each["seconds"], each["simulation"]["steps_per_second"]
    assert again[0] == again[1]
    assert again[0]["simulation"]["seed"] == int(seed[1])


def test_simulate_prints_the_command_that_repeats_the_run(ask: Ask) -> None:
    """The printed command can be pasted, and repeats only the failed run."""
    asked = ["own.py:Counter", "--release", "1.1", "--set", 'names=("x", "y")', "--property", "never_beyond"]
    first = ask("simulate", *asked, "--seed", "3", "--steps", "40")
    command = re.search(r"^  again       kafkaspec (.*)$", first.out, re.MULTILINE)
    assert command is not None
    again = ask(*shlex.split(command[1]))
    assert again.code == first.code == 12
    assert " in 1 run, " in again.out
    assert again.out.partition("\n\n")[2] == first.out.partition("\n\n")[2]
    assert command[0] in again.out
    assert ask(*shlex.split(command[1]), "--json").json()["simulation"]["repeat"] == f"kafkaspec {command[1]}"


def test_simulate_says_that_it_proves_nothing(ask: Ask) -> None:
    """It also prints steps and runs, the number of each event, and the actions never taken."""
    answer = ask("simulate", "own.py:Idle", "--runs", "20", "--steps", "9", "--seed", "1")
    assert answer.out.splitlines()[0] == (
        "idle: bounded: nothing was found in 20 runs of up to 9 steps, which proves nothing"
    )
    for part in ("180 steps in 20 runs, about 4 distinct states", "never taken sleep", "top = 3", "time"):
        assert part in answer.out
    assert re.search(r"witnessed   full \(4; \d+ runs\)", answer.out)


def test_one_run_is_printed(ask: Ask) -> None:
    """Step by step, like a trace."""
    answer = ask("simulate", "own.py:Counter", "--seed", "1", "--run", "4", "--steps", "3")
    assert answer.code == 20
    assert answer.out.partition("\n\n")[2].splitlines()[:4] == [
        "  1  initially",
        "       count[here]: 0",
        "  2  press(by=1)",
        "       count[here]: 0 -> 1",
    ]


def test_a_simulation_that_raises_says_in_which_run(ask: Ask) -> None:
    """It reports as a check does, with run and seed to repeat it."""
    answer = ask("simulate", "own.py:Failing", "--seed", "5")
    assert (answer.code, answer.out) == (75, "")
    assert re.match(
        r"Error: divide\(\): ZeroDivisionError: .* \(own.py, line \d+\)\n"
        r"  in the state count\[here\] = 2, in run \d+ of seed 5\n\nThe way there, ",
        answer.err,
    )


@pytest.mark.long
def test_an_interrupted_simulation_prints_partial_results() -> None:
    """Ctrl-C ends it with the results of the finished runs; before, stderr has lines of progress."""
    with begun("--runs", "1000000000", "--seed", "1", "--workers", "1", "--json", command="simulate") as process:
        assert process.stderr is not None
        progress = next(line for line in process.stderr if not line.startswith(("compiling", "0 of ")))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert re.fullmatch(
        r"[\d.,]+(?: [kM])? of 1.0 G runs, [\d.,]+(?: [kM])? steps, .* steps/s, \d+% in Python, .* MB, \d+:\d\d\n",
        progress,
    )
    found = Answer(process.returncode, out, err).json()
    assert (process.returncode, found["verdict"]) == (130, "interrupted")
    assert found["simulation"]["runs"] > 0
    assert "Interrupted: nothing was found in " in err


# The other commands.


def test_list_names_everything(ask: Ask) -> None:
    """All systems; for one system its constants, switches, properties and releases."""
    answer = ask("list")
    assert (answer.code, answer.err) == (0, "")
    assert all(f"\n{system} " in answer.out for system in SYSTEMS)
    answer = ask("list", "controller-election")
    assert (answer.code, answer.err) == (0, "")
    for part in ("brokers = 3", "fence_zk = true", "[one of multi, cas", "epoch_unique", "witness", "3.9"):
        assert part in answer.out


def test_the_atlas_is_listed(ask: Ask) -> None:
    """As text, or row by row as JSON."""
    answer = ask("anomalies")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("T1            KIP-1     gone since 2.0\n  More are in than fit in.\n")
    assert "\nT20           KAFKA-20  open\n  A lock is missing.\n" in answer.out
    rows = ask("anomalies", "--json").json()
    assert [(row["id"], row["off"], row["fixed_in"]) for row in rows][:2] == [
        ("T1", "rope", "2.0"),
        ("T20", False, None),
    ]


def test_an_anomaly_is_explored_on_both_sides(ask: Ask) -> None:
    """It prints the anomaly, the trace without its fix, the result with it, and whether both are as recorded."""
    answer = ask("anomalies", "T1")
    assert (answer.code, answer.err) == (0, "")
    parts = re.split(r"\n\n(?=== |As recorded)", answer.out)
    assert [part.splitlines()[0] for part in parts] == [
        "T1  KIP-1  gone since 2.0",
        "== with kind = rope",
        "== with kind = arm",
        BY_FORM,
    ]
    assert "More are in than fit in." in parts[0]
    assert parts[1].splitlines()[2] == "turnstile: never_crowded is violated, in 4 states"
    assert "\n  4  enter()\n     ! never_crowded breaks here\n       inside: 2 -> 3\n" in parts[1]
    assert parts[2].splitlines()[2] == "turnstile: holds"
    assert "constants   room = 2, people = 5, patience = 1" in parts[2]


def test_an_anomaly_as_json(ask: Ask) -> None:
    """The row, both results, and whether they are as recorded."""
    found = ask("anomalies", "T20", "--json").json()
    assert (found["anomaly"]["id"], found["as_recorded"]) == ("T20", True)
    assert (found["off"]["verdict"], found["off"]["counterexample"]["length"]) == ("violated", 4)
    assert (found["on"]["verdict"], found["on"]["release"]) == ("holds", "3.9")


def test_an_anomaly_that_differs_from_its_record_exits_12(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """And names the side and the difference."""
    monkeypatch.setattr("spec.atlas.anomalies.anomalies", lambda: read(ATLAS.replace("length = 4", "length = 5")))
    answer = ask("anomalies", "T1")
    assert (answer.code, answer.out.splitlines()[-1]) == (
        12,
        "Not as recorded, with kind = rope. Recorded: never_crowded is violated, in 5 states; "
        "found: never_crowded is violated, in 4 states",
    )
    answer = ask("anomalies", "T1", "--json")
    assert (answer.code, answer.json()["as_recorded"]) == (12, False)


@pytest.mark.parametrize("bound", ["--max-depth", "--max-states"])
def test_an_anomaly_that_a_bound_stops_exits_20(ask: Ask, bound: str) -> None:
    """It is undecided, not different."""
    answer = ask("anomalies", "T20", bound, "3", "--json")
    assert (answer.code, answer.json()["as_recorded"]) == (20, None)
    assert "Undecided, with lock = true. Recorded: holds; found: bounded" in ask("anomalies", "T20", bound, "3").out


def test_an_anomaly_that_is_interrupted_exits_130(ask: Ask) -> None:
    """The other side does not start, and the results so far are printed. SIGTERM counts as Ctrl-C."""
    answer = ask("anomalies", "interrupting")
    assert (answer.code, answer.err) == (130, "")
    assert "interrupted: interrupted: nothing was kept" in answer.out
    assert "== with stops = true" not in answer.out
    answer = ask("anomalies", "interrupting", "--json")
    assert (answer.code, answer.err) == (130, "Interrupted: nothing was kept: there is no run directory\n")
    assert (answer.json()["off"]["verdict"], answer.json()["on"]) == ("interrupted", None)
    assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler


def test_an_anomaly_that_raises_exits_75(ask: Ask) -> None:
    """As in `check`, with place and state."""
    answer = ask("anomalies", "raising", "--json")
    assert (answer.code, answer.json()["exit"]) == (75, 75)
    assert re.match(r"Error: divide\(\): ZeroDivisionError: .* \(own.py, line \d+\)\n  in the state ", answer.err)


@pytest.mark.long
def test_the_installed_command_has_an_atlas() -> None:
    """The installed package contains it."""
    answer = run("anomalies", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.json()[0]["system"] in SYSTEMS


@pytest.mark.parametrize(
    ("arguments", "found", "text"),
    [
        (
            "offline --replicas 1,2,3 --isr 2,3 --live 3",
            {"leader": 3, "isr": [3], "recipients": [3], "unclean": False},
            "leader 3, ISR 3, LeaderAndIsr to 3",
        ),
        (
            "offline --replicas 1,2,3 --isr 2,3 --live 1 --unclean",
            {"leader": 1, "isr": [1], "recipients": [1], "unclean": True},
            "leader 1, ISR 1, LeaderAndIsr to 1, unclean",
        ),
        (
            "controlled-shutdown --replicas 1,2 --isr 1,2 --live 1,2 --shutting-down 1",
            {"leader": 2, "isr": [2], "recipients": [1, 2], "unclean": False},
            "leader 2, ISR 2, LeaderAndIsr to 1,2",
        ),
        (
            "offline --replicas 1,2,3 --isr 2,3 --live 1",
            {"leader": None, "isr": None, "recipients": [], "unclean": False},
            "no leader can be elected",
        ),
    ],
)
def test_elect(ask: Ask, arguments: str, found: dict[str, Any], text: str) -> None:
    """Without a leader, the answer exits 12."""
    code = 12 if found["leader"] is None else 0
    answer = ask("elect", *arguments.split(), "--json")
    assert (answer.code, answer.json(), answer.err) == (code, found, "")
    assert ask("elect", *arguments.split()) == Answer(code, f"{text}\n", "")


def test_elect_requires_that_the_isr_has_replicas(ask: Ask) -> None:
    """But the replicas of a reassignment are its target, and others may be in sync."""
    options = ("--replicas", "1,2,3", "--isr", "2,9", "--live", "1,2,3")
    for strategy in ("offline", "preferred", "controlled-shutdown"):
        answer = ask("elect", strategy, *options)
        assert (answer.code, answer.err) == (2, "Error: --isr 2,9: 9 has no replica; 1,2,3 have\n")
    assert ask("elect", "reassign", *options).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        "what-if topics.txt --crash 1 3",
        "what-if --return 1 3 topics.txt",
        "elect offline --replicas 1 2 --isr 1 --live 1",
    ],
)
def test_brokers_that_are_separated_by_spaces_are_refused(ask: Ask, arguments: str) -> None:
    """With the right form."""
    answer = ask(*arguments.split())
    assert answer.code == 2
    assert answer.err.endswith("separate brokers by commas alone, like 1,3\n")


def test_elect_without_replicas_is_a_usage_error(ask: Ask) -> None:
    """A list may be empty."""
    arguments = ["elect", "offline", "--replicas", "1", "--isr", "", "--live", " "]
    assert ask(*arguments) == Answer(12, "no leader can be elected\n", "")


@pytest.mark.parametrize(
    ("command", "name", "begins"),
    [
        ("diagram partition", "x.svg", "<"),
        ("diagram partition", "x.DOT", "digraph"),
        ("diagram partition", "x.gv", "digraph"),
        ("diagram partition", "x", "stateDiagram"),
        ("graph own.py:Counter", "x.graphml", "<?xml"),
        ("graph own.py:Counter", "x.aut", "des"),
        ("graph own.py:Counter", "x", "digraph"),
        ("explore own.py:Counter", "x.html", "<!"),
    ],
)
def test_the_name_of_the_file_says_the_format(ask: Ask, command: str, name: str, begins: str) -> None:
    """As far as the command has it."""
    assert ask(*command.split(), "-o", name)[:2] == (0, "")
    text = Path(name).read_text(encoding="utf-8")
    assert begins in text[:300]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    "arguments",
    [
        "diagram partition -o x.graphml",
        "diagram partition -o x.png",
        "diagram partition --format dot -o x.svg",
        "graph own.py:Counter -o x.svg",
        "graph own.py:Counter --format dot -o x.graphml",
        f"sequence kept.itf.json {' '.join(ON_OWN)} -o x.dot",
        "explore own.py:Counter -o x.svg",
        "explore own.py:Counter -o x.json",
    ],
)
def test_no_other_format_than_that_of_the_name_is_written(ask: Ask, arguments: str) -> None:
    """In one line, and without a file."""
    answer = ask(*arguments.split())
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert not [*Path().glob("x.*")]


@pytest.mark.parametrize("arguments", ["explore own.py:Counter", "diagram partition --format svg"])
def test_markup_is_not_printed_on_a_terminal(ask: Ask, monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    """But elsewhere."""
    assert ask(*arguments.split()).code == 0
    monkeypatch.setattr("spec.cli.output.sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    answer = ask(*arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert "write it to a file" in answer.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("list PARTITIONS", 0),
        ("check own.py:counter --set TOP=3 --property Never_Beyond", 0),
        ("check own.py:Idle --accept-vacuous Sleep", 0),
        ("check own.py:Counter --show PRESS", 0),
        ("diagram Partition --format DOT", 0),
        ("replay E1", 0),
        ("replay t3'", 0),
        ("elect OFFLINE --replicas 1 --isr 1 --live 1", 0),
        ("check own --max-states 2", 2),
    ],
)
def test_names_may_be_written_in_any_case_or_as_printed(ask: Ask, arguments: str, code: int) -> None:
    """A name that is still unknown is a mistake."""
    assert ask(*arguments.split()).code == code


def test_a_file_beside_that_is_named_without_its_ending_is_proposed(ask: Ask) -> None:
    """Instead of the systems."""
    assert "write own.py for the file here" in ask("check", "own").err


def test_an_anomaly_may_be_named_by_its_ticket(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several with one ticket are listed."""
    monkeypatch.setattr("spec.atlas.anomalies.anomalies", anomalies)
    assert "B4 " in ask("anomalies", "kafka-6082").out
    listed = [each["id"] for each in ask("anomalies", "KAFKA-6082", "--json").json()]
    assert listed == [row.id for row in anomalies() if row.ticket == "KAFKA-6082"]
    assert ask("anomalies", "KAFKA-6082", "--max-states", "3").code == 2
    assert ask("anomalies", "Kafka-3083", "--max-states", "3").code == 20
    assert "b17 is an anomaly" in ask("replay", "b17").err
    assert "KAFKA-6082 is the ticket of B4, B24" in ask("diagram", "KAFKA-6082").err


def test_a_switch_may_be_named_by_its_ticket(ask: Ask) -> None:
    """If it is the only one."""
    assert "may mean epoch_update, fence_zk" in ask("check", "controller-election", "--without", "KAFKA-6082").err


def test_a_method_that_lost_its_action_is_named(ask: Ask, tmp_path: Path) -> None:
    """In the reason why a system is vacuous."""
    lost = OWN.replace(
        "class Idle(Counter):\n", "class Idle(Counter):\n    def doze(self, s):\n        s.count['here'] = 0\n\n"
    )
    (tmp_path / "lost.py").write_text(lost)
    answer = ask("check", "lost.py:Idle", "--json").json()
    assert answer["why"] == "action sleep is never taken; nothing uses doze: is its @action missing?"
    assert "nothing uses" not in ask("check", "own.py:Idle").out


def test_releases_beyond_those_with_zookeeper(ask: Ask) -> None:
    """And a system without releases."""
    assert "Kafka 4.0 has no ZooKeeper" in ask("check", "partitions", "--release", "4.0").err
    bare = re.sub("    releases = .*\n", "", OWN)
    Path("bare.py").write_text(bare)
    assert "the system has no releases" in ask("check", "bare.py:Counter", "--release", "2.8").err


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "what", [pytest.param(each, marks=pytest.mark.long if each == "controller" else ()) for each in NAMES]
)
def test_diagram(ask: Ask, tmp_path: Path, what: str, form: str) -> None:
    """It prints the picture, or writes it to a file."""
    picture = draw(what, form)
    assert ask("diagram", what, "--format", form) == Answer(0, picture, "")
    assert ask("diagram", what, "--format", form, "-o", "picture") == Answer(0, "", "")
    assert (tmp_path / "picture").read_text(encoding="utf-8") == picture


@pytest.mark.parametrize(
    ("what", "release"), [("replica", "2.2"), pytest.param("controller", "2.0.1", marks=pytest.mark.long)]
)
def test_diagram_of_a_release(ask: Ask, what: str, release: str) -> None:
    """A table has the rows of the release, and so does a controller's life cycle."""
    assert ask("diagram", what, "--release", release) == Answer(0, draw(what, "mermaid", release), "")
    assert draw(what, "mermaid", release) != draw(what, "mermaid")


# Help.


def test_help_is_whole(ask: Ask) -> None:
    """No sentence is cut off, and the exit codes are listed."""
    answer = ask("--help")
    assert answer.code == 0
    assert "..." not in answer.out.partition("Commands:")[2]
    assert all(re.search(rf"\b{code}\b", answer.out) for code in (0, 2, 10, 11, 12, 20, 21, 75, 130))


def test_every_option_has_its_help() -> None:
    """`--help` of a command explains all of its options."""
    for name, command in kafkaspec.commands.items():
        assert command.help, name
        for option in command.params:
            assert not isinstance(option, click.Option) or option.help, f"{name} {option.name}"


def test_without_a_command_help_is_an_error(ask: Ask) -> None:
    """Stdout stays empty, and the help goes to stderr."""
    answer = ask()
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Usage: kafkaspec")
