"""Values of a state in writing: as text for a person, as JSON for a program, as ITF for other tools.

A string has no quotes unless it could be mistaken for something else: none, a boolean, a number, several values or a
part of one; or it has invisible characters (`spec.language.errors.escaped`).

No two values of one place look alike. A member of an enumeration is written by its name, `OPEN`, a record in JSON by
its fields. Where a type holds two values that would then look alike, such as members of two enumerations, or a member
and a string, the parts that differ are written in full: `Valve.OPEN`, `"OPEN"`. The same holds for keys of a mapping.
How the values of a specification are written is its *spelling*.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from types import NoneType
from typing import Any, Final

from spec.checking.values.literals import literal
from spec.language.cells import key_in_brackets
from spec.language.domains import (
    ABSENT,
    LEFT_OUT,
    Domain,
    EnumerationDomain,
    FrozenMapping,
    OptionalDomain,
    PossiblyDomain,
    Subset,
)
from spec.language.errors import LONGEST_INTEGER, escaped, printed, safe_repr
from spec.language.identity import identity
from spec.language.state import Layout, distinct_names

# Spelling.


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
    """The spelling of a specification: of its states, and of the parameters of its actions. No two values of a place
    may look alike in the text or in a form of JSON, except records that print themselves.
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


# Text.


PARTING: Final = frozenset('()[]{},;"\\')
"""Characters that separate or quote values."""
BEGINS: Final = ("(", "[", "{", '"', "'")
ENDS: Final = (")", "]", "}")
"""First and last characters of values that have parts or quotes."""
DIGITS: Final = 4_000
"""Digits of an integer that are written at once; Python refuses more than 4,300."""


