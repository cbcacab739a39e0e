"""The words that make domains, and the layout of a variable that is a mapping."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, Final, TypeVar

from spec.language.allowed_values import can_be_tried, counted, within
from spec.language.domains.atoms import EnumerationDomain, IntegerDomain, LeftOut, LeftOutDomain
from spec.language.domains.base import Domain
from spec.language.domains.collections import SequenceDomain, SubsetDomain
from spec.language.domains.interned import InternedDomain
from spec.language.domains.records import (
    OptionalDomain,
    PossiblyDomain,
    PossiblyEmptyDomain,
    RecordDomain,
    TupleDomain,
)
from spec.language.errors import SpecificationError, safe_repr
from spec.language.permutations import Sorts, disjoint_union

T = TypeVar("T")
D = TypeVar("D", bound="Domain[Any] | MappingDomain")

DEEPEST: Final = 100
"""The greatest nesting of values; each level takes several nested calls, and Python allows a thousand."""


TOO_DEEP: Final = f"its type is nested more than {DEEPEST} deep"


class MappingDomain:
    """The layout of a variable that holds a mapping: a domain for each of its keys, in their order."""

    def __init__(self, cells: Mapping[Any, Domain[Any]], partial: bool, keys: Iterable[Hashable] = ()):
        self.cells, self.partial = cells, partial
        self.keys = keys if isinstance(keys, Domain) else EnumerationDomain(tuple(cells))
        """The keys in their order; permutations move the cells of keys from a domain of interchangeable values."""

    @property
    def sorts(self) -> Sorts:
        """The sorts that its keys and values belong to or are made from."""
        return disjoint_union(domain.sorts for domain in (self.keys, *self.cells.values()))


def integers(low: int, high: int) -> Domain[int]:
    """The integers from low to high, both included.

    >>> list(integers(-1, 1))
    [-1, 0, 1]
    """
    low, high = (
        _integer(end, f"integers({safe_repr(low)}, {safe_repr(high)}): its ends must be integers")
        for end in (low, high)
    )
    if high < low:
        raise SpecificationError(f"integers({low}, {high}): it is empty")
    return IntegerDomain(low, high)


def one_of(*values: Any) -> Domain[Any]:
    """These values, in this order. The members of an Enum class are `one_of(*TheClass)`."""
    return EnumerationDomain(values)


def booleans() -> Domain[bool]:
    """False, then True."""
    return EnumerationDomain((False, True))


def optional(domain: Domain[T] | Iterable[T]) -> Domain[T | None]:
    """None, then the values of the domain."""
    return OptionalDomain(as_domain(domain))


def possibly_empty(domain: Domain[tuple[Any, ...]] | Iterable[tuple[Any, ...]]) -> Domain[tuple[Any, ...]]:
    """The empty tuple, or a value of a domain of other tuples.

    Whether it is empty has a slot of its own, so that code which tests only that reads no other slot.

    >>> list(possibly_empty([(1,), (1, 2)]))
    [(), (1,), (1, 2)]
    """
    return PossiblyEmptyDomain(as_domain(domain))


def subset_of(elements: Domain[T] | Iterable[T]) -> Domain[frozenset[T]]:
    """Every frozenset of these elements, the empty one first. Iteration follows the order of the elements."""
    return SubsetDomain(as_domain(elements))


def sequence_of(elements: Domain[T] | Iterable[T], longest: int) -> Domain[tuple[T, ...]]:
    """Every tuple of at most `longest` of these elements, repetitions included, the empty one first."""
    longest = _integer(longest, f"sequence_of(..., {safe_repr(longest)}): the length must be an integer")
    if longest < 0:
        raise SpecificationError(f"sequence_of(..., {longest}): it is empty")
    return SequenceDomain(as_domain(elements), longest)


def record(cls: Callable[..., Any], /, **fields: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """A NamedTuple, field by field, in the order of its declaration."""
    return RecordDomain(cls, {name: as_domain(domain) for name, domain in fields.items()})


def tuple_of(*parts: Domain[Any] | Iterable[Any]) -> Domain[tuple[Any, ...]]:
    """Tuples of a fixed length, part by part."""
    return TupleDomain(map(as_domain, parts))


def interned(first: T) -> Domain[T]:
    """Every immutable value. Nobody lists them: a value has a number that follows from its text.

    It is the domain of a whole variable, or of all values of a `Total`. A rule that reads it reads the whole value.
    A set in it iterates in the order of its members' texts.

    >>> 3 in interned(()), [3] in interned(())
    (True, False)

    Args:
        first: the value of a variable that `initial` does not assign.
    """
    return InternedDomain(first)


def left_out() -> Domain[LeftOut]:
    """Data that the model leaves out: writes are dropped, and reads raise an error that says so."""
    return LeftOutDomain()


def mapping(
    keys: Iterable[Hashable], domain: Domain[Any] | Callable[[Any], Domain[Any] | Iterable[Any]] | Iterable[Any]
) -> MappingDomain:
    """A mapping with fixed keys, each always present; a function may give each key a domain of its own."""
    return MappingDomain(_cells(keys, domain), partial=False, keys=keys)


def partial_mapping(
    keys: Iterable[Hashable], domain: Domain[Any] | Callable[[Any], Domain[Any] | Iterable[Any]] | Iterable[Any]
) -> MappingDomain:
    """A mapping in which each of the keys may be present or absent; at first all are absent."""
    cells = {key: PossiblyDomain(cell) for key, cell in _cells(keys, domain).items()}
    return MappingDomain(cells, partial=True, keys=keys)


def _cells(keys: Iterable[Hashable], domain: Any) -> dict[Any, Domain[Any]]:
    known = keys if isinstance(keys, Domain) else EnumerationDomain(tuple(keys) if isinstance(keys, str) else keys)
    if callable(domain) and not isinstance(domain, Domain | type):
        return {key: as_domain(domain(key)) for key in known}
    shared = as_domain(domain)
    return dict.fromkeys(known, shared)


def choices_of(domains: Mapping[str, Domain[Any]]) -> list[dict[str, Any]]:
    """Each choice of one value for every name, in the order of the domains; the last name changes fastest.
    SpecificationError if there are too many choices.
    """
    can_be_listed(domains)
    return [dict(zip(domains, values, strict=True)) for values in product(*domains.values())]


def can_be_listed(domains: Mapping[str, Domain[Any]]) -> None:
    """Require that these choices can be listed; SpecificationError if there are too many."""
    sizes = ", ".join(f"{name} ({counted(domain.size)})" for name, domain in domains.items())
    within(prod(domain.size for domain in domains.values()), sizes, "choices")


def each_choice(domains: Mapping[str, Domain[Any]]) -> Iterator[dict[str, Any]]:
    """The same choices in the same order, one after the other; SpecificationError if there are too many even for
    that.
    """
    can_be_tried(prod(domain.size for domain in domains.values()), ", ".join(domains))
    return _each([*domains.items()])


def _each(domains: Sequence[tuple[str, Domain[Any]]]) -> Iterator[dict[str, Any]]:
    if not domains:
        yield {}
        return
    (name, domain), *others = domains
    for value in map(domain.unrank, range(domain.size)):
        yield from ({name: value, **rest} for rest in _each(others)) if others else [{name: value}]


def as_domain(values: Domain[T] | Iterable[T]) -> Domain[T]:
    """A domain as it is; a range, sequence, Enum class or finite iterator as the domain of its members.
    SpecificationError if it is none of these, or has more values than can be listed.
    """
    if isinstance(values, Domain):
        return values
    if isinstance(values, range) and values.step == 1 and values:
        return integers(values.start, values.stop - 1)  # type: ignore[return-value]
    if isinstance(values, MappingDomain):
        raise SpecificationError(
            "a mapping is a variable of its own, not part of a domain; its keys may be pairs, `tuple_of(a, b)`"
        )
    return EnumerationDomain(values)


def not_too_deep(made: D) -> D:
    """The same domain, if its values are not nested too deep; SpecificationError if they are nested too deep."""
    level: list[Domain[Any]] = list(made.cells.values()) if isinstance(made, MappingDomain) else [made]
    for _ in range(DEEPEST):
        level = list({id(inner): inner for domain in level for inner in domain.inner}.values())
        if not level:
            return made
    raise SpecificationError(TOO_DEEP)


def _integer(given: Any, wrong: str) -> int:
    """An integer of any class as an int."""
    try:
        return operator.index(given)
    except TypeError:
        raise SpecificationError(wrong) from None
