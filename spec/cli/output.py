"""Output of the command: on the terminal, and into files beside it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from spec.cli.options import OutputOptions
from spec.cli.running import blaming_author
from spec.cli.streams import for_stream, print_note, print_result, printing_to_stderr
from spec.language.errors import one_meant
from spec.systems import SYSTEMS

if TYPE_CHECKING:
    from spec.checking import Result, Trace
    from spec.checking.simulation import Simulation
    from spec.checking.traces.trace import Line
    from spec.language import Specification

Found = TypeVar("Found", "Result", "Simulation")

ENDINGS: Final = {
    "mermaid": (".mmd", ".mermaid", ".txt"),
    "dot": (".dot", ".gv", ".txt"),
    "svg": (".svg",),
    "graphml": (".graphml",),
    "aut": (".aut", ".txt"),
    "html": (".html", ".htm"),
}
"""How the name of a file in each format ends."""
MARKUP: Final = ("svg", "graphml", "html")
"""The formats that only programs read."""


def write_each(*writes: Callable[[], None]) -> None:
    """Write files after the result was printed, each even if others fail; SystemExit if a file could not be written,
    which is reported.
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
    """A context for writing a file after the result was printed; Failure if the file cannot be written."""
    from spec.cli.failures import ENVIRONMENT, Failure

    try:
        yield
    except OSError as failure:
        raise Failure(f"{path} cannot be written: {failure.strerror}", ENVIRONMENT) from None


def require_one_form(brief: bool, as_json: bool) -> None:
    """Refuse --brief with --json: the brief form is for a person."""
    if brief and as_json:
        raise click.UsageError("--brief and --json: JSON always has every step")


def lines_of(result: Result | Simulation, subject: Specification, brief: bool) -> list[Line]:
    """The report on a specification, with its traces in full or in brief."""
    if not brief:
        return [*result.lines()]
    from spec.checking.traces.brief import brief as in_brief

    with blaming_author(subject):
        return [*result.lines(lambda trace: in_brief(subject, trace))]


def print_found(result: Found, subject: Specification, output: OutputOptions) -> Found:
    """Print a result with the rows of the atlas that its counterexamples show, and return it with them."""
    if result.counterexamples and result.system in SYSTEMS:
        from spec.atlas.anomalies import known_in

        with printing_to_stderr():
            result = replace(result, known=known_in(result))
    if output.as_json:
        print_result(json.dumps(result.to_json()))
        note_interruption(result)
    else:
        print_lines(lines_of(result, subject, output.brief))
    return result


def print_lines(lines: Iterable[Line]) -> None:
    """Print a report for a person, with the requested colours."""
    print_result(for_stream(lines, sys.stdout, click.get_current_context().meta.get("colours", "auto")), styled=True)


def require_writable_trace(trace: Path | None, subject: Specification) -> None:
    """Refuse a bad trace file at once, before hours are spent on its content."""
    if trace is None:
        return
    if not (trace.is_dir() or trace.parent.is_dir()):
        raise click.UsageError(f"--trace {trace}: the directory {trace.parent} does not exist")
    from spec.checking.values.settings import settings_of

    settings_of(subject)


def write_traces(
    place: Path | None, result: Result | Simulation, subject: Specification, system: str, what: str = "counterexample"
) -> None:
    """Write the first trace to a file, or every trace into a directory, under the name of its property.

    Without a trace existing files stay, and a note says so.
    """
    if place is None:
        return
    system = one_meant(system, SYSTEMS) or system
    if not result.traces:
        print_note(f"There is no {what}, so {place} was not written")
    elif place.is_dir():
        for each in result.traces:
            name = each.broken if re.fullmatch(r"[\w.]+", each.broken) else "shown"  # a predicate makes no file name
            _write_trace(place / f"{name}.itf.json", each, subject, system)
    else:
        _write_trace(place, result.traces[0], subject, system)
        if more := len(result.traces) - 1:
            named = f"{place} has only the first trace, not {'the other' if more == 1 else f'{more} others'}"
            print_note(f"{named}; give --trace a directory to keep them all")


def _write_trace(path: Path, trace: Trace, subject: Specification, system: str) -> None:
    from spec.checking.traces.itf import RecordedTrace

    with writing(path):
        RecordedTrace.of(subject, trace, system).write(path)


def note_interruption(result: Result | Simulation) -> None:
    """Note an interruption beside JSON; a text result says it itself."""
    if result.verdict == "interrupted":
        print_note(f"Interrupted: {result.why}")


def require_writable_output(output: Path | None) -> None:
    """Refuse a bad output file at once, before minutes are spent on its content."""
    if output is not None and not output.parent.is_dir():
        raise click.UsageError(f"{output} cannot be written: No such file or directory")


def form_of(output: Path | None, form: str | None, forms: Sequence[str]) -> str:
    """The format to write: the one that was asked for, or that the file's name ends with, or else the first one;
    UsageError if the file cannot be written, its name ends as in another format, or a terminal would show markup.
    """
    require_writable_output(output)
    ending = "" if output is None else output.suffix.lower()
    fits = [each for each in forms if ending in ENDINGS[each]]
    is_known = any(ending in its for its in ENDINGS.values())
    if ending and (form not in fits if form and is_known else not (form or fits)):
        allowed = ", ".join(ENDINGS[each][0] for each in ([form] if form else forms))
        raise click.UsageError(f"-o {output}: in a format of this command, the name ends with {allowed}")
    chosen = form or next(iter(fits), forms[0])
    if output is None and chosen in MARKUP and sys.stdout.isatty():
        raise click.UsageError(f"{chosen} is not for a terminal: write it to a file, -o FILE{ENDINGS[chosen][0]}")
    return chosen


def write_output(picture: str, output: Path | None) -> None:
    """Write a picture, a page or a graph to a file, or by default to stdout."""
    if output is None:
        click.echo(picture, nl=not picture.endswith("\n"))
        return
    try:
        output.write_text(picture, encoding="utf-8")
    except OSError as failure:
        raise click.UsageError(f"{output} cannot be written: {failure.strerror}") from None
