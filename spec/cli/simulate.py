"""`kafkaspec simulate`: random runs through a system, and the first that fails (`spec.checking.simulation`)."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import click

from spec.cli.answering import (
    can_be_written,
    lines_of,
    one_form,
    say_if_interrupted,
    tell_lines,
    with_known,
    write_each,
    write_traces,
)
from spec.cli.asking import asked_for, watched
from spec.cli.options import AS_JSON, BRIEF, COLOUR, COUNT, DEADLOCK, PROPERTIES, TRACE, WORKERS, of_a_system, one
from spec.cli.streams import tell


@click.command(short_help="Let chance walk through SYSTEM: for what is too large to be explored.")
@of_a_system
@one("--runs", type=COUNT, metavar="N", help="How many; else 100,000. The first that fails is the last.")
@one("--steps", type=COUNT, default=100, show_default=True, metavar="N", help="Of each run, at most.")
@one("--seed", type=click.IntRange(0, 2**64 - 1), metavar="S", help="The same seed, the same runs.")
@one("--run", type=COUNT, metavar="K", help="Only this run of the seed, step by step.")
@WORKERS
@PROPERTIES
@DEADLOCK
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
    trace: Path | None,
    brief: bool,
    as_json: bool,
) -> None:
    """Let chance walk through SYSTEM, run after run, until something breaks; it is shrunk to a short trace.

    It proves nothing: if nothing breaks it exits 20, as for any bound. The seed and the run are printed, and with
    them everything comes out again, whatever the number of workers. SYSTEM and exit codes are those of `check`.
    """
    from spec.checking.simulation import RUNS
    from spec.checking.simulation import simulate as walk

    one_form(brief, as_json)
    if run is not None and runs is not None:
        raise click.UsageError("--runs and --run: the one run is named, or they are counted")
    if run is not None and seed is None:
        raise click.UsageError("--run: say of which --seed")
    subject, full_release = asked_for(system, release, settings, switched_on, switched_off)
    can_be_written(trace, subject)
    found = watched(
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
    found = with_known(found)
    if as_json:
        tell(json.dumps(found.to_json()))
        say_if_interrupted(found)
    else:
        tell_lines(lines_of(found, subject, brief))
    write_each(lambda: write_traces(trace, found, subject, system))
    sys.exit(found.exit_code)
