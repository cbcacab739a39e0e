"""Domains of values that nobody lists: a value gets its number from its own text when it is met.

The number is a hash of the text. So it is the same in every process, whoever meets the value first, and states that
hold it compare, sort and merge as others do. A domain keeps the values that it has met, by number: it can read a
number only if it has met the value.
"""

# ruff: noqa: D102  (Domain documents the methods)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from hashlib import blake2b
from typing import Any, Final, TypeVar

from spec.language.domains.base import Domain, Slot
from spec.language.domains.collections import Subset
from spec.language.domains.records import FrozenMapping, require_plain_reading
from spec.language.errors import OutOfDomain, SpecificationError, safe_repr
from spec.language.identity import is_same_value

T = TypeVar("T")

DIGITS: Final = 10
"""A number has so many digits of four bits, each in a slot of its own: a decision table has an edge for each digit.
Of 100,000 values, two have the same number with a probability of 1 in 200; then `rank` says so."""
BASE: Final = 16
ANY: Final = (
    "a value made of None, booleans, numbers, strings, members of enumerations, tuples, NamedTuples, frozensets and "
    "frozen({...})"
)


class InternedDomain(Domain[T]):
    """See `interned`."""

    size = BASE**DIGITS - 1  # fewer than there are rows of digits: no engine may make up a row

    def __init__(self, first: T):
        self._classes: dict[str, Any] = {}
        try:
            value, text = _canonical(first, self._classes)
        except OutOfDomain as wrong:
            raise SpecificationError(f"interned({safe_repr(first)}): {wrong}") from None
        self.values: dict[int, T] = {0: value}
        """The values met so far, by number."""
        self._texts = {0: text}
        self._numbers: dict[Any, tuple[Any, int]] = {value: (value, 0)}

    def rank(self, value: Any) -> int:
        try:
            met, number = self._numbers[value]
        except (KeyError, TypeError):
            return self._meet(value)
        return number if met is value or is_same_value(met, value) else self._meet(value)

    def _meet(self, value: Any) -> int:
        canonical, text = _canonical(value, self._classes)
        number = 0 if text == self._texts[0] else self._number_of(text)
        if self._texts.setdefault(number, text) != text:
            raise SpecificationError(
                f"two interned values have the same number, which happens to one pair in 10^12: {text} and "
                f"{self._texts[number]}; another name for a part of one of them helps"
            )
        self.values.setdefault(number, canonical)
        met, other = self._numbers.setdefault(canonical, (canonical, number))
        if other != number:
            raise SpecificationError(
                f"interned {safe_repr(value)} equals {safe_repr(met)} in Python, and is another value: {text} and "
                f"{self._texts[other]}"
            )
        return number

    def _number_of(self, text: str) -> int:
        """A number above 0."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return 1 + int.from_bytes(digest, "big") % (self.size - 1)

    def unrank(self, code: int) -> T:
        """The value with this number; for any other number, one of the values met."""
        return self.values[code] if code in self.values else [*self.values.values()][code % len(self.values)]

    def _slots(self) -> Iterator[Slot]:
        return (Slot(f" digit {number}", BASE) for number in range(1, DIGITS + 1))

    def codes(self, value: Any) -> tuple[int, ...]:
        number = self.rank(value)
        return tuple(number // BASE**at % BASE for at in reversed(range(DIGITS)))

    def value(self, codes: Sequence[int]) -> T:
        number = 0
        for digit in codes:
            number = number * BASE + digit
        return self.values[number]

    def __contains__(self, value: object) -> bool:
        try:
            _canonical(value, dict(self._classes))
        except (OutOfDomain, SpecificationError):
            return False
        return True

    def __str__(self) -> str:
        return ANY

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the values met: a run is the same run whatever its process has met."""
        return InternedDomain, (self.values[0],)


def has_interned_part(domain: Domain[Any]) -> bool:
    """Whether a part of a domain's values is interned."""
    seen, left = set[int](), [*domain.inner]
    while left:
        inner = left.pop()
        if isinstance(inner, InternedDomain):
            return True
        if id(inner) not in seen:
            seen.add(id(inner))
            left += inner.inner
    return False


def _canonical(value: Any, classes: dict[str, Any]) -> tuple[Any, str]:
    """A value with its sets and mappings in the order of their texts, and a text that no other value has.

    Args:
        value: it, or a part of it.
        classes: by name, those met so far.

    Raises:
        OutOfDomain: it can be changed in place, or is an object of some other class.
        SpecificationError: it is of another class than a value met before, and they have one name.
    """
    cls: Any = type(value)
    if isinstance(value, Enum):
        if cls.__members__.get(value._name_) is not value:  # flags of several members, or of none
            raise OutOfDomain(value, ANY)
        return value, f"{_name(cls, classes)}[{value._name_}]"
    if cls is int:
        return value, hex(value)
    if value is None or cls in (bool, str, bytes) or (cls is float and value == value):
        return value, repr(value)
    if cls is tuple or (isinstance(value, tuple) and hasattr(cls, "_fields")):
        if cls is not tuple:
            require_plain_reading(cls)
            if hasattr(value, "__dict__"):
                raise SpecificationError(f"interned {cls.__name__}: a value could be changed; give it __slots__ = ()")
        found = [_canonical(part, classes) for part in tuple.__iter__(value)]
        text = f"{'' if cls is tuple else _name(cls, classes)}({', '.join(text for _, text in found)})"
        return tuple.__new__(cls, (part for part, _ in found)), text
    if cls in (frozenset, Subset):
        members = sorted((_canonical(each, classes) for each in frozenset.__iter__(value)), key=lambda each: each[1])
        order = {member: number for number, (member, _) in enumerate(members)}
        return Subset(order, order), f"{{{', '.join(text for _, text in members)}}}"
    if cls is FrozenMapping:
        items = [(_canonical(key, classes), _canonical(part, classes)) for key, part in value.items()]
        items.sort(key=lambda item: item[0][1])
        text = ", ".join(f"{key}: {part}" for (_, key), (_, part) in items)
        return FrozenMapping({key: part for (key, _), (part, _) in items}), f"frozen({text})"
    raise OutOfDomain(value, ANY)


def _name(cls: Any, classes: dict[str, Any]) -> str:
    name = f"{cls.__module__}.{cls.__qualname__}"
    if classes.setdefault(name, cls) is not cls:
        raise SpecificationError(f"interned values are of two classes that are called {name}; rename one of them")
    return name
