"""Domains: the finite sets that variables, their parts and the parameters of actions range over.

A domain numbers its values densely, 0 to size - 1, in an order that is the same in every process. From that
one order come the type invariant (`rank` refuses a stranger), the packed state (`rank`, `unrank`), the order in
which sets and parameters are walked, the tie-break between counterexamples, and Hypothesis strategies. The
first value, number 0, is what a variable holds until `initial` says otherwise, and what dead data should go
back to: two states that differ only in something that is never read again are one state too many.

The same order flattened: a domain is a row of *slots*, each of which holds a small number, and a value is its
`codes` in them. Rows of codes, compared as tuples, are ordered as the numbers of their values are. A state is
packed slot by slot, so that a part of a value can be read and written without unpacking the whole.

Values are plain and immutable: integers, strings, enum members, None, tuples, frozensets and NamedTuples.
A mapping is not a value but a way to lay out a variable, one cell for each key, see `mapping`.
"""

# ruff: noqa: D102  (what the methods are for is told once, in Domain; those of Subset are of frozenset)

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain, islice, product
from math import prod
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from spec.language.errors import OutOfDomain, SpecificationError, namesake, shown
from spec.language.identity import same
from spec.language.listing import LISTED, counted, listed, within
from spec.language.permutations import Moving, Permutation, Route, Sorts, routes_behind, united

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
R = TypeVar("R")
D = TypeVar("D", bound="Domain[Any] | MappingDomain")

TOLD: Final = 20
"""Values that a message names; behind them it says how many there are."""


class Slot(NamedTuple):
    """A place for a small number in the flattened form of a domain."""

    name: str
    """Which part it is, as it is written behind the name of the whole: "", ".left", "[2].right", ".basket{fig}"."""
    size: int
    """It holds 0 to size - 1; at least 2, for where nothing is to be told apart there is no slot."""

    @property
    def width(self) -> int:
        """Bits that it takes."""
        return (self.size - 1).bit_length()


