"""Odd command lines that a user may type, and the exit code that each must have.

A row is the exit code, the arguments of `kafkaspec`, and for some rows a word that the output must contain. Arguments
are split as by a shell. `GOOD` stands for a specification that holds and has a constant of each kind; the reference
engine explores it, so that a row costs milliseconds.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Line(NamedTuple):
    """A command line."""

    exit: int
    command: str
    says: str = ""


GOOD = "good.py:Lease"
CHECK = f"check {GOOD} --engine reference"
LONG = "x" * 5000

# Values that are no positive whole numbers. Python's own `int` accepts digits of all scripts, with spaces around and
# underscores between them; those count as numbers here too.
NO_COUNT = [
    *(
        "",
        " ",
        "x",
        "0",
        "-1",
        "-0",
        "1.5",
        "1e3",
        "inf",
        "nan",
        "0x10",
        "None",
        "true",
        "1 2",
        "1,000",
        "½",
        "∞",
        "1;",
    ),
    *("--", "1\n2", "\t", "'1'", "1k", "10%", "²", "9" * 5000),
]
COUNTED = {
    CHECK: ["--workers", "--max-states", "--max-depth"],
    f"simulate {GOOD}": ["--runs", "--steps", "--workers", "--seed 1 --run"],
    "anomalies B1 --engine reference": ["--workers", "--max-states", "--max-depth"],
}
NO_SIZE = [
    *NO_COUNT[:2],
    "x",
    "0",
    "-1",
    "1.5G",
    "1GB",
    "G",
    "1 G",
    "0K",
    "inf",
    "1e9",
    "0x10",
    "\uff11M",
    "1 ",
    "∞",
    "1M2",
]


def counted() -> Iterator[Line]:
    """Yield options with a value that is no number."""
    for command, options in COUNTED.items():
        for option in options:
            for value in NO_COUNT:
                yield Line(2, f"{command} {option} {shlex.quote(value)}")
    for value in NO_SIZE:
        yield Line(2, f"check {GOOD} --engine local --memory {shlex.quote(value)}", "is not a size")


def refused(command: str, values: Iterable[str], says: str = "") -> Iterator[Line]:
    """Yield a command with one wrong value after the other at its end."""
    for value in values:
        yield Line(2, f"{command} {shlex.quote(value)}", says)


LINES: list[Line] = [
    # No command, or an unknown one.
    Line(0, "--help"),
    Line(0, "-h"),
    Line(0, "--version"),
    *refused(
        "",
        [
            *(
                "chekc",
                "CHECK",
                "",
                " ",
                "-",
                "-x",
                "--nope",
                "--json",
                "--versoin",
                "проверка",
                "✓",
                "🤷",
                LONG,
            ),
            *("check\n", "check check", "help", "-help", "\\", "*", "'", '"', "%s", "{}", "$HOME", ";ls"),
        ],
    ),
    Line(2, "list everything"),
    Line(2, "list --nope"),
    Line(0, "list"),
    Line(0, "replay"),
    Line(0, "list --help"),
    Line(0, "check --help"),
    # The system.
    Line(2, "check", "SYSTEM"),
    Line(2, "simulate", "SYSTEM"),
    *(
        line
        for command in ("check", "simulate")
        for line in refused(
            command,
            [
                *("nope", "", " ", ":", "::", ".", "..", "/", "~", "-1", "*", "{}", "%s", "\n", LONG, "répliquation"),
                *(".py", ".py:X", "a.py", "a.py:", ":Lease", "os:", "os:path", "os.path:join", "json:JSONDecoder"),
                *("spec.language:Specification", "/etc/passwd", "/etc/passwd:X", "../../x.py:Y", "replication:Other"),
                *("controller_election", " replication", "replication ", "replication,controller"),
                *("good.py:", "good.py:Nope", "good.py:Lease:Lease", "good.py::Lease"),
                *("good.py:os", "good.py:VALUE", "good:Nope", "good.pyc:Lease", "GOOD.PY:Lease", "./good:Lease"),
                *("no.such.module:X", "nosuchmodule:X", "spec.nope:X", "1:2", "class:def", "a b:C", "good.py:Lease "),
                *("file://good.py:Lease", "http://localhost/x.py:X", "C:\\x.py:X", "-", "good.py:1", "good.py:é"),
                *("directory.py:X", "directory", "spec:X", "spec.systems:SYSTEMS", "good.py:__name__", "🤷.py:X"),
            ],
        )
    ),
    Line(2, f"check {GOOD} replication"),
    Line(2, f"check {GOOD} --nope"),
    Line(2, f"check {GOOD} --engine"),
    Line(2, f"check {GOOD} --max-depth"),
    Line(2, f"check {GOOD} --set"),
    Line(0, CHECK),
    Line(0, f"check ./{GOOD} --engine reference"),
    Line(0, "check good.py --engine reference"),
    Line(0, "check good:Lease --engine reference"),
    Line(0, f"{CHECK} --json"),
    Line(0, f"{CHECK} --json --json"),
    Line(20, f"{CHECK} --max-depth 1"),
    Line(20, f"{CHECK} --max-states 1"),
    Line(0, f"{CHECK} --max-states {'9' * 400}"),
    Line(0, f"{CHECK} --max-depth ' 3_0 '"),
    Line(20, f"{CHECK} --max-depth ٣"),
    *counted(),
    # Engines.
    *refused(
        f"check {GOOD} --engine",
        ["", " ", "x", "local ", "tlc", "0", "auto,local", "reference\n", "réference", LONG, "None"],
    ),
    *refused(f"{CHECK} --memory", ["1", "1M", "9T", "99999999999999999999T"], "--memory"),
    Line(0, f"{CHECK} --memory 4G"),
    *refused(f"{CHECK} --workers", ["2", "999999999999"], "--workers"),
    *refused(f"{CHECK} --run-dir", ["new", "good.py", "/dev/null"], "--run-dir"),
    *refused(f"{CHECK} --resume", ["new", "good.py", "/dev/null"], "--resume"),
    Line(2, f"{CHECK} --symmetry", "no interchangeable values"),
    Line(2, f"check {GOOD} --run-dir one --resume two"),
    *refused(
        f"check {GOOD} --engine local --run-dir",
        ["good.py", "good.py/below", "full", "/dev/null", "/proc/run", "n" * 300],
    ),
    *refused(
        f"check {GOOD} --engine local --resume",
        ["new", "empty", "full", "good.py", "/dev/null", "/proc", "broken", "", "n" * 300],
    ),
    # Constants.
    *refused(
        f"{CHECK} --set",
        [
            *(
                "",
                " ",
                "x",
                "=",
                "==",
                "=3",
                "x=",
                "most",
                "most=",
                "most= ",
                "most=x",
                "most=1.0",
                "most=1e3",
            ),
            *(
                "most=true",
                "most=None",
                "most='3'",
                "most=[1]",
                "most=1+1",
                "most=0x",
                "most=٣x",
                "most=9" + "," * 999,
            ),
            *("most=" + "(" * 500, "most=" + "-" * 9999 + "1", "most={[]}", "most={[]:1}", "nope=1", "nope", "é=1"),
            *(
                "eager=2",
                "eager=yes",
                "eager=",
                "eager=1",
                "eager=None",
                "form=middle",
                "form=",
                "form=OLD",
                "form='old'",
            ),
            *("names=a", "names=[1]", "names=('a'", "names=('a',)x", "names={1}", "names=([],)", "names=range(9)"),
            *("widths=1", "widths=[[]]", "widths=[{}]", "widths={1:2}"),
            *("label", "most:2", "most 2", "most=2=3", "most=9" * 999, "most=\x1b[31m", "most=__import__('os')"),
        ],
    ),
    Line(10, f"{CHECK} --set most=0", "most"),
    Line(10, f"{CHECK} --set most=100"),
    Line(10, f"{CHECK} --set most=-1"),
    Line(10, f"{CHECK} --set most={'9' * 400}"),
    Line(10, f"{CHECK} --set most=7", "seven"),
    Line(0, f"{CHECK} --set most=2"),
    Line(0, f"{CHECK} --set ' most=2'".replace("' most", "'most")),
    Line(0, f"{CHECK} --set label=🤷"),
    Line(0, f"{CHECK} --set label={LONG}"),
    Line(0, f"{CHECK} --set \"names=('ä', 3)\""),
    Line(0, f"{CHECK} --set 'widths=[1, 2]'"),
    Line(0, f"{CHECK} --set 'widths=()'"),
    Line(0, f"{CHECK} --set 'widths=frozenset({{1}})'"),
    Line(0, f"{CHECK} --set 'widths={{{{1}}}}'"),
    Line(0, f"{CHECK} --set most=0x2 --set eager=FALSE --set form=new"),
    *refused(f"{CHECK} --with", ["", " ", "nope", "most", "form", "label", "eager=true", "é", LONG, "eager,form"]),
    *refused(f"{CHECK} --without", ["", "nope", "most", "form", "names", "eager ", "--with"]),
    Line(0, f"{CHECK} --with eager"),
    Line(0, f"{CHECK} --without eager"),
    # Releases.
    *refused(
        "check replication --max-depth 1 --engine reference --release",
        [
            "",
            " ",
            "9.9",
            "x",
            "-1",
            "0",
            "2.1.0.0",
            "2.",
            ".1",
            "latest",
            "v2.1",
            "2,1",
            "2.1 ",
            "\u0662.\u0661",
            "4.0",
            LONG,
            "2.1-rc1",
        ],
        "release",
    ),
    *refused(f"{CHECK} --release", ["2.1", "", "nope"], "release"),
    Line(20, "check replication --max-depth 1 --engine reference --release 2.1"),
    Line(20, "check replication --max-depth 1 --engine reference --release 0.10"),
    # Properties.
    *refused(
        f"{CHECK} --property",
        ["nope", "take", "owner", "most", "never_above,free", "never above", "é", "*", LONG],
        "no property",
    ),
    *refused(f"{CHECK} --property", ["", " "], "empty"),
    Line(0, f"{CHECK} --property never_above"),
    Line(0, f"{CHECK} --property never_above --property never_above"),
    Line(0, f"{CHECK} --property type_ok"),
    Line(0, f"{CHECK} --property deadlock"),
    Line(0, f"{CHECK} --deadlock --continue"),
    Line(2, f"{CHECK} --continue=yes"),
    Line(2, f"{CHECK} --json=1"),
    # Walks.
    Line(20, f"simulate {GOOD} --runs 3 --seed 1 --workers 1"),
    Line(20, f"simulate {GOOD} --runs 3 --seed 1 --workers 1 --json"),
    Line(2, f"simulate {GOOD} --runs 3 --run 2 --seed 1", "--run"),
    Line(2, f"simulate {GOOD} --run 2", "--seed"),
    Line(2, f"simulate {GOOD} --runs 1 --property nope", "no property"),
    Line(2, f"simulate {GOOD} --runs 1 --engine local"),
    Line(2, f"simulate {GOOD} --runs 1 --steps 9999999999"),
    *refused(f"simulate {GOOD} --runs 1 --seed", ["", "x", "-1", "1.5", str(2**64), "nan", "0x1", "9" * 5000, "½"]),
    # Anomalies.
    *refused(
        "anomalies",
        ["B0", "b1x", "", " ", "B", "K", "B999", "1", "*", "B1,B3", "é", "--nope", LONG, "B1 B3", "-1", "\n", "all"],
    ),
    Line(2, "anomalies B1 B3"),
    Line(0, "anomalies"),
    Line(0, "anomalies --json"),
    Line(2, "anomalies --engine local", "the ID of an anomaly"),
    Line(2, "anomalies --max-depth 3", "the ID of an anomaly"),
    Line(2, "anomalies --memory 1G", "the ID of an anomaly"),
    Line(2, "anomalies B1 --engine nope"),
    Line(20, "anomalies B1 --engine reference --max-depth 1"),
    Line(20, "anomalies B1 --engine reference --max-depth 1 --json"),
    # Elections.
    Line(2, "elect"),
    Line(2, "elect offline"),
    Line(2, "elect offline --replicas 1"),
    Line(2, "elect offline --replicas 1 --isr 1"),
    *refused(
        "elect --replicas 1,2 --isr 1 --live 1",
        ["", "nope", "offline ", "controlled_shutdown", "é", "0", LONG],
    ),
    *(
        line
        for option, others in (
            ("--replicas", "--isr 1 --live 1"),
            ("--isr", "--replicas 1,2 --live 1"),
            ("--live", "--replicas 1,2 --isr 1"),
            ("--shutting-down", "--replicas 1,2 --isr 1 --live 1"),
        )
        for line in refused(
            f"elect offline {others} {option}",
            ["x", ",", "1,,2", "1;2", "1 2", "1.5", "1,x", "[1]", "1,2,", ",1", "1-2", "½", "1e3", "None", "-1"],
        )
    ),
    *refused("elect offline --isr 1 --live 1 --replicas", ["1,1", "", "9" * 9999]),
    *refused("elect offline --replicas 1,2 --live 1 --isr", ["1,1"]),
    Line(0, "elect offline --replicas 1,2 --isr 1 --live 1"),
    Line(12, "elect offline --replicas 1,2 --isr 1 --live 2 --json"),
    Line(0, "elect offline --replicas 1,2 --isr 2 --live 1 --unclean"),
    Line(2, "elect offline --replicas 1,2 --isr 1 --live 1 --unclean --unclean=1"),
    # Pictures.
    Line(2, "diagram"),
    *refused("diagram", ["", " ", "nope", "partition ", "é", "*", "--nope", LONG, "controller,partition"]),
    *refused("diagram partition --format", ["", "png", "svg ", "dot,svg", "é"]),
    *refused("diagram partition --release", ["", "9.9", "x", "-1", "v2.1", "2.", "\u0662.\u0661", LONG]),
    *refused("diagram controller --release", ["", "9.9", "x", "4.0", "0.9"]),
    *refused("diagram partition -o", ["directory.py", "/nonexistent/x", "good.py/x", "/proc/x", "", "n" * 300, "."]),
    Line(0, "diagram partition"),
    Line(0, "diagram partition --release 0.10"),
    Line(0, "diagram replica --format svg -o picture.svg"),
    Line(2, "diagram partition replica"),
]
