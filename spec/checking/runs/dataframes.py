"""Tables of a kept run: its states with a column for each variable, its levels, and the actions in each level.

A row of states has `level`, the number of states on the shortest path to it, and a column for each place, named as in
a trace: a plain variable, a key of a mapping, a field of a record in these, such as `replica[0].leader_epoch`. An
absent value or None is null. A variable that is itself called `level` is `s.level` here.

A column holds 64-bit integers, booleans or texts, or lists of one of these for sets and sequences. Its type follows
from the place's domain, so it is the same in every run and in every part of one. Any other value (a sequence of
records, an integer beyond 64 bits) becomes its text from a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from spec.checking import arguments
from spec.checking.arguments import Directory, SpecificationOrClass
from spec.checking.code.source import pickled, unpickled
from spec.checking.exploration import Options
from spec.checking.model import Model
from spec.checking.result import LevelResult
from spec.checking.runs.interned_values import meet, read, values_met, written
from spec.checking.runs.run_identity import identity_of
from spec.checking.runs.rundir import Commit, RunDirectory
from spec.checking.states.packed import Words, from_column
from spec.checking.states.splitmix import MASK
from spec.checking.traces.tabular import kind, plain
from spec.checking.values.text import PLAIN, Spelling, show
from spec.language.cells import Cell
from spec.language.domains import (
    ABSENT,
    Domain,
    EnumerationDomain,
    IntegerDomain,
    LeftOutDomain,
    OrNothingDomain,
    RecordDomain,
    SequenceDomain,
    SubsetDomain,
    TupleDomain,
)
from spec.language.errors import require

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def states_of_run(run_dir: Directory, specification: SpecificationOrClass) -> pandas.DataFrame:
    """The states of a run, for pandas. They are read into memory; if they do not fit, see `spark_states_of_run`.

    Args:
        run_dir: the directory of the run (`--run-dir`); the run need not have ended.
        specification: the specification that was explored there, with its constants.

    Raises:
        UsageError: it holds no run, or one of something else, or damaged files; or pandas or pyarrow is missing.
    """
    require("pandas", "pyarrow")
    import pandas
    import pyarrow as pa

    model, run = _opened(run_dir, specification)
    table = _Columns(model)
    parts = [
        table.batch(commit.level, np.concatenate([*run.pieces(commit.level)]))
        for commit in run.verified_commits()
        if commit.rows
    ]
    frame: pandas.DataFrame = pa.Table.from_batches(parts, table.schema).to_pandas(types_mapper=pandas.ArrowDtype)
    return frame


def spark_states_of_run(session: SparkSession, run_dir: Directory, specification: SpecificationOrClass) -> DataFrame:
    """The states of a run, for Spark SQL: its workers read the files, lazily.

    Args:
        session: its workers must see the directory and have this project installed.
        run_dir: as in `states_of_run`.
        specification: as in `states_of_run`.

    Raises:
        UsageError: as in `states_of_run`.
    """
    require("pyspark", "pyarrow", "pandas")
    from pyspark.sql.pandas.types import from_arrow_schema

    model, run = _opened(run_dir, specification)
    files = [str(run.file(commit.level, file.bucket)) for commit in run.verified_commits() for file in commit.files]
    packed = session.read.option("basePath", str(run.path)).parquet(*files).select("level", "state")
    content, interned = pickled(model.specification), written(values_met(model.layout, {}))

    def unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        model = Model(unpickled(content)[0])
        meet(model.layout, read(interned))
        table, of_states = _Columns(model), pa.binary(8 * model.layout.words)
        for batch in batches:
            states = from_column(batch.column("state").cast(of_states))
            levels = batch.column("level").to_numpy(zero_copy_only=False)
            for level in np.unique(levels):
                yield table.batch(int(level), states[levels == level])

    return packed.mapInArrow(unpacked, from_arrow_schema(_Columns(model).schema))


def levels_of_run(run_dir: Directory) -> pandas.DataFrame:
    """The levels of a run: `level`, its `states`; up to it, `distinct_states`, `generated_states` and `seconds`.
    UsageError if it holds no run, or damaged files; or pandas is missing.
    """
    return _frame(
        vars(LevelResult(each.level, each.rows, each.distinct, each.generated, each.seconds))
        for each in _commits(run_dir)
        if each.rows
    )


def actions_of_run(run_dir: Directory) -> pandas.DataFrame:
    """The actions in each expanded level: `level`, `action`, and the counts of `Coverage`.

    Raises:
        UsageError: as in `levels_of_run`.
    """
    return _frame(
        {
            "level": here.level,
            "action": name,
            **{figure: after.coverage[name][figure] - count for figure, count in before.items()},
        }
        for here, after in pairwise(_commits(run_dir))
        for name, before in here.coverage.items()
    )


def _frame(rows: Iterator[Mapping[str, Any]]) -> pandas.DataFrame:
    require("pandas")
    import pandas

    return pandas.DataFrame([*rows])


def _commits(run_dir: Directory) -> list[Commit]:
    return RunDirectory.open(_place(run_dir)).commits()


def _place(run_dir: Directory) -> Path:
    place = arguments.as_path("run_dir", run_dir)
    assert place is not None
    return place.absolute()


def _opened(run_dir: Directory, specification: SpecificationOrClass) -> tuple[Model, RunDirectory]:
    """A run of this specification, whichever properties it checked."""
    model = Model(specification)
    identity = dict(identity_of(model, Options(properties=())))
    for part in ("properties", "states"):
        del identity[part]
    run = RunDirectory.open(_place(run_dir), identity)
    for commit in run.commits():
        meet(model.layout, read(commit.interned))
    return model, run


# Columns.


@dataclass(frozen=True)
class _Column:
    """A column: its name, its type, and a function from a cell's value to the column's."""

    name: str
    type: pa.DataType
    of: Callable[[Any], Any]


class _Columns:
    """The columns of a model's states.

    A cell has few different values, however many states there are: each value is unpacked once per batch.
    """

    def __init__(self, model: Model):
        import pyarrow as pa

        taken, words = {"level"}, model.layout.words
        self._words = words
        self._cells: list[tuple[Cell, Words, list[_Column]]] = []
        for cell in model.layout.cells:
            mask = np.array([cell.mask >> 64 * at & MASK for at in reversed(range(words))], np.uint64)
            columns = [*_columns(cell.name, cell.domain, model.spelling)]
            named = [replace(each, name=f"s.{each.name}") if each.name in taken else each for each in columns]
            self._cells.append((cell, mask, named))
        fields = [(each.name, each.type) for _, _, columns in self._cells for each in columns]
        self.schema = pa.schema([("level", pa.int64()), *fields])

    def batch(self, level: int, states: Words) -> pa.RecordBatch:
        """A batch of states of one level."""
        import pyarrow as pa

        arrays = [pa.array(np.full(len(states), level, np.int64))]
        for cell, mask, columns in self._cells:
            values, which = self._different(states, cell, mask)
            arrays += [pa.array([each.of(value) for value in values], each.type).take(which) for each in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _different(self, states: Words, cell: Cell, mask: Words) -> tuple[list[Any], pa.Array]:
        """The different values of a cell, and for each state the index of its value."""
        import pyarrow as pa

        its = np.flatnonzero(mask).tolist()
        if len(its) == 1:  # a plain sort is several times as fast
            found, which = np.unique(states[:, its[0]] & mask[its[0]], return_inverse=True)
            rows = [(word,) for word in found.tolist()]
        else:
            found, which = np.unique(states[:, its] & mask[its], axis=0, return_inverse=True)
            rows = found.tolist()
        shifts = [64 * (self._words - 1 - word) for word in its]
        packed = (sum(word << shift for word, shift in zip(row, shifts, strict=True)) for row in rows)
        return [cell.unpack(each) for each in packed], pa.array(which.reshape(-1))


Held: TypeAlias = "Domain[Any] | list[Any]"
"""The possible values of a place: those of a domain, or a list of values."""


def _columns(name: str, held: Held, spelling: Spelling) -> Iterator[_Column]:
    """The columns of a place; none for a value that is left out."""
    held = [*held.values] if isinstance(held, EnumerationDomain) else held
    if isinstance(held, OrNothingDomain):
        yield from _columns(name, held.domain, spelling)
    elif (fields := _fields(held)) is not None:
        for field, inner in fields.items():
            for each in _columns(f"{name}.{field}", inner, spelling):
                yield replace(each, of=partial(_of_field, field, each.of))
    elif not isinstance(held, LeftOutDomain):
        kinds = _kinds(held) - {"empty"}
        one = kinds.pop() if len(kinds) == 1 else "other"
        yield _Column(name, _type(one), partial(_written if one == "other" else _plain, spelling))


def _fields(held: Held) -> Mapping[str, Held] | None:
    """The fields, if every value is None or a record of one class."""
    if isinstance(held, RecordDomain):
        return held.fields
    if isinstance(held, list):
        records = [each for each in held if each is not None]
        if len({type(each) for each in records}) == 1 and hasattr(records[0], "_fields"):
            return {field: [getattr(each, field) for each in records] for field in records[0]._fields}
    return None


def _of_field(field: str, of: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None or value is ABSENT else of(getattr(value, field))


def _kinds(held: Held) -> set[str]:
    """The kinds of its values, see `tabular.kind`; None has none, since every column may be null."""
    if isinstance(held, IntegerDomain):
        return {kind(held.low), kind(held.high)}
    if isinstance(held, EnumerationDomain):
        held = [*held.values]
    if isinstance(held, list):
        return {kind(plain(each, PLAIN)) for each in held if each is not None}
    if isinstance(held, OrNothingDomain):
        return _kinds(held.domain)
    if isinstance(held, SubsetDomain | SequenceDomain | TupleDomain):
        inner = set[str]().union(*map(_kinds, held.inner))
        return {f"list of {each}" if each in ("bool", "integer", "text") else "other" for each in inner} or {"empty"}
    return {"other"}


def _type(kind: str) -> pa.DataType:
    import pyarrow as pa

    atoms = {"bool": pa.bool_(), "integer": pa.int64(), "text": pa.string(), "other": pa.string()}
    inner = kind.removeprefix("list of ")
    return atoms[kind] if kind == inner else pa.list_(atoms[inner])


def _plain(spelling: Spelling, value: Any) -> Any:
    return None if value is None or value is ABSENT else plain(value, spelling)


def _written(spelling: Spelling, value: Any) -> str | None:
    return None if value is None or value is ABSENT else show(value, spelling)
