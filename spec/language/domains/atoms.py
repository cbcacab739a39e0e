"""Domains of values without parts: integers, enumerations, and the value that is left out."""

# ruff: noqa: D102  (Domain documents the methods)

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from numbers import Integral
from typing import Any, Final, TypeVar

from spec.language.allowed_values import listed
from spec.language.domains.base import Domain
from spec.language.domains.records import require_plain_reading
from spec.language.errors import OutOfDomain, SpecificationError, equal_looking, safe_repr
from spec.language.identity import is_same_value

T = TypeVar("T")

MOST_LISTED: Final = 20
"""The most values that a message lists; after these it gives their number."""


class IntegerDomain(Domain[int]):
    """See `integers`."""

    def __init__(self, low: int, high: int):
        self.low, self.high, self.size = low, high, high - low + 1

    def rank(self, value: Any) -> int:
        if value.__class__ is not int or not self.low <= value <= self.high:
            raise OutOfDomain(value, str(self))
        return value - self.low

    def unrank(self, code: int) -> int:
        return self.low + code

    def __str__(self) -> str:
        return f"an integer of {safe_repr(self.low)}..{safe_repr(self.high)}"

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return self.low, self.high


class EnumerationDomain(Domain[T]):
    """See `one_of`."""

    def __init__(self, values: Iterable[T]):
        self.values: tuple[T, ...] = tuple(map(_plain, listed(values)))
        for cls in {cls for value in self.values for cls in _records_in(value)}:
            require_plain_reading(cls)
        try:
            self._codes = {value: code for code, value in enumerate(self.values)}
        except TypeError:
            raise SpecificationError(
                f"an enumeration of {safe_repr(self.values)}: its values must be immutable"
            ) from None
        if len(self._codes) < len(self.values):
            twice = f"an enumeration of {safe_repr(self.values)}: a value occurs twice"
            raise SpecificationError(f"{twice}{self._in_disguise()}")
        if any(isinstance(value, float) and value != value for value in self.values):
            raise SpecificationError(f"an enumeration of {safe_repr(self.values)}: nan is not equal to itself")
        self.size = len(self.values)

    def _in_disguise(self) -> str:
        """How two values that look different are equal, if there are such."""
        first: dict[Any, Any] = {}
        for value in self.values:
            other = first.setdefault(value, value)
            if not is_same_value(other, value):
                records = hasattr(other, "_fields") and hasattr(value, "_fields")
                hint = "; a field for the kind, kind: Literal[...], distinguishes them" if records else ""
                return f", because {safe_repr(other)} equals {safe_repr(value)} in Python{hint}"
        return ""

    def rank(self, value: Any) -> int:
        try:
            code = self._codes[value]
        except (KeyError, TypeError):
            code = -1
        if code < 0 or not is_same_value(value, self.values[code]):  # True equals 1, and a NamedTuple a tuple
            raise OutOfDomain(value, f"{self}{equal_looking(value, self._types)}")
        return code

    @cached_property
    def _types(self) -> set[type]:
        return {*map(type, self.values)}

    def unrank(self, code: int) -> T:
        return self.values[code]

    def __str__(self) -> str:
        return safe_repr(self.values[0]) if self.size == 1 else f"one of {listed_some(self.values)}"

    def likeness(self, of: Callable[[Domain[Any]], Hashable]) -> tuple[Hashable, ...]:
        return tuple(map(id, self.values))


class LeftOut:
    """The only value of data that a model leaves out: it absorbs arithmetic and cannot be read.

    An unbounded counter (a zxid, a number of children ever created) would make the state space infinite. Leaving it
    out is harmless as long as it is never read. This value ensures that: adding to it returns it, while comparing or
    measuring it raises an error, so the author learns that the counter is needed.
    """

    __slots__ = ()

    def _absorb(self, _other: object) -> LeftOut:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __or__ = __ror__ = __and__ = __rand__ = _absorb

    def _refuse(self, *_: object) -> Any:
        raise SpecificationError("a value that the specification leaves out was read")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __len__ = __iter__ = __contains__ = __int__ = __index__ = __format__ = _refuse

    __hash__ = object.__hash__  # defining `__eq__` removes it

    def __repr__(self) -> str:
        return "LEFT_OUT"

    def __reduce__(self) -> str:
        return "LEFT_OUT"


LEFT_OUT: Final = LeftOut()
"""The value of `left_out()`: it stands wherever the model leaves out data."""


class LeftOutDomain(Domain[LeftOut]):
    """See `left_out`."""

    size = 1

    def rank(self, value: Any) -> int:
        return 0

    def unrank(self, code: int) -> LeftOut:
        return LEFT_OUT

    def __str__(self) -> str:
        return "anything: it is left out"


def _plain(value: Any) -> Any:
    """A value as plain Python: numpy's integers, which equal ints but are of other classes, become ints."""
    return value if isinstance(value, int) or not isinstance(value, Integral) else int(value)


def _records_in(value: Any) -> Iterator[type]:
    """The classes of the records in a value."""
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            yield type(value)
        for part in tuple.__iter__(value):
            yield from _records_in(part)
    elif isinstance(value, frozenset):
        for part in value:
            yield from _records_in(part)


def listed_some(values: Collection[Any]) -> str:
    """Values for a message: all of them, or the first ones and their number."""
    if len(values) <= MOST_LISTED:
        return ", ".join(map(str, values))
    return f"{', '.join(map(str, islice(values, MOST_LISTED)))}, ... ({len(values):,} of them)"
