"""Domains of sets and of sequences."""

# ruff: noqa: D102  (Domain documents the methods; those of Subset are of frozenset)

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import compress
from typing import Any, TypeVar

from spec.language.allowed_values import within
from spec.language.domains.atoms import listed_some
from spec.language.domains.base import Domain, Slot
from spec.language.errors import OutOfDomain
from spec.language.permutations import Permutation, Route, routes_after

T = TypeVar("T")


class Subset(frozenset[T]):
    """A frozenset that iterates in the order of its domain, so that nothing depends on hashes."""

    __slots__ = ("_order",)
    _order: Mapping[T, int]

    def __new__(cls, elements: Iterable[T], order: Mapping[T, int]) -> Subset[T]:
        self = super().__new__(cls, elements)
        self._order = order
        return self

    def __iter__(self) -> Iterator[T]:
        order = self._order
        try:
            return iter(sorted(super().__iter__(), key=order.__getitem__))
        except KeyError:  # values outside the domain come last, by name
            return iter(sorted(super().__iter__(), key=lambda it: (order.get(it, len(order)), repr(it))))

    def __and__(self, other: Any) -> Any:
        return self._with(frozenset.__and__, other)

    def __or__(self, other: Any) -> Any:
        return self._with(frozenset.__or__, other)

    def __xor__(self, other: Any) -> Any:
        return self._with(frozenset.__xor__, other)

    def __sub__(self, other: Any) -> Any:
        return self._with(frozenset.__sub__, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __rsub__(self, other: Any) -> Any:
        return self._with(lambda mine, others: frozenset(others).difference(mine), other)

    def copy(self) -> Subset[T]:
        return self

    def union(self, *others: Iterable[Any]) -> Subset[Any]:
        return Subset(super().union(*others), self._order)

    def intersection(self, *others: Iterable[Any]) -> Subset[T]:
        return Subset(super().intersection(*others), self._order)

    def difference(self, *others: Iterable[Any]) -> Subset[T]:
        return Subset(super().difference(*others), self._order)

    def symmetric_difference(self, other: Iterable[Any]) -> Subset[Any]:
        return Subset(super().symmetric_difference(other), self._order)

    def _with(self, operator: Callable[[frozenset[T], Any], Any], other: Any) -> Any:
        if not isinstance(other, (frozenset, set)):  # frequent; an ABC check is slow
            if not isinstance(other, AbstractSet):
                return NotImplemented
            other = frozenset(other)
        found = operator(self, other)
        if found is NotImplemented:  # a set only by its `__class__`; its own method applies
            return NotImplemented
        return self if found == self else Subset(found, self._order)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Subset, (tuple(self), dict(self._order)))

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, self)) + "}"


class SubsetDomain(Domain[frozenset[T]]):
    """See `subset_of`. A subset's number has one bit for each element; the last element's is the most significant."""

    def __init__(self, elements: Domain[T]):
        self.elements, self.inner = elements, (elements,)
        self.order = {value: code for code, value in enumerate(elements)}
        """The number of each element, in order."""
        self.size = 1 << elements.size

    def rank(self, value: Any) -> int:
        return sum(1 << number for number in self._numbers(value))

    def _numbers(self, value: Any) -> set[int]:
        """The numbers of a set's members."""
        if isinstance(value, frozenset):
            try:
                return set(map(self._number, frozenset.__iter__(value)))
            except OutOfDomain:
                value = Subset(value, self.order)  # so that the message lists it in order
        raise OutOfDomain(value, str(self))

    def _number(self, member: Any) -> int:
        found = self._numbered.get(member)
        return found[1] if found is not None and found[0] is member else self.elements.rank(member)

    @cached_property
    def _numbered(self) -> Mapping[T, tuple[T, int]]:
        """Each element and its number, by the element: most members of sets are the very objects of the domain."""
        return {element: (element, self.elements.rank(element)) for element in self.order}

    def unrank(self, code: int) -> frozenset[T]:
        return Subset((element for element, bit in self.order.items() if code >> bit & 1), self.order)

    def _slots(self) -> Iterable[Slot]:
        return (Slot(f"{{{element}}}", 2) for element in reversed(self.order))

    def codes(self, value: Any) -> tuple[int, ...]:
        last = len(self.order) - 1
        codes = bytearray(last + 1)
        for number in self._numbers(value):
            codes[last - number] = 1
        return tuple(codes)

    def value(self, codes: Sequence[int]) -> frozenset[T]:
        return Subset(compress(self.order, reversed(codes)), self.order)

    def __str__(self) -> str:
        return f"a frozenset of {listed_some(self.order)}"

    def _includes(self, other: Any) -> bool:
        return self.elements.includes(other.elements)

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return (of(self.elements),)

    def _moved(self, value: Any, permutation: Permutation) -> Any:
        return frozenset(self.elements.moved(element, permutation) for element in value)

    def _routes(self, other: Any, permutation: Permutation) -> Iterator[Route]:
        last = self.elements.size - 1
        for element in reversed(self.order):
            yield Route(last - other.elements.rank(self.elements.moved(element, permutation)), (0, 1))


