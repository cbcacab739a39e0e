"""A report is wrapped to its terminal, and is unchanged everywhere else."""

from __future__ import annotations

import io
import re

import click
import pytest

from spec.checking.traces.trace import Line
from spec.cli.streams import for_stream

REPORT = [
    Line(words="system: never_two is violated, in 12 states"),
    Line("  left out    ", "lost replies, and disconnections without expiry"),
    Line("  violated    ", "never_two (12)", "bad"),
    Line("  holds       ", "type_ok", "good"),
    Line(),
    Line("   1  ", "initially", "step"),
    Line("      * ", "there is no leader, and nobody is in sync but the one broker that leads", "view"),
    Line(" 2-11  ", "broker 0, 10 steps: start, connect, register, elect, follow, write, fetch", "step"),
    Line("  12  ", "elect(broker=1)   it is the first", "step"),
    Line("      ! ", "never_two breaks here", "breaks"),
    Line("        ", "leader: none -> 1", "value"),
    Line(),
    Line("  ", "never_two does not hold for broker = 1", "bad"),
]
PLAIN = "\n".join(map(str, REPORT))


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 48 columns, without colour variables."""
    monkeypatch.setenv("COLUMNS", "48")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_off_a_terminal_text_is_unchanged() -> None:
    """In a file or a pipe, whatever the width of the terminal that started the command."""
    assert for_stream(REPORT, io.StringIO()) == PLAIN


def test_the_prefix_of_a_line_is_escaped() -> None:
    """A user's name cannot contain colour codes."""
    assert r"\x1b[31mred" in for_stream([Line("\x1b[31mred  ", "a constant")], Terminal(), "never")


def test_on_a_terminal_it_is_wrapped_at_words() -> None:
    """Continuation lines are aligned with the words of the first line."""
    shown = click.unstyle(for_stream(REPORT, Terminal())).splitlines()
    assert [*shown[1:3], *shown[6:14]] == [
        "  left out    lost replies, and disconnections",
        "              without expiry",
        "   1  initially",
        "      * there is no leader, and nobody is in",
        "        sync but the one broker that leads",
        " 2-11  broker 0, 10 steps: start, connect,",
        "       register, elect, follow, write, fetch",
        "  12  elect(broker=1)   it is the first",
        "      ! never_two breaks here",
        "        leader: none -> 1",
    ]


def test_wrapping_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word is kept, a line that fits is unchanged, and a word that does not fit stands alone."""
    monkeypatch.setenv("COLUMNS", "41")
    report = [*REPORT, Line("    ", f"{'x' * 50} end")]
    text = "\n".join(map(str, report))
    shown = for_stream(report, Terminal(), "never")
    assert shown.split() == text.split()
    assert all(len(line) <= 41 or "xxx" in line for line in shown.splitlines())
    monkeypatch.setenv("COLUMNS", "200")
    assert for_stream(report, Terminal(), "never") == text


def test_wide_characters_count_double() -> None:
    """Some characters take two columns."""
    shown = for_stream([Line("  ", "\N{CAT}" * 15 + " " + "\N{CAT}" * 15)], Terminal())
    assert shown.splitlines() == ["  " + "\N{CAT}" * 15] * 2


def test_a_too_narrow_terminal_is_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal breaks the lines itself."""
    monkeypatch.setenv("COLUMNS", "20")
    assert for_stream(REPORT, Terminal(), "never") == PLAIN


def test_styles_follow_the_kind_of_line() -> None:
    """A line's text does not matter."""
    words = "12  never_two does not hold"
    (plain, shown) = (for_stream([Line("  ", words, kind)], Terminal()) for kind in ("plain", "step"))
    assert plain == f"  {words}" != shown


def looks(report: str) -> dict[str, str]:
    """Return the styles at the beginning of each line, by its first word."""
    found = {}
    for line in report.splitlines():
        if words := click.unstyle(line).split():
            found[words[0]] = "".join(re.findall(r"\x1b\[\d+m", line.rstrip("\x1b[0m")))
    return found


def test_each_kind_of_line_has_its_colour() -> None:
    """Violations, views, steps and values differ, and so do properties that hold and that break."""
    found = looks(for_stream(REPORT, Terminal()))
    assert found["system:"] == ""
    assert len({found[each] for each in ("!", "*", "12", "leader:", "holds", "violated")}) == 6
    assert found["2-11"] == found["12"] == found["1"]
    assert found["never_two"] == found["violated"]


def test_colours_change_no_text() -> None:
    """Without the codes, the text is the same."""
    assert click.unstyle(for_stream(REPORT, Terminal())) == for_stream(REPORT, Terminal(), "never")


@pytest.mark.parametrize(
    ("stream", "colours", "environment", "coloured"),
    [
        (Terminal(), "auto", {}, True),
        (Terminal(), "auto", {"NO_COLOR": "1"}, False),
        (Terminal(), "auto", {"NO_COLOR": ""}, True),
        (Terminal(), "auto", {"TERM": "dumb"}, False),
        (Terminal(), "never", {}, False),
        (Terminal(), "always", {"NO_COLOR": "1"}, True),
        (io.StringIO(), "auto", {}, False),
        (io.StringIO(), "always", {}, True),
    ],
)
def test_colours_need_a_capable_terminal(
    stream: io.StringIO, colours: str, environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, unless the environment says otherwise."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in for_stream(REPORT, stream, colours)) is coloured  # type: ignore[arg-type]
