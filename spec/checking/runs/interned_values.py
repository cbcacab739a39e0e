"""The interned values of an exploration: which ones occur in its states, level by level, and how a run keeps them.

A packed state has only a value's number, and a process can read it once it has met the value. So a commit has the
values that first occur in its level, and Spark sends its workers those of all levels so far.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from spec.checking.code.source import class_named
from spec.language.cells import Cell
from spec.language.domains import FrozenMapping, InternedDomain
from spec.language.domains.records import require_plain_reading
from spec.language.errors import LONGEST_INTEGER, SpecificationError, UsageError, safe_repr
from spec.language.state import Layout, Values

if TYPE_CHECKING:
    from spec.checking.states.packed import ManyStates, Words

InternedValues: TypeAlias = Mapping[str, Sequence[Any]]
"""Values by the name of their cell."""


def _interned(layout: Layout) -> list[tuple[int, Cell, InternedDomain[Any]]]:
    """The cells of interned values, with their indices and domains."""
    return [
        (at, cell, cell.domain) for at, cell in enumerate(layout.cells) if isinstance(cell.domain, InternedDomain)
    ]


def meet(layout: Layout, values: InternedValues) -> None:
    """From now on this process can read the numbers of these values."""
    for _, cell, domain in _interned(layout):
        for value in values.get(cell.name, ()):
            domain.rank(value)


def values_met(layout: Layout, beyond: InternedValues) -> InternedValues:
    """The values that this process has met, beyond these."""
    found = {}
    for _, cell, domain in _interned(layout):
        known = {0, *map(domain.rank, beyond.get(cell.name, ()))}
        if more := [value for number, value in domain.values.items() if number not in known]:
            found[cell.name] = more
    return found


class OccurringValues:
    """The values that occur in the states of an exploration."""

    def __init__(self, layout: Layout):
        self._interned = _interned(layout)
        self._occurred: dict[str, set[int]] = defaultdict(set)
        self.levels: list[InternedValues] = []
        """By level, the first being 1: the values that first occur there."""

    def in_arrays(self, states: Sequence[ManyStates]) -> None:
        """Note the values in the packed states of the next level."""
        found: dict[str, set[int]] = {}
        for _, cell, domain in self._interned:
            if len(self._occurred[cell.name]) < len(domain.values):
                found[cell.name] = set().union(*(_numbers(cell, some[:]) for some in states))
        self._note(found)

    def in_values(self, states: Collection[Values]) -> None:
        """Note the values in the states of the next level."""
        met = {cell.name: {state[at] for state in states} for at, cell, _ in self._interned}
        self.add(met)

    def add(self, values: Mapping[str, Iterable[Any]]) -> None:
        """Note the values of the next level; some may have occurred before."""
        self._note({cell.name: {*map(domain.rank, values.get(cell.name, ()))} for _, cell, domain in self._interned})

    def _note(self, numbers: Mapping[str, set[int]]) -> None:
        level = {}
        for _, cell, domain in self._interned:
            if new := sorted(numbers.get(cell.name, set()) - self._occurred[cell.name]):
                self._occurred[cell.name].update(new)
                level[cell.name] = [domain.values[number] for number in new]
        self.levels.append(level)

    def all(self) -> InternedValues:
        """The values of all levels so far."""
        found = defaultdict[str, list[Any]](list)
        for level in self.levels:
            for name, values in level.items():
                found[name] += values
        return found

    def counts(self, depth: int) -> dict[str, int]:
        """How many values occur down to this level, by cell."""
        return {
            cell.name: sum(len(level.get(cell.name, ())) for level in self.levels[:depth])
            for _, cell, _ in self._interned
        }


def _numbers(cell: Cell, states: Words) -> set[int]:
    """The numbers in a cell of some states: the bits of its places, joined."""
    import numpy as np

    numbers = np.zeros(len(states), np.uint64)
    for word, places in groupby(cell.places, lambda place: place.word):
        here = [*places]
        bits = sum(place.width for place in here)
        its = states[:, word] >> np.uint64(here[-1].shift) & np.uint64((1 << bits) - 1)
        numbers = numbers << np.uint64(bits) | its
    return {*np.unique(numbers).tolist()}


# Written: in a commit, and for another process, which may have classes of its own by the same names.


def written(values: InternedValues) -> InternedValues:
    """Values as JSON."""
    return {cell: [*map(as_json, its)] for cell, its in values.items()}


def read(values: InternedValues) -> InternedValues:
    """The values from JSON; UsageError if one cannot be read."""
    return {cell: [*map(from_json, its)] for cell, its in values.items()}


def as_json(value: Any) -> Any:
    """A value as JSON; `from_json` is the inverse."""
    if isinstance(value, Enum):
        return {"member": [*_place_of(type(value)), value._name_]}
    if isinstance(value, tuple):
        parts = [*map(as_json, value)]
        return {"record": [*_place_of(type(value)), *parts]} if hasattr(value, "_fields") else {"tuple": parts}
    if isinstance(value, frozenset):
        return {"set": [*map(as_json, value)]}
    if isinstance(value, FrozenMapping):
        return {"mapping": [[as_json(key), as_json(part)] for key, part in value.items()]}
    if type(value) is int and value.bit_length() > LONGEST_INTEGER:
        return {"integer": hex(value)}
    return {"bytes": value.hex()} if isinstance(value, bytes) else value


def from_json(written: Any) -> Any:
    """The value. Its classes are looked up among those that are loaded; no code of the file is run.

    Raises:
        UsageError: it is no value, or a class is not found.
    """
    try:
        return _read(written)
    except (AttributeError, LookupError, TypeError, ValueError, SpecificationError):
        raise UsageError(
            f"an interned value cannot be read: {safe_repr(written)}; classes of values must be found by name"
        ) from None


def _read(written: Any) -> Any:
    if written is None or isinstance(written, bool | int | float | str):
        return written
    ((kind, given),) = written.items()
    match kind:
        case "tuple":
            return tuple(map(_read, given))
        case "set":
            return frozenset(map(_read, given))
        case "mapping":
            return FrozenMapping({_read(key): _read(part) for key, part in given})
        case "integer":
            return int(given, 16)
        case "bytes":
            return bytes.fromhex(given)
    module, name, *parts = given
    cls = class_named(module, name)
    if kind == "member" and issubclass(cls, Enum):
        return cls.__members__[parts[0]]
    if kind == "record" and issubclass(cls, tuple) and len(cls._fields) == len(parts):
        require_plain_reading(cls)
        return tuple.__new__(cls, map(_read, parts))
    raise ValueError


def _place_of(cls: type) -> tuple[str, str]:
    """The module and the name by which another process finds a class; UsageError if they lead to none or another."""
    with suppress(LookupError, TypeError):
        if class_named(cls.__module__, cls.__qualname__) is cls:
            return cls.__module__, cls.__qualname__
    raise UsageError(
        f"an interned value is a {cls.__qualname__}, which another process does not find in {cls.__module__}: "
        "write its class at the top of the module, under this name"
    )
