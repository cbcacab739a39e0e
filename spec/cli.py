"""The command `kafkaspec`: options in, results out. All that it does can be done from Python without it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from spec.ending import Ending
from spec.streams import Unwritable, printing_to_stderr, take_over, tell
from spec.terminal import COLOURS, for_stream

if TYPE_CHECKING:
    from spec.checking import Engine, Result, Statistics, Trace
    from spec.checking.followed import Followed
    from spec.checking.replay import Replay
    from spec.checking.simulation import Simulation
    from spec.explorer import Territory
    from spec.failures import Failure
    from spec.language import Specification
    from spec.terminal import Colours

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])


class _Count(click.IntRange):
    name = "whole number"  # as it stands in "'x' is not a valid ..."


class _Text(click.types.StringParamType):
    """A text that must not be empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value.strip():
            _refuse_empty(param, ctx)
        return super().convert(value, param, ctx)


class _Place(click.Path):
    """A path; an empty one would be the directory that one stands in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            _refuse_empty(param, ctx)
        return super().convert(value, param, ctx)


def _refuse_empty(asked: click.Parameter | None, context: click.Context | None) -> NoReturn:
    written = f", write {asked.opts[-1]} {asked.metavar}" if isinstance(asked, click.Option) else ""
    raise click.BadParameter(f"it is empty{written}", context, asked)


def one(
    *names: str, default: Any = None, callback: Callable[..., Any] | None = None, **said: Any
) -> Callable[[Command], Command]:
    """An option that has one value: it may be given again, but not with another."""

    def only(context: click.Context, option: click.Parameter, given: tuple[Any, ...]) -> Any:
        if any(each != given[0] for each in given):
            raise click.BadParameter(f"{' and '.join(map(repr, map(str, given)))} are two values", context, option)
        value = given[0] if given else None
        return callback(context, option, value) if callback else value

    return click.option(*names, multiple=True, default=default and [default], callback=only, **said)


COUNT, TEXT, PLACE = _Count(min=1), _Text(), _Place(path_type=Path)


def _size(context: click.Context, option: click.Parameter, written: str | None) -> int | None:
    """Bytes of a size as a person writes it."""
    from spec.checking.memory import size_of

    if written is None:
        return None
    size = size_of(written)
    if not size:
        hint = "write bytes, or K, M, G or T behind a number, like 512M or 8G"
        raise click.BadParameter(f"{written!r} is not a size: {hint}", context, option)
    return size


# What commands have in common.
ENGINE = one(
    "--engine",
    type=click.Choice(["auto", "local", "spark", "reference"]),
    default="auto",
    help="What explores: `local` on all cores of this machine, `spark` also on many, `reference` slowly, in plain "
    "Python; `auto` is `reference` for what is small, `local` as long as memory lasts, then `spark`.",
)
WORKERS = one("--workers", type=COUNT, metavar="N", help="Cores to use; else all of them.")
MEMORY = one(
    "--memory",
    callback=_size,
    metavar="SIZE",
    help="What all processes may take together, like 512M; else half of what there is.",
)
MAX_STATES = one("--max-states", type=COUNT, metavar="N", help="Stop when this many states are reached.")
MAX_DEPTH = one("--max-depth", type=COUNT, metavar="N", help="Go no deeper than this.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
PROPERTIES = click.option(
    "--property", "properties", type=TEXT, multiple=True, metavar="NAME", help="Check only this one; may be repeated."
)
TRACE = one(
    "--trace",
    type=PLACE,
    metavar="FILE",
    help="Write the counterexample here, as ITF: FILE.itf.json; into a directory each, as PROPERTY.itf.json.",
)
REPORTS = click.option(
    "--report",
    "reports",
    type=PLACE,
    multiple=True,
    metavar="FILE",
    help="Write a report here, as FILE.html or FILE.md; may be repeated.",
)
JUNIT = one("--junit-xml", "junit", type=PLACE, metavar="FILE", help="Write the verdicts here, as CI reads them.")
BRIEF = click.option("--brief", is_flag=True, help="Tell traces in brief: fold what need not be followed.")


def _keep_colours(context: click.Context, option: click.Parameter, colours: Colours) -> None:
    context.meta["colours"] = colours


COLOUR = one(
    "--color",
    type=click.Choice(COLOURS),
    default="auto",
    expose_value=False,
    callback=_keep_colours,
    help="Whether the report has colours: `auto` where it goes to a terminal.",
)
DEADLOCK = click.option("--deadlock", is_flag=True, help="A state in which nothing can happen is an error.")


def of_a_system(command: Command) -> Command:
    """Give a command the argument and options that name a system and its constants."""
    for option in reversed(
        [
            click.argument("system", type=TEXT),
            click.option(
                "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Give a constant or switch this value."
            ),
            one(
                "--release",
                type=TEXT,
                metavar="R",
                help="Begin with what this release of Kafka had, like 2.1 or 2.1.0; else with the newest.",
            ),
            click.option("--with", "switched_on", type=TEXT, multiple=True, metavar="SWITCH", help="Turn a fix on."),
            click.option(
                "--without", "switched_off", type=TEXT, multiple=True, metavar="SWITCH", help="Turn a fix off."
            ),
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
        0  it holds, or what was to be shown is shown
        2  a mistake in what was asked
       10  constants that violate an assumption
       11  deadlock
       12  a property is violated
       20  a bound was reached and nothing found
       21  vacuous: what must be possible, or was to be shown, never happens
       74  a disk is full, Java died, stdout takes no more: what was kept can be gone on with
       75  an action or property raised
      130  interrupted
    With --json an error is one object on stdout, too: {"error": ..., "exit": ...}.
    """  # noqa: D301 - click keeps the lines behind a backspace as they are


