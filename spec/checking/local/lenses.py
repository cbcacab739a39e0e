"""How domains read the slots of a packed state, and write other values to them.

A `Lens` is a domain at a place; in functional programming, too, a lens gets and sets a part of a whole. `look` gives
the value that begins at its first slot, as unread as possible (`lazy`); `put` gives the writes for a value, and
copies unread parts slot by slot.

A domain does not know its lens: domains belong to the language, and recording evaluations belongs to this engine. So
lenses are registered here, by class of the domain. A domain without one is read and written whole: that is always
correct, but learns more paths than a lens of its own would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

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
    """A value that a lens cannot write, because it does not have such parts."""


class DomainValues(dict[int, Any]):
    """The values of a domain by their numbers; always the same object for the same number."""

    def __init__(self, domain: Domain[Any]):
        self.domain = domain

    def __missing__(self, code: int) -> Any:
        value = self[code] = self.domain.unrank(code)
        return value


class LensShape:
    """The identity of a shape: the lenses of one shape share it."""

    def __init__(self, domain: Domain[Any]):
        self.domain, self.values = domain, DomainValues(domain)


class Lens:
    """A domain's access to the slots from `at` on; one lens for each place of the domain."""

    def __init__(self, at: int, slots: int, shape: LensShape | None):
        self.at, self.slots, self.shape = at, slots, shape
        """Its beginning and its number of slots; lenses of the same shape have the same values for the same codes."""

    def look(self, seen: ReadSlots) -> Any:
        """The value here, read only as far as necessary."""
        raise NotImplementedError

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:
        """Add the writes that make it hold a value.

        Raises:
            NotRepresentable, OutOfDomain: it cannot.
        """
        raise NotImplementedError

    def carry(self, seen: ReadSlots, source: Lens, writes: Writes) -> None:
        """Add the writes that copy the value of another place here, unread if possible."""
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
    """A domain of a single value, which takes no slot."""

    def __init__(self, at: int, shape: LensShape, domain: Domain[Any]):
        super().__init__(at, 0, shape)
        self.only, self.rank = domain.unrank(0), domain.rank

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        return self.only

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        if value is not self.only:
            self.rank(plain(value))


class LeftOutLens(ConstantLens):
    """A part that is left out: any value written there is dropped, provided a state may hold it."""

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        hash_what_is_known(value)


class LeafLens(Lens):
    """A domain whose values are numbered in one slot. It is read at once."""

    def __init__(self, at: int, shape: LensShape, domain: Domain[Any]):
        super().__init__(at, 1, shape)
        self.value_of, self.rank = shape.values, domain.rank

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        return self.value_of[seen[self.at]]

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        writes[self.at] = self.rank(value if type(value) is int else plain(value))


class IntegerLens(LeafLens):
    """A leaf of integers. It is read when it is used, see `LazyInteger`."""

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
        if type(value) is LazyInteger and value._seen is seen and value._lens.shape is self.shape:
            self.carry(seen, value._lens, writes)
        else:
            super().put(seen, value, writes)


class WholeLens(Lens):
    """Any domain; all of its slots are read at once."""

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
    """A slot that says whether there is a value, and the value."""

    def __init__(self, at: int, shape: LensShape, nothing: object, inner: Lens):
        super().__init__(at, 1 + inner.slots, shape)
        self.nothing, self.inner = nothing, inner

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        return self.inner.look(seen) if seen[self.at] else self.nothing

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        if value is self.nothing or (self.nothing == () and type(value) is LazySequence and not len(value)):
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
    """The common part of lenses of tuples: a tuple is read when its parts are needed."""

    shortest: int
    """The least number of parts."""

    def look(self, seen: ReadSlots) -> Any:  # noqa: D102
        seen.held.append(self)
        return LazySequence(seen, self)

    def parts_in(self, seen: ReadSlots) -> tuple[list[Any], tuple[Lens | None, ...]]:
        """The existing parts, and the lens of each unread one."""
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
        whole = value._whole if type(value) is LazySequence and value._seen is seen else None
        if whole is not None and whole.shape is self.shape:
            self.carry(seen, whole, writes)
        else:
            writes[self.at] = self.rank(plain(value))


