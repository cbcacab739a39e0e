"""Permutations of interchangeable values: how they move values, and the codes of values in slots.

The words of `symmetry` declare which values are interchangeable. A permutation acts on a value through its domain,
part by part: `Domain.moved`. It moves the leaves that belong to a sort or are made from one. A session of server 0
becomes the session of server 1 with the same number; a path with one server's name becomes the path with the other's.
All other leaves stay, so integers from a plain range never move.

In the flattened form, `Domain.routes`, a permutation sends the code of each slot through a table to a slot. So a
state is permuted without being unpacked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from spec.language.errors import SpecificationError

Permutation = Mapping[str, Mapping[Any, Any]]
"""For each sort, the image of each value; a sort that is not named stays."""

Sorts = Mapping[str, tuple[Any, ...]]
"""The interchangeable values of each sort, by its name."""


@dataclass(frozen=True)
class Moving:
    """How permutations move the values of a leaf."""

    sorts: Sorts
    moved: Callable[[Any, Permutation], Any]


class Route(NamedTuple):
    """The destination of one slot's code."""

    slot: int
    """The destination slot."""
    codes: tuple[int, ...]
    """The new code, by the old one."""
    guard: int | None = None
    """The slot that says whether this one is in use: only then is the code changed. The guard never changes."""
    above: int = 0
    """The slot is in use if the guard's code is greater than this."""


def routes_after(first: int, inner: Iterable[Route], guard: int | None = None, above: int = 0) -> Iterator[Route]:
    """The routes of a part whose slots begin at `first`; a part has the innermost of the guards around it.

    A part that is not in use holds 0 in every slot, its inner guard included.
    """
    for route in inner:
        if route.guard is not None:
            yield Route(first + route.slot, route.codes, first + route.guard, route.above)
        elif route.codes[0] == 0:  # 0 stays 0, in use or not
            yield Route(first + route.slot, route.codes)
        else:
            yield Route(first + route.slot, route.codes, guard, above)


def disjoint_union(every: Iterable[Sorts]) -> Sorts:
    """The sorts of all of these together; SpecificationError if a sort has different values in two places."""
    found: dict[str, tuple[Any, ...]] = {}
    for sorts in every:
        for sort, values in sorts.items():
            if found.setdefault(sort, values) != values:
                raise SpecificationError(
                    f"interchangeable {sort!r}: its values are {found[sort]} in one place and {values} in another"
                )
    return found
