"""Random programs over two values of a domain: parts of them, what is made of these, and questions about that.

A program is a function of the two values. Which steps it has is drawn by looking at a pair of plain values; on
another pair it may as well raise.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import reduce
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.spec.language.trees import Pair, Twin


class Program(NamedTuple):
    """What it is, what it does, and what came of it for the pair that it was drawn for."""

    text: str
    run: Callable[[Any, Any], Any]
    value: Any


def _x(x: Any, y: Any) -> Any:
    return x


def _y(x: Any, y: Any) -> Any:
    return y


def one(text: str, of: Program, do: Callable[[Any], Any]) -> Program:
    """One step more."""
    return Program(text, lambda x, y: do(of.run(x, y)), do(of.value))


def two(text: str, left: Program, right: Program, do: Callable[[Any, Any], Any]) -> Program:
    """Two programs, and one step more."""
    return Program(text, lambda x, y: do(left.run(x, y), right.run(x, y)), do(left.value, right.value))


def parts(of: Program) -> Iterator[Program]:
    """Every single part."""
    if isinstance(of.value, tuple):
        for at in range(len(of.value)):
            yield one(f"{of.text}[{at}]", of, lambda v, at=at: v[at])
            yield one(f"{of.text}[{at - len(of.value)}]", of, lambda v, at=at - len(of.value): v[at])
        for name in getattr(of.value, "_fields", ()):
            yield one(f"{of.text}.{name}", of, lambda v, name=name: getattr(v, name))


def changes(of: Program, by: Program) -> Iterator[Program]:
    """What can be made of a value, with the help of another one."""
    yield one(f"({of.text},)", of, lambda v: (v,))
    for kind in (Pair, Twin):
        yield two(f"{kind.__name__}({of.text}, {by.text})", of, by, lambda v, w, kind=kind: kind(v, w))
    if _hashable(of.value):
        yield one(f"frozenset({{{of.text}}})", of, lambda v: frozenset({v}))
    if isinstance(of.value, tuple):
        yield from _of_a_tuple(of, by)
    if isinstance(of.value, frozenset) and isinstance(by.value, AbstractSet):
        yield from _of_a_set(of, by)


def _of_a_tuple(of: Program, by: Program) -> Iterator[Program]:
    text, its = of.text, by.text
    for cut in (slice(1, None), slice(None, -1), slice(None, None, -1), slice(None), slice(5, 9)):
        yield one(f"{text}[{cut}]", of, lambda v, cut=cut: v[cut])
    yield one(f"tuple({text})", of, tuple)
    yield one(f"tuple(reversed({text}))", of, lambda v: tuple(reversed(v)))
    yield one(f"{text} * 2", of, lambda v: v * 2)
    yield two(f"{text} + ({its},)", of, by, lambda v, w: v + (w,))
    yield two(f"({its},) + {text}", of, by, lambda v, w: (w,) + v)
    yield two(f"(*{text}, {its})", of, by, lambda v, w: (*v, w))
    if isinstance(by.value, tuple):
        yield two(f"{text} + {its}", of, by, lambda v, w: v + w)
    for name in getattr(of.value, "_fields", ()):
        yield two(f"{text}._replace({name}={its})", of, by, lambda v, w, name=name: v._replace(**{name: w}))
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


@st.composite
def programs(draw: st.DrawFn, x: Any, y: Any) -> Program:
    """What makes a value of two."""
    found = [Program("x", _x, x), Program("y", _y, y)]
    for _ in range(draw(st.integers(0, 5))):
        of, by = draw(st.sampled_from(found)), draw(st.sampled_from(found))
        possible = [*parts(of), *parts(of), *changes(of, by)]
        found.append(draw(st.sampled_from(possible)))
    return found[-1] if draw(st.booleans()) else draw(st.sampled_from(found))


QUESTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "bool(v)": lambda v, w: bool(v),
    "v == w": lambda v, w: v == w,
    "v != w": lambda v, w: v != w,
    "v == v": lambda v, w: v == v,  # noqa: PLR0124
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
    "pickle": lambda v, w: pickle.loads(pickle.dumps(v)),
    "deepcopy": lambda v, w: copy.deepcopy(v),
    "match": lambda v, w: _matched(v),
    "v[0] = w": lambda v, w: v.__setitem__(0, w),
    "v.left = w": lambda v, w: setattr(v, "left", w),
}
"""What can be asked of two values; many of them not of all."""


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
    return "something else"


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
