"""`kafkaspec check`: explore a system, and print its verdict and traces, with reports in the requested formats."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spec.cli import options
from spec.cli.output import print_found, require_one_form, require_writable_trace, write_each, write_traces, writing
from spec.cli.running import engine_of, reporting_kept_run, run_check, specification_for

if TYPE_CHECKING:
    from spec.checking import Result
    from spec.language import Specification


@click.command(short_help="Check SYSTEM's properties, with counterexamples.")
@options.system_options
@options.ENGINE
@options.DRIVER_LEVEL
@options.WORKERS
@click.option("--symmetry", is_flag=True, help="Treat states that differ only in brokers' names as one.")
@options.PROPERTIES
@click.option(
    "--continue", "keep_going", is_flag=True, help="Keep exploring after a violation; show one for each property."
)
@options.DEADLOCK
@options.single_value(
    "--show",
    type=options.TEXT,
    metavar="NAME",
    help="Show the shortest way to a witness, an action, or a Python predicate such as 's.count > 2'.",
)
@click.option(
    "--accept-vacuous",
    type=options.TEXT,
    multiple=True,
    metavar="NAME",
    help="Accept that this action or witness never happens; may be repeated.",
)
@click.option(
    "--profile", is_flag=True, help="Print what each action and property took, and how well its paths were learned."
)
@options.MAX_STATES
@options.MAX_DEPTH
@options.MEMORY
@options.single_value(
    "--run-dir", type=options.PLACE, metavar="DIR", help="Keep the run in this directory, so that it can be resumed."
)
@options.single_value("--resume", type=options.PLACE, metavar="DIR", help="Resume the run kept in this directory.")
@options.NO_FOLDS
@options.TRACE
@options.REPORTS
@options.JUNIT
@options.BRIEF
@options.COLOUR
@options.AS_JSON
@options.gathered(search=options.SearchOptions, output=options.OutputOptions)
def check(
    chosen: options.SystemOptions,
    search: options.SearchOptions,
    output: options.OutputOptions,
    symmetry: bool,
    properties: tuple[str, ...],
    keep_going: bool,
    deadlock: bool,
    show: str | None,
    accept_vacuous: tuple[str, ...],
    profile: bool,
    run_dir: Path | None,
    resume: Path | None,
    no_folds: bool,
    reports: tuple[Path, ...],
    junit: Path | None,
) -> None:
    """Explore SYSTEM, and report which properties hold, with the shortest counterexample to the first that does not;
    with --continue, to each of them.

    With --show, search only for the shortest way to a witness, to a step of an action, or to a state in which a
    predicate holds. The predicate is a Python expression over the state s, as in the system's own properties; self
    has the constants. It runs with all your rights, like any program of yours. Exits 0 if the goal is reached, and 21
    if it never is.

    SYSTEM is a name from `kafkaspec list`, or your own specification: path/to/file.py:Class or package.module:Class.
    A file with one specification needs no :Class.
    """
    alone = (
        ("--property", properties),
        ("--continue", keep_going),
        ("--deadlock", deadlock),
        ("--accept-vacuous", accept_vacuous),
    )
    for option, given in alone:
        if show is not None and given:
            raise click.UsageError(f"--show and {option}: --show searches for nothing but its goal")
    if properties and accept_vacuous:
        raise click.UsageError("--property and --accept-vacuous: with --property nothing counts as vacuous")
    _require_writable_reports(reports, junit)
    if profile and search.engine == "spark":
        raise click.UsageError("--profile and --engine spark: Spark's workers are not measured")
    require_one_form(output.brief, output.as_json)
    subject, release = specification_for(chosen)
    require_writable_trace(output.trace, subject)
    with _reporting_failures(reports, junit, subject), reporting_kept_run(resume or run_dir):
        result = run_check(
            subject,
            engine=engine_of(search, run_dir, resume),
            properties=properties,
            keep_going=keep_going,
            deadlock=deadlock,
            max_states=search.max_states,
            max_depth=search.max_depth,
            symmetry=symmetry,
            show=show,
            accept_vacuous=accept_vacuous,
            profile=profile,
            release=release,
            folds=not no_folds,
        )
    result = print_found(result, subject, output)
    what = "counterexample" if show is None else f"way to {show}"
    write_each(
        lambda: write_traces(output.trace, result, subject, chosen.system, what),
        *(partial(_write_report, result, path) for path in reports),
        lambda: _write_junit(result, junit),
    )
    sys.exit(result.exit_code)


def _require_writable_reports(reports: tuple[Path, ...], junit: Path | None) -> None:
    """Refuse bad report files at once, before hours are spent on their content; UsageError if a file has an unknown
    format, or cannot be written.
    """
    if not reports and junit is None:
        return
    from spec.reports import require_format, require_writable

    for path in reports:
        require_format(path)
    for path in (*reports, *([junit] if junit else [])):
        require_writable(path)


@contextmanager
def _reporting_failures(reports: tuple[Path, ...], junit: Path | None, subject: Specification) -> Iterator[None]:
    """Write a failure into each report, because an earlier run's files would claim success."""
    from spec.cli.failures import failure_of

    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if (reports or junit is not None) and (failure := failure_of(error)) is not None:
            from spec.reports import Unfinished, unfinished_to_junit, write_unfinished, write_whole

            unfinished = Unfinished(subject.name, failure.message, subject.valuation, failure.trace)
            for path in reports:
                with suppress(OSError):
                    write_unfinished(unfinished, path)
            if junit is not None:
                with suppress(OSError):
                    write_whole(junit, unfinished_to_junit(unfinished))
        raise


def _write_report(result: Result, path: Path) -> None:
    from spec.reports import write

    with writing(path):
        write(result, path)


def _write_junit(result: Result, path: Path | None) -> None:
    from spec.reports import to_junit, write_whole

    if path is not None:
        with writing(path):
            write_whole(path, to_junit(result))
