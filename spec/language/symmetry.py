"""Interchangeable values: the words that make domains of them and of values made from them, and anonymous values.

A *sort* of interchangeable values is Murphi's scalarset and TLC's symmetry set. A system whose servers all behave
alike stays the same when they exchange their names. A permutation exchanges them, see `permutations`.

Anonymous values stand for interchangeable ones, to find actions and properties that distinguish them. They can be
compared for equality, put into sets and used as keys. Code that orders them, does arithmetic with them, reads their
parts or compares one with a constant raises `ValuesDistinguished`, unless the result is the same for all of them. The
error is recorded even if that code catches it. So an evaluation that passes does the same under any names for the
values.

Two things escape this check. Real code writes ids into paths and reads them with `int`, so conversions are allowed
and recorded: `str` gives the name, and `int` a number that equals this value and no other. Later uses of the text or
the number go unseen. So does the order in which sets and mappings are iterated.

Looking up a constant among anonymous values, or an anonymous value among constants, compares the two only if their
hashes are equal. So all values of a sort hash as one of them, which differs from one `anonymity` to the next. Code
that passes under each of them looks up none of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from itertools import chain, repeat
from operator import ge, gt, le, lt
from typing import Any, Final, NoReturn

from spec.language.domains import Domain, EnumerationDomain, IntegerDomain, as_domain, choices_of
from spec.language.errors import SpecificationError
from spec.language.permutations import Moving, Permutation, disjoint_union

# The words. Each makes a domain.


def interchangeable(sort: str, values: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """These values, none of which is special; `sort` names one of them: "server".

    Code that uses them must give the same result if they exchange their names; `--symmetry` checks that it does.
    """
    domain = as_domain(values)
    if values_are_anonymous():
        everyone = tuple(domain)
        domain = EnumerationDomain(Anonymous(sort, value, everyone) for value in domain)
    else:
        domain = copy(domain) if isinstance(domain, IntegerDomain) else EnumerationDomain(domain)
    domain.moving = Moving(
        {sort: tuple(domain)}, lambda value, permutation: permutation.get(sort, {}).get(value, value)
    )
    return domain


def every_combination(make: Callable[..., Any], /, **parts: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """A value made from each choice of the parts, in their order: a record of them, a path, a name.

    A permutation moves the parts and makes the value again.
    """
    domains = {name: as_domain(part) for name, part in parts.items()}
    choices = choices_of(domains)
    made = EnumerationDomain([make(**choice) for choice in choices])
    made_from = dict(zip(made.values, choices, strict=True))

    def move(value: Any, permutation: Permutation) -> Any:
        return make(**{name: domains[name].moved(part, permutation) for name, part in made_from[value].items()})

    made.moving = Moving(disjoint_union(domain.sorts for domain in domains.values()), move)
    return made


def either(*choices: Domain[Any] | Iterable[Any]) -> Domain[Any]:
    """The values of the first domain, then those of the next; no value may be in two."""
    domains = [as_domain(choice) for choice in choices]
    both = EnumerationDomain(chain.from_iterable(domains))
    if sorts := disjoint_union(domain.sorts for domain in domains):
        homes = chain.from_iterable(repeat(domain, domain.size) for domain in domains)
        home = dict(zip(both.values, homes, strict=True))
        both.moving = Moving(sorts, lambda value, permutation: home[value].moved(value, permutation))
    return both


def part_of(domain: Domain[Any], *values: Any) -> Domain[Any]:
    """Some values of a domain. A permutation moves them as in that domain, perhaps to values outside these."""
    for value in values:
        domain.rank(value)
    part = EnumerationDomain(values)
    part.moving = Moving(domain.sorts, lambda value, permutation: domain.moved(value, permutation))
    return part


# Anonymous values.


NUMBERS: Final = 10**9
"""Integers from here on stand for anonymous values."""


class ValuesDistinguished(SpecificationError):
    """Interchangeable values were distinguished by something other than equality."""

    def __init__(self, why: str):
        super().__init__(why)
        _noticed.distinguished = _noticed.distinguished or self


class AccessRecord:
    """What anonymous values record of the code that uses them."""

    def __init__(self) -> None:
        self.distinguished: ValuesDistinguished | None = None
        """The first error raised, even if it was caught."""
        self.converted = False
        """Whether a value was converted to text or a number."""

    def forget(self) -> None:
        """Clear the record."""
        self.distinguished, self.converted = None, False


_noticed = AccessRecord()


class Anonymous:
    """One of the interchangeable values of a sort; it supports only comparison for equality."""

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
            raise ValuesDistinguished(f"it distinguishes {self.sort} {other!r}")
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
            raise ValuesDistinguished(f"it reads a part of {with_article(self.sort)}: .{name}")
        raise AttributeError(name)

    def __bool__(self) -> bool:
        return bool(self._of_all(bool, f"it tests whether {with_article(self.sort)} is true"))

    def _of_all(self, ask: Callable[[Any], Any], otherwise: str) -> Any:
        """The result that all values of the sort have in common; ValuesDistinguished if their results differ."""
        one, *more = map(ask, self._values)
        if any(each is not one for each in more):
            raise ValuesDistinguished(otherwise)
        return one

    def _ordered(self, other: object, is_so: Callable[[Any, Any], Any]) -> Any:
        """The result of a comparison, if all values of the sort agree on it."""
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
        raise ValuesDistinguished(f"it calculates with {with_article(self.sort)}")

    def _look_into(self, *_: object) -> NoReturn:
        raise ValuesDistinguished(f"it reads a part of {with_article(self.sort)}")

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
    """The name of a sort with its article: "an acceptor", "a server"."""
    return f"{'an' if sort[:1].lower() in {*'aeiou'} else 'a'} {sort}"


_open = 0
_hashed_as = 0


def values_are_anonymous() -> bool:
    """Whether interchangeable values are anonymous at present."""
    return bool(_open)


@contextmanager
def anonymity(hashed_as: int = 0) -> Iterator[AccessRecord]:
    """Within this context `interchangeable` gives anonymous values. Yields their record, cleared at the start. All
    values of a sort hash as its value with this index.
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
