"""Cells of a state: one for a plain variable, one for each key of a mapping. They lie side by side in a row.

Each cell caches the values it has seen. After the first time, checking a value against its domain and finding its
canonical form and its bits is one dictionary lookup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from reprlib import recursive_repr
from typing import Any, Final, NamedTuple

from spec.language.domains import ABSENT, Domain, FrozenMapping, FrozenMappingDomain, Slot
from spec.language.errors import OutOfDomain, SpecificationError, escaped, safe_repr
from spec.language.identity import is_same_value

WORD: Final = 64
"""Bits in a word of a packed state."""


class OutOfCell(OutOfDomain):
    """A value outside the domain of its cell."""

    def __init__(self, cell: str, wrong: OutOfDomain):
        super().__init__(wrong.value, wrong.allowed)
        self.cell = cell

    def __str__(self) -> str:
        return f"{self.cell}: {super().__str__()}"


class SlotPlace(NamedTuple):
    """The position of a slot in a packed state."""

    cell: int
    """The index of its cell."""
    slot: Slot
    word: int
    """The index of its word; the first is the most significant."""
    shift: int
    """The number of bits below it in the word."""
    name: str
    """The part of the state in the slot: `price[fig]`, `basket{pear}`."""

    @property
    def width(self) -> int:
        """The number of bits in the slot."""
        return self.slot.width


_UNMADE: Final = object()
"""In place of the canonical form of a value that was only packed so far."""


class Cell:
    """One cell of the state: a plain variable, or a mapping's value for one key."""

    def __init__(self, name: str, domain: Domain[Any], places: Iterable[SlotPlace], words: int):
        if not domain.size:
            raise SpecificationError(f"variable {name}: its domain is empty")
        self.name, self.domain, self.width = name, domain, domain.width
        self.places = tuple(places)
        """The places of its domain's slots."""
        # Their positions in the integer: each slot's shift, and the mask of its codes.
        self._slots = [
            ((words - 1 - place.word) * WORD + place.shift, (1 << place.width) - 1) for place in self.places
        ]
        self.mask = sum(mask << shift for shift, mask in self._slots)
        """The bits of the integer that belong to this cell."""
        # By type first: 1, True and 1.0 are equal, and so are a NamedTuple and a tuple. Then by value: its canonical
        # form, its bits, and the very value that was seen, because its parts may equal those of another value without
        # being the same.
        self._met: dict[type, dict[Any, tuple[Any, int, Any]]] = {}
        self._values: dict[int, Any] = {}

    def admit(self, value: Any) -> Any:
        """The canonical form of a value; OutOfCell if the value is outside the domain."""
        try:
            canonical, _, met = self._met[type(value)][value]
        except (KeyError, TypeError):
            return self._meet(value)
        if (met is value or is_same_value(value, met)) and canonical is not _UNMADE:  # the usual case, without a call
            return canonical
        return self._meet(value)

    def _meet(self, value: Any) -> Any:
        bits = self._bits_of(value)
        canonical = self.unpack(bits)
        kept = canonical if is_same_value(value, canonical) else value
        self._met.setdefault(type(value), {})[value] = canonical, bits, kept
        return canonical

    def pack(self, value: Any) -> int:
        """The bits of a value, at their place in the packed state."""
        try:
            _, bits, met = self._met[type(value)][value]
        except (KeyError, TypeError):
            pass
        else:
            if met is value or is_same_value(value, met):
                return bits
        bits = self._bits_of(value)
        self._met.setdefault(type(value), {})[value] = _UNMADE, bits, value
        return bits

    def _bits_of(self, value: Any) -> int:
        try:
            hash(value)
        except (TypeError, SpecificationError):  # the second: a state, or a value that contains one
            raise SpecificationError(
                f"{self.name} = {safe_repr(value)}: it can be changed in place, and the state holds immutable values"
                + ("; write mappings as frozen({...}), from spec.language" if _has_mappings(self.domain) else "")
            ) from None
        try:
            codes = self.domain.codes(value)
        except OutOfDomain as wrong:
            raise OutOfCell(self.name, wrong) from None
        return sum(code << shift for code, (shift, _) in zip(codes, self._slots, strict=True) if code)

    def unpack(self, packed: int) -> Any:
        """The value of this cell in a packed state; always the same object for the same value."""
        bits = packed & self.mask
        try:
            return self._values[bits]
        except KeyError:
            codes = [bits >> shift & mask for shift, mask in self._slots]
            value = self._values[bits] = self.domain.value(codes)
            return value