class Domain(ABC, Generic[T]):
    """A finite, ordered set of immutable values."""

    size: int
    """How many values it holds."""

    inner: tuple[Domain[Any], ...] = ()
    """The domains of the parts that its values are made of."""

    moving: Moving | None = None
    """How permutations of interchangeable values move its own, which lie in one slot; None: part by part."""

    @abstractmethod
    def rank(self, value: Any) -> int:
        """The number of a value, 0 to size - 1.

        Raises:
            OutOfDomain: the domain does not hold it.
        """

    @abstractmethod
    def unrank(self, code: int) -> T:
        """The value with this number, in its canonical form."""

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Its flattened form; none if it holds a single value.

        Raises:
            SpecificationError: it has too many.
        """
        found = tuple(islice(self._slots(), LISTED + 1)) if self.size > 1 else ()
        within(len(found), self, "parts", at_least=True)
        return found

    def _slots(self) -> Iterable[Slot]:
        """The slots, if it holds two values or more: one for its number, unless it has parts."""
        return (Slot("", self.size),)

    def codes(self, value: Any) -> tuple[int, ...]:
        """A value flattened: the code in each slot.

        Raises:
            OutOfDomain: the domain does not hold it, in the words of `rank`.
        """
        code = self.rank(value)
        return (code,) if self.slots else ()

    def value(self, codes: Sequence[int]) -> T:
        """The value with these codes, in its canonical form."""
        return self.unrank(codes[0] if codes else 0)

    def shared(self, codes: tuple[int, ...]) -> T:
        """The value with these codes, always the same object: what has it as a part is compared in less time."""
        try:
            return self._shared[codes]
        except KeyError:
            value = self._shared[codes] = self.value(codes)
            return value

    @cached_property
    def _shared(self) -> dict[tuple[int, ...], T]:
        return {}

    @abstractmethod
    def __str__(self) -> str:
        """What a value of it is, as it stands in "3 is not ..."."""

    def __iter__(self) -> Iterator[T]:
        """Its values in their order.

        Raises:
            SpecificationError: it has too many to be listed.
        """
        within(self.size, self, "values")
        return map(self.unrank, range(self.size))

    def __contains__(self, value: object) -> bool:
        try:
            self.rank(value)
        except OutOfDomain:
            return False
        return True

    def includes(self, other: Domain[Any]) -> bool:
        """Whether it holds every value of another domain, as far as parts and lists tell. If not, it may yet."""
        if type(self) is type(other) and self.inner:
            return self is other or self._includes(other)
        return not other.inner and other.size <= LISTED and all(value in self for value in other)

    def _includes(self, other: Any) -> bool:
        """The same of one that is of the same class, and has parts."""
        return False

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        """What domains of one class have in common if they have the same values, types and all, by the same codes.

        Args:
            of: tells the likeness of an inner domain.
        """
        return (self,)

    # What permutations of interchangeable values do.

    @property
    def sorts(self) -> Sorts:
        """The sorts that its values are of, or made from."""
        return self.moving.sorts if self.moving else united(domain.sorts for domain in self.inner)

    def moved(self, value: Any, permutation: Permutation) -> Any:
        """Where a permutation takes a value of it; that need not be in the domain."""
        return self.moving.moved(value, permutation) if self.moving else self._moved(value, permutation)

    def _moved(self, value: Any, permutation: Permutation) -> Any:
        """The same, part by part; a value without parts stays."""
        return value

    def routes(self, other: Domain[Any], permutation: Permutation) -> list[Route]:
        """How a permutation takes the codes of a value, slot by slot, to those that the other domain has for it.

        Raises:
            OutOfDomain: it takes a value to one that the other domain does not hold.
        """
        if len(self.slots) != len(other.slots):
            raise OutOfDomain(str(self), str(other))
        if not self.slots:
            other.codes(self.moved(self.value(()), permutation))
            return []
        if len(self.slots) > 1:
            if type(self) is not type(other):
                raise OutOfDomain(str(self), str(other))
            return list(self._routes(other, permutation))
        within(self.size, self, "values")
        moved = (self.moved(self.value((code,)), permutation) for code in range(self.slots[0].size))
        return [Route(0, tuple(code for value in moved for code in other.codes(value)))]

    def _routes(self, other: Any, permutation: Permutation) -> Iterator[Route]:
        """The same of what lies in several slots; the other domain is of the same class."""
        raise SpecificationError(f"how permutations move {self} is not known")

    def strategy(self) -> SearchStrategy[T]:
        """The Hypothesis strategy that draws from it; it shrinks towards the first value."""
        from hypothesis import strategies

        return strategies.integers(0, self.size - 1).map(self.unrank)

    @property
    def width(self) -> int:
        """Bits that a packed value takes."""
        return sum(slot.width for slot in self.slots)


class IntegerDomain(Domain[int]):
    """See `integers`."""

    def __init__(self, low: int, high: int):
        self.low, self.high, self.size = low, high, high - low + 1

    def rank(self, value: Any) -> int:
        if value.__class__ is not int or not self.low <= value <= self.high:
            raise OutOfDomain(value, str(self))
        return value - self.low

    def unrank(self, code: int) -> int:
        return self.low + code

    def __str__(self) -> str:
        return f"an integer of {shown(self.low)}..{shown(self.high)}"

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return self.low, self.high


class EnumerationDomain(Domain[T]):
    """See `one_of`."""

    def __init__(self, values: Iterable[T]):
        self.values: tuple[T, ...] = tuple(map(_plain, listed(values)))
        try:
            self._codes = {value: code for code, value in enumerate(self.values)}
        except TypeError:
            raise SpecificationError(
                f"an enumeration of {shown(self.values)}: its values must be immutable"
            ) from None
        if len(self._codes) < len(self.values):
            twice = f"an enumeration of {shown(self.values)}: a value stands in it twice"
            raise SpecificationError(f"{twice}{self._in_disguise()}")
        if any(isinstance(value, float) and value != value for value in self.values):
            raise SpecificationError(f"an enumeration of {shown(self.values)}: nan is not equal to itself")
        self.size = len(self.values)

    def _in_disguise(self) -> str:
        """How two values that look different are one, if there are such."""
        first: dict[Any, Any] = {}
        for value in self.values:
            other = first.setdefault(value, value)
            if not same(other, value):
                records = hasattr(other, "_fields") and hasattr(value, "_fields")
                hint = "; a field that says which it is, kind: Literal[...], tells them apart" if records else ""
                return f", for {shown(other)} equals {shown(value)} in Python{hint}"
        return ""

    def rank(self, value: Any) -> int:
        try:
            code = self._codes[value]
        except (KeyError, TypeError):
            code = -1
        if code < 0 or not same(value, self.values[code]):  # True equals 1, and a NamedTuple a tuple
            raise OutOfDomain(value, f"{self}{namesake(value, self._types)}")
        return code

    @cached_property
    def _types(self) -> set[type]:
        return {*map(type, self.values)}

    def unrank(self, code: int) -> T:
        return self.values[code]

    def __str__(self) -> str:
        return shown(self.values[0]) if self.size == 1 else f"one of {_some_of(self.values)}"

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return tuple(map(id, self.values))


class _OrNothing(Domain[T]):
    """Nothing first, then the values of a domain.

    What lies in one slot makes room in it for nothing; before several slots stands one that tells whether
    they are used, and if not they hold 0.
    """

    nothing: Any
    presence: str
    """The name of the slot that tells."""

    def __init__(self, domain: Domain[Any]):
        self.domain, self.size, self.inner = domain, domain.size + 1, (domain,)

    def rank(self, value: Any) -> int:
        return 0 if value is self.nothing else self.domain.rank(value) + 1

    def unrank(self, code: int) -> T:
        found: T = self.domain.unrank(code - 1) if code else self.nothing
        return found

    def _slots(self) -> Iterable[Slot]:
        inner = self.domain.slots
        return (Slot(self.presence, 2), *inner) if len(inner) > 1 else super()._slots()

    def codes(self, value: Any) -> tuple[int, ...]:
        if len(self.slots) <= 1:
            return super().codes(value)
        if value is self.nothing:
            return (0,) * len(self.slots)
        return (1, *self.domain.codes(value))

    def value(self, codes: Sequence[int]) -> T:
        if len(self.slots) <= 1:
            return super().value(codes)
        found: T = self.domain.shared(tuple(codes[1:])) if codes[0] else self.nothing
        return found

    def includes(self, other: Domain[Any]) -> bool:
        return self.domain.includes(other) or super().includes(other)

    def _includes(self, other: Any) -> bool:
        return self.domain.includes(other.domain)

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return (of(self.domain),)

    def _moved(self, value: Any, permutation: Permutation) -> Any:
        return value if value is self.nothing else self.domain.moved(value, permutation)

    def _routes(self, other: Any, permutation: Permutation) -> Iterator[Route]:
        yield Route(0, (0, 1))
        yield from routes_behind(1, self.domain.routes(other.domain, permutation), guard=0)


class OptionalDomain(_OrNothing[T | None]):
    """See `optional`."""

    nothing, presence = None, " is not None"

    def __init__(self, domain: Domain[T]):
        if None in domain:
            raise SpecificationError(f"optional({domain}): it holds None already")
        super().__init__(domain)

    def __str__(self) -> str:
        return f"None or {self.domain}"


class PossiblyEmptyDomain(_OrNothing[tuple[Any, ...]]):
    """See `possibly_empty`."""

    nothing, presence = (), " is not empty"

    def __init__(self, domain: Domain[tuple[Any, ...]]):
        if () in domain:
            raise SpecificationError(f"possibly_empty({domain}): it holds the empty tuple already")
        super().__init__(domain)

    def _slots(self) -> Iterable[Slot]:
        return (Slot(self.presence, 2), *self.domain.slots)

    def __str__(self) -> str:
        return f"empty or {self.domain}"


class Subset(frozenset[T]):
    """A frozenset that is walked in the order of its domain, so that nothing depends on how values hash."""

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
        except KeyError:  # what the domain does not hold comes last, by its name
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

    def union(self, *others: Iterable[Any]) -> Subset[Any]:
        return Subset(super().union(*others), self._order)

    def intersection(self, *others: Iterable[Any]) -> Subset[T]:
        return Subset(super().intersection(*others), self._order)

    def difference(self, *others: Iterable[Any]) -> Subset[T]:
        return Subset(super().difference(*others), self._order)

    def symmetric_difference(self, other: Iterable[Any]) -> Subset[Any]:
        return Subset(super().symmetric_difference(other), self._order)

    def _with(self, operator: Callable[[frozenset[T], Any], Any], other: Any) -> Any:
        if not isinstance(other, (frozenset, set)):  # asked often; an ABC answers slowly
            if not isinstance(other, AbstractSet):
                return NotImplemented
            other = frozenset(other)
        found = operator(self, other)
        if found is NotImplemented:  # it is a set only by its `__class__`, and knows itself what to do
            return NotImplemented
        return self if found == self else Subset(found, self._order)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Subset, (tuple(self), dict(self._order)))

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, self)) + "}"


class SubsetDomain(Domain[frozenset[T]]):
    """See `subset_of`. Its numbers are binary numbers, so the element with the highest number weighs most."""

    def __init__(self, elements: Domain[T]):
        self.elements, self.inner = elements, (elements,)
        self.order = {value: code for code, value in enumerate(elements)}
        """The number of each element, in their order."""
        self.size = 1 << elements.size

    def rank(self, value: Any) -> int:
        if isinstance(value, frozenset):
            try:
                return sum(1 << code for code in set(map(self.elements.rank, frozenset.__iter__(value))))
            except OutOfDomain:
                value = Subset(value, self.order)  # to be told in one order
        raise OutOfDomain(value, str(self))

    def unrank(self, code: int) -> frozenset[T]:
        return Subset((element for element, bit in self.order.items() if code >> bit & 1), self.order)

    def _slots(self) -> Iterable[Slot]:
        return (Slot(f"{{{element}}}", 2) for element in reversed(self.order))

    def codes(self, value: Any) -> tuple[int, ...]:
        code = self.rank(value)
        return tuple(code >> bit & 1 for bit in reversed(self.order.values()))

    def value(self, codes: Sequence[int]) -> frozenset[T]:
        return self.unrank(sum(1 << bit for bit, code in enumerate(reversed(codes)) if code))

    def __str__(self) -> str:
        return f"a frozenset of {_some_of(self.order)}"

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
    """See `sequence_of`. Shorter ones first; among equals the earlier elements weigh more.

    The first slot holds the length. Those of elements that are not there hold 0.
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
        """The number of the first of this length: how many are shorter."""
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
            yield from routes_behind(1 + at * len(elements), elements, guard=0, above=at)