@kafkaspec.command("list", short_help="The systems: constants, switches, properties, releases.")
@click.argument("system", type=TEXT, required=False)
@AS_JSON
def list_systems(system: str | None, as_json: bool) -> None:
    """The systems: constants, switches, properties, releases; or those of SYSTEM, which may be a file of your own.

    With --json also its actions and views: one object, or, of all systems, one whose `systems` has them.
    """
    from spec.catalogue import catalogue, described
    from spec.loading import answering_for, system_named
    from spec.systems import SYSTEMS

    with printing_to_stderr():
        named = {name: system_named(name) for name in ([system] if system is not None else SYSTEMS)}
    objects = []
    for each in named.values() if as_json else ():
        with printing_to_stderr(), answering_for(each):
            objects.append(described(each))
    if as_json:
        tell(json.dumps(objects[0] if system is not None else {"systems": objects}))
    else:
        tell(catalogue(named))


@kafkaspec.command(short_help="Explore SYSTEM: what holds, and how the rest breaks.")
@of_a_system
@ENGINE
@WORKERS
@click.option("--symmetry", is_flag=True, help="One state for each orbit of brokers, which may exchange names.")
@PROPERTIES
@click.option("--continue", "keep_going", is_flag=True, help="Explore everything; show how each property breaks.")
@DEADLOCK
@one("--show", type=TEXT, metavar="NAME", help="Show the way to a witness, an action, or 's.count > 2'.")
@MAX_STATES
@MAX_DEPTH
@MEMORY
@one("--run-dir", type=PLACE, metavar="DIR", help="Keep the run here.")
@one("--resume", type=PLACE, metavar="DIR", help="Go on with the run kept here.")
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
    workers: int | None,
    symmetry: bool,
    properties: tuple[str, ...],
    keep_going: bool,
    deadlock: bool,
    show: str | None,
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
    holds, a Python expression on the state s as the system's own properties have it; self has the constants. It looks
    for nothing else, and exits 0 if that is reached, 21 if it never is.

    SYSTEM is a name from `kafkaspec list`, or your own specification: path/to/file.py:Class, package.module:Class.
    A file with one specification needs no :Class.
    """
    for option, given in (("--property", properties), ("--continue", keep_going), ("--deadlock", deadlock)):
        if show is not None and given:
            raise click.UsageError(f"--show and {option}: what is to be shown is looked for alone")
    _can_be_reported(reports, junit)
    _one_form(brief, as_json)
    subject, release = _asked_for(system, release, settings, switched_on, switched_off)
    _can_be_written(trace)
    with _reporting_failures(reports, junit, subject), _keeping(resume or run_dir):
        result = _explored(
            subject,
            engine=_engine(engine, workers, memory, run_dir, resume),
            properties=properties,
            keep_going=keep_going,
            deadlock=deadlock,
            max_states=max_states,
            max_depth=max_depth,
            symmetry=symmetry,
            show=show,
            release=release,
        )
    if as_json:
        tell(json.dumps(result.to_json()))
        _say_if_interrupted(result)
    else:
        _tell_text(_text(result, subject, brief))
    what = "counterexample" if show is None else f"way to {show}"
    _write_each(
        lambda: _write_traces(trace, result, subject, system, what),
        *(partial(_write_report, result, path) for path in reports),
        lambda: _write_junit(result, junit),
    )
    sys.exit(result.exit_code)


def _can_be_reported(reports: tuple[Path, ...], junit: Path | None) -> None:
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
    from spec.failures import failure_of

    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if (reports or junit is not None) and (failure := failure_of(error)) is not None:
            from spec.reports import Unfinished, put, unfinished_to_junit, write_unfinished

            unfinished = Unfinished(subject.name, failure.message, subject.valuation, failure.trace)
            for path in reports:
                with suppress(OSError):
                    write_unfinished(unfinished, path)
            if junit is not None:
                with suppress(OSError):
                    put(junit, unfinished_to_junit(unfinished))
        raise


def _write_each(*writes: Callable[[], None]) -> None:
    """Write files when the result is told, each whichever others fail.

    Raises:
        SystemExit: one could not be written, which is told.
    """
    from spec.failures import ENVIRONMENT, Failure

    failed = False
    for write in writes:
        try:
            write()
        except Failure as failure:
            failed = True
            click.echo(failure, err=True)
    if failed:
        sys.exit(ENVIRONMENT)


def _write_report(result: Result, path: Path) -> None:
    from spec.reports import write

    with _writing(path):
        write(result, path)


def _write_junit(result: Result, path: Path | None) -> None:
    from spec.reports import put, to_junit

    if path is not None:
        with _writing(path):
            put(path, to_junit(result))


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """While a file is written after the result was told.

    Raises:
        Failure: it cannot be written.
    """
    from spec.failures import ENVIRONMENT, Failure

    try:
        yield
    except OSError as failure:
        raise Failure(f"{path} cannot be written: {failure.strerror}", ENVIRONMENT) from None


def _one_form(brief: bool, as_json: bool) -> None:
    """The brief form is for a person."""
    if brief and as_json:
        raise click.UsageError("--brief and --json: JSON has every step, as it was found")


def _text(result: Result | Simulation, subject: Specification, brief: bool) -> str:
    """The report on a specification, with its traces in full or in brief."""
    if not brief:
        return str(result)
    from spec.checking.brief import brief as in_brief

    with _evaluating(subject):
        return result.report(lambda trace: in_brief(subject, trace))


def _tell_text(text: str) -> None:
    """Tell what a person reads, with the colours that were asked for."""
    tell(for_stream(text, sys.stdout, click.get_current_context().meta.get("colours", "auto")), styled=True)


def _can_be_written(trace: Path | None) -> None:
    """A file for a trace is refused before hours are spent on what is to stand in it."""
    if trace is not None and not (trace.is_dir() or trace.parent.is_dir()):
        raise click.UsageError(f"--trace {trace}: there is no directory {trace.parent}")


def _write_traces(
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
        click.echo(f"There is no {what}, so {place} was not written", err=True)
    elif place.is_dir():
        for each in result.traces:
            name = each.broken if re.fullmatch(r"[\w.]+", each.broken) else "shown"  # a predicate is no file's name
            _write_trace(place / f"{name}.itf.json", each, subject, system)
    else:
        _write_trace(place, result.traces[0], subject, system)
        if more := len(result.traces) - 1:
            named = f"{place} has the first trace, not {'the other' if more == 1 else f'{more} others'}"
            click.echo(f"{named}: --trace with a directory keeps each", err=True)


def _write_trace(path: Path, trace: Trace, subject: Specification, system: str) -> None:
    from spec.checking.itf import RecordedTrace

    with _writing(path):
        RecordedTrace.of(subject, trace, system).write(path)


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

    with printing_to_stderr():
        cls = system_named(system)
    with printing_to_stderr(), answering_for(cls):
        subject = specification(cls, release, settings, switched_on, switched_off)
    return subject, None if release is None else release_named(release, cls.releases)


def _explored(subject: Specification, **options: Any) -> Result:
    """What `check` finds."""
    from spec.checking import check

    return _watched(check, subject, **options)


def _watched(ask: Callable[..., T], subject: Specification, **options: Any) -> T:
    """What is found. Progress is shown on stderr, to which everything goes that is printed meanwhile."""
    from spec.checking import EvaluationFailed
    from spec.failures import failure_in
    from spec.loading import answering_for
    from spec.progress import Progress

    try:
        with printing_to_stderr(), answering_for(type(subject)), Progress() as progress:
            return ask(subject, on_progress=progress, **options)
    except EvaluationFailed as failure:
        raise failure_in(type(subject), failure) from failure


@contextmanager
def _keeping(run_dir: Path | None) -> Iterator[None]:
    """Where Ctrl-C leaves no result (code is compiled, a run is read, or it came twice), say what is kept."""
    from spec.failures import INTERRUPTED, Failure

    try:
        yield
    except KeyboardInterrupt:
        from spec.checking.checkpoint import kept_in

        raise Failure(f"interrupted; {kept_in(run_dir) if run_dir else 'nothing was kept'}", INTERRUPTED) from None


def _say_if_interrupted(result: Result | Simulation) -> None:
    """Beside the JSON; in text the result says it."""
    if result.verdict == "interrupted":
        click.echo(f"Interrupted: {result.why}", err=True)


def _engine(
    name: str, workers: int | None, memory: int | None, run_dir: Path | None = None, resume: Path | None = None
) -> Engine:
    if run_dir is not None and resume is not None and run_dir.resolve() != resume.resolve():
        raise click.UsageError("--run-dir and --resume name two directories; a run that goes on stays where it is")
    from spec.checking.engines import engine_class

    engine = engine_class(name)
    if name != "reference":
        return engine(workers=workers, memory=memory, run_dir=resume or run_dir, resume=resume is not None)
    for option, value in (("--run-dir", run_dir), ("--resume", resume)):
        if value is not None:
            raise click.UsageError(f"{option}: the reference engine keeps no run; ask for --engine local")
    if workers not in (None, 1):
        raise click.UsageError("--workers: the reference engine is one process; ask for --engine local")
    return engine(memory=memory)


@kafkaspec.command(short_help="What went wrong in Kafka; with ID, explored without its fix and with it.")
@click.argument("id", required=False, type=TEXT)
@ENGINE
@WORKERS
@MAX_STATES
@MAX_DEPTH
@MEMORY
@BRIEF
@COLOUR
@AS_JSON
@click.pass_context
def anomalies(
    context: click.Context,
    id: str | None,
    engine: str,
    workers: int | None,
    max_states: int | None,
    max_depth: int | None,
    memory: int | None,
    brief: bool,
    as_json: bool,
) -> None:
    """The atlas of anomalies: what went wrong in Kafka, and the one switch that prevents each.

    With ID both sides are explored: with the switch off it breaks, with the switch on it holds. Exits 0 if both come
    out as recorded, 12 if one does not, 20 if a bound stopped one, 130 if it was interrupted.
    """
    from spec.anomalies import Outcome, anomaly_named
    from spec.anomalies import anomalies as recorded
    from spec.catalogue import atlas

    if id is None:
        for name in ("engine", "workers", "memory", "max_states", "max_depth", "brief"):
            if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
                raise click.UsageError(f"--{name.replace('_', '-')}: say which anomaly is to be explored")
        tell(json.dumps([row.to_json() for row in recorded()]) if as_json else atlas(recorded()))
        return
    _one_form(brief, as_json)
    row = anomaly_named(id)
    options = {"engine": _engine(engine, workers, memory), "max_states": max_states, "max_depth": max_depth}
    if not as_json:
        tell(atlas([row]))
    results = {}
    for side, result in row.sides(_explored, **options):
        results[side] = result
        if as_json:
            _say_if_interrupted(result)
        else:
            _tell_text(f"\n== with {row.setting(side)}\n\n{_text(result, row.specification(side), brief)}")
    outcome = Outcome(row, results)
    tell(json.dumps(outcome.to_json()) if as_json else f"\n{outcome.conclusion()}")
    sys.exit(outcome.exit_code)


@kafkaspec.command()
@click.argument(
    "strategy", metavar="STRATEGY", type=click.Choice(["offline", "reassign", "preferred", "controlled-shutdown"])
)
@one("--replicas", type=TEXT, required=True, metavar="1,2,3", help="The assigned replicas (AR), in their order.")
@one("--isr", required=True, metavar="2,3", help="The in-sync replicas, in their order; '' for none.")
@one(
    "--live",
    required=True,
    metavar="1,2,3",
    help="The brokers that are up, those shutting down included; '' for none.",
)
@click.option("--unclean", is_flag=True, help="A replica outside the ISR may be elected (strategy offline).")
@one("--shutting-down", metavar="2", help="Of the live ones, those that are shutting down.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def elect(
    strategy: str, replicas: str, isr: str, live: str, unclean: bool, shutting_down: str | None, as_json: bool
) -> None:
    """Whom would the controller elect?

    STRATEGY is why it asks: offline, reassign, preferred or controlled-shutdown.
    """
    from election import STRATEGIES, UNCLEAN

    if unclean and strategy not in UNCLEAN:
        raise click.UsageError(f"--unclean: {strategy} elects from the ISR only; it is for {', '.join(UNCLEAN)}")
    result = STRATEGIES[strategy](
        _brokers("--replicas", replicas),
        _brokers("--isr", isr),
        _brokers("--live", live),
        shutting_down=_brokers("--shutting-down", shutting_down or ""),
        unclean=unclean,
    )
    if as_json:
        tell(json.dumps(result._asdict()))
    elif result.leader is None:
        tell("no leader can be elected")
    else:
        tell(
            f"leader {result.leader}, ISR {_listed(result.isr)}, LeaderAndIsr to {_listed(result.recipients)}"
            + (", unclean" if result.unclean else "")
        )


def _brokers(option: str, text: str) -> tuple[int, ...]:
    parts = text.split(",") if text.strip() else []
    if not all(re.fullmatch(r" *-?[0-9]{1,10} *", part) for part in parts):  # 32 bits, as Kafka has it
        raise click.UsageError(f"{option} {text}: write broker ids with commas between them, like 1,2,3")
    return tuple(map(int, parts))


def _listed(brokers: tuple[int, ...] | None) -> str:
    return ",".join(map(str, brokers or ())) or "nobody"


@kafkaspec.command(short_help="Draw WHAT: partition, replica, controller, or how an anomaly happens.")
@click.argument("what", type=TEXT)
@one("--release", type=TEXT, metavar="R", help="Of Kafka, such as 2.0.")
@one(
    "--format",
    "form",
    type=click.Choice(["mermaid", "dot", "svg"]),
    default="mermaid",
    show_default=True,
    help="What to draw it as.",
)
@one("-o", "--output", type=_Place(dir_okay=False, path_type=Path), metavar="FILE", help="Write it here.")
def diagram(what: str, release: str | None, form: str, output: Path | None) -> None:
    """Draw WHAT: the transition table of a partition or a replica, the life of a controller, or, by its ID, how an
    anomaly happens, as a sequence diagram (mermaid or svg).

    A table without --release shows the rows of all releases, and says which of them had each; a life is that of the
    newest release, an anomaly's that of its row.
    """
    from spec.diagrams import drawn
    from spec.progress import Progress

    if what.endswith(".json"):
        raise click.UsageError(f"{what}: a kept trace is drawn by `kafkaspec sequence {what}`")
    with Progress() as progress:

        def compiling(statistics: Statistics) -> None:
            if statistics.doing:
                progress(statistics)

        picture = drawn(what, form, release, compiling)
    _give(picture, output)


def _give(picture: str, output: Path | None) -> None:
    """Write a picture to a file, or else to stdout."""
    if output is None:
        click.echo(picture, nl=not picture.endswith("\n"))
        return
    try:
        output.write_text(picture, encoding="utf-8")
    except OSError as failure:
        raise click.UsageError(f"{output} cannot be written: {failure.strerror}") from None


@kafkaspec.command(short_help="Let chance walk through SYSTEM: for what is too large to be explored.")
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

    _one_form(brief, as_json)
    if run is not None and runs is not None:
        raise click.UsageError("--runs and --run: the one run is named, or they are counted")
    if run is not None and seed is None:
        raise click.UsageError("--run: say of which --seed")
    subject, full_release = _asked_for(system, release, settings, switched_on, switched_off)
    _can_be_written(trace)
    found = _watched(
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
    if as_json:
        tell(json.dumps(found.to_json()))
        _say_if_interrupted(found)
    else:
        _tell_text(_text(found, subject, brief))
    _write_each(lambda: _write_traces(trace, found, subject, system))
    sys.exit(found.exit_code)


@kafkaspec.command(short_help="Tell Kafka's own classes the steps of SYSTEM, and compare.")
@of_a_system
@MAX_STATES
@one("--per-class", type=COUNT, metavar="N", help="Tell as many edges of each class, not just one.")
@click.option("--every-edge", is_flag=True, help="Tell all edges: minutes for one broker.")
@AS_JSON
def conform(
    system: str,
    settings: tuple[str, ...],
    release: str | None,
    switched_on: tuple[str, ...],
    switched_off: tuple[str, ...],
    max_states: int | None,
    per_class: int | None,
    every_edge: bool,
    as_json: bool,
) -> None:
    """Follow paths of SYSTEM on real KafkaControllers of a release, step by step: `controller`, one request to
    ZooKeeper at a time, or `partitions`, one batch of requests at a time.

    Each kind of step is told once, in every position from which it can be done; with --every-edge, each step. Exits 0
    if all is as claimed, 12 if something differs, 2 without a Java that compiles, or without Kafka's jars, which are
    fetched once.
    """
    from spec.kafka.conformance import conform as compare
    from spec.kafka.mapping import release_among
    from spec.kafka.mappings import mapping_of
    from spec.loading import system_named

    mapping = mapping_of(system_named(system))
    if every_edge and per_class is not None:
        raise click.UsageError("--per-class: with --every-edge all edges of a class are told")
    run = release_among(release or list(mapping.system.releases)[-1], mapping.releases())
    given = {each.partition("=")[0] for each in settings} | {*switched_on, *switched_off}
    unless_given = {**mapping.driven, **mapping.corrected(run)}
    ours = [f"{name}={str(value).lower()}" for name, value in unless_given.items() if name not in given]
    subject, _ = _asked_for(system, release, (*ours, *settings), switched_on, switched_off)
    with mapping.kafka(run) as kafka:
        result = _watched(
            compare,
            subject,
            kafka=kafka,
            max_states=max_states,
            per_class=1 if per_class is None else per_class,
            every_edge=every_edge,
        )
    tell(json.dumps(result.to_json()) if as_json else str(result))
    sys.exit(result.exit_code)


@kafkaspec.command(short_help="Follow a trace that was kept, or replay anomaly ID on real brokers.")
@click.argument("what", type=TEXT, metavar="FILE|ID")
@one("--on", "release", type=TEXT, metavar="R", help="The release of Kafka, such as 3.9.1, on which ID is replayed.")
@one(
    "--afterwards",
    type=click.FloatRange(min=0, max=3600),
    metavar="SECONDS",
    help="How long nothing may happen on the brokers after the last step; else 10.",
)
@one(
    "--format",
    "form",
    type=click.Choice(["text", "brief", "python"]),
    help="Print the trace in FILE: in full, in brief, or as a program that takes its steps.",
)
@COLOUR
@AS_JSON
def replay(what: str, release: str | None, afterwards: float | None, form: str | None, as_json: bool) -> None:
    """Follow the trace in FILE, which `check --trace FILE.itf.json` wrote, on the specification that it names.

    Exits 0 if the specification has that trace and it ends as it says, 12 if it leaves the specification, which says
    at which step and by which guard, and 2 if the file cannot be read. With --format it prints the trace, if the
    specification has it.

    Or replay anomaly ID on a real ZooKeeper server and real brokers of a release, step by step: a proxy holds each
    broker's requests until the specification's trace has come to them. Exits 0 if it goes as the specification says
    for that release, 12 if not, 2 without a Java that compiles or without Kafka's jars, 74 if a process dies. All of
    them listen on loopback only, and none is left.
    """
    if what.endswith(".json"):
        if release is not None or afterwards is not None:
            raise click.UsageError("--on and --afterwards are for an anomaly, not for a trace in a file")
        if form is None:
            _follow(Path(what), as_json)
        if as_json:
            raise click.UsageError("--format and --json: a trace is printed in one form")
        _print(Path(what), form)
    if form is not None:
        raise click.UsageError(f"--format: it is for a trace in a file, whose name ends with .json, not for {what}")
    if release is None:
        raise click.UsageError(f"{what}: say --on which release; or name the file of a trace, which ends with .json")
    from spec.kafka.replaying import replay as replay_on_brokers
    from spec.kafka.script import script_of

    script = script_of(what, release, _explored)
    outcome = replay_on_brokers(
        script, tell=(lambda line: None) if as_json else tell, afterwards=10.0 if afterwards is None else afterwards
    )
    tell(json.dumps(outcome.to_json()) if as_json else f"\n{outcome}")
    sys.exit(outcome.exit_code)


def _follow(path: Path, as_json: bool) -> NoReturn:
    """Follow the trace in a file, tell what came of it, and end."""
    from spec.checking.followed import follow

    followed = _of_a_trace(path, follow)
    tell(json.dumps(followed.to_json()) if as_json else str(followed))
    sys.exit(followed.exit_code)


def _print(path: Path, form: str) -> NoReturn:
    """Print the trace in a file in this form, and end."""
    followed, replay, trace = _of_a_run(path)
    subject = replay.model.specification
    with _evaluating(subject):
        if form == "python":
            from spec.checking.program import program

            text = program(subject, trace)
        else:
            from spec.checking.brief import brief

            text = str(trace if form == "text" else brief(subject, trace))
    if form == "python":
        tell(text.rstrip("\n"))
    else:
        _tell_text(text)
    sys.exit(followed.exit_code)


def _of_a_trace(path: Path, ask: Callable[..., T], **options: Any) -> T:
    """What comes of the trace in a file, on the specification that it names."""
    from spec.checking.itf import RecordedTrace

    recorded = RecordedTrace.read(path)
    settings = tuple(f"{name}={value}" for name, value in recorded.settings.items())
    subject, _ = _asked_for(recorded.system, None, settings, (), ())
    with _evaluating(subject):
        return ask(recorded, subject, **options)


@contextmanager
def _evaluating(subject: Specification) -> Iterator[None]:
    """While a specification is evaluated: what it prints goes to stderr, and what it raises is its author's."""
    from spec.checking import EvaluationFailed
    from spec.failures import failure_in
    from spec.loading import answering_for

    try:
        with printing_to_stderr(), answering_for(type(subject)):
            yield
    except EvaluationFailed as failure:
        raise failure_in(type(subject), failure) from failure