def _has_mappings(domain: Domain[Any]) -> bool:
    """Whether a value of the domain is a mapping, or contains one."""
    return isinstance(domain, FrozenMappingDomain) or any(map(_has_mappings, domain.inner))


class Variable(NamedTuple):
    """The place of a variable: the index of its cell, or of each key's cell."""

    name: str
    doc: str
    at: int | dict[Any, int]
    partial: bool
    keys: Mapping[Any, Any] = {}
    """Each key of a mapping, by itself: a value equal to a key may be of another type."""
    names: Mapping[Any, str] = {}
    """Each key of a mapping, as written in the name of its cell."""


def key_in_brackets(key: object) -> str:
    """A key, as written in the name of a cell: `broker[0]`, `nodes[/controller]`, `votes[1, 0]`."""
    return escaped(", ".join(map(str, key)) if type(key) is tuple and key else str(key))


class CellRow:
    """The working copy shared by a State and its mappings: the values of the cells, and which of them were assigned.

    An engine that records reads (symbolic execution) puts an object of its own into `values`.
    """

    __slots__ = ("dirty", "looked_at", "past", "values", "writer")

    def __init__(self) -> None:
        self.values: Any = []
        self.dirty: list[int] = []
        self.past: list[tuple[Any, int]] = []
        """For each assignment in `dirty`: the value before it, and the `id` of the mapping that made it, or 0. There
        may be more: engines clear `dirty` alone."""
        self.writer: str | None = None  # the action that may write now
        self.looked_at: set[int] | None = None

    def write(self, at: int, value: Any, name: str, by: int = 0, again: bool = False) -> None:
        """Assign to a cell of the variable with this name, through the mapping with this `id`; record the assignment
        even if the value is the same, if `again`.
        """
        if self.writer is None:
            raise SpecificationError(f"{name} is assigned: only actions and `initial` may change the state")
        before = self.values[at]
        if before is not value or again:
            self.values[at] = value
            self.record(at, before, by)

    def record(self, at: int, before: Any, by: int) -> None:
        """Record an assignment."""
        self.past[len(self.dirty) :] = ((before, by),)
        self.dirty.append(at)

    def before(self, at: int, value: Any) -> Any:
        """The value that a cell had, as it is recorded in `past`."""
        return value


