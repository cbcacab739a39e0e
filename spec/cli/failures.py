"""Failures: the end of the command without a result, as a line for a person, an exit code and an object of JSON.

Only this module assigns exit codes to exceptions. An exception without one is a fault of this program, and keeps its
traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from spec.cli.streams import Unwritable
from spec.language.errors import (
    EXTRAS,
    AssumptionViolated,
    EnvironmentFailed,
    SpecificationError,
    UsageError,
    escaped,
    how_to_install,
)

if TYPE_CHECKING:  # a mistake should be reported before the engines are loaded
    from spec.checking.model import EvaluationFailed
    from spec.checking.traces.trace import Trace
    from spec.language import Specification

USAGE: Final = 2
ASSUMPTION: Final = 10
ENVIRONMENT: Final = 74
"""EX_IOERR of sysexits.h, beside EX_TEMPFAIL."""
EVALUATION: Final = 75
INTERRUPTED: Final = 130
FAULT: Final = 1
"""Python's own exit code for an exception that is not caught."""


class Failure(Exception):
    """The end of the command without a result.

    Args:
        message: the mistake or failure, on a line or two.
        exit: the exit code.
        below: lines that explain it to a person.
        more: further fields of the JSON object, beside `error` and `exit`.
        trace: the way to the state in which it happened, if there is one.
    """

    def __init__(
        self,
        message: str,
        exit: int,
        below: str = "",
        more: Mapping[str, Any] = MappingProxyType({}),
        trace: Trace | None = None,
    ):
        super().__init__(message)
        self.message, self.exit, self.below, self.more, self.trace = message, exit, below, more, trace

    def __str__(self) -> str:
        return f"Error: {self.message}" + (f"\n\n{self.below}" if self.below else "")

    def to_json(self) -> dict[str, Any]:
        """The object on stdout in place of a result."""
        return {"error": " ".join(self.message.split()), "exit": self.exit, **self.more}


def failure_of(error: BaseException) -> Failure | None:
    """The failure that an exception stands for; None if it is a fault of this program."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, click.ClickException):
        return Failure(escaped(" ".join(error.format_message().split())), USAGE)
    if isinstance(error, KeyboardInterrupt):
        return Failure("interrupted; nothing was kept", INTERRUPTED)
    if isinstance(error, UsageError | SpecificationError):
        return Failure(escaped(str(error)), USAGE)
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return Failure(how_to_install(error.name), USAGE)
    if isinstance(error, AssumptionViolated):
        return Failure(escaped(str(error)), ASSUMPTION)
    if isinstance(error, EnvironmentFailed):
        return Failure(escaped(str(error)), ENVIRONMENT)
    if isinstance(error, Unwritable):
        return Failure(f"stdout cannot be written: {error.strerror}", ENVIRONMENT)
    from election import InvalidBrokers

    return Failure(str(error), USAGE) if isinstance(error, InvalidBrokers) else None


def failure_in(system: type[Specification], error: EvaluationFailed) -> Failure:
    """The failure of an action or property of a system, with the state and the trace to it."""
    from spec.atlas.loading import place_in
    from spec.checking.model import ExitAttempted

    way: Trace | None = error.trace
    place = place_in(system, error.__cause__)
    at = f" ({place})" if place else ""
    state = error.state or "in which every variable has the first value of its domain"
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
    return Failure(
        f"{error}{at}\n  in the state {state}{notes}",
        USAGE if isinstance(error, ExitAttempted) else EVALUATION,
        "" if way is None else f"The way there, in {way.length} state{'' if way.length == 1 else 's'}:\n\n{way}",
        {"trace": None if way is None else way.to_json()},
        way,
    )
