"""`kafkaspec simulate`: random runs of a system until one fails (`spec.checking.simulation`)."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import click

from spec.cli.options import (
    AS_JSON,
    BRIEF,
    COLOUR,
    COUNT,
    DEADLOCK,
    NO_FOLDS,
    PROPERTIES,
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
)
from spec.cli.running import specification_for, with_progress
from spec.cli.streams import print_result


@click.command(short_help="Run SYSTEM at random: for systems too large to explore.")
@system_options
@single_value("--runs", type=COUNT, metavar="N", help="How many runs; default: 100,000. The first failure ends them.")
@single_value("--steps", type=COUNT, default=100, show_default=True, metavar="N", help="The most steps of each run.")
@single_value(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    metavar="S",
    help="The seed of the runs; the same seed gives the same runs.",
)
@single_value("--run", type=COUNT, metavar="K", help="Print only run K of the seed, step by step.")
@WORKERS
@PROPERTIES
@DEADLOCK
@NO_FOLDS
@TRACE
@BRIEF
@COLOUR
@AS_JSON
def simulate(
    system: str,
    settings: tuple[str, ...],
    release: str | None,
    switched_on: tuple[str, ...],
    switched_off: tuple[str, ...],
    runs: int | None,
    steps: int,
    seed: int | None,
    run: int | None,
    workers: int | None,
    properties: tuple[str, ...],
    deadlock: bool,
    no_folds: bool,
    trace: Path | None,
    brief: bool,
    as_json: bool,
) -> None:
    """Take random runs through SYSTEM until a property breaks, and shrink that run to a short trace.

    A simulation proves nothing: without a failure it exits 20, as for any bound. It prints the seed and the run,
    which reproduce the result with any number of workers. SYSTEM and exit codes are as for `check`.
    """
    from spec.checking.simulation import RUNS
    from spec.checking.simulation import simulate as walk

    require_one_form(brief, as_json)
    if run is not None and runs is not None:
        raise click.UsageError("--runs and --run: give a number of runs or a single run")
    if run is not None and seed is None:
        raise click.UsageError("--run needs a --seed")
    subject, full_release = specification_for(system, release, settings, switched_on, switched_off)
    require_writable_trace(trace, subject)
    found = with_progress(
        walk,
        subject,
        runs=RUNS if runs is None else runs,
        steps=steps,
        seed=seed,
        run=run,
        workers=workers,
        properties=properties,
        deadlock=deadlock,
        release=full_release,
        folds=not no_folds,
    )
    if found.failing_run is not None:
        words = ["kafkaspec", "simulate", system]
        words += ["--release", release] if release is not None else []
        for option, values in (
            ("--set", settings),
            ("--with", switched_on),
            ("--without", switched_off),
            ("--property", properties),
        ):
            words += [word for value in values for word in (option, value)]
        words += ["--deadlock"] * deadlock
        words += ["--steps", str(steps), "--seed", str(found.seed), "--run", str(found.failing_run)]
        found = replace(found, repeat=shlex.join(words))
    found = with_known_anomalies(found)
    if as_json:
        print_result(json.dumps(found.to_json()))
        note_interruption(found)
    else:
        print_lines(lines_of(found, subject, brief))
    write_each(lambda: write_traces(trace, found, subject, system))
    sys.exit(found.exit_code)
