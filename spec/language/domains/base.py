"""The base of all domains: finite, ordered, numbered, and laid out in slots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from spec.language.allowed_values import LISTED, within
from spec.language.errors import OutOfDomain, SpecificationError
from spec.language.permutations import Moving, Permutation, Route, Sorts, disjoint_union

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


class Slot(NamedTuple):
    """A place for a small number in the flattened form of a domain."""

    name: str
    """The part it holds, as written after the name of the whole: "", ".left", "[2].right", ".basket{fig}"."""
    size: int
    """It holds 0 to size - 1; at least 2, because a single value needs no slot."""

    @property
    def width(self) -> int:
        """The number of bits it takes."""
        return (self.size - 1).bit_length()


class Domain(ABC, Generic[T]):
    """A finite, ordered set of immutable values."""

    size: int
    """The number of its values."""

    inner: tuple[Domain[Any], ...] = ()
    """The domains of its values' parts."""

    moving: Moving | None = None
    """How permutations move its values, which take one slot; None: part by part."""

    @abstractmethod
    def rank(self, value: Any) -> int:
        """The number of a value, 0 to size - 1.

        Raises:
            OutOfDomain: the value is not in the domain.
        """

    @abstractmethod
    def unrank(self, code: int) -> T:
        """The value with this number, in its canonical form."""

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Its flattened form; empty if it has a single value.

        Raises:
            SpecificationError: it has too many slots.
        """
        found = tuple(islice(self._slots(), LISTED + 1)) if self.size > 1 else ()
        within(len(found), self, "parts", at_least=True)
        return found

    def _slots(self) -> Iterable[Slot]:
        """The slots, for a domain of two values or more: one for its number, unless it has parts."""
        return (Slot("", self.size),)

    def codes(self, value: Any) -> tuple[int, ...]:
        """A value flattened: the code in each slot.

        Raises:
            OutOfDomain: the value is not in the domain; the message is that of `rank`.
        """
        code = self.rank(value)
        return (code,) if self.slots else ()

    def value(self, codes: Sequence[int]) -> T:
        """The value with these codes, in its canonical form."""
        return self.unrank(codes[0] if codes else 0)

    def shared(self, codes: tuple[int, ...]) -> T:
        """The value with these codes, always the same object, which makes comparing values with this part faster."""
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
        """A description of its values that completes "3 is not ..."."""

    def __iter__(self) -> Iterator[T]:
        """Its values in order; SpecificationError if it has too many values to list."""
        within(self.size, self, "values")
        return map(self.unrank, range(self.size))

    def __contains__(self, value: object) -> bool:
        try:
            self.rank(value)
        except OutOfDomain:
            return False
        return True

    def includes(self, other: Domain[Any]) -> bool:
        """Whether it certainly holds every value of another domain. False may also mean that this is unknown."""
        if type(self) is type(other) and self.inner:
            return self is other or self._includes(other)
        return not other.inner and other.size <= LISTED and all(value in self for value in other)

    def _includes(self, other: Any) -> bool:
        """The same for another domain of the same class with parts."""
        return False

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        """A key that is equal for two domains of one class that have the same values, types included, with the same
        codes.

        Args:
            of: returns the likeness of an inner domain.
        """
        return (self,)

    # Permutations of interchangeable values.

    @property
    def sorts(self) -> Sorts:
        """The sorts that its values belong to or are made from."""
        return self.moving.sorts if self.moving else disjoint_union(domain.sorts for domain in self.inner)

    def moved(self, value: Any, permutation: Permutation) -> Any:
        """The image of one of its values under a permutation, which may be outside the domain."""
        return self.moving.moved(value, permutation) if self.moving else self._moved(value, permutation)

    def _moved(self, value: Any, permutation: Permutation) -> Any:
        """The same, part by part; a value without parts is unchanged."""
        return value

    def routes(self, other: Domain[Any], permutation: Permutation) -> list[Route]:
        """How a permutation maps the codes of a value, slot by slot, to the other domain's codes of its image.

        Raises:
            OutOfDomain: the image of a value is not in the other domain.
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
        """The same for values in several slots; the other domain is of the same class."""
        raise SpecificationError(f"permutations of {self} are not defined")

    def strategy(self) -> SearchStrategy[T]:
        """The Hypothesis strategy that draws its values; it shrinks towards the first one."""
        from hypothesis import strategies

        return strategies.integers(0, self.size - 1).map(self.unrank)

    @property
    def width(self) -> int:
        """The number of bits of a packed value."""
        return sum(slot.width for slot in self.slots)
