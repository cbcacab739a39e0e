"""Domains of every kind, drawn at random, each with a slow and obvious list of its members."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import product
from typing import Any, NamedTuple

from hypothesis import strategies as st

from spec.language import (
    ABSENT,
    Domain,
    booleans,
    integers,
    one_of,
    optional,
    possibly_empty,
    record,
    sequence_of,
    subset_of,
    tuple_of,
)


class Pair(NamedTuple):
    """A record of two fields."""

    left: Any
    right: Any


class Twin(NamedTuple):
    """Another record, equal to a Pair of the same parts."""

    left: Any
    right: Any


class Colour(Enum):
    """An enumeration."""

    GREEN = "g"
    BLUE = "b"
    RED = "r"


class Tree(NamedTuple):
    """A domain, and its members in the documented order."""

    domain: Domain[Any]
    members: list[Any]


def subsets(elements: list[Any]) -> list[frozenset[Any]]:
    """The subsets without the last element, in their order, then the same with it."""
    if not elements:
        return [frozenset()]
    without = subsets(elements[:-1])
    return without + [each | {elements[-1]} for each in without]


@st.composite
def _integers(draw: st.DrawFn) -> Tree:
    low, size = draw(st.integers(-3, 3)), draw(st.integers(1, 5))
    return Tree(integers(low, low + size - 1), [low + n for n in range(size)])


@st.composite
def _enumerations(draw: st.DrawFn) -> Tree:
    scalars = st.one_of(st.integers(-1, 3), st.sampled_from(["a", "b", "", "False"]), st.sampled_from(Colour))
    values = draw(st.lists(scalars, min_size=1, max_size=4, unique=True))
    return Tree(one_of(*values), values)


def _leaves() -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.just(Tree(booleans(), [False, True])),
        _integers(),
        _enumerations(),
        st.just(Tree(optional(Colour), [None, *Colour])),
    )


@st.composite
def _nested(draw: st.DrawFn, children: st.SearchStrategy[Tree], most: int) -> Tree:
    child, other = draw(children), draw(children)
    found: list[Tree] = []
    if None not in child.members:
        found.append(Tree(optional(child.domain), [None, *child.members]))
    if len(child.members) <= 6:
        found.append(Tree(subset_of(child.domain), subsets(child.members)))
    longest = draw(st.integers(0, 3))
    if sum(len(child.members) ** n for n in range(longest + 1)) <= most:
        sequences = [each for n in range(longest + 1) for each in product(child.members, repeat=n)]
        found.append(Tree(sequence_of(child.domain, longest), sequences))
    if len(child.members) * len(other.members) <= most:
        pairs = list(product(child.members, other.members))
        found.append(Tree(tuple_of(child.domain, other.domain), pairs))
        found.append(Tree(possibly_empty(tuple_of(child.domain, other.domain)), [(), *pairs]))
        found.append(
            Tree(record(Pair, left=child.domain, right=other.domain), [Pair(*each) for each in pairs]),
        )
    return draw(st.sampled_from(found)) if found else child


def trees(most: int = 80) -> st.SearchStrategy[Tree]:
    """Domains with at most so many values."""
    return st.recursive(_leaves(), lambda children: _nested(children, most), max_leaves=4).filter(
        lambda tree: len(tree.members) <= most
    )


def exact(value: Any) -> Any:
    """Return a value with the types of all its parts, so that 1 and True differ, and a Pair, a tuple and a Twin."""
    if isinstance(value, frozenset):
        return "frozenset", frozenset(map(exact, value))
    if isinstance(value, tuple):
        return type(value).__name__, tuple(map(exact, value))
    return type(value).__name__, repr(value)


def disguises(value: Any) -> Iterator[Any]:
    """Return values that look like this one: of an equal or similar type, too long, with a part replaced."""
    yield from (None, ABSENT, -100, 100, "stranger", (), frozenset(), [value], (value,), frozenset({value}))
    if isinstance(value, bool | int):
        yield from (bool(value), int(value), float(value), str(value), value + 1)
    if isinstance(value, Enum):
        yield from (value.name, value.value)
    if isinstance(value, frozenset):
        yield from (set(value), tuple(value), list(value), value | {"stranger"})
        yield from (value - {each} | {other} for each in value for other in disguises(each) if _hashable(other))
    if isinstance(value, tuple):
        yield from (tuple(value), list(value), (*value, *value), tuple(value[:-1]))
        for at, part in enumerate(value):
            for other in disguises(part):
                parts = (*value[:at], other, *value[at + 1 :])
                yield parts if type(value) is tuple else type(value)(*parts)
        if len(value) == 2:
            yield from (Pair(*value), Twin(*value))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
