"""Checkpoints: how any engine saves an exploration in a run directory, and loads it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from spec.checking.exploration import Coverage, Jobs, Options, Statistics
from spec.checking.model import Model
from spec.checking.runs.discoveries import PackedDiscovery, as_committed, discovered_in
from spec.checking.runs.interned_values import InternedValues, meet, read, written
from spec.checking.runs.run_identity import identity_of
from spec.checking.runs.rundir import BUCKETS, Commit, LevelFile, RunDirectory, locked
from spec.checking.symmetry.renamings import ComparisonCounts
from spec.language.errors import EnvironmentFailed, UsageError, require


class Checkpoint(NamedTuple):
    """The known part of an exploration, up to a complete level; the level's states are stored elsewhere."""

    statistics: Statistics
    coverage: tuple[Coverage, ...]
    discoveries: Mapping[int, PackedDiscovery]
    """By number of the property."""
    jobs: Jobs = Jobs()
    compared: ComparisonCounts = ComparisonCounts()


BEFORE_FIRST = Checkpoint(Statistics(0, 0, 0, 0, 0.0), (), {})
"""The checkpoint before the first level."""


def checkpoint_of(model: Model, commit: Commit) -> Checkpoint:
    """The checkpoint that a commit describes."""
    depth = commit.level if commit.rows else max(1, commit.level - 1)
    return Checkpoint(
        Statistics(depth, commit.generated, commit.distinct, commit.rows, commit.seconds),
        tuple(Coverage(**commit.coverage[action.name]) for action in model.actions),
        discovered_in(model, commit.findings),
        Jobs(commit.job_levels, commit.job_workers),
        ComparisonCounts(commit.compared_states, frozenset(commit.by_permutations), commit.left_out),
    )


def commit_of(
    model: Model, level: int, files: Sequence[LevelFile], checkpoint: Checkpoint, interned: InternedValues
) -> Commit:
    """The commit of a level, the last of a checkpoint, in which these interned values first occur."""
    statistics = checkpoint.statistics
    return Commit(
        level,
        tuple(sorted(files, key=lambda file: file.bucket)),
        statistics.generated,
        statistics.distinct,
        statistics.seconds,
        {action.name: dict(vars(each)) for action, each in zip(model.actions, checkpoint.coverage, strict=True)},
        as_committed(model, checkpoint.discoveries),
        checkpoint.jobs.levels,
        checkpoint.jobs.workers,
        tuple(sorted(model.opaque_rules)),
        checkpoint.compared.states,
        tuple(sorted(checkpoint.compared.by_permutations)),
        checkpoint.compared.left_out,
        written(interned),
    )


def require_run(run_dir: Path | None, resume: bool) -> None:
    """Require a run directory for resuming a run; UsageError if there is none."""
    if resume and run_dir is None:
        raise UsageError("there is nothing to resume without a run directory")


def open_run(
    path: Path,
    model: Model,
    options: Options,
    until_done: ExitStack,
    *,
    resume: bool,
    buckets: int = BUCKETS,
    again: bool = False,
) -> tuple[RunDirectory, list[Commit]]:
    """The run directory in which to explore, locked until the exploration is done, and its existing commits.

    Args:
        path: the directory, which may not exist yet.
        model: the model to explore.
        options: the options of the exploration.
        until_done: ends with the exploration.
        resume: whether to continue an existing run.
        buckets: the number of buckets over which a new run spreads its states.
        again: whether this exploration already began once, and must begin anew.

    Raises:
        UsageError: the directory is not empty, or its content cannot be resumed; or the library that reads and
            writes its files is missing.
    """
    require("pyarrow")
    identity = identity_of(model, options)
    path = path.absolute()
    until_done.enter_context(locked(path, make=not resume))
    commits: list[Commit] = []
    if again:
        directory, _ = RunDirectory.resume(path, identity)
        directory.begin_again()
    elif resume:
        directory, commits = RunDirectory.resume(path, identity)
        model.opaque_rules.update(*(commit.opaque_rules for commit in commits))
        for commit in commits:
            meet(model.layout, read(commit.interned))
    else:
        directory = RunDirectory.create(path, identity, 8 * model.layout.words, buckets=buckets)
    return directory, commits


NOT_KEPT: Final = "nothing is kept; --run-dir DIR keeps a run, and TMPDIR says where temporary files go"
"""For an exploration without a run directory."""


@contextmanager
def environment_failures(run_dir: Path | None, *others: type[Exception]) -> Iterator[None]:
    """While this is open, a file that can no longer be written or read, or one of the other exceptions, ends the
    exploration with EnvironmentFailed. It says how much is kept in the run directory, if there is one, and how to
    continue.
    """
    gives_way: tuple[type[Exception], ...] = (OSError, *others)
    try:
        yield
    except gives_way as failure:
        wrong = str(failure)
        if isinstance(failure, OSError):
            where = "a temporary file" if run_dir is None else f"the run directory {run_dir}"
            wrong = f"{where} can no longer be used: {failure.strerror or failure}"
        raise EnvironmentFailed(wrong, NOT_KEPT if run_dir is None else kept_note(run_dir)) from failure


def kept_note(run_dir: Path) -> str:
    """How many levels of a run are kept, and the option that continues it, in words."""
    levels = len([place for place in (run_dir / "_commits").glob("*.json") if place.stem.isdigit()])
    if not levels:
        return "nothing is kept"
    return f"{levels} {'level is' if levels == 1 else 'levels are'} kept, and --resume {run_dir} continues from there"
