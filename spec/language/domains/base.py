"""What a domain is: finite, ordered, numbered, and laid out in slots."""

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
        return self.moving.sorts if self.moving else disjoint_union(domain.sorts for domain in self.inner)

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
