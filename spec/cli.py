"""The command `kafkaspec`: options in, results out. All that it does can be done from Python without it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from spec.checking import Result
    from spec.checking.simulation import Simulation
    from spec.language import Specification

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])


class _Count(click.IntRange):
    name = "whole number"  # as it stands in "'x' is not a valid ..."


COUNT = _Count(min=1)


def _size(context: click.Context, option: click.Parameter, written: str | None) -> int | None:
    """Bytes, as a person writes them."""
    if written is None:
        return None
    parts = re.fullmatch(r"([0-9]+)([KMGT]?)", written, re.IGNORECASE)
    size = int(parts[1]) << 10 * " KMGT".index(parts[2].upper() or " ") if parts else 0
    if not size:
        hint = "write bytes, or K, M, G or T behind a number, like 512M or 8G"
        raise click.BadParameter(f"{written!r} is not a size: {hint}", context, option)
    return size


# What commands have in common.
ENGINE = click.option(
    "--engine",
    type=click.Choice(["auto", "local", "spark", "reference"]),
    default="auto",
    help="Who explores: `local` on all cores of this machine, `spark` also on many, `reference` slowly; "
    "`auto` is `local` as long as memory lasts, then `spark`.",
)
WORKERS = click.option("--workers", type=COUNT, metavar="N", help="Cores to use; else all of them.")
MEMORY = click.option(
    "--memory",
    callback=_size,
    metavar="SIZE",
    help="What the states may take, like 512M; else half of what there is.",
)
MAX_STATES = click.option("--max-states", type=COUNT, metavar="N", help="Stop when this many states are reached.")
MAX_DEPTH = click.option("--max-depth", type=COUNT, metavar="N", help="Go no deeper than this.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
PROPERTIES = click.option(
    "--property", "properties", multiple=True, metavar="NAME", help="Check only this one; may be repeated."
)
DEADLOCK = click.option("--deadlock", is_flag=True, help="A state in which nothing can happen is an error.")


def of_a_system(command: Command) -> Command:
    """Let a command have what says which system is meant, under which constants."""
    for option in reversed(
        [
            click.argument("system"),
            click.option(
                "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Give a constant or switch this value."
            ),
            click.option(
                "--release", metavar="R", help="Begin with what this release of Kafka had; else with the newest."
            ),
            click.option("--with", "switched_on", multiple=True, metavar="SWITCH", help="Turn a fix on."),
            click.option("--without", "switched_off", multiple=True, metavar="SWITCH", help="Turn a fix off."),
        ]
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="kafkaspec")
def kafkaspec() -> None:
    """Kafka's ZooKeeper-era controller and replication protocol, as specifications that are explored exhaustively.

    \b
    Exit codes of `check`:
        0  it holds
        2  a mistake in what was asked
       10  constants that violate an assumption
       11  deadlock
       12  a property is violated
       20  a bound was reached and nothing found
       21  vacuous: what must be possible never happens
       75  an action or property raised
      130  interrupted
    """  # noqa: D301 - click keeps the lines behind a backspace as they are


@kafkaspec.command("list")
def list_systems() -> None:
    """The systems: constants, switches, properties, releases."""
    from spec.catalogue import catalogue

    click.echo(catalogue())


@kafkaspec.command(short_help="Explore SYSTEM: what holds, and how the rest breaks.")
@of_a_system
@ENGINE
@WORKERS
@click.option("--symmetry", is_flag=True, help="One state for each orbit of brokers, which may exchange names.")
@PROPERTIES
@click.option("--continue", "keep_going", is_flag=True, help="Explore everything, whatever is found.")
@DEADLOCK
@MAX_STATES
@MAX_DEPTH
@MEMORY
@click.option("--run-dir", type=click.Path(path_type=Path), metavar="DIR", help="Keep the run here.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="DIR", help="Go on with the run kept here.")
@AS_JSON
@click.option("--trace", metavar="FILE", help="Write the counterexample as ITF (not built yet).")
def check(
    system: str,
    settings: tuple[str, ...],
    release: str | None,
    switched_on: tuple[str, ...],
    switched_off: tuple[str, ...],
    engine: str,
    workers: int | None,
    symmetry: bool,
    properties: tuple[str, ...],
    keep_going: bool,
    deadlock: bool,
    max_states: int | None,
    max_depth: int | None,
    memory: int | None,
    run_dir: Path | None,
    resume: Path | None,
    as_json: bool,
    trace: str | None,
) -> None:
    """Explore SYSTEM and say what holds, or show the shortest way to what does not.

    SYSTEM is a name from `kafkaspec list`, or your own specification: path/to/file.py:Class, package.module:Class.
    """
    from spec.report import report

    if trace:
        raise click.UsageError("--trace is not built yet")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    subject, release = _asked_for(system, release, settings, switched_on, switched_off)
    result = _explored(
        subject,
        engine=_engine(engine, workers, memory, run_dir, resume),
        properties=properties,
        keep_going=keep_going,
        deadlock=deadlock,
        max_states=max_states,
        max_depth=max_depth,
        symmetry=symmetry,
        release=release,
    )
    click.echo(json.dumps(result.to_json()) if as_json else report(result))
    if as_json:
        _say_if_interrupted(result)
    sys.exit(result.exit_code)


def _asked_for(
    system: str,
    release: str | None,
    settings: tuple[str, ...],
    switched_on: tuple[str, ...],
    switched_off: tuple[str, ...],
) -> tuple[Specification, str | None]:
    """The specification that is meant, and the release by its full name."""
    from spec.loading import answering_for, specification, system_named
    from spec.releases import release_named

    cls = system_named(system)
    with answering_for(cls):
        subject = specification(cls, release, settings, switched_on, switched_off)
    return subject, None if release is None else release_named(release, cls.releases)


def _explored(subject: Specification, **options: Any) -> Result:
    """What `check` finds."""
    from spec.checking import check

    return _watched(check, subject, **options)


def _watched(ask: Callable[..., T], subject: Specification, **options: Any) -> T:
    """What is found, watched on stderr. What the specification raises is told, and ends the command."""
    from spec.checking import EvaluationFailed
    from spec.loading import answering_for, place_in
    from spec.progress import Progress

    try:
        with answering_for(type(subject)), Progress() as progress:
            return ask(subject, watch=progress, **options)
    except EvaluationFailed as failure:
        place = place_in(type(subject), failure.__cause__)
        at = f" ({place})" if place else ""
        state = failure.state or "in which every variable has the first value of its domain"
        notes = "".join(f", {note}" for note in getattr(failure, "__notes__", ()))
        _fail(f"{failure}{at}\n  in the state {state}{notes}", 75)


def _say_if_interrupted(result: Result | Simulation) -> None:
    """Beside the JSON; in text the result says it."""
    if result.verdict == "interrupted":
        click.echo(f"Interrupted: {result.why}", err=True)


def _engine(
    name: str, workers: int | None, memory: int | None, run_dir: Path | None = None, resume: Path | None = None
) -> Any:
    if run_dir is not None and resume is not None and run_dir != resume:
        raise click.UsageError("--run-dir and --resume name two directories; a run that goes on stays where it is")
    if name == "spark":
        from spec.checking.spark import SparkEngine

        if memory is not None:
            raise click.UsageError("--memory: the engine spark keeps its states on disk; ask for --engine local")
        return SparkEngine(run_dir=resume or run_dir, resume=resume is not None, workers=workers)
    if name == "reference":
        for option, value in (("--run-dir", run_dir), ("--resume", resume)):
            if value is not None:
                raise click.UsageError(f"{option}: the reference engine keeps no run; ask for --engine local")
        if workers not in (None, 1):
            raise click.UsageError("--workers: the reference engine is one process; ask for --engine local")
        if memory is not None:
            raise click.UsageError("--memory: the reference engine does not count bytes; ask for --engine local")
        return name
    from spec.checking.auto import AutoEngine
    from spec.checking.local import LocalEngine

    chosen = LocalEngine if name == "local" else AutoEngine
    return chosen(workers, memory, resume or run_dir, resume=resume is not None)


@kafkaspec.command(short_help="What went wrong in Kafka; with ID, explored without its fix and with it.")
@click.argument("id", required=False)
@ENGINE
@WORKERS
@MAX_STATES
@MAX_DEPTH
@MEMORY
@AS_JSON
def anomalies(
    id: str | None,
    engine: str,
    workers: int | None,
    max_states: int | None,
    max_depth: int | None,
    memory: int | None,
    as_json: bool,
) -> None:
    """The atlas of anomalies: what went wrong in Kafka, and the one switch that prevents each.

    With ID both sides are explored: with the switch off it breaks, with the switch on it holds. Exits 0 if both come
    out as recorded, 12 if one does not, 20 if a bound stopped one, 130 if it was interrupted.
    """
    from spec.anomalies import Outcome, anomaly_named
    from spec.anomalies import anomalies as recorded
    from spec.catalogue import atlas
    from spec.report import report

    if id is None:
        asked = {
            "--engine": engine != "auto",
            "--workers": workers,
            "--memory": memory,
            "--max-states": max_states,
            "--max-depth": max_depth,
        }
        for option, value in asked.items():
            if value:
                raise click.UsageError(f"{option}: say which anomaly is to be explored")
        click.echo(json.dumps([row.to_json() for row in recorded()]) if as_json else atlas(recorded()))
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    row = anomaly_named(id)
    options = {"engine": _engine(engine, workers, memory), "max_states": max_states, "max_depth": max_depth}
    if not as_json:
        click.echo(atlas([row]))
    results = {}
    for side, result in row.sides(_explored, **options):
        results[side] = result
        if as_json:
            _say_if_interrupted(result)
        else:
            click.echo(f"\n== with {row.setting(side)}\n\n{report(result)}")
    outcome = Outcome(row, results)
    click.echo(json.dumps(outcome.to_json()) if as_json else f"\n{outcome.conclusion()}")
    sys.exit(outcome.exit_code)


@kafkaspec.command()
@click.argument(
    "strategy", metavar="STRATEGY", type=click.Choice(["offline", "reassign", "preferred", "controlled-shutdown"])
)
@click.option("--replicas", required=True, metavar="1,2,3", help="The assigned replicas (AR), in their order.")
@click.option("--isr", required=True, metavar="2,3", help="The in-sync replicas, in their order.")
@click.option("--live", required=True, metavar="1,2,3", help="The brokers that are up, those shutting down included.")
@click.option("--unclean", is_flag=True, help="A replica outside the ISR may be elected (strategy offline).")
@click.option("--shutting-down", default="", metavar="2", help="Of the live ones, those that are shutting down.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def elect(
    strategy: str, replicas: str, isr: str, live: str, unclean: bool, shutting_down: str, as_json: bool
) -> None:
    """Whom would the controller elect?

    STRATEGY is why it asks: offline, reassign, preferred or controlled-shutdown.
    """
    from election import STRATEGIES

    result = STRATEGIES[strategy](
        _brokers("--replicas", replicas),
        _brokers("--isr", isr),
        _brokers("--live", live),
        shutting_down=_brokers("--shutting-down", shutting_down),
        unclean=unclean,
    )
    if as_json:
        click.echo(json.dumps(result._asdict()))
    elif result.leader is None:
        click.echo("no leader can be elected")
    else:
        click.echo(
            f"leader {result.leader}, ISR {_listed(result.isr)}, LeaderAndIsr to {_listed(result.recipients)}"
            + (", unclean" if result.unclean else "")
        )


def _brokers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text.strip() else ()
    except ValueError:
        raise click.UsageError(f"{option} {text}: write broker ids with commas between them, like 1,2,3") from None


def _listed(brokers: tuple[int, ...] | None) -> str:
    return ",".join(map(str, brokers or ())) or "nobody"


@kafkaspec.command(short_help="Draw WHAT: partition, replica or controller.")
@click.argument("what")
@click.option("--release", metavar="R", help="Of Kafka, such as 2.0.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "dot", "svg"]),
    default="mermaid",
    show_default=True,
    help="What to draw it as.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it here."
)
def diagram(what: str, release: str | None, form: str, output: Path | None) -> None:
    """Draw WHAT: the transition table of a partition or a replica, or the life of a controller.

    A table without --release shows the rows of all releases, and says which of them had each; a life is that of the
    newest release.
    """
    from spec.releases import RELEASES, release_named
    from statemachines import controller_diagram
    from statemachines.diagrams import DIAGRAMS, FORMATS

    if what not in DIAGRAMS and what != "controller":
        raise click.UsageError(f"no diagram is called {what}; there are {', '.join([*DIAGRAMS, 'controller'])}")
    named = release and release_named(release, dict.fromkeys(RELEASES))
    if what == "controller":
        picture = controller_diagram.FORMATS[form](controller_diagram.picture(named or RELEASES[-1]))
    else:
        picture = FORMATS[form](DIAGRAMS[what].at(named) if named else DIAGRAMS[what])
    if output is None:
        click.echo(picture, nl=not picture.endswith("\n"))
        return
    try:
        output.write_text(picture, encoding="utf-8")
    except OSError as failure:
        raise click.UsageError(f"{output} cannot be written: {failure.strerror}") from None


@kafkaspec.command(short_help="Let chance walk through SYSTEM: for what is too large to be explored.")
@of_a_system
@click.option("--runs", type=COUNT, metavar="N", help="How many; else 100,000. The first that fails is the last.")
@click.option("--steps", type=COUNT, default=100, show_default=True, metavar="N", help="Of each run, at most.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), metavar="S", help="The same seed, the same runs.")
@click.option("--run", type=COUNT, metavar="K", help="Only this run of the seed, step by step.")
@WORKERS
@PROPERTIES
@DEADLOCK
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
    as_json: bool,
) -> None:
    """Let chance walk through SYSTEM, run after run, until something breaks; it is shrunk to a short trace.

    It proves nothing: if nothing breaks it exits 20, as for any bound. The seed and the run are printed, and with
    them everything comes out again, whatever the number of workers. SYSTEM and exit codes are those of `check`.
    """
    from spec.checking.simulation import RUNS
    from spec.checking.simulation import simulate as walk
    from spec.report import report_of_walks

    if run is not None and runs is not None:
        raise click.UsageError("--runs and --run: the one run is named, or they are counted")
    if run is not None and seed is None:
        raise click.UsageError("--run: say of which --seed")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    subject, full_release = _asked_for(system, release, settings, switched_on, switched_off)
    found = _watched(
        walk,
        subject,
        runs=RUNS if runs is None else runs,
        steps=steps,
        seed=seed,
        run=run,
        workers=workers or len(os.sched_getaffinity(0)),
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
    click.echo(json.dumps(found.to_json()) if as_json else report_of_walks(found))
    if as_json:
        _say_if_interrupted(found)
    sys.exit(found.exit_code)


@kafkaspec.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("rest", nargs=-1)
def replay(rest: tuple[str, ...]) -> None:
    """A trace again."""
    raise click.UsageError("replay is not built yet")


def main() -> NoReturn:
    """Run the command; a person's mistake is one line on stderr and an exit code, never a traceback."""
    from spec.language.errors import AssumptionViolated, SpecificationError, UsageError

    try:
        sys.exit(kafkaspec.main(prog_name="kafkaspec", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as mistake:
        _fail(" ".join(mistake.format_message().split()), 2)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted; nothing was kept", 130)
    except (UsageError, SpecificationError) as mistake:
        _fail(str(mistake), 2)
    except AssumptionViolated as mistake:
        _fail(str(mistake), 10)
    except ValueError as mistake:
        from election import InvalidBrokers

        if not isinstance(mistake, InvalidBrokers):
            raise
        _fail(str(mistake), 2)


def _fail(message: str, code: int) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
