"""A digest: what some values hold at one moment, down to the atoms, to see whether anything in them has changed.

Objects are walked as the garbage collector sees them; an object of an installed class, or with an interior in C, as
it would be copied. Equal content is no change, whichever objects hold it. The results that `functools.cache` and
`cached_property` keep are apart: a new one is no change if a fresh call gives it again.
"""

from __future__ import annotations

import copyreg
import gc
import io
import logging
import threading
import types
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextvars import ContextVar
from enum import Enum
from functools import cached_property, lru_cache, partial
from typing import Any, Final, NamedTuple

from spec.language.domains.records import FrozenMapping
from spec.language.switches import Switches

_ATOMS: Final = frozenset({int, str, bytes, float, complex, bool, type(None), type(...), types.CodeType})
_NO_ITEMS: Final[dict[Any, Any]] = {}
_VIEWS: Final = (type(_NO_ITEMS.keys()), type(_NO_ITEMS.values()), type(_NO_ITEMS.items()))
_LISTED: Final = (list, tuple, set, frozenset, deque, *_VIEWS)
_NOT_STATIC: Final = 1 << 9
"""The flag of types that are made while Python runs, as classes are."""


class CannotTell(Exception):
    """A value that cannot be compared, in words; with its name."""

    name: Hashable = None


class _Result(NamedTuple):
    """What a cache keeps."""

    value: Any
    again: Callable[[], Any]
    """A fresh call."""