class SequenceDomain(Domain[tuple[T, ...]]):
    """See `sequence_of`. Shorter tuples come first; among tuples of one length the earlier elements weigh more.

    The first slot holds the length. The slots of absent elements hold 0.
    """

    def __init__(self, elements: Domain[T], longest: int):
        self.elements, self.longest, self.inner = elements, longest, (elements,)
        within(longest * max(1, (elements.size - 1).bit_length()), self, "bits")
        self.size = self._first(longest + 1)

    def rank(self, value: Any) -> int:
        self._check(value)
        code = 0
        for element in value:
            code = code * self.elements.size + self.elements.rank(element)
        return self._first(len(value)) + code

    def unrank(self, code: int) -> tuple[T, ...]:
        length, of_this_length = 0, 1
        while code >= of_this_length:
            code -= of_this_length
            of_this_length *= self.elements.size
            length += 1
        reversed_codes = []
        for _ in range(length):
            code, digit = divmod(code, self.elements.size)
            reversed_codes.append(digit)
        return tuple(map(self.elements.unrank, reversed(reversed_codes)))

    def _first(self, length: int) -> int:
        """The number of the first tuple of this length: the count of shorter ones."""
        each = self.elements.size
        return length if each == 1 else (each**length - 1) // (each - 1)

    def _slots(self) -> Iterator[Slot]:
        yield Slot(".length", self.longest + 1)
        for at in range(self.longest):
            yield from (Slot(f"[{at}]{name}", size) for name, size in self.elements.slots)

    def codes(self, value: Any) -> tuple[int, ...]:
        self._check(value)
        codes = [len(value)]
        for element in value:
            codes += self.elements.codes(element)
        return (*codes, *[0] * (len(self.slots) - len(codes))) if self.slots else ()

    def value(self, codes: Sequence[int]) -> tuple[T, ...]:
        length, each = codes[0] if codes else 0, len(self.elements.slots)
        return tuple(self.elements.shared(tuple(codes[1 + each * at : 1 + each * (at + 1)])) for at in range(length))

    def _check(self, value: Any) -> None:
        if value.__class__ is not tuple or len(value) > self.longest:
            raise OutOfDomain(value, str(self))

    def __str__(self) -> str:
        return f"a tuple of at most {self.longest}, each {self.elements}"

    def _includes(self, other: Any) -> bool:
        return other.longest <= self.longest and self.elements.includes(other.elements)

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return of(self.elements), self.longest

    def _moved(self, value: Any, permutation: Permutation) -> Any:
        return tuple(self.elements.moved(element, permutation) for element in value)

    def _routes(self, other: Any, permutation: Permutation) -> Iterator[Route]:
        if self.longest != other.longest:
            raise OutOfDomain(str(self), str(other))
        yield Route(0, tuple(range(self.longest + 1)))
        elements = self.elements.routes(other.elements, permutation)
        for at in range(self.longest):
            yield from routes_after(1 + at * len(elements), elements, guard=0, above=at)
