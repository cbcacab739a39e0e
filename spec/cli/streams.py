"""Stdout and stderr of the command: a result reaches its reader, and a reader that has gone stops nothing.

Stdout is for the result alone. While a specification is loaded and explored, whatever prints (an action, a library, a
child process) prints to stderr (`printing_to_stderr`). Then the result is told:

- A reader that has enough (`| head -1`), or a terminal that was closed, is no error: the rest is dropped, and the
  exit code is that of the result.
- Where stdout cannot be written (full, closed), the result goes to stderr, and the command ends with `Unwritable`.

Stderr is for a person who watches. If it is full or closed, no person watches, and that changes nothing: the verdict
is printed to stdout all the same. A character that a stream cannot encode is written as its escape, and one that
a terminal would obey (`spec.language.escapes`).
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

import click

from spec.language.errors import EnvironmentWarning
from spec.language.escapes import escaped, escaped_lines

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Unwritable(OSError):
    """Stdout took no more; the result, if there was one, stands on stderr."""


class _Stdout(io.FileIO):
    """Fails once, and then takes whatever is still in a buffer: it must not fail again when the process ends."""

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
    """Make the streams of this process behave as said above; those that other code has put there stay."""
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
    """Warnings of the environment take one line; other warnings come with their line of source."""
    if issubclass(category, EnvironmentWarning):
        print_note(escaped(f"Warning: {message}"))
    else:
        print_note(warnings.formatwarning(escaped(str(message)), category, filename, lineno, line).rstrip("\n"))


def _fault(_: type[BaseException], fault: BaseException, __: TracebackType | None) -> None:
    """A fault of this program comes with its traceback."""
    print_note("".join(traceback.format_exception(fault)).rstrip("\n"))


def _stand_in(descriptor: int) -> None:
    """Keep the place of a descriptor that is closed, or a file of a run would get it, and what is printed.

    What stands in for stdout can only be read, so that writing to it fails as it did.
    """
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)  # gets the lowest number that is free
        os.set_inheritable(descriptor, True)


def _text(raw: io.FileIO, like: TextIO | None) -> TextIO:
    encoding = "utf-8" if like is None else like.encoding
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=raw.isatty() or raw.fileno() == 2
    )


def print_result(result: str, *, styled: bool = False) -> None:
    """Write a result to stdout, or at least to stderr.

    Args:
        result: the text.
        styled: whether it has been made for this stdout (`spec.cli.terminal`); else what a terminal obeys is escaped.

    Raises:
        Unwritable: stdout took not all of it.
    """
    text = result if styled else escaped_lines(result)
    try:
        click.echo(text, color=styled or None)
    except Unwritable:
        click.echo(text, err=True)
        raise


def print_note(words: object) -> None:
    """Write to stderr what is no result: an error, a warning, a hint."""
    click.echo(escaped_lines(str(words)), err=True)


@contextmanager
def printing_to_stderr() -> Iterator[None]:
    """What is printed while this is open goes to stderr, also from child processes and what writes to descriptors."""
    stdout = sys.stdout
    stdout.flush()
    with redirect_stdout(sys.stderr):
        if not isinstance(getattr(getattr(stdout, "buffer", None), "raw", None), _Stdout):
            yield  # it is no descriptor of the process, so children do not write to it
            return
        kept = os.dup(1)
        os.dup2(2, 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)
