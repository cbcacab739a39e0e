"""Lanes: the actors, in their order in a sequence diagram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Final

SYSTEM: Final = "system"
"""The lane of steps without a stated actor."""
MOST_ORDERED: Final = 6
"""Up to so many lanes without a number, every order is tried; more are sorted by name."""


def from_left_to_right(lanes: Iterable[str], arrows: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Each lane once: lanes with a number after their name in its order, all others before them.

    The others are ordered so that arrows are short: lanes that talk with the brokers come next to them. A lane that
    belongs to one with a number comes after it.

    >>> from_left_to_right(["broker 10", "controller of broker 2", "ZooKeeper", "broker 2", "ZooKeeper"])
    ('ZooKeeper', 'broker 2', 'controller of broker 2', 'broker 10')
    >>> arrows = [("operator", "ZooKeeper"), ("broker 1", "ZooKeeper")]
    >>> from_left_to_right(["ZooKeeper", "operator", "broker 1"], arrows)
    ('operator', 'ZooKeeper', 'broker 1')
    """
    ordered = sorted(dict.fromkeys(lanes), key=_turn)
    numbered = [lane for lane in ordered if _turn(lane)[0]]
    others = [lane for lane in ordered if not _turn(lane)[0]]
    drawn = Counter((one, other) for one, other in arrows if one != other)

    def length(order: Sequence[str]) -> int:
        """The length of all arrows, in lanes."""
        at = {lane: place for place, lane in enumerate((*order, *numbered))}
        return sum(times * abs(at[one] - at[other]) for (one, other), times in drawn.items())

    orders = permutations(others) if drawn and len(others) <= MOST_ORDERED else [tuple(others)]
    return (*min(orders, key=length), *numbered)


def owner(lane: str) -> str:
    """The owner of a lane: for a lane that belongs to one with a number, such as a thread's, that one; else itself.

    >>> owner("controller of broker 2"), owner("broker 2"), owner("connection of the controller")
    ('broker 2', 'broker 2', 'connection of the controller')
    """
    _, of, name = lane.rpartition(" of ")
    return name if of and _turn(name)[0] else lane


def _turn(lane: str) -> tuple[str, int, str]:
    part, of, whole = lane.rpartition(" of ")
    name, _, number = whole.rpartition(" ")
    return (name, int(number), part) if number.isdecimal() else ("", 0, "" if name or of else lane)
