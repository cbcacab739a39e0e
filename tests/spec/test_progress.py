"""Progress is shown at the right time and in the right form."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from spec.checking import Figures
from spec.progress import Progress, line

FIGURES = Figures(depth=12, generated=3456789, distinct=1000000, queue=2345, seconds=4.0)

Clock = Callable[[float], None]


class Terminal(io.StringIO):
    """A stream that says it is one, and tells when figures were written on it."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        written = super().write(text)
        if "depth" in text:
            self.shown.set()
        return written


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time that progress sees; it goes on when it is told to."""
    now = [100.0]
    monkeypatch.setattr("spec.progress.time", SimpleNamespace(monotonic=lambda: now[0]))

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def test_a_line_has_all_figures() -> None:
    """Depth, generated, distinct, queue, rate and memory, in numbers that can be read."""
    said = line(FIGURES)
    assert said.startswith("depth 12, 3,456,789 generated, 1,000,000 distinct, 2,345 queued, 250,000 states/s, ")
    assert re.search(r" [\d,]+ MB$", said)


def test_no_time_has_passed() -> None:
    """At the very beginning there is no rate yet."""
    assert "0 states/s" in line(FIGURES._replace(seconds=0.0))


def test_a_plain_line_every_few_seconds(clock: Clock) -> None:
    """Not on a terminal: nothing at once, then a line whenever the time has come."""
    stream = io.StringIO()
    with Progress(stream, every=3.0) as progress:
        for seconds, lines in ((0.0, 0), (2.9, 0), (0.2, 1), (2.0, 1), (1.5, 2)):
            clock(seconds)
            progress(FIGURES)
            assert stream.getvalue().count("\n") == lines
    assert all(said.startswith("depth 12") for said in stream.getvalue().splitlines())


def test_who_is_quick_sees_nothing(clock: Clock) -> None:
    """A terminal stays as it is when the exploration was over before anybody could ask."""
    stream = Terminal()
    with Progress(stream) as progress:
        progress(FIGURES)
    assert stream.getvalue() == ""


def test_a_terminal_is_written_on_in_place(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fits on one line, however narrow the terminal is, and is wiped out at the end."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    with Progress(stream) as progress:
        clock(1.0)
        progress(FIGURES)
        assert stream.shown.wait(60)
        during = stream.getvalue()
    assert "depth 12, 3,456,789 generated, 1,000" in during
    assert "distinct" not in during
    assert "\n" not in during
    assert stream.getvalue().endswith("\x1b[2K")


def test_a_dumb_terminal_gets_plain_lines(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot move the cursor gets what a file gets."""
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with Progress(stream, every=3.0) as progress:
        clock(4.0)
        progress(FIGURES)
    assert stream.getvalue() == f"{line(FIGURES)}\n"


def test_stderr_is_where_it_goes(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless another stream is given."""
    with Progress() as progress:
        clock(4.0)
        progress(FIGURES)
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
