"""Listing: values are iterated in their order, and never without end.

Whatever an author hands over is counted before it is listed, so that a slip, `range(10**12)` or an endless
iterator, costs a line and neither the memory nor the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Final, TypeVar

from spec.language.errors import SpecificationError, safe_repr

T = TypeVar("T")

LISTED: Final = 100_000
"""So many values of a domain, keys of a mapping, choices of parameters, slots of a state are listed, at most: each
takes up to a kilobyte, so that this is a tenth of a gigabyte and a second's work. The compiled engine stops before
it, at 2**16; a system of that size is not explored by any, for every choice is tried in every state."""


_GIVE: Final = "give a domain, a range, a sequence or an Enum class"


def listed(values: Iterable[T]) -> tuple[T, ...]:
    """Values that stand in an order, which ends.

    Raises:
        SpecificationError: they are not such, or too many.
    """
    if isinstance(values, str | bytes):
        raise refused(values, "a string is one value, so write one_of(...) around it, with a * for each character")
    if isinstance(values, AbstractSet) and not _is_ordered_view(values):
        raise refused(values, f"a set has no order; {_GIVE}")
    if isinstance(values, Mapping):
        raise refused(values, "give its keys or its values; a variable that is a mapping is mapping(...)")
    try:
        given = iter(values)
    except TypeError:
        raise refused(values, _GIVE) from None
    before = safe_repr(values) if given is values else None  # an iterator may look otherwise when it was gone through
    found = tuple(islice(given, LISTED + 1))
    if len(found) > LISTED:
        within(len(found), before or safe_repr(values), "values", at_least=True)
    return found


def within(number: int, what: object, of: str, *, at_least: bool = False) -> None:
    """Require that so many values can be listed.

    Raises:
        SpecificationError: they are too many.
    """
    if number > LISTED:
        more = f"more than {LISTED:,}" if at_least else counted(number)
        raise SpecificationError(f"{what}: {more} {of}, and at most {LISTED:,} are listed")


def refused(values: object, hint: str) -> SpecificationError:
    """What is wrong with what is no domain."""
    return SpecificationError(f"{safe_repr(values)} is not a domain: {hint}")


def counted(number: int) -> str:
    """A number for a person, however large."""
    return f"{number:,}" if number < 10**15 else f"about 2**{number.bit_length() - 1}"


def _is_ordered_view(values: Any) -> bool:
    """Whether it is a dictionary's keys or items."""
    return isinstance(values, type({}.keys()) | type({}.items()))
