"""Sizes: the size of each type in a specification, and the domain of everything annotated with it.

A type says what values mean: a client's id, the number of a ticket. A specification gives the number of its values
once for each type (Alloy's scope); a single place may be narrower than its type. Everything made of sized types gets
its domain from them: a record field by field, a set, an optional value, a mapping of the state.
"""

from __future__ import annotations

import types
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from spec.language.allowed_values import LISTED, within
from spec.language.domains import (
    Domain,
    FrozenMapping,
    FrozenMappingDomain,
    LeftOutDomain,
    MappingDomain,
    PossiblyDomain,
    as_domain,
    booleans,
    mapping,
    one_of,
    optional,
    partial_mapping,
    record,
    sequence_of,
    subset_of,
    tuple_of,
)
from spec.language.errors import SpecificationError, safe_repr
from spec.language.symmetry import either
from spec.language.words import Declared

K = TypeVar("K")
V = TypeVar("V")


class Total(MutableMapping[K, V]):
    """The type of a mapping in which every key is always present (a total function).

    A variable is changed in place. As a parameter or a field of a record a mapping is a value, see `frozen`.
    """

    @abstractmethod
    def __or__(self, other: Mapping[K, V]) -> Self:
        """The mapping with other values for some keys."""

    @abstractmethod
    def __ror__(self, other: Mapping[K, V]) -> Self:
        """The other mapping, with this one's values for its keys."""


class Partial(MutableMapping[K, V]):
    """The type of a mapping in which each key is present or absent (a partial function); for the rest see `Total`."""

    @abstractmethod
    def __or__(self, other: Mapping[K, V]) -> Self:
        """The mapping with other values for some keys, which may be absent before."""

    @abstractmethod
    def __ror__(self, other: Mapping[K, V]) -> Self:
        """The other mapping, with this one's values for its keys."""


def frozen(values: Mapping[Any, Any]) -> Any:
    """A mapping as a value, for a field of a record: `Plan(frozen({0: "red"}))`.

    It never changes; `plan.colours | {0: "blue"}` is another one.
    """
    return FrozenMapping(values)


class AtMost(NamedTuple):
    """See `at_most`."""

    length: int


def at_most(length: int) -> AtMost:
    """The size of a type `tuple[X, ...]`: every tuple of at most this many elements."""
    return AtMost(length)


Size = Domain[Any] | Iterable[Any] | AtMost
"""The size of a type or a place: a domain, values that `as_domain` accepts, or a tuple's greatest length."""

UNIONS: Final = (Union, types.UnionType)
IN_PLACE: Final = {
    list: "tuple[X, ...]",
    set: "frozenset[X]",
    dict: "Total[K, V], in which every key is always present, or Partial[K, V]",
    Mapping: "Total[K, V], in which every key is always present, or Partial[K, V]",
    MutableMapping: "Total[K, V], in which every key is always present, or Partial[K, V]",
}
"""Types that cannot be in a state, and their replacements."""