@kafkaspec.command(short_help="Explain a state of a kept trace: what can happen there, and why nothing else.")
@click.argument("file", type=PLACE)
@one("--step", "state", type=COUNT, metavar="N", help="The number of the state, as the trace has it; else the last.")
@one("--action", type=TEXT, metavar="NAME", help="Only this action, with all that it read.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Only with this parameter.")
@COLOUR
@AS_JSON
def explain(file: Path, state: int | None, action: str | None, parameters: tuple[str, ...], as_json: bool) -> None:
    """Say of a state of the trace in FILE, which `check --trace FILE.itf.json` wrote, what can be done there.

    And of each action that cannot be done, which guard refuses it, in which line; with --action also what it had read
    until then.
    """
    from spec.checking.explained import explain as explanation

    given = dict(each.partition("=")[::2] for each in parameters)
    wrong = next((each for each in parameters if "=" not in each), None)
    if wrong is not None:
        raise click.UsageError(f"--set {wrong}: write NAME=VALUE")
    found = _of_a_trace(file, explanation, state=state, action=action, parameters=given)
    if as_json:
        tell(json.dumps(found.to_json()))
    else:
        _tell_text(str(found))


@kafkaspec.command(short_help="Draw a kept trace as a sequence diagram.")
@click.argument("file", type=PLACE)
@one(
    "--format",
    "form",
    type=click.Choice(["mermaid", "svg"]),
    default="mermaid",
    show_default=True,
    help="What to draw it as.",
)
@one("-o", "--output", type=_Place(dir_okay=False, path_type=Path), metavar="FILE", help="Write it here.")
def sequence(file: Path, form: str, output: Path | None) -> None:
    """Draw the trace in FILE, which `check --trace FILE.itf.json` wrote.

    Each who acts has a lane, each step an arrow, and what it means stands beside it. Exits 12 if the specification
    no longer has that trace, as `replay` does, and draws nothing then.
    """
    from spec.sequence_diagram import FORMATS

    _, _, trace = _of_a_run(file)
    _give(FORMATS[form](trace), output)