class _Product(Domain[T]):
    """Part by part, each from a domain of its own; the first part weighs most."""

    def __init__(self, parts: Iterable[Domain[Any]]):
        self.parts = self.inner = tuple(parts)
        self.size = prod(part.size for part in self.parts)

    @abstractmethod
    def _names(self) -> Iterable[str]:
        """The parts as they are written behind the name of the whole."""

    @abstractmethod
    def _ask(self, value: Any, ask: Callable[[Domain[Any], Any], R]) -> list[R]:
        """What each domain answers about its part of a value.

        Raises:
            OutOfDomain: it is nothing that has such parts, or a domain says so of one.
        """

    @abstractmethod
    def _of(self, parts: Iterable[Any]) -> T:
        """The value with these parts."""

    def rank(self, value: Any) -> int:
        code = 0
        for domain, digit in zip(self.parts, self._ask(value, lambda domain, part: domain.rank(part)), strict=True):
            code = code * domain.size + digit
        return code

    def unrank(self, code: int) -> T:
        reversed_parts = []
        for domain in reversed(self.parts):
            code, digit = divmod(code, domain.size)
            reversed_parts.append(domain.unrank(digit))
        return self._of(reversed(reversed_parts))

    def _slots(self) -> Iterator[Slot]:
        for part, domain in zip(self._names(), self.parts, strict=True):
            yield from (Slot(part + name, size) for name, size in domain.slots)

    def codes(self, value: Any) -> tuple[int, ...]:
        return tuple(chain.from_iterable(self._ask(value, lambda domain, part: domain.codes(part))))

    def value(self, codes: Sequence[int]) -> T:
        rest = iter(codes)
        return self._of(domain.shared(tuple(islice(rest, len(domain.slots)))) for domain in self.parts)

    def _includes(self, other: Any) -> bool:
        return len(self.parts) == len(other.parts) and all(
            mine.includes(its) for mine, its in zip(self.parts, other.parts, strict=True)
        )

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return tuple(map(of, self.parts))

    def _moved(self, value: Any, permutation: Permutation) -> Any:
        return self._of(domain.moved(part, permutation) for domain, part in zip(self.parts, value, strict=True))

    def _routes(self, other: Any, permutation: Permutation) -> Iterator[Route]:
        first = 0
        for part, its in zip(self.parts, other.parts, strict=True):
            inner = part.routes(its, permutation)
            yield from routes_behind(first, inner)
            first += len(inner)


