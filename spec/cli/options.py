"""What options are, and those that several commands have."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from spec.cli.terminal import COLOURS

if TYPE_CHECKING:
    from spec.cli.terminal import Colours

Command = TypeVar("Command", bound=Callable[..., Any])


class Count(click.IntRange):
    """A whole number, of at least what is said."""

    name = "whole number"  # as it stands in "'x' is not a valid ..."


class Text(click.types.StringParamType):
    """A text that must not be empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """What was written, unless it is empty."""
        if not value.strip():
            _refuse_empty(param, ctx)
        return super().convert(value, param, ctx)


class Place(click.Path):
    """A path; an empty one would be the directory that one stands in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """What was written, unless it is empty."""
        if not os.fspath(value):
            _refuse_empty(param, ctx)
        return super().convert(value, param, ctx)


def _refuse_empty(asked: click.Parameter | None, context: click.Context | None) -> NoReturn:
    written = f", write {asked.opts[-1]} {asked.metavar}" if isinstance(asked, click.Option) else ""
    raise click.BadParameter(f"it is empty{written}", context, asked)


def single_value(
    *names: str, default: Any = None, callback: Callable[..., Any] | None = None, **said: Any
) -> Callable[[Command], Command]:
    """An option that has one value: it may be given again, but not with another."""

    def only(context: click.Context, option: click.Parameter, given: tuple[Any, ...]) -> Any:
        if any(each != given[0] for each in given):
            raise click.BadParameter(f"{' and '.join(map(repr, map(str, given)))} are two values", context, option)
        value = given[0] if given else None
        return callback(context, option, value) if callback else value

    return click.option(*names, multiple=True, default=default and [default], callback=only, **said)


def readable(context: click.Context, option: click.Parameter, place: Path | None) -> Path | None:
    """Where a trace is written; every command knows a file that has one by its name."""
    if place is not None and place.suffix != ".json" and (place.is_file() or not place.exists()):
        allowed = "a file whose name ends with .json, FILE.itf.json, or a directory that is there"
        raise click.BadParameter(f"{place} is not {allowed}", context, option)
    return place


COUNT, TEXT, PLACE = Count(min=1), Text(), Place(path_type=Path)


def _size(context: click.Context, option: click.Parameter, written: str | None) -> int | None:
    """Bytes of a size as a person writes it."""
    from spec.checking.machine.memory import size_of

    if written is None:
        return None
    size = size_of(written)
    if not size:
        hint = "write bytes, or K, M, G or T behind a number, like 512M or 8G"
        raise click.BadParameter(f"{written!r} is not a size: {hint}", context, option)
    return size


# What commands have in common.
ENGINE = single_value(
    "--engine",
    type=click.Choice(["auto", "local", "spark", "reference"]),
    default="auto",
    help="What explores: `local` on all cores of this machine, `spark` also on many, `reference` slowly, in plain "
    "Python; `auto` is `reference` for what is small, `local` as long as memory lasts, then `spark`.",
)
DRIVER_LEVEL = single_value(
    "--driver-level",
    type=Count(min=0),
    metavar="N",
    help="With `--engine spark`: the driver expands levels of up to N states itself; else of up to 200,000, since a "
    "job takes half a second before it expands a state. 0 makes every level a job.",
)
WORKERS = single_value("--workers", type=COUNT, metavar="N", help="Cores to use; else all of them.")
MEMORY = single_value(
    "--memory",
    callback=_size,
    metavar="SIZE",
    help="What all processes may take together, like 512M; else half of what there is.",
)
OUTPUT = single_value(
    "-o", "--output", type=Place(dir_okay=False, path_type=Path), metavar="FILE", help="Write it here."
)
MAX_STATES = single_value("--max-states", type=COUNT, metavar="N", help="Stop when this many states are reached.")
MAX_DEPTH = single_value("--max-depth", type=COUNT, metavar="N", help="Go no deeper than this.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
PROPERTIES = click.option(
    "--property", "properties", type=TEXT, multiple=True, metavar="NAME", help="Check only this one; may be repeated."
)
TRACE = single_value(
    "--trace",
    type=PLACE,
    callback=readable,
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
JUNIT = single_value(
    "--junit-xml", "junit", type=PLACE, metavar="FILE", help="Write the verdicts here, as CI reads them."
)
BRIEF = click.option("--brief", is_flag=True, help="Tell traces in brief: fold what need not be followed.")


def _keep_colours(context: click.Context, option: click.Parameter, colours: Colours) -> None:
    context.meta["colours"] = colours


COLOUR = single_value(
    "--color",
    type=click.Choice(COLOURS),
    default="auto",
    expose_value=False,
    callback=_keep_colours,
    help="Whether the report has colours: `auto` where it goes to a terminal.",
)
OWN = single_value(
    "--spec",
    "own",
    type=TEXT,
    metavar="FILE:Class",
    help="Follow the file on this specification of yours; else on the system of kafkaspec that it names.",
)
DEADLOCK = click.option("--deadlock", is_flag=True, help="A state in which nothing can happen is an error.")


def system_options(command: Command) -> Command:
    """Give a command the argument and options that name a system and its constants."""
    for option in reversed(
        [
            click.argument("system", type=TEXT),
            click.option(
                "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Give a constant or switch this value."
            ),
            single_value(
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