class _InOrder(click.Command):
    """A command whose options are events: they happen in the order in which they were given."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(context).parse_args(args=list(args))
        context.meta[IN_ORDER] = [option.name for option in order]
        return super().parse_args(context, args)


IN_ORDER = "kafkaspec.in_order"
EVENTS: dict[str, dict[str, Any]] = {
    "crash": {"metavar": "BROKERS", "type": TEXT, "help": "These brokers die, like 1,3: together."},
    "shutdown": {"metavar": "BROKERS", "type": TEXT, "help": "These are shut down, one by one: they ask first."},
    "return": {"metavar": "BROKERS", "type": TEXT, "help": "These start again, and catch up."},
    "unclean": {"count": True, "help": "Unclean elections are permitted from now on."},
    "unclean-topic": {"metavar": "TOPIC", "type": TEXT, "help": "The same, of one topic."},
    "reassign": {"metavar": "FILE", "type": TEXT, "help": "Partitions move, as in kafka-reassign-partitions.sh."},
    "prefer": {"count": True, "help": "The preferred replica of each partition is elected."},
    "failover": {"count": True, "help": "Another broker becomes controller."},
}


def _of_events(command: Command) -> Command:
    """Give a command an option for each kind of event."""
    for name, said in reversed(EVENTS.items()):
        kind = said if "count" in said else said | {"multiple": True}
        command = click.option(f"--{name}", f"event_{name.replace('-', '_')}", **kind)(command)
    return command


def _happening(given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The events that were given, in their order."""
    values = {name: iter(each) for name, each in given.items() if isinstance(each, tuple)}
    for name in click.get_current_context().meta[IN_ORDER]:
        if name in given:
            yield name.removeprefix("event_").replace("_", "-"), next(values[name]) if name in values else True


