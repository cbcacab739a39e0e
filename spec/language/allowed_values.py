"""List the allowed values of a domain, in order and up to a limit.

Values from an author are counted before they are listed. A slip such as `range(10**12)` or an endless iterator then
gives a one-line error instead of exhausting memory or time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final, TypeVar

from spec.language.errors import SpecificationError, safe_repr

T = TypeVar("T")

LISTED: Final = 100_000
"""The most values of a domain, keys of a mapping, choices of an action's parameters or slots of a state that are
listed. Each takes up to a kilobyte, so the limit costs a tenth of a gigabyte and about a second. The compiled engine
stops earlier, at 2**16. No engine explores a system of that size, because every choice is tried in every state.
Parameters that range over part of the state do not count: of these, only the values that are there are tried."""


TRIED: Final = 100_000_000
"""The most choices of the parameters of `initial`, which are tried one after the other, in half an hour or so."""

_GIVE: Final = "give a domain, a range, a sequence or an Enum class"


def listed(values: Iterable[T]) -> tuple[T, ...]:
    """The values of an ordered, finite iterable; SpecificationError if it has no order, or too many values."""
    if isinstance(values, str | bytes):
        raise refused(values, 'a string is one value: write one_of("..."), or one_of(*"...") for its characters')
    if isinstance(values, AbstractSet) and not isinstance(values, type({}.keys()) | type({}.items())):
        raise refused(values, f"a set has no order: {_GIVE}")
    if isinstance(values, Mapping):
        raise refused(values, "give its keys or its values; a variable that holds a mapping is mapping(...)")
    try:
        given = iter(values)
    except TypeError:
        raise refused(values, _GIVE) from None
    before = safe_repr(values) if given is values else None  # a used iterator may have another repr
    found = tuple(islice(given, LISTED + 1))
    if len(found) > LISTED:
        within(len(found), before or safe_repr(values), "values", at_least=True)
    return found


def within(number: int, what: object, of: str, *, at_least: bool = False) -> None:
    """Require that this number of values can be listed; SpecificationError if there are too many."""
    if number > LISTED:
        more = f"more than {LISTED:,}" if at_least else counted(number)
        raise SpecificationError(f"{what}: {more} {of}, and at most {LISTED:,} are listed")


def can_be_tried(number: int, what: object) -> None:
    """Require that this number of choices can be tried; SpecificationError if there are too many."""
    if number > TRIED:
        raise SpecificationError(f"{what}: {counted(number)} choices, and at most {TRIED:,} are tried")


def refused(values: object, hint: str) -> SpecificationError:
    """The error for a value that is not a domain."""
    return SpecificationError(f"{safe_repr(values)} is not a domain: {hint}")


def counted(number: int) -> str:
    """A number of any size, for a person to read."""
    return f"{number:,}" if number < 10**15 else f"about 2**{number.bit_length() - 1}"
