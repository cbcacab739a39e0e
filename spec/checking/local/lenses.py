"""How domains look at the slots of a packed state: what lies there, and what is written to make it another value.

A `Lens` is a domain at a place; functional programming, too, calls so what gets and sets a part of a whole. `look`
gives the value that begins at its first slot, unread as far as that can be (`lazy`); `put` says what a value would
write there, and a part that was not looked at is copied slot by slot.

A domain does not know its lens: what it is, it is in terms of the language, and that evaluations are recorded is a
matter of this engine. So lenses are registered here, by class of the domain. A domain without one is read and written
whole: that is always right, and learns more paths than a lens of its own would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spec.checking.local.lazy import (
    UNREAD,
    Copy,
    Lazy,
    LazyInteger,
    LazySequence,
    LazySet,
    ReadSlots,
    Writes,
    hash_what_is_known,
    lazy_record,
    plain,
)
from spec.language.domains import (
    Domain,
    EnumerationDomain,
    IntegerDomain,
    LeftOutDomain,
    OptionalDomain,
    PossiblyDomain,
    PossiblyEmptyDomain,
    RecordDomain,
    SequenceDomain,
    SubsetDomain,
    TupleDomain,
)
from spec.language.errors import OutOfDomain


class NotRepresentable(Exception):
    """A value that a lens cannot write, for it is nothing that has such parts."""


class DomainValues(dict[int, Any]):
    """The values of a domain by their numbers; always the same object for the same number."""

    def __init__(self, domain: Domain[Any]):
        self.domain = domain

    def __missing__(self, code: int) -> Any:
        value = self[code] = self.domain.unrank(code)
        return value


class LensShape:
    """What lenses of one shape have in common, and nothing else has."""

    def __init__(self, domain: Domain[Any]):
        self.domain, self.values = domain, DomainValues(domain)


class Lens:
    """How a domain looks at the slots from `at` on, one lens for each place that it lies in."""

    def __init__(self, at: int, slots: int, shape: LensShape | None):
        self.at, self.slots, self.shape = at, slots, shape
        """Where it begins, how many slots it has; lenses of the same shape have the same values by the same codes."""

    def look(self, seen: ReadSlots) -> Any:
        """The value that lies here, read as far as it must be."""
        raise NotImplementedError

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:
        """What is written to make it hold a value.

        Raises:
            NotRepresentable, OutOfDomain: it cannot.
        """
        raise NotImplementedError

    def carry(self, seen: ReadSlots, source: Lens, writes: Writes) -> None:
        """What is written to make it hold what lies elsewhere, unread if that can be."""
        if source.shape is not self.shape:
            self.put(seen, source.look(seen), writes)
        elif source.at != self.at:
            for mine, its in enumerate(range(source.at, source.at + self.slots), self.at):
                known = seen.get(its)
                writes[mine] = Copy(its) if known is None else known

    def clear(self, writes: Writes) -> None:
        """Write the first value."""
        for slot in range(self.at, self.at + self.slots):
            writes[slot] = 0


class ConstantLens(Lens):
    """A domain of a single value takes no slot."""

    def __init__(self, at: int, shape: LensShape, domain: Domain[Any]):
        super().__init__(at, 0, shape)
        self.only, self.rank = domain.unrank(0), domain.rank

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        return self.only

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        if value is not self.only:
            self.rank(plain(value))


class LeftOutLens(ConstantLens):
    """What is left out: whatever is written there is dropped, if it may be in a state at all."""

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        hash_what_is_known(value)


class LeafLens(Lens):
    """A domain whose values are numbered in one slot. It is read as soon as it is looked at."""

    def __init__(self, at: int, shape: LensShape, domain: Domain[Any]):
        super().__init__(at, 1, shape)
        self.value_of, self.rank = shape.values, domain.rank

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        return self.value_of[seen[self.at]]

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        writes[self.at] = self.rank(value if type(value) is int else plain(value))


class IntegerLens(LeafLens):
    """A leaf of integers. One is read when something is done with it, see `LazyInteger`."""

    def __init__(self, at: int, shape: LensShape, domain: IntegerDomain | EnumerationDomain[int]):
        super().__init__(at, shape, domain)
        if isinstance(domain, IntegerDomain):
            self.least, self.greatest = domain.low, domain.high
        else:
            self.least, self.greatest = min(domain), max(domain)

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        code = seen.get(self.at)
        if code is not None:
            return self.value_of[code]
        seen.held.append(self)
        return LazyInteger(seen, self)

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        if type(value) is LazyInteger and value.seen is seen and value.lens.shape is self.shape:
            self.carry(seen, value.lens, writes)
        else:
            super().put(seen, value, writes)


class WholeLens(Lens):
    """Any domain, all of its slots read at once."""

    def __init__(self, at: int, shape: LensShape, domain: Domain[Any]):
        super().__init__(at, len(domain.slots), shape)
        self.domain = domain
        self.met: dict[tuple[int, ...], Any] = {}

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        codes = tuple([seen[slot] for slot in range(self.at, self.at + self.slots)])
        try:
            return self.met[codes]
        except KeyError:
            value = self.met[codes] = self.domain.value(codes)
            return value

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        writes.update(enumerate(self.domain.codes(plain(value)), self.at))


class OptionalLens(Lens):
    """A slot that tells whether there is something, and what it is."""

    def __init__(self, at: int, shape: LensShape, nothing: object, inner: Lens):
        super().__init__(at, 1 + inner.slots, shape)
        self.nothing, self.inner = nothing, inner

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        return self.inner.look(seen) if seen[self.at] else self.nothing

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        if value is self.nothing:
            self.clear(writes)
        else:
            writes[self.at] = 1
            self.inner.put(seen, value, writes)


class RecordLens(Lens):
    """A NamedTuple, field by field."""

    def __init__(self, at: int, shape: LensShape | None, cls: Any, fields: Mapping[str, Lens]):
        super().__init__(at, sum(lens.slots for lens in fields.values()), shape)
        self.cls, self.fields = cls, fields
        self.lazy: Any = lazy_record(cls)

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        seen.held.append(self)
        record: Any = object.__new__(self.lazy)
        known = record.__dict__
        known["_lens"], known["_seen"] = self, seen
        return record

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        if type(value) is self.lazy and value._seen is seen:
            known, source = value.__dict__, value._lens
            for name, lens in self.fields.items():
                if name in known:
                    lens.put(seen, known[name], writes)
                elif source is not self:
                    lens.carry(seen, source.fields[name], writes)
            return
        if isinstance(value, Lazy):
            value = plain(value)
        if type(value) is not self.cls:
            raise NotRepresentable
        for lens, part in zip(self.fields.values(), value, strict=True):
            lens.put(seen, part, writes)


class PartsLens(Lens):
    """What the lenses of tuples have in common: one is read when its parts are asked for."""

    shortest: int
    """No tuple there has fewer parts."""

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        seen.held.append(self)
        return LazySequence(seen, self)

    def parts_in(self, seen: ReadSlots) -> tuple[list[Any], tuple[Lens | None, ...]]:
        """The parts that there are, and the lens of each that is unread."""
        raise NotImplementedError


class NumberedTuplesLens(PartsLens):
    """Tuples that are numbered in one slot."""

    def __init__(self, at: int, shape: LensShape, domain: EnumerationDomain[Any]):
        super().__init__(at, 1, shape)
        self.value_of, self.rank, self.shortest = shape.values, domain.rank, min(map(len, domain.values))

    def parts_in(self, seen: ReadSlots) -> tuple[list[Any], tuple[Lens | None, ...]]:  # noqa: D102
        parts = self.value_of[seen[self.at]]
        return list(parts), (None,) * len(parts)

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        whole = value.whole if type(value) is LazySequence and value.seen is seen else None
        if whole is not None and whole.shape is self.shape:
            self.carry(seen, whole, writes)
        else:
            writes[self.at] = self.rank(plain(value))


class ElementsLens(PartsLens):
    """What `TupleLens` and `SequenceLens` have in common: parts that lie one after the other."""

    parts: tuple[Lens, ...]

    def parts_in(self, seen: ReadSlots) -> tuple[list[Any], tuple[Lens | None, ...]]:  # noqa: D102
        number = self.count(seen)
        return [UNREAD] * number, self.parts[:number]

    def count(self, seen: ReadSlots) -> int:
        """How many of the parts there are."""
        raise NotImplementedError

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        if type(value) is LazySequence and value.seen is seen:
            if value.whole is not None and value.whole.shape is self.shape:
                self.carry(seen, value.whole, writes)
                return
            values, lenses = value.parts(), value.lenses
        else:
            values, lenses = plain(value) if isinstance(value, Lazy) else value, ()
            if type(values) is not tuple:
                raise NotRepresentable
        self.put_number(seen, len(values), writes)
        for number, part in enumerate(values):
            source = lenses[number] if part is UNREAD else None
            if source is not None:
                self.parts[number].carry(seen, source, writes)
            else:
                self.parts[number].put(seen, part, writes)

    def put_number(self, seen: ReadSlots, number: int, writes: Writes) -> None:
        """What is written to make it hold so many parts."""
        raise NotImplementedError


class TupleLens(ElementsLens):
    """A tuple of a fixed length."""

    def __init__(self, at: int, shape: LensShape, parts: tuple[Lens, ...]):
        super().__init__(at, sum(part.slots for part in parts), shape)
        self.parts, self.shortest = parts, len(parts)

    def count(self, seen: ReadSlots) -> int:  # noqa: D102
        return len(self.parts)

    def put_number(self, seen: ReadSlots, number: int, writes: Writes) -> None:  # noqa: D102
        if number != len(self.parts):
            raise NotRepresentable


class SequenceLens(ElementsLens):
    """A tuple of any length up to the longest: the length, then the parts."""

    def __init__(self, at: int, shape: LensShape, parts: tuple[Lens, ...]):
        super().__init__(at, 1 + sum(part.slots for part in parts), shape)
        self.parts, self.shortest = parts, 0

    def count(self, seen: ReadSlots) -> int:  # noqa: D102
        return seen[self.at]

    def put_number(self, seen: ReadSlots, number: int, writes: Writes) -> None:  # noqa: D102
        if number > len(self.parts):
            raise NotRepresentable
        writes[self.at] = number
        for part in self.parts[number : seen.get(self.at, len(self.parts))]:
            part.clear(writes)


class SubsetLens(Lens):
    """A set: a slot for each element, the one with the highest number first."""

    def __init__(self, at: int, shape: LensShape, domain: SubsetDomain[Any]):
        super().__init__(at, len(domain.slots), shape)
        self.domain, self.order = domain, domain.order
        self.slot_of = tuple(range(at + self.slots - 1, at - 1, -1))
        """By number of the element."""
        self.numbers: dict[Any, list[bool | int] | None] = {}

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        seen.held.append(self)
        return LazySet(seen, self, self.slot_of)

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        if type(value) is LazySet and value.seen is seen and value.lens.shape is self.shape:
            members = value.members
            if members is self.slot_of:
                return
            for slot, member in zip(self.slot_of, members, strict=True):
                if type(member) is bool:
                    writes[slot] = int(member)
                elif member != slot:
                    known = seen.get(member)
                    writes[slot] = Copy(member) if known is None else known
        else:
            writes.update(enumerate(self.domain.codes(plain(value)), self.at))

    def members_of(self, other: Any) -> list[bool | int] | None:
        """Of a plain set, for each element whether it is in there; None if something else is."""
        found: list[bool | int] = [False] * self.slots
        try:
            for element in frozenset.__iter__(other) if isinstance(other, frozenset) else other:
                found[self.domain.elements.rank(plain(element))] = True
        except OutOfDomain:
            return None
        return found


class Lenses:
    """Makes lenses, and knows which have the same shape."""

    def __init__(self) -> None:
        self._shapes: dict[Any, LensShape] = {}
        self._shape_of: dict[Domain[Any], LensShape] = {}

    def at(self, domain: Domain[Any], at: int) -> Lens:
        """How a domain looks at the slots from here on."""
        shape = self._shape(domain)
        make: Make = _LENS_OF.get(type(domain), _whole) if domain.slots else _constant
        return make(self, at, shape, domain)

    def of_parts(self, domains: Iterable[Domain[Any]], at: int) -> tuple[Lens, ...]:
        """How domains that lie one after the other look at the slots from here on."""
        lenses: list[Lens] = []
        for domain in domains:
            lenses.append(self.at(domain, at))
            at += lenses[-1].slots
        return tuple(lenses)

    def _shape(self, domain: Domain[Any]) -> LensShape:
        """The same one for domains that have the same values, types and all, by the same codes."""
        shape = self._shape_of.get(domain)
        if shape is None:
            known = type(domain) in _LENS_OF  # a class that derives from one may have other values
            likeness = domain.likeness(self._shape) if known else (domain,)
            shape = self._shapes.setdefault((type(domain), *likeness), LensShape(domain))
            self._shape_of[domain] = shape
        return shape


Make = Callable[[Lenses, int, LensShape, Any], Lens]
"""What makes the lens of a domain, given where it begins."""


def _constant(lenses: Lenses, at: int, shape: LensShape, domain: Domain[Any]) -> Lens:
    return (LeftOutLens if type(domain) is LeftOutDomain else ConstantLens)(at, shape, domain)


def _integer(lenses: Lenses, at: int, shape: LensShape, domain: IntegerDomain) -> Lens:
    return IntegerLens(at, shape, domain)


def _enumeration(lenses: Lenses, at: int, shape: LensShape, domain: EnumerationDomain[Any]) -> Lens:
    types = {type(value) for value in domain.values}
    if types == {tuple}:
        return NumberedTuplesLens(at, shape, domain)
    return (IntegerLens if types == {int} else LeafLens)(at, shape, domain)


def _whole(lenses: Lenses, at: int, shape: LensShape, domain: Domain[Any]) -> Lens:
    return WholeLens(at, shape, domain)


def _optional(lenses: Lenses, at: int, shape: LensShape, domain: Any) -> Lens:
    if len(domain.slots) == 1:
        return LeafLens(at, shape, domain)
    return OptionalLens(at, shape, domain.nothing, lenses.at(domain.domain, at + 1))


def _record(lenses: Lenses, at: int, shape: LensShape, domain: RecordDomain[Any]) -> Lens:
    if lazy_record(domain.cls) is None:
        return WholeLens(at, shape, domain)
    parts = lenses.of_parts(domain.parts, at)
    return RecordLens(at, shape, domain.cls, dict(zip(domain.fields, parts, strict=True)))


def _tuple(lenses: Lenses, at: int, shape: LensShape, domain: TupleDomain) -> Lens:
    return TupleLens(at, shape, lenses.of_parts(domain.parts, at))


def _sequence(lenses: Lenses, at: int, shape: LensShape, domain: SequenceDomain[Any]) -> Lens:
    return SequenceLens(at, shape, lenses.of_parts([domain.elements] * domain.longest, at + 1))


def _subset(lenses: Lenses, at: int, shape: LensShape, domain: SubsetDomain[Any]) -> Lens:
    return SubsetLens(at, shape, domain)


_LENS_OF: dict[type, Make] = {
    EnumerationDomain: _enumeration,
    IntegerDomain: _integer,
    LeftOutDomain: _constant,
    OptionalDomain: _optional,
    PossiblyDomain: _optional,
    PossiblyEmptyDomain: _optional,
    RecordDomain: _record,
    SequenceDomain: _sequence,
    SubsetDomain: _subset,
    TupleDomain: _tuple,
}
"""By class of the domain. One that does not stand here, or derives from one that does, is read whole."""