class RecordDomain(_Product[T]):
    """See `record`."""

    def __init__(self, cls: Callable[..., T], fields: Mapping[str, Domain[Any]]):
        self.cls, self.fields = cls, dict(fields)
        declared = getattr(cls, "_fields", None)
        if declared is None:
            raise SpecificationError(f"record({cls!r}): it must be a NamedTuple")
        for asked in ("__eq__", "__ne__", "__hash__"):
            if getattr(cls, asked) is not getattr(tuple, asked):
                raise SpecificationError(
                    f"record({cls.__name__}): it has its own {asked}, and states are told apart by all fields of "
                    "their records; leave it out, or give it another name and call it"
                )
        if tuple(fields) != tuple(declared):
            raise SpecificationError(
                f"record({cls.__name__}): it has the fields {', '.join(declared)}, in this order; "
                f"given are {', '.join(fields) or 'none'}"
            )
        super().__init__(fields.values())

    def _names(self) -> Iterable[str]:
        return (f".{name}" for name in self.fields)

    def _ask(self, value: Any, ask: Callable[[Domain[Any], Any], R]) -> list[R]:
        if value.__class__ is not self.cls:
            raise OutOfDomain(value, f"{self}{namesake(value, {type(self.unrank(0))})}")
        answers = []
        for (name, domain), part in zip(self.fields.items(), value, strict=True):
            try:
                answers.append(ask(domain, part))
            except OutOfDomain as wrong:
                raise OutOfDomain(value, f"{self}: its {name} is {wrong}") from None
        return answers

    def _of(self, parts: Iterable[Any]) -> T:
        return self.cls(*parts)

    def _includes(self, other: Any) -> bool:
        return self.cls is other.cls and super()._includes(other)

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return self.cls, *super().likeness(of)

    def __str__(self) -> str:
        return f"a {getattr(self.cls, '__name__', self.cls)} of its domain"


