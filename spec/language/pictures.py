"""Drawings: what a `picture` makes of a state, in the few shapes in which any field draws its states.

A drawing says what is drawn, and not how it looks on a page: which cells a log has and where its marks are, what
waits in a queue, what lies below what in a tree. What stands in a drawing is a value, shown as traces show it; a
`Tag`, which is a value with a look; or, in a grid or a tree, another drawing. What draws them knows of no system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

__all__ = ["Cells", "Drawing", "Grid", "Look", "Queue", "Tag", "Tags", "Tree"]


class Look(Enum):
    """How a thing stands out among its like. What that means is the picture's to say."""

    plain = "as any other"
    strong = "the one that counts: who leads, what is committed"
    faint = "not settled yet: what may still go"
    gone = "not there, though it is named: who is dead"
    wrong = "what must not be"


@dataclass(frozen=True)
class Tag:
    """A thing in a drawing, with a look.

    Args:
        what: any value of a state, or words.
        look: how it stands out.
        note: why, in a few words; shown to a person who points at it.
    """

    what: Any
    look: Look = Look.plain
    note: str = ""


@dataclass(frozen=True)
class Tags:
    """Things side by side, as the members of a set or the replicas of a partition."""

    things: Iterable[Any]


@dataclass(frozen=True)
class Cells:
    """Numbered cells in a row, as a log or an array has them, with marks at places between them.

    Args:
        things: what is in each cell.
        marks: places by name: a mark at 0 stands before the first cell, one at 2 behind the second.
        room: how many cells are drawn at least, empty ones behind the others, so that rows can be compared.
    """

    things: Iterable[Any]
    marks: Mapping[str, int] = field(default_factory=dict)
    room: int = 0


@dataclass(frozen=True)
class Queue:
    """Things that wait, the one that is next first."""

    things: Iterable[Any]


@dataclass(frozen=True)
class Tree:
    """What lies below what.

    Args:
        nodes: what is at each path, `/a/b`; a path whose parent has none of its own stands below the next above it.
    """

    nodes: Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """Rows under titles. The first thing of each row says whose it is: by it rows of two states are compared.

    Args:
        titles: of the columns.
        rows: each with a thing or a drawing for every column.
    """

    titles: Iterable[str]
    rows: Iterable[Iterable[Any]]


Drawing: TypeAlias = Tags | Cells | Queue | Tree | Grid
"""What a picture gives; None where there is nothing to draw."""
