"""Stdout and stderr of the command: the result reaches its reader, and a reader that is gone stops nothing.

Stdout is for the result alone. While a specification is loaded and explored, all other output (of actions, libraries
and child processes) goes to stderr (`printing_to_stderr`). Then the result is printed:

- A reader that has enough (`| head -1`), or a closed terminal, is no error: the rest is dropped, and the exit code is
  that of the result.
- If stdout cannot be written (full, closed), the result goes to stderr, and the command ends with `Unwritable`.

Stderr is for a person who watches. If it is full or closed, nobody watches, and nothing changes: stdout still gets
the verdict. Characters that a stream cannot encode, or that a terminal would obey, are written as their escapes
(`spec.language.errors`).

On a terminal a report is wrapped at words to its width, with colours for the most important lines. In a file or a
pipe it is neither wrapped nor coloured. The environment variable NO_COLOR turns colours off (no-color.org).
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, TextIO

import click

from spec.language.errors import EnvironmentWarning, escaped, escaped_lines

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.console import Console

    from spec.checking.traces.trace import Kind, Line


# Streams.


class Unwritable(OSError):
    """Stdout cannot be written; the result, if there was one, is on stderr."""


class _Stdout(io.FileIO):
    """Fails once, then swallows the rest of a buffer: it must not fail again when the process exits."""

    lost = False

    def __init__(self, descriptor: int):
        super().__init__(descriptor, "w", closefd=False)
        self._is_terminal = self.isatty()

    def write(self, content: ReadableBuffer, /) -> int:
        if self.lost:
            return memoryview(content).nbytes
        try:
            return super().write(content)
        except OSError as failure:
            self.lost = True
            if failure.errno == errno.EPIPE or (failure.errno == errno.EIO and self._is_terminal):
                return memoryview(content).nbytes
            raise Unwritable(failure.errno, failure.strerror) from failure


class _Stderr(io.FileIO):
    def write(self, content: ReadableBuffer, /) -> int:
        try:
            return super().write(content)
        except OSError:
            return memoryview(content).nbytes


def take_over() -> None:
    """Make the streams of this process behave as described above; replaced streams stay."""
    for descriptor in range(3):
        _stand_in(descriptor)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Stdout(1), sys.__stdout__)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Stderr(2, "w", closefd=False), sys.__stderr__)
    warnings.showwarning = _shown
    sys.excepthook = _fault


def _shown(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print an environment warning on one line, any other warning with its source line."""
    if issubclass(category, EnvironmentWarning):
        print_note(escaped(f"Warning: {message}"))
    else:
        print_note(warnings.formatwarning(escaped(str(message)), category, filename, lineno, line).rstrip("\n"))


def _fault(_: type[BaseException], fault: BaseException, __: TracebackType | None) -> None:
    """Print a fault of this program with its traceback."""
    print_note("".join(traceback.format_exception(fault)).rstrip("\n"))


def _stand_in(descriptor: int) -> None:
    """Occupy a closed descriptor; otherwise a file of a run could get its number, and receive output.

    The substitute for stdout is read-only, so that writing to it still fails.
    """
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)  # gets the lowest free number
        os.set_inheritable(descriptor, True)


def _text(raw: io.FileIO, like: TextIO | None) -> TextIO:
    encoding = "utf-8" if like is None else like.encoding
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=raw.isatty() or raw.fileno() == 2
    )


def print_result(result: str, *, styled: bool = False) -> None:
    """Write a result to stdout, or otherwise to stderr; Unwritable if stdout did not take all of it. Unless it was
    `styled` for this stdout, control characters are escaped.
    """
    text = result if styled else escaped_lines(result)
    try:
        click.echo(text, color=styled or None)
    except Unwritable:
        click.echo(text, err=True)
        raise


def print_note(words: object) -> None:
    """Write an error, a warning or a hint to stderr."""
    click.echo(escaped_lines(str(words)), err=True)


@contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Within this context all output goes to stderr, also from child processes and direct writes to descriptors."""
    stdout = sys.stdout
    stdout.flush()
    with redirect_stdout(sys.stderr):
        if not isinstance(getattr(getattr(stdout, "buffer", None), "raw", None), _Stdout):
            yield  # not a descriptor, so child processes do not write to it
            return
        kept = os.dup(1)
        os.dup2(2, 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


# A report on a terminal.


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