class TupleDomain(_Product[tuple[Any, ...]]):
    """See `tuple_of`."""

    def _names(self) -> Iterable[str]:
        return (f"[{at}]" for at in range(len(self.parts)))

    def _ask(self, value: Any, ask: Callable[[Domain[Any], Any], R]) -> list[R]:
        if value.__class__ is not tuple or len(value) != len(self.parts):
            raise OutOfDomain(value, str(self))
        return [ask(domain, part) for domain, part in zip(self.parts, value, strict=True)]

    def _of(self, parts: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(parts)

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.parts)) + ")"


class LeftOut:
    """The one value of what a model leaves out: it absorbs arithmetic, and refuses to be looked at.

    A counter without end (a zxid, a number of children ever created) would make the state space infinite,
    and is harmless to leave out as long as it is not read. This value sees to that: adding to it gives it
    back, comparing or measuring it is the error that tells the author that it was needed after all.
    """

    __slots__ = ()

    def _absorb(self, _other: object) -> LeftOut:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __or__ = __ror__ = __and__ = __rand__ = _absorb

    def _refuse(self, *_: object) -> Any:
        raise SpecificationError("a value that the specification leaves out was read")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __len__ = __iter__ = __contains__ = __int__ = __index__ = __format__ = _refuse

    __hash__ = object.__hash__  # of a single object; an `__eq__` of its own would take it away

    def __repr__(self) -> str:
        return "LEFT_OUT"

    def __reduce__(self) -> str:
        return "LEFT_OUT"


