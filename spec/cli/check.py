"""`kafkaspec check`: a system explored, and its verdict told, traced and reported in what was asked for."""

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


@click.command(short_help="Explore SYSTEM: what holds, and how the rest breaks.")
@system_options
@ENGINE
@DRIVER_LEVEL
@WORKERS
@click.option("--symmetry", is_flag=True, help="One state for each orbit of brokers, which may exchange names.")
@PROPERTIES
@click.option("--continue", "keep_going", is_flag=True, help="Explore everything; show how each property breaks.")
@DEADLOCK
@single_value(
    "--show",
    type=TEXT,
    metavar="NAME",
    help="Show the way to a witness, an action, or 's.count > 2', which runs as Python.",
)
@click.option(
    "--accept-vacuous",
    type=TEXT,
    multiple=True,
    metavar="NAME",
    help="This action or witness need not happen; may be repeated.",
)
@MAX_STATES
@MAX_DEPTH
@MEMORY
@single_value("--run-dir", type=PLACE, metavar="DIR", help="Keep the run here.")
@single_value("--resume", type=PLACE, metavar="DIR", help="Go on with the run kept here.")
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
    max_states: int | None,
    max_depth: int | None,
    memory: int | None,
    run_dir: Path | None,
    resume: Path | None,
    trace: Path | None,
    reports: tuple[Path, ...],
    junit: Path | None,
    brief: bool,
    as_json: bool,
) -> None:
    """Explore SYSTEM and say what holds, or show the shortest way to what does not; with --continue, to each of them.

    With --show it shows the shortest way to a witness, to a step of an action, or to a state in which a predicate
    holds, a Python expression on the state s as the system's own properties have it; self has the constants. The
    expression runs with all your rights, as any program of yours does. The search looks for nothing else, and exits 0
    if that is reached, 21 if it never is.

    SYSTEM is a name from `kafkaspec list`, or your own specification: path/to/file.py:Class, package.module:Class.
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
            raise click.UsageError(f"--show and {option}: what is to be shown is looked for alone")
    if properties and accept_vacuous:
        raise click.UsageError("--property and --accept-vacuous: where properties are named, nothing is vacuous")
    _require_writable_reports(reports, junit)
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
            release=release,
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
    """Reports are refused, too, before hours are spent on what is to stand in them.

    Raises:
        UsageError: one is in no known format, or cannot be written.
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
    """A check without a result is told in each file, too; those of an earlier run would say that it went well."""
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