@kafkaspec.command("what-if", cls=_InOrder, short_help="What a controller makes of your own CLUSTER's failures.")
@click.argument("cluster", type=TEXT)
@_of_events
@one("--release", type=TEXT, metavar="R", help="The controller's, like 2.8; else the newest with ZooKeeper.")
@one("--live", type=TEXT, metavar="BROKERS", help="The brokers that are alive at first.")
@click.option("--isr", "isrs", type=TEXT, multiple=True, metavar="T-P=BROKERS", help="The ISR of a partition.")
@click.option("--min-isr", "min_isrs", type=TEXT, multiple=True, metavar="[T=]N", help="min.insync.replicas.")
@click.option("--topic", "topics", type=TEXT, multiple=True, metavar="T", help="Ask about this topic only.")
@click.option("--any-order", is_flag=True, help="Explore every order, and tell the worst and the way there.")
@MAX_STATES
@click.option("--steps", is_flag=True, help="Tell what is written and sent, in order.")
@click.option("-v", "--verbose", is_flag=True, help="Tell of partitions that stay as they are, too.")
@AS_JSON
def what_if(
    cluster: str,
    release: str | None,
    live: str | None,
    isrs: tuple[str, ...],
    min_isrs: tuple[str, ...],
    topics: tuple[str, ...],
    any_order: bool,
    max_states: int | None,
    steps: bool,
    verbose: bool,
    as_json: bool,
    **events: Any,
) -> None:
    """Say what the controller of a CLUSTER does when brokers die, return, or are shut down, and what is left then.

    CLUSTER is a file with what `kafka-topics.sh --describe` prints, or the JSON of `kafka-reassign-partitions.sh`; -
    for standard input; or zookeeper://HOST:PORT/CHROOT, which is only read. Events happen in the order in which they
    are given, each to its end. What the source does not say is assumed, and told.

    With --any-order the events happen in every order in which they can, with all that a controller does in between;
    partitions that behave alike are explored once. Then --failover is at any moment.

    Exits 0 if every partition has a leader in the end, 12 if one has none, or may have none, and 20 if a bound was
    reached.
    """
    from spec.releases import release_named
    from spec.what_if.any_order import in_any_order
    from spec.what_if.arguments import brokers_of, events_of, isrs_of, min_isrs_of
    from spec.what_if.cluster import complete
    from spec.what_if.prediction import what_if as predicted
    from spec.what_if.reading import read_cluster
    from statemachines.releases import RELEASES

    for option, given in (("--steps", steps), ("--verbose", verbose)):
        if any_order and given:
            raise click.UsageError(f"{option} and --any-order: of every order the worst is told, and the way there")
    if max_states is not None and not any_order:
        raise click.UsageError("--max-states without --any-order: nothing is explored")
    line = RELEASES[-1] if release is None else release_named(release, dict.fromkeys(RELEASES))
    happening = events_of(_happening(events))
    min_isr, min_isr_of = min_isrs_of(min_isrs)
    asked_about = complete(
        read_cluster(cluster),
        live=None if live is None else brokers_of("--live", live),
        isr=isrs_of(isrs),
        min_isr=min_isr,
        min_isr_of=min_isr_of,
    ).of_topics(topics)
    if any_order:
        worst = in_any_order(asked_about, *happening, release=line, max_states=max_states, explore=_explored)
        tell(json.dumps(worst.to_json()) if as_json else str(worst))
        sys.exit(worst.exit_code)
    prediction = predicted(asked_about, *happening, release=line)
    if as_json:
        tell(json.dumps(prediction.to_json(with_steps=steps)))
    else:
        tell(prediction.told(every=verbose, with_steps=steps))
    sys.exit(prediction.exit_code)


