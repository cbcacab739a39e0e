"""A trace as a table: a row for each state, a column for each place."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import pyarrow
import pytest

from spec.checking import Replay
from spec.checking.traces.tabular import columns, to_pandas
from spec.language import Specification, State, Step, action, variable
from spec.language.errors import UsageError
from tests.spec.checking.traces.test_brief import ANN, Letters, Narrow, by, run
from tests.spec.checking.traces.test_program import counterexample
from tests.spec.checking.traces.test_trace import Post
from tests.spec.testing.toys import Colour

FOUND = counterexample(Post(), "nothing_is_taken")


def test_a_row_for_each_state() -> None:
    """A row has the step that led to the state and its actor; the first row has none."""
    table = pyarrow.table(columns(run(Letters(), ANN, "")))
    assert table.num_rows == 4
    assert table.select(["state", "step", "action", "actor"]).to_pylist() == [
        {"state": 1, "step": None, "action": None, "actor": None},
        {"state": 2, "step": "open(clerk=ann)", "action": "open", "actor": "clerk ann"},
        {"state": 3, "step": "write(clerk=ann)", "action": "write", "actor": "clerk ann"},
        {"state": 4, "step": "put(clerk=ann)", "action": "put", "actor": "clerk ann"},
    ]


def test_a_column_for_each_place() -> None:
    """Columns are typed, down to the fields of records. Absent values are null; left-out places have none."""
    table = pyarrow.table(columns(FOUND))
    assert {field.name: str(field.type) for field in table.schema} == {
        "state": "int64",
        "step": "string",
        "action": "string",
        "actor": "null",
        "box[1].to": "int64",
        "box[1].text": "string",
        "seen[0]": "list<item: null>",
        "seen[1]": "list<item: string>",
        "log": "list<item: int64>",
    }
    assert table["box[1].to"].to_pylist() == [None, 1, 1, None]
    assert table["seen[1]"].to_pylist() == [[], [], ["ann"], ["ann"]]
    assert table["log"].to_pylist() == [[], [1], [1], [1]]


def test_a_data_frame_keeps_its_integers() -> None:
    """Also in a column with a null."""
    import pandas  # only here: it takes half a second, and each worker collects all files

    frame = to_pandas(FOUND)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape == (4, 9)
    assert str(frame["box[1].to"].dtype) == "int64[pyarrow]"
    assert frame.loc[frame["state"] == 3, "action"].item() == "look"


class Box(NamedTuple):
    """Of `Values`."""

    kind: Any
    inside: Any


ALL = (
    (1, True, "a", Colour.RED, (1, 2), (Box(1, 2),), Box("x", None), None, 2**70),
    (2, False, "b", Colour.BLUE, (), (), Box("y", Box(1, 2)), 3, 1),
)


class Things(State):
    """The state of `Values`."""

    at: tuple[Any, ...] = variable("Values of every kind.", of=lambda self: [*ALL])


class Values(Specification[Things]):
    """One state, and then another."""

    @action
    def go(self, s: Things) -> None:
        s.at = ALL[1]


def test_untyped_values_are_text() -> None:
    """The whole column becomes text, and no value is lost."""

    class State(NamedTuple):
        """A trace with these values of one variable."""

        initial: Any
        states: Any
        steps: Any
        length: int

    taken = Replay(Values()).run.steps
    for place, first, second in [
        (0, 1, 2),
        (1, True, False),
        (2, "a", "b"),
        (3, "RED", "BLUE"),
        (4, [1, 2], []),
        (5, "(Box(kind=1, inside=2),)", "()"),
        (7, None, 3),
        (8, str(2**70), "1"),
    ]:
        values = [{"value": each[place]} for each in ALL]
        found = columns(State(values[0], values, [*taken, Replay(Values()).do(Step("go", {}))], 2))  # type: ignore[arg-type]
        assert found["value"] == [first, second]
        pyarrow.table(found)
    values = [{"value": each[6]} for each in ALL]
    found = columns(State(values[0], values, [Replay(Values()).do(Step("go", {}))], 2))  # type: ignore[arg-type]
    assert found["value.kind"] == ["x", "y"]
    assert (found["value.inside.kind"], found["value.inside.inside"]) == ([None, 1], [None, 2])


def test_a_variable_with_the_name_of_a_column() -> None:
    """Both are kept."""

    class Lamps(State):
        """The state of `Lamp`."""

        state: int = variable("How bright it is.", of=lambda self: range(3))

    class Lamp(Specification[Lamps]):
        """It gets brighter."""

        @action
        def turn(self, s: Lamps) -> None:
            s.state += 1

    replay = Replay(Lamp())
    replay.do(Step("turn", {}))
    found = columns(replay.run)
    assert (found["state"], found["s.state"]) == ([1, 2], [0, 1])


def test_a_value_outside_its_domain_is_shown() -> None:
    """That value breaks `type_ok`."""
    found = run(Narrow(), ANN, "type_ok")
    assert columns(found)["tray"] == [0, 0, 0, 9]


@pytest.mark.parametrize("name", ["pyarrow", "pandas"])
def test_a_missing_library_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line that says how to install it."""
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=rf"^{name} is not installed: pip install '\.\[frames\]'"):
        to_pandas(run(Letters(), by("ann", "open"), ""))
