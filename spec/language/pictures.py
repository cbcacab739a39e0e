"""Drawings: the result of a `picture` of a state, in a few shapes that serve any field.

A drawing has content and no layout: the cells of a log and its marks, the elements of a queue, the nodes of a tree. A
thing in it is a value, shown as traces show it; a `Tag`, which is a value with a look; or, in a grid or a tree,
another drawing. The code that renders drawings knows no particular system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias


class Look(Enum):
    """How a thing stands out among its like. The picture decides what that means."""

    plain = "as any other"
    strong = "the one that counts: a leader, a committed entry"
    faint = "not settled yet: it may still disappear"
    gone = "named, but absent: a dead broker"
    wrong = "must not occur"


@dataclass(frozen=True)
class Tag:
    """A thing in a drawing, with a look.

    Args:
        what: any value of a state, or text.
        look: how it stands out.
        note: the reason in a few words, shown when a person points at it.
    """

    what: Any
    look: Look = Look.plain
    note: str = ""


@dataclass(frozen=True)
class Tags:
    """Things side by side, such as the members of a set or the replicas of a partition."""

    things: Iterable[Any]


@dataclass(frozen=True)
class Cells:
    """Numbered cells in a row, such as a log or an array, with marks at places between them.

    Args:
        things: the content of each cell.
        marks: places by name: a mark at 0 stands before the first cell, one at 2 after the second.
        room: the least number of cells drawn, padded with empty ones, so that rows can be compared.
    """

    things: Iterable[Any]
    marks: Mapping[str, int] = field(default_factory=dict)
    room: int = 0


@dataclass(frozen=True)
class Queue:
    """Waiting things, the next one first."""

    things: Iterable[Any]


@dataclass(frozen=True)
class Tree:
    """A hierarchy of paths.

    Args:
        nodes: the content at each path, `/a/b`; a path without a parent of its own goes below the nearest ancestor.
    """

    nodes: Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """Rows under titles. The first thing of each row identifies it, so that rows of two states can be compared.

    Args:
        titles: the titles of the columns.
        rows: each with a thing or a drawing for every column.
    """

    titles: Iterable[str]
    rows: Iterable[Iterable[Any]]


Drawing: TypeAlias = Tags | Cells | Queue | Tree | Grid
"""The result of a picture, unless there is nothing to draw: then None."""
