"""Random programs over two values of a domain: they take parts, combine them, and ask questions about the result.

A program is a function of the two values. Its steps are drawn so that they work on one pair of plain values; on
another pair it may raise.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.spec.language.trees import Pair, Twin


class Program(NamedTuple):
    """A program's text, its function, and its value for the pair it was drawn for."""

    text: str
    run: Callable[[Any, Any], Any]
    value: Any


def _x(x: Any, y: Any) -> Any:
    return x


def _y(x: Any, y: Any) -> Any:
    return y


def _constant(value: Any, x: Any, y: Any) -> Any:
    return value


def _replaced(name: str, value: Any, part: Any) -> Any:
    return value._replace(**{name: part})


def one(text: str, of: Program, do: Callable[[Any], Any]) -> Program:
    """A program with one more step."""
    return Program(text, lambda x, y: do(of.run(x, y)), do(of.value))


def two(text: str, left: Program, right: Program, do: Callable[[Any, Any], Any]) -> Program:
    """Two programs joined by one more step."""
    return Program(text, lambda x, y: do(left.run(x, y), right.run(x, y)), do(left.value, right.value))


def parts(of: Program) -> Iterator[Program]:
    """Every part of a tuple or record."""
    if isinstance(of.value, tuple):
        for at in range(len(of.value)):
            yield one(f"{of.text}[{at}]", of, itemgetter(at))
            yield one(f"{of.text}[{at - len(of.value)}]", of, itemgetter(at - len(of.value)))
        for name in getattr(of.value, "_fields", ()):
            yield one(f"{of.text}.{name}", of, attrgetter(name))


def elements(of: Program) -> Iterator[Program]:
    """The elements of a set, as constants."""
    if isinstance(of.value, frozenset):
        for element in of.value:
            yield Program(repr(element), partial(_constant, element), element)


def around(of: Program, by: Program) -> Iterator[Program]:
    """Containers of one value, or of two."""
    yield one(f"({of.text},)", of, lambda v: (v,))
    for kind in (Pair, Twin):
        yield two(f"{kind.__name__}({of.text}, {by.text})", of, by, kind)
    if _hashable(of.value):
        yield one(f"frozenset({{{of.text}}})", of, lambda v: frozenset({v}))


def changes(of: Program, by: Program) -> Iterator[Program]:
    """Values computed from one value, with another one as an argument."""
    if isinstance(of.value, tuple):
        yield from _of_a_tuple(of, by)
    if isinstance(of.value, frozenset) and isinstance(by.value, AbstractSet):
        yield from _of_a_set(of, by)
    if isinstance(of.value, int):
        yield from _of_an_integer(of, by)


def _of_a_tuple(of: Program, by: Program) -> Iterator[Program]:
    text, its = of.text, by.text
    for cut in (slice(1, None), slice(None, -1), slice(None, None, -1), slice(None), slice(5, 9)):
        yield one(f"{text}[{cut}]", of, itemgetter(cut))
    yield one(f"tuple({text})", of, tuple)
    yield one(f"tuple(reversed({text}))", of, lambda v: tuple(reversed(v)))
    yield one(f"{text} * 2", of, lambda v: v * 2)
    yield two(f"{text} + ({its},)", of, by, lambda v, w: v + (w,))
    yield two(f"({its},) + {text}", of, by, lambda v, w: (w,) + v)
    yield two(f"(*{text}, {its})", of, by, lambda v, w: (*v, w))
    if isinstance(by.value, tuple):
        yield two(f"{text} + {its}", of, by, lambda v, w: v + w)
    for name in getattr(of.value, "_fields", ()):
        yield two(f"{text}._replace({name}={its})", of, by, partial(_replaced, name))
    if hasattr(of.value, "_fields"):
        yield one(f"{text}._make({text})", of, lambda v: v._make(v))
        yield one(f"type({text})(*{text})", of, lambda v: type(v)(*v))
        yield one(f"{text}.__class__(*{text})", of, lambda v: v.__class__(*v))
        yield one(f"copy({text})", of, copy.copy)


