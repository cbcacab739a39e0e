"""The states of a kept run as a table: the states of the graph, in columns of the expected types."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas
import pytest

from spec.checking import check, state_space
from spec.checking.local import LocalEngine
from spec.checking.runs.dataframes import spark_states_of_run, states_of_run
from spec.checking.spark import SparkEngine
from spec.language import Partial, Specification, State, action, integers, one_of, optional, record, variable
from spec.language.errors import UsageError
from spec.systems.replication import Replication
from tests.spec.toys import Walkers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SETS: Final = [frozenset[int](), frozenset({1, 2})]


class Colour(Enum):
    RED = 1
    BLUE = 2


class Place(NamedTuple):
    room: str
    shelf: int | None


class Things(State):
    """The state of `Moving`."""

    level: int = variable("It has the name of a column.", of=lambda self: integers(0, 1000))
    colour: Colour | None = variable("It may be none.", of=lambda self: optional(one_of(*Colour)))
    at: Place = variable("A record.", of=lambda self: record(Place, room=["a", "b"], shelf=optional(integers(0, 1))))
    kept: Partial[str, frozenset[int]] = variable("Sets, by keys that may be missing.", of=lambda self, key: SETS)
    said: tuple[Place, ...] = variable("A value without a type.", of=lambda self: [(), (Place("a", 1),)])


class Moving(Specification[Things]):
    """Three states, one after the other."""

    def sizes(self) -> dict[Any, Any]:
        return {str: ("left", "right")}

    @action
    def go(self, s: Things) -> None:
        if s.level == 0:
            s.level, s.colour, s.at = 1000, Colour.BLUE, Place("b", 1)
        else:
            s.kept["right"], s.said, s.at = SETS[1], (Place("a", 1),), Place("a", None)


def kept(specification: Specification[Any], run: Path) -> pandas.DataFrame:
    check(specification, engine=LocalEngine(workers=1, run_dir=run), keep_going=True)
    return states_of_run(run, specification)


def test_each_variable_is_a_typed_column(tmp_path: Path) -> None:
    """A missing key and None become null, records are split, and untyped values are text as in a trace."""
    frame = kept(Moving(), tmp_path)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "level": "int64[pyarrow]",
        "s.level": "int64[pyarrow]",
        "colour": "string[pyarrow]",
        "at.room": "string[pyarrow]",
        "at.shelf": "int64[pyarrow]",
        "kept[left]": "list<item: int64>[pyarrow]",
        "kept[right]": "list<item: int64>[pyarrow]",
        "said": "string[pyarrow]",
    }
    rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    assert [[each.tolist() if hasattr(each, "tolist") else each for each in row] for row in rows] == [
        [1, 0, None, "a", None, None, None, "()"],
        [2, 1000, "BLUE", "b", 1, None, None, "()"],
        [3, 1000, "BLUE", "a", None, None, [1, 2], "(Place(room=a, shelf=1),)"],
    ]


def test_the_dataframe_has_the_states_of_the_graph(tmp_path: Path) -> None:
    """Each state once, at its depth."""
    subject = Walkers()
    frame = kept(subject, tmp_path)
    assert list(frame.columns) == ["level", "at[0]", "at[1]", "at[2]"]
    expected = [(depth, *state) for state, depth in state_space(subject).depths.items()]
    assert sorted(map(tuple, frame.to_numpy().tolist())) == sorted(expected)


def test_a_run_of_another_specification_is_refused(tmp_path: Path) -> None:
    """Its files would be read as wrong values."""
    kept(Walkers(), tmp_path)
    with pytest.raises(UsageError, match="holds another run: "):
        states_of_run(tmp_path, Walkers(walkers=4))
    with pytest.raises(UsageError, match="holds no run"):
        states_of_run(tmp_path / "nothing", Walkers())


@pytest.mark.long
@pytest.mark.spark
def test_spark_reads_the_same_states(session: SparkSession, tmp_path: Path) -> None:
    """By SQL, from a run of the Spark engine."""
    subject = Replication.of(truncation="kip-101", brokers=2, log_size=2, max_records=2, max_leader_epoch=2)
    check(subject, engine=SparkEngine(run_dir=tmp_path, session=session), keep_going=True)
    frame = states_of_run(tmp_path, subject)
    spark_states_of_run(session, tmp_path, subject).createOrReplaceTempView("states")
    asked = "SELECT level, COUNT(*) AS states, MAX(`replica[0].leader_epoch`) AS epoch FROM states GROUP BY level"
    found = {row.level: (row.states, row.epoch) for row in session.sql(asked).collect()}
    assert found == {
        level: (len(rows), rows["replica[0].leader_epoch"].max()) for level, rows in frame.groupby("level")
    }
