"""Odd input of any kind gives one line that says what is wrong, and the right exit code.

The command runs in this process, in milliseconds a row, on the rows of three tables, `commands`, `specifications` and
`files`, and leaves the process unchanged. Each row whose command has JSON output runs a second time with `--json`.
"""

from __future__ import annotations

import io
import json
import linecache
import shlex
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from spec.cli import command
from tests.rows import rows
from tests.spec.odd_inputs.commands import LINES, Line
from tests.spec.odd_inputs.files import FILES, LEASE, ODDLY_NAMED, File
from tests.spec.odd_inputs.specifications import SPECIFICATIONS, Odd

FEW = 3
"""At most so many lines on stderr for a mistake."""
LONGEST = 2000
"""At most so many characters of message, besides the typed text."""
HAVE_JSON = ("check", "simulate", "anomalies", "elect")


class Answer(NamedTuple):
    """The command's output and exit code."""

    exit: int
    out: str
    err: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of all commands, with a good specification and other files that rows name."""
    made = tmp_path_factory.mktemp("odd")
    (made / "good.py").write_text(LEASE, encoding="utf-8")
    for name in ("directory.py", "empty", "full", "broken"):
        (made / name).mkdir()
    for name in ("full", "broken"):
        (made / name / "run.json").write_text("{", encoding="utf-8")
    return made


@pytest.fixture(autouse=True)
def _there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each command there, without bytecode: Python could take it for that of the next row's file."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@contextmanager
def nothing_left() -> Iterator[None]:
    """Restore this process for the next command."""
    _forget_modules()
    path, handler = [*sys.path], signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
        sys.path[:] = path
        _forget_modules()


KNOWN = set(sys.modules)


def _forget_modules() -> None:
    """Forget specifications that earlier commands loaded."""
    here = str(Path.cwd())
    for name in [name for name in sys.modules if name not in KNOWN]:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(here):
            del sys.modules[name]
        else:
            KNOWN.add(name)
    linecache.clearcache()


def answer_to(*words: str) -> Answer:
    """Run the command with these arguments in this process."""
    written = [io.BytesIO(), io.BytesIO()]
    streams = [io.TextIOWrapper(raw, "utf-8", "backslashreplace") for raw in written]
    with nothing_left(), pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(sys, "argv", ["kafkaspec", *words])
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        with pytest.raises(SystemExit) as ended:
            command.run()
    for stream in streams:
        stream.flush()
    out, err = (raw.getvalue().decode("utf-8", "replace") for raw in written)
    return Answer(_code(ended.value), out, err)


def _code(ended: SystemExit) -> int:
    assert ended.code is None or isinstance(ended.code, int), ended.code
    return ended.code or 0


def must_answer(exit: int, says: str, *words: str) -> None:
    """The command has the right exit code, and a short message."""
    answer = answer_to(*words)
    shown = f"{words}\n{answer.err[:3000]}\n{answer.out[-1000:]}"
    assert answer.exit == exit, shown
    assert "Traceback" not in answer.out + answer.err, shown
    assert says.lower() in (answer.out + answer.err).lower(), shown
    if exit == 2 and words:
        assert answer.err.startswith("Error: "), shown
        assert len(answer.err.split("\n\n")[0].splitlines()) <= FEW, shown  # the path there may follow
        assert len(answer.err) <= LONGEST + 2 * sum(map(len, words)), shown


def must_answer_in_json(exit: int, *words: str) -> None:
    """The exit code is the same, and stdout is one object."""
    answer = answer_to(*words[:1], "--json", *words[1:])
    shown = f"{words} --json\n{answer.err[:3000]}\n{answer.out[-1000:]}"
    assert answer.exit == exit, shown
    assert "Traceback" not in answer.out + answer.err, shown
    parsed = json.loads(answer.out)
    if exit in {2, 10, 75, 130}:
        assert parsed["exit"] == exit, shown
        assert "\n" not in parsed["error"], shown


@rows("line", {line.command: line for line in LINES})
def test_an_odd_command_line(line: Line) -> None:
    """It is refused, or has a meaning; in JSON too."""
    words = shlex.split(line.command)
    must_answer(line.exit, line.says, *words)
    if words and words[0] in HAVE_JSON and not {"--json", "-h", "--help"} & set(words):
        must_answer_in_json(line.exit, *words)


@rows("odd", {odd.what: odd for odd in SPECIFICATIONS})
def test_an_odd_specification(odd: Odd, place: Path) -> None:
    """The message says what is wrong, and where."""
    (place / "odd.py").write_text(odd.source, encoding="utf-8")
    must_answer(odd.exit, odd.says, "check", "odd.py:Odd", "--engine", "reference")


@rows("file", {file.what: file for file in FILES})
def test_an_odd_file(file: File, place: Path) -> None:
    """A file without a valid specification is refused, with its name."""
    (place / "odd.py").write_bytes(file.content)
    must_answer(file.exit, file.says, "check", "odd.py:Lease", "--engine", "reference")


@rows("exit, file, name", ODDLY_NAMED)
def test_an_odd_name(exit: int, file: str, name: str, place: Path) -> None:
    """A file may have any name that ends in .py."""
    (place / file).parent.mkdir(parents=True, exist_ok=True)
    (place / file).write_text(LEASE, encoding="utf-8")
    must_answer(exit, "", "check", f"{file}:{name}", "--engine", "reference")


@pytest.mark.parametrize("what", [SPECIFICATIONS[0].what, "action: raises", "action: leaves the domain"])
def test_a_process_of_its_own_gives_the_same(what: str, place: Path) -> None:
    """Users see the same output as these tests do."""
    odd = next(odd for odd in SPECIFICATIONS if odd.what == what)
    (place / "odd.py").write_text(odd.source, encoding="utf-8")
    words = ["check", "odd.py:Odd", "--engine", "reference"]
    command = [str(Path(sys.executable).with_name("kafkaspec")), *words]
    ended = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    here = answer_to(*words)
    assert (ended.returncode, ended.stderr) == (here.exit, here.err)
    assert "Traceback" not in ended.stdout + ended.stderr
