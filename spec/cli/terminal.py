"""A report on a terminal: wrapped at words to its width, with colours for the most important lines.

Control characters in the text are already escaped (`spec.language.errors`), so only the colours are obeyed. In a
file or a pipe a report is neither wrapped nor coloured. The environment variable NO_COLOR turns colours off
(no-color.org).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal, TextIO

from spec.language.errors import escaped

if TYPE_CHECKING:
    from rich.console import Console

    from spec.checking.traces.trace import Kind, Line

Colours = Literal["auto", "always", "never"]
COLOURS: Final[tuple[Colours, ...]] = ("auto", "always", "never")
"""When to use colours: on a terminal, always, or never."""

NARROWEST: Final = 40
"""Reports are not wrapped for terminals with fewer columns: a trace would become a column of words."""

STYLES: Final[Mapping[Kind, str]] = {
    "plain": "",
    "good": "green",
    "bad": "red",
    "unsure": "yellow",
    "breaks": "bold red",
    "view": "cyan",
    "step": "bold",
    "value": "dim",
}


def for_stream(lines: Iterable[Line], stream: TextIO, colours: Colours = "auto") -> str:
    """A report in the form for a stream."""
    if not stream.isatty() and colours != "always":
        return "\n".join(map(str, lines))
    from rich.console import Console
    from rich.text import Text

    system: Literal["auto", "standard"] | None = "standard" if colours == "always" else "auto"
    if colours == "never" or (colours == "auto" and os.environ.get("NO_COLOR")):
        system = None
    console = Console(file=stream, color_system=system, no_color=False)
    with console.capture() as shown:
        for line in lines:
            console.print(Text(_wrapped(line, console), STYLES[line.kind]), soft_wrap=True)
    return shown.get().removesuffix("\n")


def _wrapped(line: Line, console: Console) -> str:
    """A line wrapped to the terminal's width, except for longer words."""
    if not console.file.isatty() or console.width < NARROWEST:
        return str(line)
    from rich.text import Text

    before = escaped(line.before)
    indent = len(before)
    parts = Text(escaped(line.words), overflow="ignore").wrap(console, console.width - indent)
    return before + f"\n{' ' * indent}".join(part.plain.rstrip() for part in parts)
