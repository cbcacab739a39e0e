"""The command `kafkaspec`: options in, results out. All that it does can be done from Python without it."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn

import click

from spec.cli import (
    anomalies,
    check,
    conform,
    diagram,
    elect,
    explain,
    explore,
    graph,
    listing,
    replay,
    sequence,
    simulate,
    what_if,
)
from spec.cli.dropped_interrupts import reraising_dropped_interrupts
from spec.cli.streams import Unwritable, print_note, take_over

if TYPE_CHECKING:
    from spec.cli.failures import Failure


@click.group(
    invoke_without_command=True,  # what is said without a command differs from one click to the next
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="kafkaspec")
@click.pass_context
def kafkaspec(context: click.Context) -> None:
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
    if context.invoked_subcommand is None:
        print_note(context.get_help())
        context.exit(2)


for _command in (
    listing.list_systems,
    check.check,
    anomalies.anomalies,
    elect.elect,
    diagram.diagram,
    simulate.simulate,
    conform.conform,
    replay.replay,
    explain.explain,
    sequence.sequence,
    what_if.what_if,
    graph.graph,
    explore.explore,
):
    kafkaspec.add_command(_command)


def run() -> NoReturn:
    """Run the command; a person's mistake is one line on stderr and an exit code, never a traceback.

    Where the result is to be JSON, so is what stands in its place.

    Raises:
        SystemExit: with the exit code.
    """
    from spec.cli.failures import FAULT, failure_of

    try:
        for number in (signal.SIGINT, signal.SIGHUP):  # which a shell, or nohup, may have had ignored
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        take_over()
        with reraising_dropped_interrupts(signal.SIGTERM):  # of the three the one that is never ignored
            sys.exit(_invoke())
    except Exception as error:
        if (failure := failure_of(error)) is None:
            _answer({"error": f"a fault of kafkaspec: {type(error).__name__}: {error}", "exit": FAULT})
            raise
        _fail(failure)
    except KeyboardInterrupt as error:
        failure = failure_of(error)
        assert failure is not None
        _fail(failure)


def _invoke() -> int:
    """The exit code of what was asked. click's `main` would take an EOFError for Ctrl-C, and hide broken pipes."""
    try:
        with kafkaspec.make_context("kafkaspec", sys.argv[1:]) as context:
            return kafkaspec.invoke(context) or 0
    except click.exceptions.Exit as answered:
        return answered.exit_code


def _fail(failure: Failure) -> NoReturn:
    print_note(failure)
    _answer(failure.to_json())
    sys.exit(failure.exit)


def _answer(error: dict[str, Any]) -> None:
    """Where JSON was asked for, say it so, too: as well as what comes after options that do not exist."""
    options = list(takewhile("--".__ne__, sys.argv[1:]))
    if "--json" in options:
        with suppress(Unwritable):
            click.echo(json.dumps(error))
