"""`kafkaspec replay` and `kafkaspec explain`: what happens in a scenario, a saved trace or an anomaly, and why.

`replay` replays a scenario, follows or prints a saved trace, or replays an anomaly on real brokers. `explain` says
why an action can or cannot happen in a state of a saved trace (`spec.checking.traces.explain`).
"""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path
from typing import NoReturn

import click

from spec.cli import options
from spec.cli.output import print_lines, require_writable_output, writing
from spec.cli.running import blaming_author, read_run, replay_trace, run_check
from spec.cli.streams import print_result


@click.command(short_help="Replay a scenario, a saved trace, or an anomaly on real brokers.")
@click.argument("what", required=False, type=options.TEXT, metavar="[SCENARIO|FILE|ID]")
@options.single_value(
    "--on",
    "release",
    type=options.TEXT,
    metavar="R",
    help="The release of Kafka on which to replay ID, such as 3.9.1.",
)
@options.single_value(
    "--afterwards",
    type=click.FloatRange(min=0, max=3600),
    metavar="SECONDS",
    help="How long the brokers must stay quiet after the last step; default: 10.",
)
@options.single_value(
    "--format",
    "form",
    type=click.Choice(["text", "brief", "python"], case_sensitive=False),
    help="Print the trace in FILE: in full, in brief, or as a program that takes its steps.",
)
@options.single_value(
    "--trace",
    type=options.Place(dir_okay=False, path_type=Path),
    callback=options.readable,
    metavar="FILE",
    help="Write the scenario as a trace to FILE.itf.json, for drawing or stepping through it.",
)
@options.OWN
@options.COLOUR
@options.AS_JSON
def replay(
    what: str | None,
    release: str | None,
    afterwards: float | None,
    form: str | None,
    trace: Path | None,
    own: str | None,
    as_json: bool,
) -> None:
    """Replay a scenario, a saved trace, or an anomaly. Without an argument, list the scenarios.

    SCENARIO is the name of a well-known story or the beginning of its name, or FILE.txt with a transcript of your
    own. The specification takes each step, and the command prints the changes. Exits 0 if everything happens as the
    transcript says, 12 if not, and 2 if it cannot be read.

    FILE.itf.json is a trace that `check --trace FILE.itf.json` wrote. The specification that it names follows it.
    Exits 0 if the specification has that trace with the same ending, 12 if the trace leaves the specification, and 2
    if the file cannot be read. With --format the command prints the trace, if the specification has it.

    Files run no code. If a file is about a specification of your own, name that with --spec.

    ID is an anomaly of the atlas, with --on. It is replayed step by step on a real ZooKeeper server and real brokers
    of a
    release: a proxy holds each broker's requests until their turn in the specification's trace. Exits 0 if the
    brokers do as the specification says for that release, 12 if not, 2 without a Java compiler or without Kafka's
    jars, and 74 if a process dies. All processes listen on loopback only, and end with the command.
    """
    if what is None:
        if any(each is not None for each in (release, afterwards, form, trace, own)):
            raise click.UsageError(
                "--on, --afterwards, --format, --trace and --spec need an argument: name what to replay"
            )
        _list(as_json)
        return
    if trace is not None and (what.endswith(".json") or release is not None):
        raise click.UsageError(f"--trace is for a scenario, not for {what}")
    if own is not None and not what.endswith((".json", ".txt")):
        raise click.UsageError(f"--spec is for a file, FILE.itf.json or FILE.txt, not for {what}")
    if what.endswith(".json"):
        if release is not None or afterwards is not None:
            raise click.UsageError("--on and --afterwards are for an anomaly, not for a trace in a file")
        if form is None:
            from spec.checking.traces.validate import validate

            followed = replay_trace(Path(what), own, validate)
            print_result(json.dumps(followed.to_json()) if as_json else str(followed))
            sys.exit(followed.exit_code)
        if as_json:
            raise click.UsageError("--format and --json: choose one form for the trace")
        _print(Path(what), own, form)
    if form is not None:
        raise click.UsageError(f"--format is for a trace in a file, whose name ends with .json, not for {what}")
    if release is None:
        if afterwards is not None:
            raise click.UsageError("--afterwards is for an anomaly on real brokers: name the release with --on")
        _print_scenario(what, trace, own, as_json)
    from spec.kafka.broker_replay import replay as replay_on_brokers
    from spec.kafka.script import script_of

    script = script_of(what, release, run_check)
    outcome = replay_on_brokers(
        script,
        tell=(lambda line: None) if as_json else print_result,
        afterwards=10.0 if afterwards is None else afterwards,
    )
    print_result(json.dumps(outcome.to_json()) if as_json else f"\n{outcome}")
    sys.exit(outcome.exit_code)


