"""Domains of records and of tuples of a fixed length: products of the domains of their parts."""

# ruff: noqa: D102  (Domain documents the methods)

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from math import prod
from typing import Any, Final, Generic, TypeVar

from spec.language.domains.base import Domain, Slot
from spec.language.errors import OutOfDomain, SpecificationError, equal_looking
from spec.language.permutations import Permutation, Route, routes_after

T = TypeVar("T")
R = TypeVar("R")


class ProductDomain(Domain[T]):
    """A value of several parts, each with a domain of its own; the first part is the most significant."""

    def __init__(self, parts: Iterable[Domain[Any]]):
        self.parts = self.inner = tuple(parts)
        self.size = prod(part.size for part in self.parts)

    @abstractmethod
    def _names(self) -> Iterable[str]:
        """The parts, as written after the name of the whole."""

    @abstractmethod
    def _ask(self, value: Any, ask: Callable[[Domain[Any], Any], R]) -> list[R]:
        """The result of `ask` for each domain and its part of a value.

        Raises:
            OutOfDomain: the value has no such parts, or a part is not in its domain.
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
            yield from routes_after(first, inner)
            first += len(inner)


HARMLESS: Final = frozenset(
    {
        *("__new__", "__getnewargs__", "__replace__", "__class_getitem__", "__init_subclass__"),
        *("__annotate__", "__annotate_func__", "__str__", "__repr__", "__format__", "__bool__", "__call__"),
        *("__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__add__", "__radd__", "__sub__", "__rsub__"),
        *("__mul__", "__rmul__", "__neg__", "__or__", "__and__"),
    }
)
"""Special methods that a record may define; others could change how its fields are read or compared."""


@cache
def require_plain_reading(cls: Any) -> None:
    """Require that a NamedTuple defines no special method with which its fields could be read otherwise.

    Raises:
        SpecificationError: it does.
    """
    for base in cls.__mro__:
        for name, value in vars(base).items() if base not in (tuple, Generic, object) else ():
            method = callable(value) or isinstance(value, classmethod | staticmethod | property)
            if method and name.startswith("__") and name not in HARMLESS:
                raise SpecificationError(
                    f"record({cls.__name__}): it has its own {name}, but records are read and compared by their "
                    "fields; remove it, or rename it and call it"
                )


class RecordDomain(ProductDomain[T]):
    """See `record`."""

    def __init__(self, cls: Callable[..., T], fields: Mapping[str, Domain[Any]]):
        self.cls, self.fields = cls, dict(fields)
        declared = getattr(cls, "_fields", None)
        if declared is None:
            raise SpecificationError(f"record({cls!r}): it is not a NamedTuple")
        require_plain_reading(cls)
        if tuple(fields) != tuple(declared):
            raise SpecificationError(
                f"record({cls.__name__}): its fields are {', '.join(declared)}, in this order; "
                f"the given ones are {', '.join(fields) or 'none'}"
            )
        super().__init__(fields.values())

    def _names(self) -> Iterable[str]:
        return (f".{name}" for name in self.fields)

    def _ask(self, value: Any, ask: Callable[[Domain[Any], Any], R]) -> list[R]:
        if value.__class__ is not self.cls:
            raise OutOfDomain(value, f"{self}{equal_looking(value, {type(self.unrank(0))})}")
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


class TupleDomain(ProductDomain[tuple[Any, ...]]):
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
