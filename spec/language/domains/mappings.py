"""Mappings that are values, as parameters and fields of records are.

A variable that is a mapping is none: it has a layout, with a cell for each key.
"""

# ruff: noqa: D102  (Domain documents the methods)

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from spec.language.domains.base import Domain
from spec.language.domains.optional import ABSENT
from spec.language.domains.records import ProductDomain
from spec.language.errors import OutOfDomain, safe_repr
from spec.language.identity import is_same_value
from spec.language.permutations import Permutation, Route, routes_after

R = TypeVar("R")


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
