"""Anonymous values: in place of interchangeable ones they find the action or property that tells these apart.

They are equal or not, can be put into sets, stand as keys, and that is all. Code that orders them, counts with them,
looks into them or compares one with a constant gets `ValuesDistinguished`, unless the answer is the same for all of
them; and what it does with that is no matter: it is remembered. So an evaluation that passes does the same whatever
the values are called.

Two things are beyond that. Real code writes ids into paths and reads them with `int`, so conversions are free, and
noticed: `str` gives the name, and `int` a number that is equal to this value and no other. What is done with the text
or the number is not seen here. Neither is the order in which sets and mappings are walked.

A constant that is looked up among anonymous values, or one of these among constants, is compared only if the two
hash alike. So the values of a sort all hash as one of them does, and which one that is changes from `anonymity` to
`anonymity`: a code that passes under each of them looks up none of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import ge, gt, le, lt
from typing import Any, Final, NoReturn

from spec.language.errors import SpecificationError

NUMBERS: Final = 10**9
"""From here on, integers stand for anonymous values."""


class ValuesDistinguished(SpecificationError):
    """Interchangeable values were told apart otherwise than by equality."""

    def __init__(self, why: str):
        super().__init__(why)
        _noticed.distinguished = _noticed.distinguished or self


class AccessRecord:
    """What anonymous values notice of the code that meets them."""

    def __init__(self) -> None:
        self.distinguished: ValuesDistinguished | None = None
        """The first that was raised, caught or not."""
        self.converted = False
        """Whether a value was made text, or a number."""

    def forget(self) -> None:
        """Begin anew."""
        self.distinguished, self.converted = None, False


_noticed = AccessRecord()


class Anonymous:
    """One of the interchangeable values of a sort, of which only equality can be asked."""

    __slots__ = ("_hash", "_values", "sort", "value")

    def __init__(self, sort: str, value: Any, values: tuple[Any, ...]):
        self.sort, self.value, self._values = sort, value, values
        self._hash = hash(values[_hashed_as % len(values)])

    def __eq__(self, other: object) -> bool:
        if type(other) is Anonymous:
            if self.sort == other.sort:
                return bool(self.value == other.value)
            if other.value in self._values:
                raise ValuesDistinguished(f"it compares {with_article(self.sort)} with {with_article(other.sort)}")
            return False
        if type(other) is int and other >= NUMBERS:
            return other == NUMBERS + self._values.index(self.value)
        if other in self._values:
            raise ValuesDistinguished(f"it singles out {self.sort} {other!r}")
        return False

    def __int__(self) -> int:
        _noticed.converted = True
        return NUMBERS + self._values.index(self.value)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        _noticed.converted = True
        return str(self.value)

    def __repr__(self) -> str:
        _noticed.converted = True
        return repr(self.value)

    def __format__(self, form: str) -> str:
        _noticed.converted = True
        return format(self.value, form)

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(self.value, name):
            raise ValuesDistinguished(f"it looks into {with_article(self.sort)}: .{name}")
        raise AttributeError(name)

    def __bool__(self) -> bool:
        return bool(self._of_all(bool, f"it asks whether {with_article(self.sort)} is true"))

    def _of_all(self, ask: Callable[[Any], Any], otherwise: str) -> Any:
        """What holds of all values of the sort alike.

        Raises:
            ValuesDistinguished: it does not.
        """
        one, *more = map(ask, self._values)
        if any(each is not one for each in more):
            raise ValuesDistinguished(otherwise)
        return one

    def _ordered(self, other: object, is_so: Callable[[Any, Any], Any]) -> Any:
        """How it compares with something else, as all values of the sort do."""
        if type(other) is Anonymous or (type(other) is int and other >= NUMBERS):
            raise ValuesDistinguished(f"it orders {self.sort}s")
        return self._of_all(lambda value: is_so(value, other), f"it orders {self.sort}s")

    def __lt__(self, other: object) -> Any:
        return self._ordered(other, lt)

    def __le__(self, other: object) -> Any:
        return self._ordered(other, le)

    def __gt__(self, other: object) -> Any:
        return self._ordered(other, gt)

    def __ge__(self, other: object) -> Any:
        return self._ordered(other, ge)

    def _count(self, *_: object) -> NoReturn:
        raise ValuesDistinguished(f"it counts with {with_article(self.sort)}")

    def _look_into(self, *_: object) -> NoReturn:
        raise ValuesDistinguished(f"it looks into {with_article(self.sort)}")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.value)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __pos__ = __abs__ = __invert__ = _count
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = _count
    __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _count
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __round__ = __trunc__ = __floor__ = __ceil__ = _count
    __index__ = __float__ = __complex__ = _count
    __len__ = __iter__ = __getitem__ = __contains__ = __reversed__ = _look_into


def with_article(sort: str) -> str:
    """One of a sort: "an acceptor", "a server"."""
    return f"{'an' if sort[:1].lower() in {*'aeiou'} else 'a'} {sort}"


_open = 0
_hashed_as = 0


def values_are_anonymous() -> bool:
    """Whether interchangeable values are anonymous just now."""
    return bool(_open)


@contextmanager
def anonymity(hashed_as: int = 0) -> Iterator[AccessRecord]:
    """While it is open, `interchangeable` gives anonymous values. What they notice is given, from the beginning.

    Args:
        hashed_as: the number of the value, of each sort, as which its values hash.
    """
    global _open, _hashed_as
    before, _hashed_as = _hashed_as, hashed_as
    _open += 1
    _noticed.forget()
    try:
        yield _noticed
    finally:
        _open -= 1
        _hashed_as = before
