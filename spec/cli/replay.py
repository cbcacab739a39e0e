"""`kafkaspec replay`: a kept trace followed or printed, or an anomaly replayed on real brokers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NoReturn

import click

from spec.cli.answering import tell_text
from spec.cli.asking import evaluating, explored, of_a_run, of_a_trace
from spec.cli.options import AS_JSON, COLOUR, TEXT, one
from spec.streams import tell


@click.command(short_help="Follow a trace that was kept, or replay anomaly ID on real brokers.")
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

    script = script_of(what, release, explored)
    outcome = replay_on_brokers(
        script, tell=(lambda line: None) if as_json else tell, afterwards=10.0 if afterwards is None else afterwards
    )
    tell(json.dumps(outcome.to_json()) if as_json else f"\n{outcome}")
    sys.exit(outcome.exit_code)


def _follow(path: Path, as_json: bool) -> NoReturn:
    """Follow the trace in a file, tell what came of it, and end."""
    from spec.checking.followed import follow

    followed = of_a_trace(path, follow)
    tell(json.dumps(followed.to_json()) if as_json else str(followed))
    sys.exit(followed.exit_code)


def _print(path: Path, form: str) -> NoReturn:
    """Print the trace in a file in this form, and end."""
    followed, replay, trace = of_a_run(path)
    subject = replay.model.specification
    with evaluating(subject):
        if form == "python":
            from spec.checking.program import program

            text = program(subject, trace)
        else:
            from spec.checking.brief import brief

            text = str(trace if form == "text" else brief(subject, trace))
    if form == "python":
        tell(text.rstrip("\n"))
    else:
        tell_text(text)
    sys.exit(followed.exit_code)
