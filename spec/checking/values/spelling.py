"""Spelling: how values are written so that no two values of one place look alike.

A member of an enumeration is written by its name, `OPEN`, a record in JSON by its fields. Where a type holds two
values that would then look alike, such as members of two enumerations, or a member and a string, the parts that
differ are written in full: `Valve.OPEN`, `"OPEN"`. The same holds for keys of a mapping.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from types import NoneType
from typing import Any, Final

from spec.checking.values.literals import literal
from spec.language.cells import key_in_brackets
from spec.language.domains import ABSENT, LEFT_OUT, Domain, EnumerationDomain, OptionalDomain, PossiblyDomain
from spec.language.errors import printed
from spec.language.identity import identity
from spec.language.state import Layout, distinct_names

BARE: Final = (NoneType, bool, int)
"""Types whose values are always written as they are."""
WORDS: Final = frozenset({"?", "absent", "false", "none", "true"})
"""The words for values that have no name."""


@dataclass(frozen=True)
class Spelling:
    """The values that are written in full, by identity."""

    words: Mapping[Hashable, str] = field(default_factory=dict)
    """For members, strings and the like; and for sets, which are lists in JSON."""
    keys: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    """For keys of mappings, by the name of the variable, as written in brackets."""
    members: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    """For keys of mappings, by the name of the variable, as names in JSON."""

    def word(self, value: Any) -> str | None:
        """The full form of a value; None if it needs none."""
        return self.words.get(identity(value)) if self.words else None

    def key(self, variable: str, key: Any) -> str:
        """A key of a variable, as in the name of a place: `account[bob]`."""
        return self.keys.get(variable, {}).get(key) or key_in_brackets(key)

    def member(self, variable: str, key: Any) -> str:
        """A key of a variable, as the name of a member of a JSON object."""
        return self.members.get(variable, {}).get(key) or name_of_key(key)


PLAIN: Final = Spelling()
"""Nothing is written in full."""


def spelling_of(
    layout: Layout,
    parameters: Iterable[Domain[Any]],
    text: Callable[[Any, Spelling], str],
    forms: Sequence[Callable[[Any, Spelling], Any]],
) -> Spelling:
    """The spelling of a specification.

    Args:
        layout: of its states.
        parameters: the domains of its actions' parameters.
        text: writes a value. No two values of a place may look alike, except records that print themselves.
        forms: each writes a value as JSON, under the same condition.
    """
    spelling, leaves = (
        Spelling({}, {each.name: each.names for each in layout.variables.values()}, _members(layout)),
        dict[Hashable, Any](),
    )
    places = [
        choices
        for domain in (*(cell.domain for cell in layout.cells), *parameters)
        for choices in _places(domain)
        if not _distinct_as_they_are(choices)
    ]
    while True:
        alike = {
            identity(leaf): leaf
            for choices in places
            for write in (text, *forms)
            for values in _alike(choices, lambda value: json.dumps(write(value, spelling), sort_keys=True))  # noqa: B023
            if write is not text or not any(map(_prints_itself, values))
            for leaf in _differing(values)
        }
        if alike.keys() <= leaves.keys():
            return spelling
        leaves |= alike
        spelling = replace(spelling, words=_in_full(leaves))


def _members(layout: Layout) -> dict[str, Mapping[Any, str]]:
    found: dict[str, Mapping[Any, str]] = {}
    for variable in layout.variables.values():
        keys = [*variable.names]
        found[variable.name] = dict(zip(keys, distinct_names(keys, name_of_key, literal), strict=True))
    return found


def name_of_key(key: Any) -> str:
    """A key of a mapping as the name of a JSON member."""
    return name_of_member(key) if isinstance(key, Enum) else printed(key)


def name_of_member(member: Enum) -> str:
    """A member of an enumeration by its name; flags without one as a Python expression."""
    return member.name or literal(member)


def _places(domain: Domain[Any]) -> Iterator[Sequence[Any]]:
    """The listed values of each place, of a domain and of its inner domains."""
    nothing: list[Any] = []
    while isinstance(domain, OptionalDomain | PossiblyDomain):
        nothing.append(domain.nothing)
        domain = domain.domain
    listed = domain.values if isinstance(domain, EnumerationDomain) else ()
    yield (*nothing, *listed)
    for inner in domain.inner:
        yield from _places(inner)


def _leaves(value: Any) -> Iterator[Any]:
    """The parts of a value that can be written in full."""
    if isinstance(value, tuple):
        yield from chain.from_iterable(map(_leaves, value))
    elif isinstance(value, frozenset):
        yield value
        yield from chain.from_iterable(map(_leaves, value))
    elif type(value) not in BARE and value is not LEFT_OUT:
        yield value


def _distinct_as_they_are(choices: Sequence[Any]) -> bool:
    """Whether the values are distinct without writing them all: they are made of members of enumerations, strings and
    bare values, and no two of these have one name.
    """
    kinds, texts, values, met = set[type](), set[str](), [*choices], set[int]()
    while values:
        value = values.pop()
        if id(value) not in met:
            met.add(id(value))
            kinds.add(frozenset if isinstance(value, frozenset) else type(value))
            texts |= {value} if type(value) is str else set()
            values += value if isinstance(value, tuple | frozenset) else ()
    if {tuple, frozenset} <= kinds or {type(ABSENT), NoneType} <= kinds:
        return False
    records = {kind for kind in kinds if hasattr(kind, "_fields")}
    others = kinds.difference(BARE, records, (str, tuple, frozenset, type(ABSENT), type(LEFT_OUT)))
    enumerations = [kind for kind in others if issubclass(kind, Enum)]
    if len(enumerations) < len(others):
        return False
    names = [*(texts - WORDS), *WORDS, *(name for kind in enumerations for name in kind.__members__)]
    return len({*names}) == len(names) and len({record.__name__ for record in records}) == len(records)


def _prints_itself(value: Any) -> bool:
    """Whether a record in it has a printed form of its own, which may leave out anything."""
    if isinstance(value, tuple) and type(value).__str__ is not tuple.__str__:
        return True
    return isinstance(value, tuple | frozenset) and any(map(_prints_itself, value))


def _alike(choices: Sequence[Any], write: Callable[[Any], str]) -> Iterable[Sequence[Any]]:
    """Groups of values that are written alike."""
    found = defaultdict[str, list[Any]](list)
    for value in choices:
        found[write(value)].append(value)
    return [values for values in found.values() if len(values) > 1]


def _differing(values: Sequence[Any]) -> Iterable[Any]:
    """The leaves that only some of these values have."""
    leaves = [{identity(leaf): leaf for leaf in _leaves(value)} for value in values]
    had = Counter(chain.from_iterable(leaves))
    every = {name: leaf for each in leaves for name, leaf in each.items()}
    return [leaf for name, leaf in every.items() if had[name] < len(values)]


def _in_full(leaves: Mapping[Hashable, Any]) -> dict[Hashable, str]:
    """The shortest names that distinguish these: `OPEN` with its class, the class's outer class, or the module."""
    words = {name: _names(leaf) for name, leaf in leaves.items()}
    while True:
        often = Counter(names[0] for names in words.values())
        longer = {name: names[1:] for name, names in words.items() if often[names[0]] > 1 and len(names) > 1}
        if not longer:
            return {name: names[0] for name, names in words.items()}
        words |= longer


def _names(leaf: Any) -> list[str]:
    """The names of a leaf, the shortest first."""
    if not isinstance(leaf, Enum):
        return [literal(leaf)]
    cls, name = type(leaf), name_of_member(leaf)
    return [f"{each}.{name}" for each in (cls.__name__, cls.__qualname__, f"{cls.__module__}.{cls.__qualname__}")]