LEFT_OUT: Final = LeftOut()
"""What a model leaves out, wherever it would stand: the value of `left_out()`."""


class LeftOutDomain(Domain[LeftOut]):
    """See `left_out`."""

    size = 1

    def rank(self, value: Any) -> int:
        return 0

    def unrank(self, code: int) -> LeftOut:
        return LEFT_OUT

    def __str__(self) -> str:
        return "anything: it is left out"


ABSENT: Final = type("Absent", (), {"__repr__": lambda _: "absent", "__reduce__": lambda _: "ABSENT"})()
"""What the cell of a partial mapping holds while its key is not there."""


class PossiblyDomain(_OrNothing[Any]):
    """The cell of a partial mapping: absent first, then the values."""

    nothing, presence = ABSENT, " is there"

    def __str__(self) -> str:
        return str(self.domain)


class MappingDomain:
    """How a variable that is a mapping is laid out: a domain for each of its keys, in their order."""

    def __init__(self, cells: Mapping[Any, Domain[Any]], partial: bool, keys: Iterable[Hashable] = ()):
        self.cells, self.partial = cells, partial
        self.keys = keys if isinstance(keys, Domain) else EnumerationDomain(tuple(cells))
        """The keys in their order; permutations move the cells of those that come from a domain of such values."""

    @property
    def sorts(self) -> Sorts:
        """The sorts that its keys and values are of, or made from."""
        return united(domain.sorts for domain in (self.keys, *self.cells.values()))


# The words. Each makes a domain.


def integers(low: int, high: int) -> Domain[int]:
    """The integers from low to high, both included.

    >>> list(integers(-1, 1))
    [-1, 0, 1]
    """
    low, high = (_integer(end, f"integers({shown(low)}, {shown(high)}): its ends are") for end in (low, high))
    if high < low:
        raise SpecificationError(f"integers({low}, {high}): it holds nothing")
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
    """The empty tuple, or what stands in a domain of others.

    Whether it is empty has a slot of its own, so that what only asks for that is not about the others.

    >>> list(possibly_empty([(1,), (1, 2)]))
    [(), (1,), (1, 2)]
    """
    return PossiblyEmptyDomain(as_domain(domain))


def subset_of(elements: Domain[T] | Iterable[T]) -> Domain[frozenset[T]]:
    """Every frozenset of these elements, the empty one first. They are walked in the order of the elements."""
    return SubsetDomain(as_domain(elements))


def sequence_of(elements: Domain[T] | Iterable[T], longest: int) -> Domain[tuple[T, ...]]:
    """Every tuple of at most `longest` of these elements, repetitions included, the empty one first."""
    longest = _integer(longest, f"sequence_of(..., {shown(longest)}): the length is")
    if longest < 0:
        raise SpecificationError(f"sequence_of(..., {longest}): it holds nothing")
    return SequenceDomain(as_domain(elements), longest)


