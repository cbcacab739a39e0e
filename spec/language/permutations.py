"""Permutations of interchangeable values: where they take values, and the codes of values in slots.

Which values are interchangeable is told by words, see `symmetry`. A permutation acts on a value through its domain,
part by part: `Domain.moved`. Of the leaves it moves those that are of a sort, or made from it: a session of server 0
becomes the session of server 1 with the same number, and a path with its name in it the path with the other's. All
other leaves stay, so integers drawn from a plain range never move.

In the flattened form a permutation takes the code of each slot, through a table, to a slot, `Domain.routes`; so a
state is permuted without being unpacked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from spec.language.errors import SpecificationError

Permutation = Mapping[str, Mapping[Any, Any]]
"""For each sort, which value takes whose place; a sort that is not named stays."""

Sorts = Mapping[str, tuple[Any, ...]]
"""The interchangeable values, by the name of their sort."""


@dataclass(frozen=True)
class Moving:
    """How permutations move the values of a leaf."""

    sorts: Sorts
    moved: Callable[[Any, Permutation], Any]


class Route(NamedTuple):
    """Where the code of one slot goes."""

    slot: int
    """The slot that it goes to."""
    codes: tuple[int, ...]
    """What becomes of it, by code."""
    guard: int | None = None
    """The slot that tells whether this one is in use: only then is the code changed. It is itself never changed."""
    above: int = 0
    """It is in use if the guard's code is greater."""


def routes_after(first: int, inner: Iterable[Route], guard: int | None = None, above: int = 0) -> Iterator[Route]:
    """The routes of a part whose slots begin there; a part has the innermost of the guards around it.

    One that is not in use holds 0 all through, the inner guard too.
    """
    for route in inner:
        if route.guard is not None:
            yield Route(first + route.slot, route.codes, first + route.guard, route.above)
        elif route.codes[0] == 0:  # 0 stays 0, in use or not
            yield Route(first + route.slot, route.codes)
        else:
            yield Route(first + route.slot, route.codes, guard, above)


def disjoint_union(every: Iterable[Sorts]) -> Sorts:
    """All these sorts.

    Raises:
        SpecificationError: a sort has not the same values wherever it stands.
    """
    found: dict[str, tuple[Any, ...]] = {}
    for sorts in every:
        for sort, values in sorts.items():
            if found.setdefault(sort, values) != values:
                raise SpecificationError(
                    f"interchangeable {sort!r}: it is {found[sort]} in one place, {values} in another"
                )
    return found