@kafkaspec.command(short_help="Write SYSTEM's state graph, or a quotient of it, for other tools.")
@of_a_system
@click.option(
    "--by", type=TEXT, multiple=True, metavar="EXPRESSION", help="What tells nodes apart, over the state s."
)
@one("--nodes", type=COUNT, metavar="N", help="How many it may have; else 200.")
@MAX_STATES
@one(
    "--format",
    "form",
    type=click.Choice(["dot", "graphml", "aut"]),
    default="dot",
    show_default=True,
    help="Of Graphviz, of networkx and others, or Aldebaran's.",
)
@one("-o", "--output", type=_Place(dir_okay=False, path_type=Path), metavar="FILE", help="Write it here.")
def graph(
    system: str,
    settings: tuple[str, ...],
    release: str | None,
    switched_on: tuple[str, ...],
    switched_off: tuple[str, ...],
    by: tuple[str, ...],
    nodes: int | None,
    max_states: int | None,
    form: str,
    output: Path | None,
) -> None:
    """Explore SYSTEM, and write its states and steps. States that are the same by every --by are one node.

    An expression is Python over the state, such as `s.epoch` or `len(s.zk.sessions)`; without any, each state is a
    node. An edge says which actions lead from a state of one node to a state of the other.
    """
    from spec.state_graph import FORMATS, MOST, state_graph

    subject, _ = _asked_for(system, release, settings, switched_on, switched_off)
    found = _watched(state_graph, subject, by=by, most=MOST if nodes is None else nodes, max_states=max_states)
    _give(FORMATS[form](found), output)