class Sizes:
    """The domains of types.

    Args:
        given: the size of each type that is not made of other types: an alias, `Annotated[int, "a client's id"]`, or
            a class; and of places that are narrower than their type: a field of a record, `Record.id`.
    """

    def __init__(self, given: Mapping[Any, Size]):
        if not isinstance(given, Mapping):
            raise SpecificationError(f"{safe_repr(given)} is not a mapping of types to their sizes")
        for each in given:
            if isinstance(each, str):
                raise SpecificationError(f"{each!r} is the name of a type: write the type itself, without quotes")
            if isinstance(each, Declared):
                raise SpecificationError(
                    f"the variable {each.doc!r} is not a type: variable(..., of=...) narrows a single variable"
                )
        self._given = dict(given)
        self._found: dict[Any, Domain[Any]] = {}

    def domain(self, type_: Any, **narrowed: Size) -> Domain[Any]:
        """The domain of a type; for a record, with these of its fields narrowed. SpecificationError if a type in it
        has no size, or a field has values that its type lacks.
        """
        if narrowed:
            return self._record(type_, narrowed)
        if type_ not in self._found:
            self._found[type_] = self._domain(type_)
        return self._found[type_]

    def layout(self, type_: Any, of_key: Callable[[Any], Size] | None = None) -> Domain[Any] | MappingDomain:
        """The layout of a variable; `of_key` is the size of a key's value, if keys differ."""
        kind = get_origin(type_)
        if kind not in (Total, Partial):
            if of_key is not None:
                raise SpecificationError(
                    f"of= takes a key, and {name_of(type_)} is no mapping: write lambda self: ..."
                )
            return self.domain(type_)
        keys, values = get_args(type_)
        laid_out = mapping if kind is Total else partial_mapping
        if of_key is None:
            return laid_out(self.domain(keys), self.domain(values))
        return laid_out(self.domain(keys), lambda key: self.narrowed(values, of_key(key)))

    def narrowed(self, type_: Any, size: Size) -> Domain[Any]:
        """The domain of a place narrower than its type; every value must be one of the type, where that is known.
        SpecificationError if it has a value outside the type, or is not a size.
        """
        domain = self._sized(type_, size)
        if type_ in self._given and not isinstance(domain, LeftOutDomain) and domain.size <= LISTED:
            whole = self.domain(type_)
            for value in () if whole.sorts or whole.includes(domain) else domain:
                if value not in whole:
                    raise SpecificationError(f"{safe_repr(value)} is not {whole}, the values of {name_of(type_)}")
        return domain

    def _domain(self, type_: Any) -> Domain[Any]:
        if type_ in self._given:
            return self._sized(type_, self._given[type_])
        kind, parts = get_origin(type_), get_args(type_)
        if kind is Annotated:
            plain, *said = parts
            with _in(said[-1]):
                return self.domain(Annotated[(plain, *said[:-1])] if len(said) > 1 else plain)
        if kind in UNIONS:
            some = [self.domain(part) for part in parts if part is not types.NoneType]
            domain = some[0] if len(some) == 1 else either(*some)
            return optional(domain) if len(some) < len(parts) else domain
        if kind is Literal:
            return one_of(*parts)
        if kind is frozenset or kind is AbstractSet:
            return subset_of(self.domain(parts[0]))
        if kind is tuple and parts[-1:] != (...,):
            return tuple_of(*map(self.domain, parts))
        if kind in (Total, Partial):
            with _in(f"the keys of {name_of(type_)}"):
                keys = self.domain(parts[0])
                within(keys.size, keys, "values")
            cells = dict.fromkeys(keys, self.domain(parts[1]))
            return FrozenMappingDomain(
                keys, cells if kind is Total else {key: PossiblyDomain(cell) for key, cell in cells.items()}
            )
        if type_ is bool:
            return booleans()
        if type_ is None or type_ is types.NoneType:
            return one_of(None)
        if isinstance(type_, type) and issubclass(type_, Enum):
            return one_of(*type_)
        if _is_record(type_):
            return self._record(type_, {})
        raise SpecificationError(_without_size(type_, kind))

    def _record(self, cls: Any, narrowed: Mapping[str, Size]) -> Domain[Any]:
        """A record, field by field: narrowed here, narrowed everywhere, or as large as its type."""
        if not _is_record(cls):
            raise SpecificationError(f"{name_of(cls)} is not a NamedTuple, so it has no fields to narrow")
        for name in narrowed:
            if name not in cls._fields:
                raise SpecificationError(f"{cls.__name__} has no field {name}; it has {', '.join(cls._fields)}")
        hints = types_of_fields(cls)
        fields = {}
        for name in cls._fields:
            with _in(f"{cls.__name__}.{name}"):
                place = getattr(cls, name)
                if name in narrowed:
                    fields[name] = self.narrowed(hints[name], narrowed[name])
                elif place in self._given:
                    fields[name] = self.narrowed(hints[name], self._given[place])
                else:
                    fields[name] = self.domain(hints[name])
        return record(cls, **fields)

    def _sized(self, type_: Any, size: Size) -> Domain[Any]:
        """The domain of a type with this size: the length of a tuple, or a domain."""
        if not isinstance(size, AtMost):
            if type_ is Any:
                return as_domain(size)
            with _in(f"the size of {name_of(type_)}"):
                return as_domain(size)
        plain = get_args(type_)[0] if get_origin(type_) is Annotated else type_
        if get_origin(plain) is not tuple or get_args(plain)[-1:] != (...,):
            raise SpecificationError(
                f"at_most({size.length}) is the size of a tuple[X, ...], not of {name_of(type_)}"
            )
        return sequence_of(self.domain(get_args(plain)[0]), longest=size.length)


# Annotations.


def types_in(annotated: Any, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """The types in the annotations of a class's fields or a function's parameters; SpecificationError if a name is
    unknown where they are defined. They replace the annotations, because a process that receives the class may not
    know their names.
    """
    try:
        found = get_type_hints(annotated, names, include_extras=True)
    except (NameError, TypeError, SyntaxError) as wrong:
        raise SpecificationError(f"the annotations of {annotated.__qualname__}: {wrong}") from None
    for each in getattr(annotated, "__mro__", (annotated,)):
        own = vars(each).get("__annotations__", {})
        own.update({name: found[name] for name in own if name in found})
    return found


@cache
def types_of_fields(cls: type[Any]) -> Mapping[str, Any]:
    """The same for a class; cached, because each new specification reads the same classes. SpecificationError if a
    name is unknown where it is defined.
    """
    return types_in(cls)


def name_of(type_: Any) -> str:
    """A type as a message names it: `Record`, or `int, a broker's id`."""
    if get_origin(type_) is Annotated:
        plain, said, *_ = get_args(type_)
        return f"{name_of(plain)}, {said}"
    if isinstance(get_origin(type_), type) and get_args(type_):
        return f"{get_origin(type_).__name__}[{', '.join(map(_shortly, get_args(type_)))}]"
    return type_.__name__ if isinstance(type_, type) else safe_repr(type_)


def _shortly(type_: Any) -> str:
    """A type within another; an alias by its description."""
    return "..." if type_ is ... else name_of(type_).rpartition(", ")[2]


def _without_size(type_: Any, kind: Any) -> str:
    """The message for a type that has no size."""
    if isinstance(type_, Domain):
        return f"{type_} is a domain, not a type; sizes() gives a type its size, of= a single variable its domain"
    plain, name = type_ if kind is None else kind, name_of(type_)
    if plain in IN_PLACE:
        return f"{name} can be changed in place, and values of the state must be immutable: write {IN_PLACE[plain]}"
    if plain is tuple:
        return f"{name} has no size: give its length in sizes(), at_most(...)"
    if is_dataclass(plain) or is_typeddict(plain):
        return f"{name} is not a NamedTuple, as a record of the state must be: class {plain.__name__}(NamedTuple)"
    return f"{name} has no size: give its values in sizes()"


def _is_record(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, tuple) and hasattr(type_, "_fields")


class _in:  # noqa: N801 - reads as the word it is
    """Within this context an error message begins with the place."""

    def __init__(self, where: object):
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, SpecificationError):
            raise SpecificationError(f"{self.where}: {error}") from None
