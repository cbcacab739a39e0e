"""Domains of values in parts: records, tuples and mappings; and of values that may be missing.

The first are products of the domains of their parts. A mapping here is a value, as parameters and fields of records
are; a variable that is a mapping is none: it has a layout, with a cell for each key. Where a value may be missing,
None, the empty tuple or an absent key comes first.
"""

# ruff: noqa: D102  (Domain documents the methods)

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from math import prod
from typing import Any, Final, Generic, NoReturn, TypeVar

from spec.language.domains.base import Domain, Slot
from spec.language.errors import OutOfDomain, SpecificationError, equal_looking, safe_repr
from spec.language.identity import is_same_value
from spec.language.permutations import Permutation, Route, routes_after

# Records and tuples.


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
        """The result of `ask` for each domain and its part of a value; OutOfDomain if the value has no such parts, or
        a part is not in its domain.
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
    """Require that a NamedTuple defines no special method with which its fields could be read otherwise;
    SpecificationError if it does.
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


# What may be missing.


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


# Mappings.


class FrozenMapping(Mapping[Any, Any]):
    """A mapping that is a value: it never changes, and `|` makes another one."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Mapping[Any, Any]):
        self._parts = dict(parts)

    def __getitem__(self, key: Any) -> Any:
        return self._parts[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __or__(self, other: Mapping[Any, Any]) -> FrozenMapping:
        return FrozenMapping({**self, **other})

    def __ror__(self, other: Mapping[Any, Any]) -> FrozenMapping:
        return FrozenMapping({**other, **self})

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        change = f"{{{safe_repr(key)}: {safe_repr(value)}}}"
        raise TypeError(
            f"[{safe_repr(key)}] = {safe_repr(value)}: a mapping inside a value is replaced whole, as in "
            f"s.m[k] |= {change}, or in a field of a record by its old value | {change}"
        )

    def __delitem__(self, key: Any) -> NoReturn:
        raise TypeError(
            f"del [{safe_repr(key)}]: a mapping inside a value is replaced whole, as in s.m[k] = frozen({{...}})"
        )

    def __hash__(self) -> int:
        return hash(frozenset(self._parts.items()))

    def __repr__(self) -> str:
        return repr(self._parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMapping, (self._parts,)


class FrozenMappingDomain(ProductDomain[FrozenMapping]):
    """Mappings with a domain for the value of each key; where it has ABSENT, the key may be missing."""

    def __init__(self, keys: Domain[Any], cells: Mapping[Any, Domain[Any]]):
        self.keys, self.cells = keys, dict(cells)
        super().__init__(cells.values())
        self.inner = (keys, *self.parts)

    def _names(self) -> Iterable[str]:
        return (f"[{key}]" for key in self.cells)

    def _ask(self, value: Any, ask: Callable[[Domain[Any], Any], R]) -> list[R]:
        if not isinstance(value, Mapping):
            raise OutOfDomain(value, str(self))
        own = dict(zip(self.cells, self.cells, strict=True))
        for key in value:
            if not is_same_value(key, own.get(key, self)):
                raise OutOfDomain(value, f"{self}: {key!r} is no key of it")
        answers = []
        for key, domain in self.cells.items():
            try:
                answers.append(ask(domain, value.get(key, ABSENT)))
            except OutOfDomain as wrong:
                raise OutOfDomain(value, f"{self}: its [{key}] is {wrong}") from None
        return answers

    def _of(self, parts: Iterable[Any]) -> FrozenMapping:
        named = zip(self.cells, parts, strict=True)
        return FrozenMapping({key: part for key, part in named if part is not ABSENT})

    def _includes(self, other: Any) -> bool:
        return [*self.cells] == [*other.cells] and super()._includes(other)

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return of(self.keys), *super().likeness(of)

    def _moved(self, value: Any, permutation: Permutation) -> Any:
        moved = {
            self.keys.moved(key, permutation): self.cells[key].moved(part, permutation) for key, part in value.items()
        }
        return FrozenMapping({key: moved[key] for key in self.cells if key in moved})

    def _routes(self, other: Any, permutation: Permutation) -> Iterator[Route]:
        first, starts = 0, {}
        for key, domain in other.cells.items():
            starts[key] = first
            first += len(domain.slots)
        for key, domain in self.cells.items():
            to = self.keys.moved(key, permutation)
            yield from routes_after(starts[to], domain.routes(other.cells[to], permutation))

    def __str__(self) -> str:
        return f"a mapping with the keys {', '.join(map(str, self.cells))}"
