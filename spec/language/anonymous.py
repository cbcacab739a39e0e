"""Anonymous values: in place of interchangeable ones they find the action or property that tells these apart.

They are equal or not, can be put into sets, stand as keys, and that is all. Code that orders them, counts with them
or compares one with a constant gets `ToldApart`. Only conversions are free, for real code writes ids into paths and
reads them with `int`: `str` gives the name, and `int` a number that is equal to this value and no other. Code that
then orders the names or the numbers is not found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from spec.language.errors import SpecificationError

NUMBERS: Final = 10**9
"""From here on, integers stand for anonymous values."""


class ToldApart(SpecificationError):
    """Interchangeable values were told apart otherwise than by equality."""


class Anonymous:
    """One of the interchangeable values of a sort, of which only equality can be asked."""

    __slots__ = ("_values", "sort", "value")

    def __init__(self, sort: str, value: Any, values: tuple[Any, ...]):
        self.sort, self.value, self._values = sort, value, values

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Anonymous):
            return self.sort == other.sort and bool(self.value == other.value)
        if type(other) is int and other >= NUMBERS:
            return other == int(self)
        if other in self._values:
            raise ToldApart(f"it singles out {self.sort} {other!r}")
        return False

    def __int__(self) -> int:
        return NUMBERS + self._values.index(self.value)

    def __hash__(self) -> int:
        return 0x5EED  # the same for all: nothing can depend on how they hash

    def __str__(self) -> str:
        return str(self.value)

    __repr__ = __str__

    def __bool__(self) -> NoReturn:
        raise ToldApart(f"it asks whether a {self.sort} is true")

    def _order(self, _: object) -> NoReturn:
        raise ToldApart(f"it orders {self.sort}s")

    def _count(self, *_: object) -> NoReturn:
        raise ToldApart(f"it counts with a {self.sort}")

    __lt__ = __le__ = __gt__ = __ge__ = _order
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = _count
    __mod__ = __rmod__ = __floordiv__ = __divmod__ = __truediv__ = __pow__ = __xor__ = _count
    __and__ = __or__ = __lshift__ = __rlshift__ = __rshift__ = __index__ = __float__ = _count
    __len__ = __iter__ = __getitem__ = __contains__ = _count


_open = 0


def values_are_anonymous() -> bool:
    """Whether interchangeable values are anonymous just now."""
    return bool(_open)


@contextmanager
def anonymity() -> Iterator[None]:
    """While it is open, `interchangeable` gives anonymous values."""
    global _open
    _open += 1
    try:
        yield
    finally:
        _open -= 1