class ElementsLens(PartsLens):
    """The common part of `TupleLens` and `SequenceLens`: parts one after the other."""

    parts: tuple[Lens, ...]

    def parts_in(self, seen: ReadSlots) -> tuple[list[Any], tuple[Lens | None, ...]]:  # noqa: D102
        number = self.count(seen)
        return [UNREAD] * number, self.parts[:number]

    def count(self, seen: ReadSlots) -> int:
        """The number of existing parts."""
        raise NotImplementedError

    def put(self, seen: ReadSlots, value: Any, writes: Writes) -> None:  # noqa: D102
        if type(value) is LazySequence and value._seen is seen:
            if value._whole is not None and value._whole.shape is self.shape:
                self.carry(seen, value._whole, writes)
                return
            values, lenses = value._parts(), value._lenses
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
        """Add the writes for this number of parts."""
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
    """A set: a slot for each element, the highest number first."""

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
        if type(value) is LazySet and value._seen is seen and value._lens.shape is self.shape:
            members = value._members
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
        """For a plain set, whether it has each element; None if it has any other."""
        found: list[bool | int] = [False] * self.slots
        try:
            for element in frozenset.__iter__(other) if isinstance(other, frozenset) else other:
                found[self.domain.elements.rank(plain(element))] = True
        except OutOfDomain:
            return None
        return found


_KNOWN: Final = (
    *(EnumerationDomain, IntegerDomain, LeftOutDomain, OptionalDomain, PossiblyDomain, PossiblyEmptyDomain),
    *(RecordDomain, SequenceDomain, SubsetDomain, TupleDomain),
)
"""Classes of domains. Any other, even one derived from one of these, is read whole."""


class Lenses:
    """Makes lenses, and knows which have the same shape."""

    def __init__(self) -> None:
        self._shapes: dict[Any, LensShape] = {}
        self._shape_of: dict[Domain[Any], LensShape] = {}

    def at(self, domain: Domain[Any], at: int) -> Lens:
        """The lens of a domain for the slots from here on."""
        kind, shape = type(domain), self._shape(domain)
        of: Any = domain
        if kind is LeftOutDomain or not domain.slots:
            return (LeftOutLens if kind is LeftOutDomain else ConstantLens)(at, shape, domain)
        if kind is IntegerDomain:
            return IntegerLens(at, shape, of)
        if kind is EnumerationDomain:
            types = {type(value) for value in of.values}
            if types == {tuple}:
                return NumberedTuplesLens(at, shape, of)
            return (IntegerLens if types == {int} else LeafLens)(at, shape, of)
        if kind in (OptionalDomain, PossiblyDomain, PossiblyEmptyDomain):
            if len(domain.slots) == 1:
                return LeafLens(at, shape, domain)
            return OptionalLens(at, shape, of.nothing, self.at(of.domain, at + 1))
        if kind is RecordDomain and lazy_record(of.cls) is not None:
            return RecordLens(at, shape, of.cls, dict(zip(of.fields, self.of_parts(of.parts, at), strict=True)))
        if kind is SequenceDomain:
            return SequenceLens(at, shape, self.of_parts([of.elements] * of.longest, at + 1))
        if kind is SubsetDomain:
            return SubsetLens(at, shape, of)
        if kind is TupleDomain:
            return TupleLens(at, shape, self.of_parts(of.parts, at))
        return WholeLens(at, shape, domain)

    def of_parts(self, domains: Iterable[Domain[Any]], at: int) -> tuple[Lens, ...]:
        """The lenses of consecutive domains for the slots from here on."""
        lenses: list[Lens] = []
        for domain in domains:
            lenses.append(self.at(domain, at))
            at += lenses[-1].slots
        return tuple(lenses)

    def _shape(self, domain: Domain[Any]) -> LensShape:
        """One object for all domains that have the same values, types included, for the same codes."""
        shape = self._shape_of.get(domain)
        if shape is None:
            known = type(domain) in _KNOWN  # a derived class may have other values
            likeness = domain.likeness(self._shape) if known else (domain,)
            shape = self._shapes.setdefault((type(domain), *likeness), LensShape(domain))
            self._shape_of[domain] = shape
        return shape