def _list(as_json: bool) -> None:
    """List the scenarios."""
    from spec.scenarios import scenarios

    known = scenarios()
    if as_json:
        print_result(json.dumps([{"name": each.name, "title": each.title} for each in known]))
        return
    width = max(len(each.name) for each in known)
    print_result("\n".join(f"{each.name:{width}}  {each.title}" for each in known))


def _print_scenario(name: str, trace: Path | None, own: str | None, as_json: bool) -> NoReturn:
    """Replay a scenario, print what happens, keep it as a trace if requested, and exit."""
    from spec.atlas.anomalies import anomalies_meant
    from spec.checking.result import EXIT_CODES
    from spec.checking.traces.trace import Line
    from spec.cli.failures import USAGE, Failure
    from spec.scenarios import scenario_at
    from spec.scenarios.transcript import (
        TranscriptContradicted,
        TranscriptError,
        TranscriptLine,
        conclusion,
        system_of,
    )

    if anomalies_meant(name):
        raise click.UsageError(f"{name} is an anomaly: name a release of Kafka, such as --on 3.9.1")
    scenario = scenario_at(name)
    require_writable_output(trace)
    lines: list[TranscriptLine] = []
    try:
        lines.extend(scenario.replay(own))
    except TranscriptError as wrong:
        contradicted = isinstance(wrong, TranscriptContradicted)
        if contradicted and not as_json:
            print_lines([*chain.from_iterable(map(TranscriptLine.lines, lines)), Line()])
        raise Failure(str(wrong), EXIT_CODES["violated"] if contradicted else USAGE) from None
    replay = lines[-1].replay
    assert replay is not None
    if as_json:
        steps = [{**line.step.to_json(), "line": at} for at, line in enumerate(lines, start=1) if line.step]
        answer = {"scenario": scenario.name, "title": scenario.title, "steps": steps, "broken": replay.broken}
        print_result(json.dumps(answer))
    else:
        told_lines = chain.from_iterable(map(TranscriptLine.lines, lines))
        print_lines([*told_lines, Line(), Line(words=conclusion(lines))])
    if trace is not None:
        from spec.checking.traces.itf import RecordedTrace

        with writing(trace):
            RecordedTrace.along(replay, "", system_of(scenario.text)).write(trace)
    sys.exit(0)


def _print(path: Path, own: str | None, form: str) -> NoReturn:
    """Print the trace in a file in this form, and exit."""
    followed, replay, trace = read_run(path, own)
    subject = replay.model.specification
    if form == "python":
        from spec.checking.traces.program import program

        with blaming_author(subject):
            text = program(subject, trace)
        print_result(text.rstrip("\n"))
    else:
        from spec.checking.traces.brief import brief

        with blaming_author(subject):
            lines = [*(trace if form == "text" else brief(subject, trace)).lines()]
        print_lines(lines)
    sys.exit(followed.exit_code)


# Explanations of a state.


@click.command(short_help="Explain which actions can happen in a state of a saved trace, and why others cannot.")
@click.argument("file", type=options.PLACE)
@options.single_value(
    "--step",
    "state",
    type=options.COUNT,
    metavar="N",
    help="The number of the state in the trace; default: the last.",
)
@options.single_value(
    "--action", type=options.TEXT, metavar="NAME", help="Only this action, with everything it read."
)
@click.option(
    "--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Only with this parameter; may be repeated."
)
@options.OWN
@options.COLOUR
@options.AS_JSON
def explain(
    file: Path, state: int | None, action: str | None, parameters: tuple[str, ...], own: str | None, as_json: bool
) -> None:
    """Explain a state of the trace in FILE, which `check --trace FILE.itf.json` wrote: list the actions that can
    happen there.

    For each action that cannot, name the guard that refuses it and its line; with --action, also the values it had
    read by then.
    """
    from spec.checking.traces.explain import explain as explanation

    given = dict(each.partition("=")[::2] for each in parameters)
    wrong = next((each for each in parameters if "=" not in each), None)
    if wrong is not None:
        raise click.UsageError(f"--set {wrong}: write it as NAME=VALUE")
    found = replay_trace(file, own, explanation, state=state, action=action, parameters=given)
    if as_json:
        print_result(json.dumps(found.to_json()))
    else:
        print_lines(found.lines())
