"""Run a check, a simulation or a replay of the specification that the options name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spec.cli.options import SearchOptions, SystemOptions
from spec.cli.streams import print_result, printing_to_stderr
from spec.language.errors import UsageError

if TYPE_CHECKING:
    from spec.checking import Engine, Result, Trace
    from spec.checking.traces.replay import Replay
    from spec.checking.traces.validate import Validation
    from spec.language import Specification

T = TypeVar("T")


def specification_for(chosen: SystemOptions) -> tuple[Specification, str | None]:
    """The specification that the options name, and the full name of the release."""
    from spec.atlas.loading import answering_for, specification, system_named
    from spec.by_release import release_named

    with printing_to_stderr():
        cls = system_named(chosen.system)
    with printing_to_stderr(), answering_for(cls):
        subject = specification(cls, chosen.release, chosen.settings, chosen.switched_on, chosen.switched_off)
    return subject, None if chosen.release is None else release_named(chosen.release, cls.releases)


def run_check(subject: Specification, **options: Any) -> Result:
    """What `check` finds."""
    from spec.checking import check

    return with_progress(check, subject, **options)


def with_progress(ask: Callable[..., T], subject: Specification, **options: Any) -> T:
    """The outcome of `ask`. Progress, and everything printed meanwhile, goes to stderr."""
    from spec.cli.progress import Progress

    with blaming_author(subject), Progress() as progress:
        return ask(subject, on_progress=progress, **options)


@contextmanager
def reporting_kept_run(run_dir: Path | None) -> Iterator[None]:
    """If Ctrl-C leaves no result (during compilation, while reading a run, or pressed twice), say what is kept."""
    from spec.cli.failures import INTERRUPTED, Failure

    try:
        yield
    except KeyboardInterrupt:
        from spec.checking.runs.checkpoint import kept_note

        raise Failure(f"interrupted; {kept_note(run_dir) if run_dir else 'nothing was kept'}", INTERRUPTED) from None


def engine_of(search: SearchOptions, run_dir: Path | None = None, resume: Path | None = None) -> Engine:
    """The engine that these options name; UsageError if the engine has no such option."""
    if run_dir is not None and resume is not None and run_dir.resolve() != resume.resolve():
        raise click.UsageError("--run-dir and --resume name different directories; a resumed run stays where it is")
    if search.driver_level is not None and search.engine != "spark":
        raise click.UsageError("--driver-level is for the Spark engine; add --engine spark")
    from spec.checking.engines import engine_class

    engine, workers, memory = engine_class(search.engine), search.workers, search.memory
    if search.engine != "reference":
        engine = engine if search.driver_level is None else partial(engine, driver_level=search.driver_level)
        return engine(workers=workers, memory=memory, run_dir=resume or run_dir, resume=resume is not None)
    for option, value in (("--run-dir", run_dir), ("--resume", resume)):
        if value is not None:
            raise click.UsageError(f"{option}: the reference engine keeps no run; use --engine local")
    if workers not in (None, 1):
        raise click.UsageError("--workers: the reference engine is one process; use --engine local")
    return engine(memory=memory)


def replay_trace(path: Path, own: str | None, ask: Callable[..., T], **options: Any) -> T:
    """Apply `ask` to the trace in a file, on the system that the file names or on the person's own."""
    from spec.atlas.loading import system_to_follow
    from spec.checking.traces.itf import RecordedTrace

    recorded = RecordedTrace.read(path)
    try:
        system = system_to_follow(recorded.system, own)
    except UsageError as refused:
        raise UsageError(f"{path}: {refused}") from None
    settings = tuple(f"{name}={value}" for name, value in recorded.settings.items())
    subject, _ = specification_for(SystemOptions(system, settings))
    with blaming_author(subject):
        return ask(replace(recorded, system=system), subject, **options)


@contextmanager
def blaming_author(subject: Specification) -> Iterator[None]:
    """A context for evaluating a specification: its output goes to stderr, and its exceptions are its author's."""
    from spec.atlas.loading import answering_for
    from spec.checking import EvaluationFailed
    from spec.cli.failures import failure_in

    try:
        with printing_to_stderr(), answering_for(type(subject)):
            yield
    except EvaluationFailed as failure:
        raise failure_in(type(subject), failure) from failure


def read_run(path: Path, own: str | None) -> tuple[Validation, Replay, Trace]:
    """Follow the trace in a file; if the specification no longer has it, say so and exit."""
    from spec.checking.traces.validate import validate

    followed = replay_trace(path, own, validate)
    if followed.replay is None or followed.trace is None:
        print_result(str(followed))
        sys.exit(followed.exit_code)
    return followed, followed.replay, followed.trace
