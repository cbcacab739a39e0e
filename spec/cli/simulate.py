"""`kafkaspec simulate`: random runs of a system until one fails (`spec.checking.simulation`)."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace

import click

from spec.cli import options
from spec.cli.output import print_found, require_one_form, require_writable_trace, write_each, write_traces
from spec.cli.running import specification_for, with_progress


@click.command(short_help="Run SYSTEM at random: for systems too large to explore.")
@options.system_options
@options.single_value(
    "--runs", type=options.COUNT, metavar="N", help="How many runs; default: 100,000. The first failure ends them."
)
@options.single_value(
    "--steps", type=options.COUNT, default=100, show_default=True, metavar="N", help="The most steps of each run."
)
@options.single_value(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    metavar="S",
    help="The seed of the runs; the same seed gives the same runs.",
)
@options.single_value("--run", type=options.COUNT, metavar="K", help="Print only run K of the seed, step by step.")
@options.WORKERS
@options.PROPERTIES
@options.DEADLOCK
@options.NO_FOLDS
@options.TRACE
@options.BRIEF
@options.COLOUR
@options.AS_JSON
@options.gathered(output=options.OutputOptions)
def simulate(
    chosen: options.SystemOptions,
    output: options.OutputOptions,
    runs: int | None,
    steps: int,
    seed: int | None,
    run: int | None,
    workers: int | None,
    properties: tuple[str, ...],
    deadlock: bool,
    no_folds: bool,
) -> None:
    """Take random runs through SYSTEM until a property breaks, and shrink that run to a short trace.

    A simulation proves nothing: without a failure it exits 20, as for any bound. It prints the seed and the run,
    which reproduce the result with any number of workers. SYSTEM and exit codes are as for `check`.
    """
    from spec.checking.simulation import RUNS
    from spec.checking.simulation import simulate as walk

    require_one_form(output.brief, output.as_json)
    if run is not None and runs is not None:
        raise click.UsageError("--runs and --run: give a number of runs or a single run")
    if run is not None and seed is None:
        raise click.UsageError("--run needs a --seed")
    subject, full_release = specification_for(chosen)
    require_writable_trace(output.trace, subject)
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
        words = ["kafkaspec", "simulate", chosen.system]
        words += ["--release", chosen.release] if chosen.release is not None else []
        for option, values in (
            ("--set", chosen.settings),
            ("--with", chosen.switched_on),
            ("--without", chosen.switched_off),
            ("--property", properties),
        ):
            words += [word for value in values for word in (option, value)]
        words += ["--deadlock"] * deadlock
        words += ["--steps", str(steps), "--seed", str(found.seed), "--run", str(found.failing_run)]
        found = replace(found, repeat=shlex.join(words))
    found = print_found(found, subject, output)
    write_each(lambda: write_traces(output.trace, found, subject, chosen.system))
    sys.exit(found.exit_code)
