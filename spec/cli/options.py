"""Types of options, the options that several commands share, and the records in which commands take them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import click

from spec.cli.streams import COLOURS

Command = TypeVar("Command", bound=Callable[..., Any])


class Count(click.IntRange):
    """A whole number with a least value."""

    name = "whole number"  # as in "'x' is not a valid ..."


class Text(click.types.StringParamType):
    """Text that must not be empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text, unless it is empty."""
        if not value.strip():
            _refuse_empty(param, ctx)
        return super().convert(value, param, ctx)


class Place(click.Path):
    """A path; an empty one would mean the current directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, unless it is empty."""
        if not os.fspath(value):
            _refuse_empty(param, ctx)
        return super().convert(value, param, ctx)


class OfBrokers(click.Command):
    """A command whose options take brokers, separated by commas."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a broker that stands alone is refused."""
        given, rest, _ = self.make_parser(context).parse_args(args=list(args))
        words = [*rest, *(given.get(each.name) for each in self.params if isinstance(each, click.Argument))]
        alone = [each for each in words if isinstance(each, str) and re.fullmatch("[0-9, ]+", each)]
        if rest and alone:
            raise click.UsageError(f"{' '.join(alone)}: separate brokers by commas alone, like 1,3", context)
        return super().parse_args(context, args)


def _refuse_empty(asked: click.Parameter | None, context: click.Context | None) -> NoReturn:
    written = f", write {asked.opts[-1]} {asked.metavar}" if isinstance(asked, click.Option) else ""
    raise click.BadParameter(f"it is empty{written}", context, asked)


def single_value(
    *names: str, default: Any = None, callback: Callable[..., Any] | None = None, **said: Any
) -> Callable[[Command], Command]:
    """An option with one value: it may be repeated only with the same value."""

    def only(context: click.Context, option: click.Parameter, given: tuple[Any, ...]) -> Any:
        if any(each != given[0] for each in given):
            raise click.BadParameter(
                f"{' and '.join(map(repr, map(str, given)))} are different values", context, option
            )
        value = given[0] if given else None
        return callback(context, option, value) if callback else value

    return click.option(*names, multiple=True, default=default and [default], callback=only, **said)


def readable(context: click.Context, option: click.Parameter, place: Path | None) -> Path | None:
    """A place for a trace: commands recognise a file with a trace by its name."""
    if place is not None and place.suffix != ".json" and (place.is_file() or not place.exists()):
        allowed = "a file whose name ends with .json, FILE.itf.json, or an existing directory"
        raise click.BadParameter(f"{place} is not {allowed}", context, option)
    return place


COUNT, TEXT, PLACE = Count(min=1), Text(), Place(path_type=Path)


def _size(context: click.Context, option: click.Parameter, written: str | None) -> int | None:
    """The bytes of a size as a person writes it."""
    from spec.checking.machine.memory import size_of

    if written is None:
        return None
    size = size_of(written)
    if not size:
        hint = "write a number of bytes, or a number with K, M, G or T, like 512M or 8G"
        raise click.BadParameter(f"{written!r} is not a size: {hint}", context, option)
    return size


# Options of several commands.
ENGINE = single_value(
    "--engine",
    type=click.Choice(["auto", "local", "spark", "reference"], case_sensitive=False),
    default="auto",
    help="The engine: `local` uses all cores of this machine, `spark` also many machines, `reference` is slow, plain "
    "Python; `auto` is `reference` for small systems, `local` while memory lasts, then `spark`.",
)
DRIVER_LEVEL = single_value(
    "--driver-level",
    type=Count(min=0),
    metavar="N",
    help="With `--engine spark`: the driver expands levels of up to N states itself, as a job takes half a second "
    "before it expands a state; default: 200,000. 0 makes every level a job.",
)
WORKERS = single_value("--workers", type=COUNT, metavar="N", help="Cores to use; default: all.")
MEMORY = single_value(
    "--memory",
    callback=_size,
    metavar="SIZE",
    help="Memory for all processes together, like 512M; default: half of the machine's.",
)


