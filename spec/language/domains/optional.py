"""Domains in which a value may be missing: None, the empty tuple, or an absent key comes first."""

# ruff: noqa: D102  (Domain documents the methods)

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from spec.language.domains.base import Domain, Slot
from spec.language.errors import SpecificationError
from spec.language.permutations import Permutation, Route, routes_after

T = TypeVar("T")


class OrNothingDomain(Domain[T]):
    """The missing value first, then the values of a domain.

    If the domain takes one slot, the missing value takes one more code in it. If it takes several, a slot before them
    says whether they are used; if not, they hold 0.
    """

    nothing: Any
    presence: str
    """The name of that slot."""

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
        yield from routes_after(1, self.domain.routes(other.domain, permutation), guard=0)


class OptionalDomain(OrNothingDomain[T | None]):
    """See `optional`."""

    nothing, presence = None, " is not None"

    def __init__(self, domain: Domain[T]):
        if None in domain:
            raise SpecificationError(f"optional({domain}): the domain already holds None")
        super().__init__(domain)

    def __str__(self) -> str:
        return f"None or {self.domain}"


class PossiblyEmptyDomain(OrNothingDomain[tuple[Any, ...]]):
    """See `possibly_empty`."""

    nothing, presence = (), " is not empty"

    def __init__(self, domain: Domain[tuple[Any, ...]]):
        if () in domain:
            raise SpecificationError(f"possibly_empty({domain}): the domain already holds the empty tuple")
        super().__init__(domain)

    def _slots(self) -> Iterable[Slot]:
        return (Slot(self.presence, 2), *self.domain.slots)

    def __str__(self) -> str:
        return f"empty or {self.domain}"


ABSENT: Final = type("Absent", (), {"__repr__": lambda _: "absent", "__reduce__": lambda _: "ABSENT"})()
"""The value in a partial mapping's cell while its key is absent."""


class PossiblyDomain(OrNothingDomain[Any]):
    """The cell of a partial mapping: absent first, then the values."""

    nothing, presence = ABSENT, " is there"

    def __str__(self) -> str:
        return str(self.domain)
