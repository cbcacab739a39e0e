"""Progress is shown at the right time and in the right form."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest

from spec.checking import Statistics
from spec.checking.simulation import SimulationStatistics
from spec.cli.progress import BAR, QUICK, Progress, bar, line

STATISTICS = Statistics(depth=12, generated=3456789, distinct=1000000, queue=2345, seconds=4.0)

TAKEN = 65_000_000
"""Bytes of memory."""
progress_line = partial(line, taken=TAKEN)

Clock = Callable[[float], None]


class Terminal(io.StringIO):
    """A stream that claims to be a terminal, and records when statistics were written to it."""

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


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of all processes, as the progress line sees it."""
    monkeypatch.setattr("spec.checking.machine.memory.of_tree", lambda: TAKEN)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that progress reads; each call advances it."""
    now = [100.0]
    monkeypatch.setattr("spec.cli.progress.time", SimpleNamespace(monotonic=lambda: now[0]))

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def test_a_progress_line_has_all_figures() -> None:
    """Depth, generated, distinct, queue, rate, memory and time, in readable numbers."""
    said = progress_line(STATISTICS)
    assert said.startswith("depth 12, 3.5 M generated, 1.0 M distinct, 2,345 queued, 250 k/s, ")
    assert said.endswith(", 65 MB, 0:04")


@pytest.mark.parametrize("width", [80, 67, 40, 20])
@pytest.mark.parametrize(
    "statistics",
    [
        Statistics(1234, 98_765_432_109, 9_876_543_210, 987_654_321, 98_765.4, 24.5, 0.125),
        SimulationStatistics(9_876_543, 98_765_432, 98_765_432_109, 98_765.4, 0.125),
        Statistics(1234, 5, 4, 3, 2.0)._replace(evaluating=f"12 s: go() in the state {'x = 1, ' * 30}"),
    ],
    ids=["states", "runs", "an evaluation"],
)
def test_a_progress_line_is_cut_to_the_width(statistics: Statistics | SimulationStatistics, width: int) -> None:
    """For statistics of any size; speed, memory and time are among the last to be dropped."""
    said = progress_line(statistics, width=width)
    assert len(said) <= width
    if width >= 67 and not statistics.evaluating:
        assert re.search(r" [\d.]+ [kM](?:/s| steps/s), .*[MG]B, 27:26:05$", said)


def test_an_engine_adds_its_own_figures() -> None:
    """Bytes for each state, and the share of time in the specification's own code."""
    said = progress_line(STATISTICS._replace(bytes_per_state=22.84, in_python=0.126), width=120)
    assert ", 250 k/s, 23 bytes/state, 13% in Python, " in said
    for part, statistics in (("bytes/state", STATISTICS._replace(in_python=0.0)), ("Python", STATISTICS)):
        assert part not in progress_line(statistics)


