"""A trace as a table: a pandas DataFrame with a row for each state.

`state` is its number, `step` the step that led to it, `action` and `actor` are that step's; null in the first row.
Then comes a column for each place, named as in a trace: a plain variable, a key of a mapping, a field of a record in
these, such as `replica[0].leader_epoch`. An absent value or None is null. A variable that is itself called `state` is
`s.state` here.

A column holds 64-bit integers, booleans or texts, or lists of one of these for sets and sequences. If it has any
other value (a sequence of records, an integer beyond 64 bits), all its values become their texts from a trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from spec.checking.traces.trace import Trace
from spec.checking.values.text import PLAIN, Spelling, show
from spec.language.domains import ABSENT, LEFT_OUT
from spec.language.errors import require

if TYPE_CHECKING:
    import pandas


def to_pandas(trace: Trace) -> pandas.DataFrame:
    """The trace as a DataFrame with Arrow-backed columns: an integer stays one beside a null.

    Raises:
        UsageError: pandas or pyarrow is not installed.
    """
    require("pandas", "pyarrow")
    import pandas
    import pyarrow

    frame: pandas.DataFrame = pyarrow.table(columns(trace)).to_pandas(types_mapper=pandas.ArrowDtype)
    return frame


def columns(trace: Trace) -> dict[str, list[Any]]:
    """The columns by name, each with a value for each state."""
    steps, spelling = trace.steps, getattr(trace, "spelling", PLAIN)
    found: dict[str, list[Any]] = {
        "state": [*range(1, trace.length + 1)],
        "step": [None, *(each.call for each in steps)],
        "action": [None, *(each.step.action for each in steps)],
        "actor": [None, *(each.lanes.actor or None for each in steps)],
    }
    for name in trace.initial:
        for place, values in _places(name, [state[name] for state in trace.states], spelling):
            found[f"s.{place}" if place in found else place] = _uniform(values, spelling)
    return found


def _places(place: str, values: Sequence[Any], spelling: Spelling) -> Iterator[tuple[str, Sequence[Any]]]:
    """The places in a variable, each with its value in each state."""
    there = [each for each in values if each is not None and each is not ABSENT]
    if there and all(isinstance(each, Mapping) for each in there):
        for key in dict.fromkeys(key for each in there for key in each):
            yield from _places(
                f"{place}[{spelling.key(place, key)}]", [each.get(key, ABSENT) for each in values], spelling
            )
    elif there and len({type(each) for each in there}) == 1 and hasattr(there[0], "_fields"):
        for field in there[0]._fields:
            yield from _places(f"{place}.{field}", [getattr(each, field, ABSENT) for each in values], spelling)
    elif any(each is not LEFT_OUT for each in there) or not there:
        yield place, values


def _uniform(values: Sequence[Any], spelling: Spelling) -> list[Any]:
    """The values of a column, converted to one kind."""
    found = [None if each is None or each is ABSENT or each is LEFT_OUT else plain(each, spelling) for each in values]
    kinds = {kind(each) for each in found if each is not None}
    if len(kinds - {"empty"}) > 1 or "other" in kinds:
        return [None if each is None else show(value, spelling) for each, value in zip(found, values, strict=True)]
    return found


def plain(value: Any, spelling: Spelling) -> Any:
    """A value as it appears in a column: a set or sequence as a list, a member of an enumeration by its name."""
    if isinstance(value, frozenset | tuple) and not hasattr(value, "_fields"):
        return [plain(each, spelling) for each in value]
    word = None if hasattr(value, "_fields") else spelling.word(value)
    return value.name if word is None and isinstance(value, Enum) else word or value


def kind(value: Any) -> str:
    """The kind of a column's value; `other` if a column cannot hold it, `empty` for a list without elements."""
    if isinstance(value, bool | str):
        return "bool" if isinstance(value, bool) else "text"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return "integer"
    if isinstance(value, list):
        kinds = {kind(each) for each in value}
        if not kinds:
            return "empty"
        (one, *more) = kinds
        return "other" if more or one not in {"bool", "text", "integer"} else f"list of {one}"
    return "other"
