"""`kafkaspec explore`: write or serve a page for stepping through states (`spec.explorer`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spec.cli import options
from spec.cli.output import form_of, write_output
from spec.cli.running import blaming_author, read_run, specification_for
from spec.cli.streams import print_note, print_result

if TYPE_CHECKING:
    from spec.checking.traces.validate import Validation
    from spec.explorer import ExplorerModel


@click.command(short_help="Write or serve a page for stepping through SYSTEM or a saved trace.")
@options.system_options
@options.single_value(
    "--states",
    type=options.COUNT,
    metavar="N",
    help="How many states the page has, nearest to its start first; default: 1,000.",
)
@options.OWN
@options.OUTPUT
@click.option(
    "--serve", is_flag=True, help="Serve a page with every state, to this machine alone, instead of writing one."
)
@options.single_value(
    "--port", type=click.IntRange(1, 65535), metavar="N", help="With --serve: the port; default: any free one."
)
def explore(
    chosen: options.SystemOptions,
    states: int | None,
    own: str | None,
    output: Path | None,
    serve: bool,
    port: int | None,
) -> None:
    """Write one HTML file for stepping through states: what each state is, what can happen there, and where that
    leads. The page needs no network.

    SYSTEM is as for `check`, or a trace that `check --trace FILE.itf.json` wrote. Then the page starts with that
    trace, and each of its states is a place to go another way. Exits 12 if the specification no longer has the trace.

    A file has as many states as --states says. With --serve the page has every state, computed when it is visited. It
    is served at an address that only this machine reaches, until Ctrl-C.
    """
    from spec.explorer import MOST, embedded, model_of_system, model_of_trace

    for option, given in (("--states", states), ("--output", output)):
        if serve and given is not None:
            raise click.UsageError(f"{option} is for a file; --serve writes none, and serves every state")
    if port is not None and not serve:
        raise click.UsageError("--port needs --serve")
    if not serve:
        form_of(output, None, ("html",))
    followed: Validation | None = None
    if chosen.system.endswith(".json"):
        if chosen != options.SystemOptions(chosen.system):
            raise click.UsageError(f"{chosen.system}: a trace contains its constants; leave those options out")
        followed, replay, _ = read_run(Path(chosen.system), own)
        subject = replay.model.specification
    elif own is not None:
        raise click.UsageError(
            f"--spec is for a trace in a file, whose name ends with .json, not for {chosen.system}"
        )
    else:
        subject, _ = specification_for(chosen)
    with blaming_author(subject):
        model = model_of_system(subject) if followed is None else model_of_trace(followed)
        page = None if serve else embedded(model, MOST if states is None else states)
    if page is None:
        _serve(model, port or 0)
        return
    write_output(page.to_html(), output)
    if not page.is_whole:
        print_note(f"The system has more than these {len(page.states):,} states; --serve shows them all.")


def _serve(model: ExplorerModel, port: int) -> None:
    """Serve the page until the command is interrupted."""
    from spec.cli.failures import INTERRUPTED, Failure
    from spec.explorer import ExplorerServer

    subject = model.model.specification
    try:
        with blaming_author(subject):
            server = ExplorerServer(model, port)
        with server:
            print_result(f"{model.title}: {server.url} until Ctrl-C")
            sys.stdout.flush()
            with blaming_author(subject):
                server.serve_forever()
    except KeyboardInterrupt:
        raise Failure("interrupted; the page is no longer served", INTERRUPTED) from None