def format_of(forms: Iterable[str]) -> Callable[[Command], Command]:
    """The option for the format of a drawing or a graph; `output.form_of` has its default."""
    return single_value(
        "--format",
        "form",
        type=click.Choice([*forms], case_sensitive=False),
        help="The format; default: what the name of FILE ends with, or else the first of these.",
    )


OUTPUT = single_value(
    "-o",
    "--output",
    type=Place(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file; default: stdout.",
)
MAX_STATES = single_value("--max-states", type=COUNT, metavar="N", help="Stop after this many states.")
MAX_DEPTH = single_value("--max-depth", type=COUNT, metavar="N", help="Explore no deeper than N steps.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
PROPERTIES = click.option(
    "--property",
    "properties",
    type=TEXT,
    multiple=True,
    metavar="NAME",
    help="Check only this property; may be repeated.",
)
TRACE = single_value(
    "--trace",
    type=PLACE,
    callback=readable,
    metavar="FILE",
    help="Write the counterexample as ITF to FILE.itf.json, or all of them into a directory, as PROPERTY.itf.json.",
)
REPORTS = click.option(
    "--report",
    "reports",
    type=PLACE,
    multiple=True,
    metavar="FILE",
    help="Write a report to FILE.html or FILE.md; may be repeated.",
)
JUNIT = single_value(
    "--junit-xml", "junit", type=PLACE, metavar="FILE", help="Write the verdicts as JUnit XML, for CI."
)
BRIEF = click.option("--brief", is_flag=True, help="Print traces in brief: fold steps that need not be followed.")


COLOUR = single_value(
    "--color",
    type=click.Choice(COLOURS, case_sensitive=False),
    default="auto",
    expose_value=False,
    callback=lambda context, option, colours: context.meta.update(colours=colours),
    help="Colour the report; `auto` colours it on a terminal.",
)
OWN = single_value(
    "--spec",
    "own",
    type=TEXT,
    metavar="FILE:Class",
    help="Your own specification to follow the file on; default: the system of kafkaspec that the file names.",
)
NO_FOLDS = click.option(
    "--no-folds",
    is_flag=True,
    help="Read every element when a rule loops over a set or mapping: slower, the same result.",
)
DEADLOCK = click.option("--deadlock", is_flag=True, help="Report a state without an enabled action as an error.")


# Records: a command takes its options in one, instead of a parameter for each.


class SystemOptions(NamedTuple):
    """The name of a system, and what sets its constants."""

    system: str
    settings: tuple[str, ...] = ()
    release: str | None = None
    switched_on: tuple[str, ...] = ()
    switched_off: tuple[str, ...] = ()


class SearchOptions(NamedTuple):
    """The engine, and what limits it."""

    engine: str
    driver_level: int | None
    workers: int | None
    memory: int | None
    max_states: int | None
    max_depth: int | None


class OutputOptions(NamedTuple):
    """How a result is shown, and where its traces are kept."""

    brief: bool
    as_json: bool
    trace: Path | None


def gathered(**records: Any) -> Callable[[Command], Command]:
    """By parameter of the command, the record in which it takes the options that the record's fields name."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> Any:
            made = {name: cls(**{field: given.pop(field) for field in cls._fields}) for name, cls in records.items()}
            return command(**made, **given)

        return run  # type: ignore[return-value]

    return decorate


def system_options(command: Command) -> Command:
    """Add the argument and options of `SystemOptions` to a command, which takes them as `chosen`."""
    command = gathered(chosen=SystemOptions)(command)
    for option in reversed(
        [
            click.argument("system", type=TEXT),
            click.option(
                "--set",
                "settings",
                multiple=True,
                metavar="NAME=VALUE",
                help="Set a constant or switch; may be repeated.",
            ),
            single_value(
                "--release",
                type=TEXT,
                metavar="R",
                help="Start from the constants of this release of Kafka, like 2.1 or 2.1.0; default: the newest.",
            ),
            click.option(
                "--with",
                "switched_on",
                type=TEXT,
                multiple=True,
                metavar="SWITCH",
                help="Turn a fix on; may be repeated.",
            ),
            click.option(
                "--without",
                "switched_off",
                type=TEXT,
                multiple=True,
                metavar="SWITCH",
                help="Turn a fix off; may be repeated.",
            ),
        ]
    ):
        command = option(command)
    return command
