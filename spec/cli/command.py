"""The command `kafkaspec`: options in, results out. Python code can do all of this without the command."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from threading import Timer, main_thread
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from spec.cli import atlas, check, compiling, conform, drawing, elect, explore, replay, simulate, what_if
from spec.cli.streams import Unwritable, print_note, take_over

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

    from spec.cli.failures import Failure


@click.group(
    invoke_without_command=True,  # click's own text without a command differs by version
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="kafkaspec")
@click.pass_context
def kafkaspec(context: click.Context) -> None:
    """Kafka's ZooKeeper-era controller and replication protocol: specifications, and the model checker that explores
    them exhaustively.

    \b
    Exit codes of `check`:
        0  every property holds, or the goal of --show was reached
        2  a mistake on the command line or in a specification
       10  the constants violate an assumption
       11  deadlock
       12  a property is violated
       20  a bound was reached, and nothing was found
       21  vacuous: a required action or witness, or the goal of --show, never happens
       74  the environment failed: disk full, Java died, stdout closed; a kept run can be resumed
       75  an action or property raised an exception
      130  interrupted
    With --json an error is one object on stdout as well: {"error": ..., "exit": ...}.
    """  # noqa: D301 - click keeps the lines after a backspace as they are
    if context.invoked_subcommand is None:
        print_note(context.get_help())
        context.exit(2)


for _command in (
    atlas.list_systems,
    check.check,
    atlas.anomalies,
    elect.elect,
    drawing.diagram,
    simulate.simulate,
    conform.conform,
    replay.replay,
    replay.explain,
    drawing.sequence,
    what_if.what_if,
    drawing.graph,
    explore.explore,
    compiling.compile_kernels,
):
    kafkaspec.add_command(_command)


def run() -> NoReturn:
    """Run the command, and exit with its code. A person's mistake gives one line on stderr and an exit code, never a
    traceback. With --json, errors are JSON too.
    """
    from spec.cli.failures import FAULT, failure_of

    try:
        for number in (signal.SIGINT, signal.SIGHUP):  # a shell or nohup may have ignored them
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        take_over()
        with reraising_dropped_interrupts(signal.SIGTERM):  # the only one of the three that is never ignored
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
    """Run the command; returns its exit code. click's `main` takes an EOFError for Ctrl-C and hides broken pipes."""
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
    """Print an error as JSON if --json was given, even after options that do not exist."""
    options = list(takewhile("--".__ne__, sys.argv[1:]))
    if "--json" in options:
        with suppress(Unwritable):
            click.echo(json.dumps(error))


# Interrupts that Python drops.

MOMENT: Final = 0.01
"""Seconds after which the finalizer or callback should be over; if not, the repeat is dropped and repeated again."""


@contextmanager
def reraising_dropped_interrupts(number: int) -> Iterator[None]:
    """Within this block a KeyboardInterrupt that Python drops is repeated a moment later, by this signal.

    Python drops an exception that is raised in a finalizer, in the callback of a weak reference, or in a callback of
    the garbage collector (`sys.unraisablehook`). A signal that arrives there would be lost, and the search that it
    should end would continue.
    """
    before = sys.unraisablehook
    coming: list[Timer] = []

    def hook(dropped: UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        # A real signal: `_thread.interrupt_main` would not wake a waiting thread.
        again = Timer(MOMENT, signal.pthread_kill, [main_thread().ident, number])
        coming.append(again)
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        for each in coming:
            each.cancel()
            each.join()
