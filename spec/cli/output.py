"""How an answer is told: on the terminal, or in files beside it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from spec.cli.running import blaming_author
from spec.cli.streams import print_note, print_result, printing_to_stderr
from spec.cli.terminal import for_stream
from spec.systems import SYSTEMS

if TYPE_CHECKING:
    from spec.checking import Result, Trace
    from spec.checking.simulation import Simulation
    from spec.checking.traces.lines import Line
    from spec.language import Specification

Found = TypeVar("Found", "Result", "Simulation")


def write_each(*writes: Callable[[], None]) -> None:
    """Write files when the result is told, each whichever others fail.

    Raises:
        SystemExit: one could not be written, which is told.
    """
    from spec.cli.failures import ENVIRONMENT, Failure

    failed = False
    for write in writes:
        try:
            write()
        except Failure as failure:
            failed = True
            print_note(failure)
    if failed:
        sys.exit(ENVIRONMENT)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """While a file is written after the result was told.

    Raises:
        Failure: it cannot be written.
    """
    from spec.cli.failures import ENVIRONMENT, Failure

    try:
        yield
    except OSError as failure:
        raise Failure(f"{path} cannot be written: {failure.strerror}", ENVIRONMENT) from None


def require_one_form(brief: bool, as_json: bool) -> None:
    """The brief form is for a person."""
    if brief and as_json:
        raise click.UsageError("--brief and --json: JSON has every step, as it was found")


def lines_of(result: Result | Simulation, subject: Specification, brief: bool) -> list[Line]:
    """The report on a specification, with its traces in full or in brief."""
    if not brief:
        return [*result.lines()]
    from spec.checking.traces.brief import brief as in_brief

    with blaming_author(subject):
        return [*result.lines(lambda trace: in_brief(subject, trace))]


def with_known_anomalies(result: Found) -> Found:
    """A result with the rows of the atlas that its counterexamples are of."""
    if not result.counterexamples or result.system not in SYSTEMS:
        return result
    from spec.atlas.anomalies import known_in

    with printing_to_stderr():
        return replace(result, known=known_in(result))


def print_lines(lines: Iterable[Line]) -> None:
    """Tell what a person reads, with the colours that were asked for."""
    print_result(for_stream(lines, sys.stdout, click.get_current_context().meta.get("colours", "auto")), styled=True)


def require_writable_trace(trace: Path | None, subject: Specification) -> None:
    """A file for a trace is refused before hours are spent on what is to stand in it."""
    if trace is None:
        return
    if not (trace.is_dir() or trace.parent.is_dir()):
        raise click.UsageError(f"--trace {trace}: there is no directory {trace.parent}")
    from spec.checking.values.settings import settings_of

    settings_of(subject)


def write_traces(
    place: Path | None,
    result: Result | Simulation,
    subject: Specification,
    system: str,
    what: str = "counterexample",
) -> None:
    """The trace as a file, or all of them as files of a directory, each under the name of its property.

    Without one, what may be there stays, and that is said.
    """
    if place is None:
        return
    if not result.traces:
        print_note(f"There is no {what}, so {place} was not written")
    elif place.is_dir():
        for each in result.traces:
            name = each.broken if re.fullmatch(r"[\w.]+", each.broken) else "shown"  # a predicate is no file's name
            _write_trace(place / f"{name}.itf.json", each, subject, system)
    else:
        _write_trace(place, result.traces[0], subject, system)
        if more := len(result.traces) - 1:
            named = f"{place} has the first trace, not {'the other' if more == 1 else f'{more} others'}"
            print_note(f"{named}: --trace with a directory keeps each")


def _write_trace(path: Path, trace: Trace, subject: Specification, system: str) -> None:
    from spec.checking.traces.itf import RecordedTrace

    with writing(path):
        RecordedTrace.of(subject, trace, system).write(path)


def note_interruption(result: Result | Simulation) -> None:
    """Beside the JSON; in text the result says it."""
    if result.verdict == "interrupted":
        print_note(f"Interrupted: {result.why}")


def require_writable_output(output: Path | None) -> None:
    """A file is refused before minutes are spent on what is to stand in it."""
    if output is not None and not output.parent.is_dir():
        raise click.UsageError(f"{output} cannot be written: No such file or directory")


def write_output(picture: str, output: Path | None) -> None:
    """Write a picture, a page or a graph to a file, or else to stdout."""
    if output is None:
        click.echo(picture, nl=not picture.endswith("\n"))
        return
    try:
        output.write_text(picture, encoding="utf-8")
    except OSError as failure:
        raise click.UsageError(f"{output} cannot be written: {failure.strerror}") from None