@kafkaspec.command(short_help="Write a page in which one steps through SYSTEM, or through a kept trace.")
@of_a_system
@one("--states", type=COUNT, metavar="N", help="How many the page has: those nearest to where it begins; else 1,000.")
@one("-o", "--output", type=_Place(dir_okay=False, path_type=Path), metavar="FILE", help="Write it here.")
@click.option("--serve", is_flag=True, help="Serve the page instead, with every state, to this machine alone.")
@one("--port", type=click.IntRange(1, 65535), metavar="N", help="With --serve: where; else where it is free.")
def explore(
    system: str,
    settings: tuple[str, ...],
    release: str | None,
    switched_on: tuple[str, ...],
    switched_off: tuple[str, ...],
    states: int | None,
    output: Path | None,
    serve: bool,
    port: int | None,
) -> None:
    """Write one HTML file, which needs no network: what each state is, what can be done there, and where that leads.

    SYSTEM is that of `check`, or a trace that `check --trace FILE.itf.json` wrote: then the page begins with that
    trace, and from each of its states one can go another way. Exits 12 if the specification no longer has the trace.

    A file has as many states as --states says. With --serve the page is at an address that only this machine reaches,
    until Ctrl-C, and has every state: what a state is, is found out when one goes there.
    """
    from spec.explorer import MOST, embedded, territory_of_trace, whole_system

    for option, given in (("--states", states), ("--output", output)):
        if serve and given is not None:
            raise click.UsageError(f"{option} is for a file; with --serve there is none, and every state is there")
    if port is not None and not serve:
        raise click.UsageError("--port is for --serve")
    followed: Followed | None = None
    if system.endswith(".json"):
        if settings or switched_on or switched_off or release is not None:
            raise click.UsageError(f"{system}: a trace says itself under which constants it is; leave them out")
        followed, replay, _ = _of_a_run(Path(system))
        subject = replay.model.specification
    else:
        subject, _ = _asked_for(system, release, settings, switched_on, switched_off)
    with _evaluating(subject):
        territory = whole_system(subject) if followed is None else territory_of_trace(followed)
        page = None if serve else embedded(territory, MOST if states is None else states)
    if page is None:
        _serve(territory, port or 0)
        return
    _give(page.to_html(), output)
    if not page.is_whole:
        click.echo(
            f"There are more than these {len(page.states):,} states; with --serve there are all of them.", err=True
        )


