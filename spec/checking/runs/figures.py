"""Figures of a run that is kept, as two tables that other tools open, in its directory.

    _figures/levels.parquet     a row for each level
    _figures/actions.parquet    a row for each action in each level that was expanded

They are made of the commits when exploring ends, however it ends. So a run that was broken off and resumed, on
whichever engine, has the rows of one that was not; only the seconds are its own.

The columns of `levels` are the fields of a `LevelResult`. Those of `actions` are `level` and `action`, and of the
steps from the states of that level what an `ActionResult` has of all: `enabled`, `taken`, `new_states`, `changing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any, Final
from warnings import warn

from spec.checking.result import LevelResult
from spec.checking.runs.rundir import Commit, RunDirectory
from spec.language.errors import EnvironmentWarning

FOLDER: Final = "_figures"
"""What reads states passes over a name with this beginning."""
LEVELS: Final = ("level", "states", "distinct_states", "generated_states", "seconds")
ACTIONS: Final = ("level", "action", "enabled", "taken", "new_states", "changing")


def rows_of_levels(commits: Sequence[Commit]) -> list[dict[str, Any]]:
    """A row for each level that has states; the last commit may have none."""
    return [
        vars(LevelResult(each.level, each.rows, each.distinct, each.generated, each.seconds))
        for each in commits
        if each.rows
    ]


def rows_of_actions(commits: Sequence[Commit]) -> list[dict[str, Any]]:
    """What was done in each level: by how much the coverage is more in the next commit."""
    return [
        {"level": here.level, "action": name, **_more(after.coverage[name], before)}
        for here, after in pairwise(commits)
        for name, before in here.coverage.items()
    ]


def _more(after: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    return {figure: after[figure] - count for figure, count in before.items()}


@contextmanager
def keeping_figures(directory: RunDirectory) -> Iterator[None]:
    """Write the tables when exploring ends. They are no part of the run: where they cannot be written, it is told."""
    try:
        yield
    except BaseException:
        with suppress(OSError):  # what ended it is told
            write_figures(directory)
        raise
    try:
        write_figures(directory)
    except OSError as failure:
        warn(f"{directory.path / FOLDER} cannot be written: {failure.strerror}", EnvironmentWarning, stacklevel=1)


def write_figures(directory: RunDirectory) -> None:
    """Write the tables of what is committed.

    Raises:
        OSError: they cannot be written; then those are there that were before.
    """
    commits = directory.commits()
    if not commits:
        return
    folder = directory.path / FOLDER
    folder.mkdir(exist_ok=True)
    for name, columns, rows in (
        ("levels", LEVELS, rows_of_levels(commits)),
        ("actions", ACTIONS, rows_of_actions(commits)),
    ):
        unfinished = folder / f"{name}.unfinished"
        try:
            unfinished.write_bytes(_as_parquet(columns, rows))
            unfinished.replace(folder / f"{name}.parquet")
        except OSError:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise


def _as_parquet(columns: Sequence[str], rows: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    types = {"action": pa.string(), "seconds": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.int64())) for name in columns])
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    return bytes(sink.getvalue())
