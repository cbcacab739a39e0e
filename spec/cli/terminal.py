"""A report on a terminal: wrapped at words to its width, with colours for what a reader looks for first.

What a terminal would obey is escaped before (`spec.language.escapes`): the colours are the only control characters.
In a file or a pipe it is neither wrapped nor coloured. The environment variable NO_COLOR switches colours off
(no-color.org).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from textwrap import TextWrapper
from typing import Any, Final, Literal, TextIO

import click

from spec.language.escapes import escaped_lines

Colours = Literal["auto", "always", "never"]
COLOURS: Final[tuple[Colours, ...]] = ("auto", "always", "never")
"""When there are colours: where there is a terminal, or in any case, or in none."""

NARROWEST: Final = 40
"""A terminal with fewer columns is not wrapped for: a trace would be a column of words."""

LOOKS: Final[tuple[tuple[re.Pattern[str], dict[str, Any]], ...]] = tuple(
    (re.compile(pattern), look)
    for pattern, look in (
        (r" +! .*", {"fg": "red", "bold": True}),  # what breaks here
        (r" +\* .*", {"fg": "cyan"}),  # what a view says
        (r" +\d+(-\d+)?  .*", {"bold": True}),  # a step, or several
        (r"  violated  .*|  \S+ does not hold.*", {"fg": "red"}),
        (r"  (unwitnessed|undecided)  .*", {"fg": "yellow"}),
        (r"  (holds|witnessed)  .*", {"fg": "green"}),
        (r" {4,}\S.*", {"dim": True}),  # values
    )
)
"""How a line looks, by the first pattern that it matches; a line that matches none looks as it is."""

_HANGING: Final = re.compile(r" *([*!] |\d+(-\d+)?  |\w+ {2,})?")
"""What stands before the words of a line: wrapped lines begin below the words."""


def for_stream(report: str, stream: TextIO, colours: Colours = "auto") -> str:
    """A report as it is written to a stream."""
    on_terminal = stream.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}
    coloured = colours == "always" or (colours == "auto" and on_terminal and not os.environ.get("NO_COLOR"))
    width = shutil.get_terminal_size().columns if stream.isatty() else None
    return "\n".join(_lines(report, width, coloured))


def _lines(report: str, width: int | None, coloured: bool) -> Iterator[str]:
    for line in escaped_lines(report).split("\n"):
        look = next((look for pattern, look in LOOKS if pattern.fullmatch(line)), None) if coloured else None
        for part in _wrapped(line, width):
            yield part if look is None else click.style(part, **look)


def _wrapped(line: str, width: int | None) -> list[str]:
    """A line in several that are no wider, but for words that are."""
    if width is None or len(line) <= width or width < NARROWEST:
        return [line]
    before = _HANGING.match(line)
    indent = " " * min(before.end() if before else 0, width // 2)
    wrapper = TextWrapper(
        width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )
    return wrapper.wrap(line) or [line]