class Digest:
    """What some values, given by name, hold; CannotTell if one cannot be compared. `is_authors` tells a class or a
    function of the author's from others.
    """

    def __init__(self, values: Mapping[Hashable, Any], is_authors: Callable[[Any], bool]):
        self._is_authors = is_authors
        self._ways: dict[type, _Way] = {}
        self._late: dict[type, dict[str, Callable[..., Any]]] = {}
        self._results: dict[tuple[Hashable, ...], _Result] = {}
        """By the name of the value that led to the cache, the cache, and the key."""
        self._met: dict[int, tuple[Any, ...]] = {}
        """By identity, each object with its number. It is held: another might get the address."""
        self._same: list[Any] = []
        """Objects that are compared by identity, held for the same reason."""
        self._contents = {name: self._content(name, value) for name, value in values.items()}
        self._of_results = {place: self._apart(place, each.value) for place, each in [*self._results.items()]}
        self._met = {}

    def changed_since(self, before: Digest) -> Iterator[Hashable]:
        """The names of the values that hold something else than before."""
        for name in self._contents | before._contents:
            if self._contents.get(name) != before._contents.get(name):
                yield name
        for place, content in self._of_results.items():
            if content != (before._of_results.get(place) or self._fresh(place)):
                yield place[0]

    def _apart(self, place: tuple[Hashable, ...], value: Any) -> tuple[Any, ...]:
        self._met = {}
        return self._content(place[0], value)

    def _fresh(self, place: tuple[Hashable, ...]) -> tuple[Any, ...] | None:
        """What a fresh call gives in place of a result; None if it fails."""
        try:
            return self._apart(place, self._results[place].again())
        except Exception:
            return None

    def _content(self, name: Hashable, root: Any) -> tuple[Any, ...]:
        """The types and atoms in a value, in order; for an object that is met again, its number."""
        found, waiting, met, first = list[Any](), [root], self._met, len(self._met)
        self._name = name
        while waiting:
            value = waiting.pop()
            kind = type(value)
            if kind in _ATOMS:
                found += kind, repr(value) if kind is float or kind is complex else value
                continue
            at = id(value)
            if at in met:
                found.append(met[at][1:])
                continue
            met[at] = value, name, len(met) - first
            way = self._ways.get(kind)
            if way is None:
                way = self._ways[kind] = next(way for types, way in _WAYS if issubclass(kind, types))
            parts = way(self, value)
            found += kind, len(parts)
            waiting += reversed(parts)
        return tuple(found)

    def _of_class(self, cls: type) -> list[Any]:
        members = members_of(cls) if self._is_authors(cls) else ()
        return [cls.__module__, cls.__qualname__, *(part for each in members for part in each)]

    def _of_function(self, value: types.FunctionType) -> list[Any]:
        held = value.__defaults__, value.__kwdefaults__, value.__closure__, vars(value)
        return [value.__code__, *(held if any(held) and self._is_authors(value) else ())]

    def _of_dict(self, value: dict[Any, Any]) -> list[Any]:
        return [*value, *value.values()] if type(value) is dict else self._of_object(value)

    def _of_container(self, value: Any) -> list[Any]:
        return [*value] if type(value) in _LISTED else self._of_object(value)

    def _of_defaults(self, value: defaultdict[Any, Any]) -> list[Any]:
        """The items of a `defaultdict`, without those that looking up a key has inserted."""
        plain = value.default_factory() if value.default_factory else value
        return [part for item in value.items() if plain is value or item[1] != plain for part in item]

    def _of_cache(self, kept: Any) -> list[Any]:
        """The function of a cache. Results of the author's functions are noted, if they could change."""
        function = kept.__wrapped__
        for key, given, named in _calls_in(kept) if self._is_authors(function) else ():
            if not _is_fixed(result := kept(*given, **named)):
                self._results[self._name, id(kept), key] = _Result(result, partial(function, *given, **named))
        return [vars(kept)]

    def _of_stream(self, value: io.IOBase) -> list[Any]:
        if not value.closed and value.readable():
            raise self._cannot_tell("an open file")
        return []

    def _of_object(self, value: Any) -> list[Any]:
        kind = type(value)
        if isinstance(value, FrozenMapping):
            return [dict(value)]
        if kind.__module__.startswith(("spec.language.", "spec.checking.")):
            self._same.append(value)
            return [id(value)]  # it is immutable, but for caches
        if not self._is_authors(kind):
            return self._copied(value)
        parts: list[Any] = [self._attributes(value)]
        if isinstance(value, dict):
            parts += dict.items(value)
        else:
            own = getattr(value, "__dict__", None)
            parts += [each for each in gc.get_referents(value) if each is not kind and each is not own]
        for base in kind.__mro__:
            if base in _ATOMS:
                as_text: Any = base.__repr__  # not that of the author's class
                return [*parts, as_text(value)]
            if base not in (object, dict, *_LISTED) and _is_in_c(base):
                return parts + self._copied(value)
        return parts

    def _of_exception(self, value: BaseException) -> list[Any]:
        """The content of an exception, without its traceback, which changes when it is raised."""
        return [value.args, self._attributes(value)]

    def _attributes(self, value: Any) -> dict[str, Any]:
        """The attributes of an object, without computed ones; these are the results of a cache."""
        found, late = {}, self._computed(type(value))
        for attribute, each in getattr(value, "__dict__", {}).items():
            if isinstance(value, Enum) and attribute[:1] == attribute[-1:] == "_" and attribute != "_value_":
                continue  # Python makes some of them late, such as a flag's `_inverted_`
            if attribute not in late:
                found[attribute] = each
            elif self._is_authors(late[attribute]) and not _is_fixed(each):
                self._results[self._name, id(value), attribute] = _Result(each, partial(late[attribute], value))
        return found

    def _computed(self, cls: type) -> dict[str, Callable[..., Any]]:
        """The functions of computed attributes by name; switches are computed by the language."""
        if cls not in self._late:
            members = {name: each for base in reversed(cls.__mro__) for name, each in vars(base).items()}
            made = {name: each for name, each in members.items() if isinstance(each, cached_property | Switches)}
            self._late[cls] = {name: getattr(each, "func", type(each).__get__) for name, each in made.items()}
        return self._late[cls]

    def _copied(self, value: Any) -> list[Any]:
        """What an object holds, by the data from which it would be copied; CannotTell if it cannot be copied."""
        kind: Any = type(value)
        reduce = copyreg.dispatch_table.get(kind)
        try:
            reduced: Any = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception:
            raise self._cannot_tell(f"a {kind.__qualname__}") from None
        if isinstance(reduced, str):
            return [reduced]
        made, given, state, elements, items = (*reduced, None, None, None)[:5]
        if isinstance(state, dict):
            state = {attribute: each for attribute, each in state.items() if attribute not in self._computed(kind)}
        return [made, given, state, *(elements or ()), *(items or ())]

    def _cannot_tell(self, what: str) -> CannotTell:
        unknown = CannotTell(what)
        unknown.name = self._name
        return unknown