def _of_a_set(of: Program, by: Program) -> Iterator[Program]:
    text, its = of.text, by.text
    yield two(f"{text} | {its}", of, by, lambda v, w: v | w)
    yield two(f"{text} & {its}", of, by, lambda v, w: v & w)
    yield two(f"{text} - {its}", of, by, lambda v, w: v - w)
    yield two(f"{text} ^ {its}", of, by, lambda v, w: v ^ w)
    yield two(f"frozenset({its}) - {text}", of, by, lambda v, w: frozenset(w) - v)
    yield two(f"frozenset({its}) & {text}", of, by, lambda v, w: frozenset(w) & v)
    yield two(f"frozenset({its}) | {text}", of, by, lambda v, w: frozenset(w) | v)
    yield two(f"frozenset({its}) ^ {text}", of, by, lambda v, w: frozenset(w) ^ v)
    yield two(f"{text}.union({its})", of, by, lambda v, w: v.union(w))
    yield two(f"{text}.intersection(list({its}), {its})", of, by, lambda v, w: v.intersection(list(w), w))
    yield two(f"{text}.difference({its})", of, by, lambda v, w: v.difference(w))
    yield two(f"{text}.symmetric_difference({its})", of, by, lambda v, w: v.symmetric_difference(w))
    yield two(f"{text} | set({its})", of, by, lambda v, w: v | set(w))


def _of_an_integer(of: Program, by: Program) -> Iterator[Program]:
    text, its = of.text, by.text
    yield one(f"{text} + 1", of, lambda v: v + 1)
    yield one(f"2 - {text}", of, lambda v: 2 - v)
    yield one(f"-{text}", of, lambda v: -v)
    yield one(f"int({text})", of, int)
    yield one(f"1 << abs({text})", of, lambda v: 1 << abs(v))
    if isinstance(by.value, int):
        yield two(f"{text} + {its}", of, by, lambda v, w: v + w)
        yield two(f"{text} ^ {its}", of, by, lambda v, w: v ^ w)
        yield two(f"max({text}, {its})", of, by, max)
        yield two(f"sum(({text}, {its}))", of, by, lambda v, w: sum((v, w)))


def materials_of(x: Any, y: Any) -> list[Program]:
    """The two values, their parts, and the elements of sets."""
    found = [Program("x", _x, x), Program("y", _y, y)]
    for kind in (parts, elements):
        found += [each for of in tuple(found) for each in kind(of)]
    return found


@st.composite
def programs(draw: st.DrawFn, x: Any, y: Any) -> Program:
    """A program that computes a value from two."""
    found = materials_of(x, y)
    some = st.sampled_from(found) | st.sampled_from(found[:2])
    for _ in range(draw(st.integers(0, 3))):
        of, by = draw(some), draw(some)
        possible = [*draw(st.sampled_from([changes, around]))(of, by)] or [*around(of, by)]
        made = draw(st.sampled_from(possible))
        some = some | st.sampled_from([made, made, *parts(made)])
    chosen: Program = draw(some)
    return chosen


ATTRIBUTES = [
    *sorted({name for of in (int, tuple, frozenset) for name in dir(of) if not name.startswith("_")}),
    *("lens", "lenses", "members", "parts", "seen", "values", "whole"),
]
"""Names of attributes, not all of which some value has."""

QUESTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "bool(v)": lambda v, w: bool(v),
    "v == w": lambda v, w: v == w,
    "v != w": lambda v, w: v != w,
    "v == v": lambda v, w: v == v,
    "v < w": lambda v, w: v < w,
    "v <= w": lambda v, w: v <= w,
    "v > w": lambda v, w: v > w,
    "v >= w": lambda v, w: v >= w,
    "v in w": lambda v, w: v in w,
    "v in (w, v)": lambda v, w: v in (w, v),
    "v in {w}": lambda v, w: v in {w},
    "{v: 1}.get(w)": lambda v, w: {v: 1}.get(w),
    "len({v, w})": lambda v, w: len({v, w}),
    "len(v)": lambda v, w: len(v),
    "hash(v)": lambda v, w: hash(v),
    "repr(v)": lambda v, w: repr(v),
    "str(v)": lambda v, w: str(v),
    "format(v)": lambda v, w: f"{v} {w!r}",
    "list(v)": lambda v, w: list(v),
    "first of v": lambda v, w: next(iter(v), "nothing"),
    "last of v": lambda v, w: v[-1],
    "unpacking": lambda v, w: [v0 for (v0, _) in [v]],
    "isinstance tuple": lambda v, w: isinstance(v, tuple),
    "isinstance frozenset": lambda v, w: isinstance(v, frozenset),
    "isinstance Set": lambda v, w: isinstance(v, AbstractSet),
    "isinstance int": lambda v, w: isinstance(v, int) and not isinstance(v, bool),
    "isinstance Pair": lambda v, w: isinstance(v, Pair),
    "class": lambda v, w: v.__class__.__name__,
    "sorted(v)": lambda v, w: sorted(v),
    "max(v)": lambda v, w: max(v),
    "sum of lengths": lambda v, w: reduce(lambda n, part: n + len(part), v, 0),
    "v.index(w)": lambda v, w: v.index(w),
    "v.index(w, 1)": lambda v, w: v.index(w, 1),
    "v.count(w)": lambda v, w: v.count(w),
    "v.isdisjoint(w)": lambda v, w: v.isdisjoint(w),
    "v.issubset(w)": lambda v, w: v.issubset(w),
    "v.issuperset(w)": lambda v, w: v.issuperset(w),
    "set(w) - v": lambda v, w: set(w) - v,
    "set(w) & v": lambda v, w: set(w) & v,
    "v._asdict()": lambda v, w: v._asdict(),
    "v._fields": lambda v, w: v._fields,
    "v.left == w": lambda v, w: v.left == w,
    "v * w": lambda v, w: v * w,
    "divmod(v + 1, w + 1)": lambda v, w: divmod(v + 1, w + 1),
    "pow(2, v + 1, w + 2)": lambda v, w: pow(2, v + 1, w + 2),
    "v / (w + 1)": lambda v, w: v / (w + 1),
    "float(v)": lambda v, w: float(v),
    "round(v)": lambda v, w: round(v, -1),
    "range(v)[w]": lambda v, w: range(v)[w],
    "'abc'[v]": lambda v, w: "abc"[v],
    "v ** w": lambda v, w: v ** (w + 1),
    "v and a float": lambda v, w: (v + 0.5, 0.5 * v, v**0.5, v > 0.5, v <= 1.5, v == 1.0),
    "v and a fraction": lambda v, w: (Fraction(1, 2) + v, v - Fraction(1, 2), v < Fraction(3, 2), v == Fraction(1)),
    "v and a decimal": lambda v, w: (Decimal(2) * v, v // Decimal(2), Decimal(1) <= v, v != Decimal(1)),
    "v and keys": lambda v, w: (
        v & dict.fromkeys(w).keys(),
        dict.fromkeys(w).keys() | v,
        v == dict.fromkeys(w).keys(),
    ),
    "v.copy()": lambda v, w: v.copy(),
    "v.real": lambda v, w: v.real,
    "public attributes": lambda v, w: [name for name in ATTRIBUTES if hasattr(v, name)],
    "v.bit_length()": lambda v, w: v.bit_length(),
    "v.nothing": lambda v, w: v.nothing,
    "pickle": lambda v, w: pickle.loads(pickle.dumps(v)),
    "deepcopy": lambda v, w: copy.deepcopy(v),
    "match": lambda v, w: _matched(v),
    "v[0] = w": lambda v, w: v.__setitem__(0, w),
    "v.left = w": lambda v, w: setattr(v, "left", w) if isinstance(v, tuple) else None,
}
"""Questions about two values; many do not apply to all values."""


def _matched(value: Any) -> Any:
    match value:
        case Pair(left, right=None):
            return "Pair", left
        case Pair(left=left):
            return "another Pair", left
        case Twin():
            return "Twin"
        case (one, two):
            return "two", one, two
        case (first, *rest):
            return "more", first, rest
        case tuple():
            return "tuple"
        case frozenset():
            return "frozenset"
        case None | True | False:
            return "one of three"
        case 1:
            return "one"
        case int(number):
            return "number", number
    return "something else"


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