def _serve(territory: Territory, port: int) -> None:
    """Serve a page until the command is interrupted."""
    from spec.explorer import ExplorerServer
    from spec.failures import INTERRUPTED, Failure

    subject = territory.model.specification
    try:
        with _evaluating(subject):
            server = ExplorerServer(territory, port)
        with server:
            tell(f"{territory.title}: {server.url} until Ctrl-C")
            sys.stdout.flush()
            with _evaluating(subject):
                server.serve_forever()
    except KeyboardInterrupt:
        raise Failure("interrupted; the page is no longer served", INTERRUPTED) from None


def _of_a_run(path: Path) -> tuple[Followed, Replay, Trace]:
    """The trace in a file, followed; if the specification no longer has it, that is told, and the command ends."""
    from spec.checking.followed import follow

    followed = _of_a_trace(path, follow)
    if followed.replay is None or followed.trace is None:
        tell(str(followed))
        sys.exit(followed.exit_code)
    return followed, followed.replay, followed.trace


def main() -> NoReturn:
    """The command as a process of its own, which ends as soon as it has answered."""
    ending = Ending()
    try:
        run_command()
    except SystemExit as answered:
        if answered.code is None or isinstance(answered.code, int):
            ending.code = answered.code or 0
        raise


def run_command() -> NoReturn:
    """Run the command; a person's mistake is one line on stderr and an exit code, never a traceback.

    Where the result is to be JSON, so is what stands in its place.

    Raises:
        SystemExit: with the exit code.
    """
    from spec.failures import FAULT, failure_of

    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        take_over()
        sys.exit(kafkaspec.main(prog_name="kafkaspec", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message(), err=True)
        sys.exit(2)
    except Exception as error:
        if (failure := failure_of(error)) is None:
            _answer({"error": f"a fault of kafkaspec: {type(error).__name__}: {error}", "exit": FAULT})
            raise
        _fail(failure)
    except KeyboardInterrupt as error:
        failure = failure_of(error)
        assert failure is not None
        _fail(failure)


def _fail(failure: Failure) -> NoReturn:
    click.echo(failure, err=True)
    _answer(failure.to_json())
    sys.exit(failure.exit)


def _answer(error: dict[str, Any]) -> None:
    """Where JSON was asked for, say it so, too: as well as what comes after options that do not exist."""
    options = list(takewhile("--".__ne__, sys.argv[1:]))
    if "--json" in options:
        with suppress(Unwritable):
            click.echo(json.dumps(error))


if __name__ == "__main__":
    main()