class TotalMapping(MutableMapping[Any, Any]):
    """A mapping whose keys are fixed and always present.

    Each access to the variable gives another one, see `MappingVariable`. It shows the values of that moment, and its
    own assignments, which change the state. It copies nothing: where a cell was assigned since then, it looks up the
    old value among those that the row has recorded.
    """

    __slots__ = ("_at", "_of", "_row", "_since")
    _at: dict[Any, int]
    _of: Variable
    _row: CellRow
    _since: int
    """The number of assignments after which it was read. While no others follow, all cells are as they were."""

    def _place(self, key: Any) -> int:
        try:
            return self._at[key]
        except (KeyError, TypeError):
            raise OutOfCell(self._of.name, OutOfDomain(key, "a key of it")) from None

    def _value(self, at: int) -> Any:
        """The value of a cell."""
        row = self._row
        if row.looked_at is not None:
            row.looked_at.add(at)
        if self._since != len(row.dirty):
            older = self._older()
            if at in older:
                return row.before(at, older[at])
        return row.values[at]

    def _older(self) -> dict[int, Any]:
        """By cell, the values that were replaced through other mappings since this one was read, as in `past`."""
        row, since, me = self._row, self._since, id(self)
        first = next(iter(self._at.values()), 0)
        found: dict[int, Any] = {}
        for at, (before, by) in zip(row.dirty[since:], row.past[since:], strict=False):
            if by == me:
                found.pop(at, None)
            elif first <= at < first + len(self._at):
                found.setdefault(at, before)
        if not found:
            self._since = len(row.dirty)
        return found

    def _assign(self, at: int, value: Any) -> None:
        row = self._row
        others = self._since != len(row.dirty)
        row.write(at, value, self._of.name, id(self), others)
        if not others:
            self._since = len(row.dirty)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value at a key, or the default if there is no such key."""
        return self[key] if key in self._at else default

    def __getitem__(self, key: Any) -> Any:
        row = self._row
        try:
            at = self._at[key]
        except (KeyError, TypeError):
            at = self._place(key)
        if row.looked_at is not None or self._since != len(row.dirty):
            return self._value(at)
        return row.values[at]

    def __setitem__(self, key: Any, value: Any) -> None:
        if value is ABSENT:
            raise SpecificationError(f"{self._of.name}[{key_in_brackets(key)}] = absent: delete it instead")
        self._assign(self._place(key), value)

    def __delitem__(self, key: Any) -> None:
        raise SpecificationError(f"del {self._of.name}[{key_in_brackets(key)}]: its keys are always present")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, key: object) -> bool:
        return key in self._at

    def __or__(self, other: Mapping[Any, Any]) -> FrozenMapping:
        """A value: its present values, with others for some keys."""
        return FrozenMapping(self) | other

    def __ror__(self, other: Mapping[Any, Any]) -> FrozenMapping:
        """A value: the other's values, with its own present ones for its keys."""
        return other | FrozenMapping(self)

    def assign_all(self, values: Mapping[Any, Any]) -> None:
        """Take the values of this mapping."""
        for key in [key for key in self if key not in values]:
            if not self._of.partial:
                name = self._of.name
                raise SpecificationError(
                    f"{name} = {safe_repr(values)}: it has no value for key {key_in_brackets(key)}, and each key of "
                    f"{name} needs one; to change some keys only, write {name} |= ..."
                )
            del self[key]
        for key, value in values.items():
            self._own(key)
            TotalMapping.__setitem__(self, key, value)

    def _own(self, key: Any) -> None:
        """Require that this very value becomes the key: Python keeps a key that is already present."""
        if not is_same_value(key, self._of.keys.get(key, self)):
            raise OutOfCell(self._of.name, OutOfDomain(key, "a key of it"))

    @recursive_repr("{...}")
    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or an unpickled mapping is a plain dict, without the state around it."""
        return dict, (dict(self),)


class PartialMapping(TotalMapping):
    """A mapping whose possible keys are fixed; each is present or absent."""

    __slots__ = ()

    def get(self, key: Any, default: Any = None) -> Any:
        """The value at a key, or the default if the key is absent."""
        at = self._at.get(key)
        if at is None:
            return default
        row = self._row
        plain = row.looked_at is None and self._since == len(row.dirty)
        value = row.values[at] if plain else self._value(at)
        return default if value is ABSENT else value

    def __getitem__(self, key: Any) -> Any:
        at = self._at.get(key)
        if at is None:
            raise KeyError(key)
        row = self._row
        plain = row.looked_at is None and self._since == len(row.dirty)
        value = row.values[at] if plain else self._value(at)
        if value is ABSENT:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if key is not self._of.keys[key]:
            self._own(key)

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise KeyError(key)
        self._assign(self._at[key], ABSENT)

    def __iter__(self) -> Iterator[Any]:
        row = self._row
        for key, at in self._at.items():
            plain = row.looked_at is None and self._since == len(row.dirty)
            if (row.values[at] if plain else self._value(at)) is not ABSENT:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def clear(self) -> None:
        """Remove every key."""
        for at in self._at.values():
            self._assign(at, ABSENT)

    def __contains__(self, key: object) -> bool:
        at, row = self._at.get(key), self._row
        if at is None:
            return False
        plain = row.looked_at is None and self._since == len(row.dirty)
        return (row.values[at] if plain else self._value(at)) is not ABSENT


class MappingVariable:
    """The attribute of a State for a variable that is a mapping, unless the state is only read and keeps one.

    Each access gives another mapping, because they cannot be told apart otherwise: after `old = s.m; s.m[k] = 1` the
    mapping `old` stays as it was, and after `m = s.m; m[k] = 1` the mapping `m` does not.
    """

    __slots__ = ("_at", "_made", "_variable")

    def __init__(self, variable: Variable):
        assert isinstance(variable.at, dict)
        self._variable, self._at = variable, variable.at
        self._made = PartialMapping if variable.partial else TotalMapping

    def __get__(self, state: Any, cls: type) -> TotalMapping:
        row: CellRow = state._row
        found = self._made()
        found._at, found._of, found._row, found._since = self._at, self._variable, row, len(row.dirty)
        return found