@pytest.mark.parametrize(("queue", "full"), [(1000000, 0), (500000, BAR // 2), (1, BAR - 1), (0, BAR)])
def test_a_bar_fills_as_the_queue_empties(queue: int, full: int) -> None:
    """It shows the share of expanded states among those found, and is full only when all are expanded."""
    assert bar(STATISTICS._replace(queue=queue)) == "#" * full + "-" * (BAR - full)


def test_a_line_of_a_simulation() -> None:
    """It has runs done and planned, steps, rate, the specification's share, and memory; the bar counts runs."""
    walked = SimulationStatistics(runs=2_500, asked=10_000, steps=240_000, seconds=0.5, in_python=0.25)
    assert progress_line(walked).startswith("2,500 of 10 k runs, 240 k steps, 480 k steps/s, 25% in Python, ")
    assert progress_line(walked).endswith(" 65 MB, 0:00")
    assert bar(walked) == "#" * (BAR // 4) + "-" * (BAR - BAR // 4)
    assert "0 steps/s" in progress_line(walked._replace(seconds=0.0))


def test_an_empty_bar_is_drawn() -> None:
    """Before the first state there is no share."""
    assert bar(STATISTICS._replace(distinct=0, queue=0)) == "-" * BAR


def test_zero_seconds_give_no_rate() -> None:
    """At the very beginning there is no rate yet."""
    assert " 0/s" in progress_line(STATISTICS._replace(seconds=0.0))


def test_a_plain_line_every_few_seconds(clock: Clock) -> None:
    """Off a terminal: nothing at first, then a line at each interval, and one at the end."""
    stream = io.StringIO()
    with Progress(stream, every=3.0) as progress:
        for seconds, lines in ((0.0, 0), (2.9, 0), (0.2, 1), (2.0, 1), (1.5, 2)):
            clock(seconds)
            progress(STATISTICS._replace(depth=12 + lines))
            assert stream.getvalue().count("\n") == lines
        progress(STATISTICS._replace(depth=15))
    assert [said.split(",")[0] for said in stream.getvalue().splitlines()] == ["depth 13", "depth 14", "depth 15"]


def test_unchanged_statistics_are_not_repeated(clock: Clock) -> None:
    """Neither during a long level, nor at the end."""
    stream = io.StringIO()
    with Progress(stream, every=3.0) as progress:
        for seconds in (4.0, 8.0, 12.0):
            clock(4.0)
            progress(STATISTICS._replace(seconds=seconds, in_python=1 / seconds))
    assert stream.getvalue() == f"{progress_line(STATISTICS._replace(in_python=0.25))}\n"


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["a terminal", "a file"])
def test_a_quick_run_prints_no_progress(clock: Clock, stream: io.StringIO) -> None:
    """The stream stays empty if the exploration ends before the first interval."""
    with Progress(stream) as progress:
        progress(STATISTICS)
        clock(QUICK / 4)
    assert stream.getvalue() == ""


def test_a_slow_run_prints_its_final_figures(clock: Clock) -> None:
    """One line at the end, whether or not one had been due before."""
    stream = io.StringIO()
    with Progress(stream, every=3.0) as progress:
        progress(STATISTICS)
        clock(QUICK)
    assert stream.getvalue() == f"{progress_line(STATISTICS)}\n"


def test_without_statistics_nothing_is_printed(clock: Clock) -> None:
    """A failed exploration prints none either: its error stands alone."""
    stream = io.StringIO()
    with Progress(stream):
        clock(5.0)
    with contextlib.suppress(ZeroDivisionError), Progress(stream) as progress:
        progress(STATISTICS)
        clock(5.0)
        raise ZeroDivisionError
    assert stream.getvalue() == ""


def test_a_terminal_line_is_updated_in_place(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fits on one line of any terminal, and is erased at the end for the last line."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "50")
    stream = Terminal()
    with Progress(stream) as progress:
        clock(1.0)
        progress(STATISTICS)
        assert stream.shown.wait(60)
        during = stream.getvalue()
    assert f"{bar(STATISTICS)} depth 12, 1.0 M distinct, 0:04" in during
    assert "\n" not in during
    assert stream.getvalue().endswith(f"\x1b[2K{progress_line(STATISTICS)}\n")


def test_other_activities_are_printed_at_once(clock: Clock) -> None:
    """And once, however quick the run; the lines with statistics keep their intervals."""
    stream, doing = io.StringIO(), "compiling for states of 2 words"
    with Progress(stream, every=3.0) as progress:
        progress(STATISTICS._replace(doing=doing))
        clock(1.0)
        progress(STATISTICS._replace(doing=doing))
        clock(3.0)
        progress(STATISTICS._replace(doing=doing))
    lines = stream.getvalue().splitlines()
    assert lines[0] == doing
    assert lines[1:] == [progress_line(STATISTICS)]


def test_before_the_first_state_no_figures_are_printed(clock: Clock) -> None:
    """A line says what the engine does instead, once."""
    stream, nothing = io.StringIO(), Statistics(0, 0, 0, 0, 0.0, doing="compiling")
    with Progress(stream, every=3.0) as progress:
        progress(nothing)
        clock(4.0)
        progress(nothing)
        progress(STATISTICS)
    assert [each.partition(",")[0] for each in stream.getvalue().splitlines()] == ["compiling", "depth 12"]


def test_a_dumb_terminal_gets_plain_lines(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that cannot move its cursor receives the same as a file."""
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with Progress(stream, every=3.0) as progress:
        clock(4.0)
        progress(STATISTICS)
    assert stream.getvalue() == f"{progress_line(STATISTICS)}\n"


def test_a_long_evaluation_is_not_part_of_the_final_line(clock: Clock) -> None:
    """It has a line of its own, and the last line has the statistics."""
    stream = io.StringIO()
    with Progress(stream, every=3.0) as progress:
        progress(STATISTICS)
        clock(12.0)
        progress(STATISTICS._replace(evaluating="10 s: go() in the state x = 1"))
    first, last = stream.getvalue().splitlines()
    assert first == "one evaluation takes 10 s: go() in the state x = 1"
    assert last == progress_line(STATISTICS)


def test_progress_goes_to_stderr(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless another stream is given."""
    with Progress() as progress:
        clock(4.0)
        progress(STATISTICS)
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