_Way = Callable[[Digest, Any], list[Any]]

_WAYS: Final[tuple[tuple[Any, _Way], ...]] = (
    (defaultdict, Digest._of_defaults),
    (dict, Digest._of_dict),
    (_LISTED, Digest._of_container),
    (type, Digest._of_class),
    (types.FunctionType, Digest._of_function),
    (
        (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodType),
        lambda _, value: [value.__name__, value.__self__],
    ),
    ((classmethod, staticmethod), lambda _, value: [value.__func__]),
    (property, lambda _, value: [value.fget, value.fset, value.fdel]),
    (cached_property, lambda _, value: [value.func]),  # it holds a lock
    (type(lru_cache(len)), Digest._of_cache),
    (ContextVar, lambda _, value: [value.get(None)]),
    ((types.CellType, types.MappingProxyType), lambda _, value: gc.get_referents(value)),
    (BaseException, Digest._of_exception),
    (io.IOBase, Digest._of_stream),
    (
        (
            types.ModuleType,
            types.GetSetDescriptorType,
            types.MemberDescriptorType,
            types.GenericAlias,
            logging.Filterer,
        )
        + (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType, weakref.ref)
        + (type(threading.Lock()), type(threading.RLock()), type(NotImplemented)),
        lambda _, value: [getattr(value, "__name__", None)],  # Python's own, or nobody should look at their content
    ),
    (object, Digest._of_object),
)
"""By type, what a value holds; the first type that fits counts."""


def members_of(cls: type) -> Iterator[tuple[str, Any]]:
    """The members of a class with their names, without those that Python makes, some of them late."""
    for name, value in vars(cls).items():
        if not (name[:1] == name[-1:] == "_" or name == "_abc_impl"):
            yield name, value


def _is_in_c(cls: type) -> bool:
    """Whether a class may have an interior that is written in C."""
    if not cls.__flags__ & _NOT_STATIC:
        return True
    of_python = {"__slots__", "__dict__", "__weakref__"} & vars(cls).keys()
    return not of_python and not any(isinstance(each, types.FunctionType) for each in vars(cls).values())


def _is_fixed(value: Any) -> bool:
    """Whether a value is known to be immutable, with all that it holds."""
    if isinstance(value, tuple | frozenset):
        return not hasattr(value, "__dict__") and all(map(_is_fixed, value))
    return type(value) in _ATOMS or isinstance(value, Enum | type)


def _calls_in(kept: Any) -> Iterator[tuple[Any, list[Any], dict[str, Any]]]:
    """The keys of the results in a `functools.cache`, with the arguments of their calls."""
    keys = [each for each in gc.get_referents(kept) if type(each) is dict][-2]  # the last one has its attributes
    for key in [*keys]:
        given, named = list(key) if type(key) is tuple else [key], list[Any]()
        mark = next((at for at, each in enumerate(given) if type(each) is object), len(given))
        given, named = given[:mark], given[mark + 1 :]
        if kept.cache_parameters()["typed"]:  # the types of all arguments are behind
            given, named = (given, named[: (len(named) - mark) // 3 * 2]) if named else (given[: mark // 2], [])
        yield key, given, dict(zip(named[::2], named[1::2], strict=True))