def show(value: Any, spelling: Spelling = PLAIN, *, inside: bool = False) -> str:
    """A value of a state, in short form: records without fields that are left out or have their defaults.

    Args:
        value: of a state, or of a parameter.
        spelling: of the specification that has it.
        inside: whether it is one of several values separated by commas.

    >>> show((None, True, frozenset({2}))), show(()), show("yes"), show("none")
    ('(none, true, {2})', '()', 'yes', '"none"')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if _is_record(value):
        return _record(value, spelling)
    if isinstance(value, frozenset):
        return "{" + ", ".join(show(part, spelling, inside=True) for part in value) + "}"
    if isinstance(value, tuple) and value.__class__.__str__ is tuple.__str__:
        parts = ", ".join(show(part, spelling, inside=True) for part in value)
        return f"({parts}{',' * (len(value) == 1)})"
    if isinstance(value, FrozenMapping):
        pairs = ([show(each, spelling, inside=True) for each in pair] for pair in value.items())
        return f"{{{', '.join(map(': '.join, pairs))}}}"
    word = spelling.word(value)
    if word is not None:
        return escaped(word)
    if isinstance(value, Enum):
        name = name_of_member(value)
        return name if name.isprintable() else escaped(literal(value))
    if value is ABSENT or value is LEFT_OUT:
        return "absent" if value is ABSENT else "?"
    if isinstance(value, str):
        return value if _is_plain(value, inside) else literal(value)
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:
        return f"{value:#x}"
    return escaped(printed(value))


def _is_plain(text: str, inside: bool) -> bool:
    """Whether a string cannot be mistaken for any other value."""
    if not text or text != text.strip() or not text.isprintable() or text.lower() in WORDS or "->" in text:
        return False
    if inside and PARTING & {*text}:
        return False
    return not (text.startswith(BEGINS) or text.endswith(ENDS) or _is_number(text))


def _is_number(text: str) -> bool:
    for number in (float, lambda text: int(text, 0)):
        try:
            number(text)
        except ValueError:
            continue
        return True
    return False


def change_text(old: Any, new: Any, spelling: Spelling = PLAIN) -> str:
    """The old and the new value of a place; for a set, the members added and removed.

    >>> change_text(1, 2), change_text(frozenset({1, 2}), frozenset({2, 3}))
    ('1 -> 2', '+{3} -{1}')
    """
    if isinstance(old, frozenset) and isinstance(new, frozenset) and old != new:
        come, gone = new - old, old - new
        return " ".join(
            [*([f"+{show(come, spelling)}"] if come else []), *([f"-{show(gone, spelling)}"] if gone else [])]
        )
    before, after = show(old, spelling), show(new, spelling)
    if before == after:  # one lies outside its domain, and looks like a value in it
        before, after = literal(old), literal(new)
    return f"{before} -> {after}"


def _is_record(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _record(value: Any, spelling: Spelling) -> str:
    fields = fields_of(value)
    if fields is None:
        text = str(value)
        return text if text.isprintable() else escaped(literal(value))
    parts = ", ".join(f"{name}={show(part, spelling, inside=True)}" for name, part in fields)
    return f"{value.__class__.__name__}({parts})"


def fields_of(value: Any) -> list[tuple[str, Any]] | None:
    """The fields of a record that are neither left out nor at their defaults; None if it has its own printed form.

    For anything but a record the result is None, too.
    """
    cls: Any = value.__class__  # not type(value), since a lazy value has another type
    if not _is_record(value) or cls.__str__ not in (tuple.__str__, object.__str__):
        return None
    usual = getattr(cls, "_field_defaults", {})
    return [
        (name, part)
        for name, part in zip(cls._fields, value, strict=True)
        if part is not LEFT_OUT and not (name in usual and usual[name] == part)
    ]


def _is_live(value: object) -> bool:
    """Whether it is a mapping of the state itself, in an untyped value that was assigned: it may contain itself."""
    return isinstance(value, MutableMapping) and not isinstance(value, dict)


def jsonable(value: Any, spelling: Spelling = PLAIN) -> Any:
    """A value of a state as JSON: records as objects, sets and tuples as lists, absent things as null."""
    if value is None:
        return None
    if _is_record(value):
        parts = zip(value._fields, value, strict=True)
        return {name: jsonable(part, spelling) for name, part in parts if part is not LEFT_OUT}
    if _is_live(value):
        return printed(value)
    if isinstance(value, Mapping):
        return {name_of_key(key): jsonable(part, spelling) for key, part in value.items() if part is not LEFT_OUT}
    if isinstance(value, frozenset):
        members = value if isinstance(value, Subset) else sorted(value, key=safe_repr)
        found = [jsonable(part, spelling) for part in members]
        return found if spelling.word(value) is None else {"#set": found}
    if isinstance(value, tuple):
        return [jsonable(part, spelling) for part in value]
    word = spelling.word(value)
    if word is not None:
        return word
    if isinstance(value, Enum):
        return name_of_member(value)
    if value is ABSENT or value is LEFT_OUT:
        return None
    if isinstance(value, bool | str) or (isinstance(value, int) and value.bit_length() <= LONGEST_INTEGER):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return f"{value:#x}" if isinstance(value, int) else printed(value)


def jsonable_change(old: Any, new: Any, spelling: Spelling = PLAIN) -> list[Any]:
    """The old and the new value of a place, as JSON."""
    before, after = jsonable(old, spelling), jsonable(new, spelling)
    return [before, after] if before != after or type(before) is not type(after) else [literal(old), literal(new)]


def jsonable_state(variables: Mapping[str, Any], spelling: Spelling = PLAIN) -> dict[str, Any]:
    """The variables of a state as JSON: a mapping as an object of its keys."""
    return {
        name: {
            spelling.member(name, key): jsonable(part, spelling)
            for key, part in value.items()
            if part is not LEFT_OUT
        }
        if isinstance(value, Mapping)
        else jsonable(value, spelling)
        for name, value in variables.items()
        if value is not LEFT_OUT
    }


def encoded(value: Any, spelling: Spelling = PLAIN) -> Any:
    """A value of a state as an expression of ITF, see `itf`.

    >>> encoded((None, True, 3)), encoded(frozenset({2}))
    ([{'#tup': []}, True, {'#bigint': '3'}], {'#set': [{'#bigint': '2'}]})
    """
    if isinstance(value, Enum):
        word, name = spelling.word(value), name_of_member(value)
        return name if word is None else {"tag": word.removesuffix(f".{name}"), "value": name}
    if value is None:
        return {"#tup": []}
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"#bigint": _digits(value)}
    if _is_record(value):
        parts = zip(value._fields, value, strict=True)
        return {
            "tag": type(value).__name__,
            "value": {name: encoded(part, spelling) for name, part in parts if part is not LEFT_OUT},
        }
    if _is_live(value):
        return {"#unserializable": printed(value)}
    if isinstance(value, Mapping):
        there = [(key, part) for key, part in value.items() if part is not LEFT_OUT]
        return {"#map": in_order([encoded(key, spelling), encoded(part, spelling)] for key, part in there)}
    if isinstance(value, frozenset):
        return {"#set": in_order(encoded(part, spelling) for part in value)}
    if isinstance(value, tuple):
        return [encoded(part, spelling) for part in value]
    return {"#unserializable": show(value, spelling)}


def in_order(expressions: Iterable[Any]) -> list[Any]:
    """Sorted as ITF requires for collections without an order."""
    return sorted(expressions, key=lambda each: json.dumps(each, sort_keys=True))


def _digits(value: int) -> str:
    """An integer in decimal, however large."""
    if value.bit_length() <= LONGEST_INTEGER:
        return str(value)
    left, digits = abs(value), list[str]()
    while left:
        left, lowest = divmod(left, 10**DIGITS)
        digits.append(f"{lowest:0{DIGITS}}")
    return "-" * (value < 0) + "".join(reversed(digits)).lstrip("0")