def record(cls: Callable[..., Any], /, **fields: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """A NamedTuple, field by field, in the order of its declaration."""
    return RecordDomain(cls, {name: as_domain(domain) for name, domain in fields.items()})


def tuple_of(*parts: Domain[Any] | Iterable[Any]) -> Domain[tuple[Any, ...]]:
    """Tuples of a fixed length, part by part."""
    return TupleDomain(map(as_domain, parts))


def left_out() -> Domain[LeftOut]:
    """What the model forgets: whatever is written there is dropped, and reading it is an error that says so."""
    return LeftOutDomain()


def mapping(
    keys: Iterable[Hashable], domain: Domain[Any] | Callable[[Any], Domain[Any] | Iterable[Any]] | Iterable[Any]
) -> MappingDomain:
    """A variable that is a mapping with fixed keys, each always there; a function gives each key its domain."""
    return MappingDomain(_cells(keys, domain), partial=False, keys=keys)


def partial_mapping(
    keys: Iterable[Hashable], domain: Domain[Any] | Callable[[Any], Domain[Any] | Iterable[Any]] | Iterable[Any]
) -> MappingDomain:
    """A variable that is a mapping in which each of the keys may be there or not; at first none is."""
    cells = {key: PossiblyDomain(cell) for key, cell in _cells(keys, domain).items()}
    return MappingDomain(cells, partial=True, keys=keys)


def _cells(keys: Iterable[Hashable], domain: Any) -> dict[Any, Domain[Any]]:
    known = keys if isinstance(keys, Domain) else EnumerationDomain(tuple(keys) if isinstance(keys, str) else keys)
    if callable(domain) and not isinstance(domain, Domain | type):
        return {key: as_domain(domain(key)) for key in known}
    shared = as_domain(domain)
    return dict.fromkeys(known, shared)


def choices_of(domains: Mapping[str, Domain[Any]]) -> list[dict[str, Any]]:
    """Each choice of a value for every name, in the order of the domains; the last one changes fastest.

    Raises:
        SpecificationError: there are too many.
    """
    sizes = ", ".join(f"{name} ({counted(domain.size)})" for name, domain in domains.items())
    within(prod(domain.size for domain in domains.values()), sizes, "choices")
    return [dict(zip(domains, values, strict=True)) for values in product(*domains.values())]


def as_domain(values: Domain[T] | Iterable[T]) -> Domain[T]:
    """A domain as it is; a range, a sequence, an Enum class or an iterator that ends as the domain of its members.

    Raises:
        SpecificationError: it is none of these, or has no end within what can be listed.
    """
    if isinstance(values, Domain):
        return values
    if isinstance(values, range) and values.step == 1 and values:
        return integers(values.start, values.stop - 1)  # type: ignore[return-value]
    if isinstance(values, MappingDomain):
        raise SpecificationError(
            "a mapping is a variable by itself, no part of a domain: its keys may be pairs, `tuple_of(a, b)`"
        )
    return EnumerationDomain(values)


DEEPEST: Final = 100
"""Levels of values inside values; each takes several calls inside calls, of which Python has a thousand."""


TOO_DEEP: Final = f"its type is nested more than {DEEPEST} deep"


def not_too_deep(made: D) -> D:
    """The same domain, if its values are not nested too deep.

    Raises:
        SpecificationError: they are.
    """
    level: list[Domain[Any]] = list(made.cells.values()) if isinstance(made, MappingDomain) else [made]
    for _ in range(DEEPEST):
        level = list({id(inner): inner for domain in level for inner in domain.inner}.values())
        if not level:
            return made
    raise SpecificationError(TOO_DEEP)


def _integer(given: Any, what: str) -> int:
    """An integer of any class as a plain one."""
    try:
        return operator.index(given)
    except TypeError:
        raise SpecificationError(f"{what} integers") from None


def _plain(value: Any) -> Any:
    """An integer of numpy's, which equals a plain one and is of another class, as that plain one."""
    return value if isinstance(value, int) or not isinstance(value, Integral) else int(value)


def _some_of(values: Collection[Any]) -> str:
    """Values in a message: all of them, or the first and how many there are."""
    if len(values) <= TOLD:
        return ", ".join(map(str, values))
    return f"{', '.join(map(str, islice(values, TOLD)))}, ... ({len(values):,} of them)"
