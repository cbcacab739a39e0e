"""`kafkaspec check`: explore a system, and print its verdict and traces, with reports in the requested formats."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spec.cli.options import (
    AS_JSON,
    BRIEF,
    COLOUR,
    DEADLOCK,
    DRIVER_LEVEL,
    ENGINE,
    JUNIT,
    MAX_DEPTH,
    MAX_STATES,
    MEMORY,
    NO_FOLDS,
    PLACE,
    PROPERTIES,
    REPORTS,
    TEXT,
    TRACE,
    WORKERS,
    single_value,
    system_options,
)
from spec.cli.output import (
    lines_of,
    note_interruption,
    print_lines,
    require_one_form,
    require_writable_trace,
    with_known_anomalies,
    write_each,
    write_traces,
    writing,
)
from spec.cli.running import engine_named, reporting_kept_run, run_check, specification_for
from spec.cli.streams import print_result

if TYPE_CHECKING:
    from spec.checking import Result
    from spec.language import Specification


@click.command(short_help="Check SYSTEM's properties, with counterexamples.")
@system_options
@ENGINE
@DRIVER_LEVEL
@WORKERS
@click.option("--symmetry", is_flag=True, help="Treat states that differ only in brokers' names as one.")
@PROPERTIES
@click.option(
    "--continue", "keep_going", is_flag=True, help="Keep exploring after a violation; show one for each property."
)
@DEADLOCK
@single_value(
    "--show",
    type=TEXT,
    metavar="NAME",
    help="Show the shortest way to a witness, an action, or a Python predicate such as 's.count > 2'.",
)
@click.option(
    "--accept-vacuous",
    type=TEXT,
    multiple=True,
    metavar="NAME",
    help="Accept that this action or witness never happens; may be repeated.",
)
@click.option(
    "--profile", is_flag=True, help="Print what each action and property took, and how well its paths were learned."
)
@MAX_STATES
@MAX_DEPTH
@MEMORY
@single_value(
    "--run-dir", type=PLACE, metavar="DIR", help="Keep the run in this directory, so that it can be resumed."
)
@single_value("--resume", type=PLACE, metavar="DIR", help="Resume the run kept in this directory.")
@NO_FOLDS
@TRACE
@REPORTS
@JUNIT
@BRIEF
@COLOUR
@AS_JSON
def check(
    system: str,
    settings: tuple[str, ...],
    release: str | None,
    switched_on: tuple[str, ...],
    switched_off: tuple[str, ...],
    engine: str,
    driver_level: int | None,
    workers: int | None,
    symmetry: bool,
    properties: tuple[str, ...],
    keep_going: bool,
    deadlock: bool,
    show: str | None,
    accept_vacuous: tuple[str, ...],
    profile: bool,
    max_states: int | None,
    max_depth: int | None,
    memory: int | None,
    run_dir: Path | None,
    resume: Path | None,
    no_folds: bool,
    trace: Path | None,
    reports: tuple[Path, ...],
    junit: Path | None,
    brief: bool,
    as_json: bool,
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
    if profile and engine == "spark":
        raise click.UsageError("--profile and --engine spark: Spark's workers are not measured")
    require_one_form(brief, as_json)
    subject, release = specification_for(system, release, settings, switched_on, switched_off)
    require_writable_trace(trace, subject)
    with _reporting_failures(reports, junit, subject), reporting_kept_run(resume or run_dir):
        result = run_check(
            subject,
            engine=engine_named(engine, workers, memory, run_dir, resume, driver_level),
            properties=properties,
            keep_going=keep_going,
            deadlock=deadlock,
            max_states=max_states,
            max_depth=max_depth,
            symmetry=symmetry,
            show=show,
            accept_vacuous=accept_vacuous,
            profile=profile,
            release=release,
            folds=not no_folds,
        )
    result = with_known_anomalies(result)
    if as_json:
        print_result(json.dumps(result.to_json()))
        note_interruption(result)
    else:
        print_lines(lines_of(result, subject, brief))
    what = "counterexample" if show is None else f"way to {show}"
    write_each(
        lambda: write_traces(trace, result, subject, system, what),
        *(partial(_write_report, result, path) for path in reports),
        lambda: _write_junit(result, junit),
    )
    sys.exit(result.exit_code)


def _require_writable_reports(reports: tuple[Path, ...], junit: Path | None) -> None:
    """Refuse bad report files at once, before hours are spent on their content.

    Raises:
        UsageError: a file has an unknown format, or cannot be written.
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
