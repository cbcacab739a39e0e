"""Lanes: those who act, as a sequence diagram stands them beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Final

SYSTEM: Final = "system"
"""The lane of steps that no one is said to do."""
MOST_ORDERED: Final = 6
"""Of so many lanes without a number every order is tried; of more, they stand by their names."""


def from_left_to_right(lanes: Iterable[str], arrows: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Each lane once: those with a number behind their name in its order, any others before them.

    These stand so that the arrows that are drawn are short: who talks with the brokers stands next to them. What is
    of one with a number stands behind it.

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
        """Of all arrows, in lanes."""
        at = {lane: place for place, lane in enumerate((*order, *numbered))}
        return sum(times * abs(at[one] - at[other]) for (one, other), times in drawn.items())

    orders = permutations(others) if drawn and len(others) <= MOST_ORDERED else [tuple(others)]
    return (*min(orders, key=length), *numbered)


def owner(lane: str) -> str:
    """Of whom it is a lane: of one with a number what acts for it, such as a thread, or itself.

    >>> owner("controller of broker 2"), owner("broker 2"), owner("connection of the controller")
    ('broker 2', 'broker 2', 'connection of the controller')
    """
    _, of, name = lane.rpartition(" of ")
    return name if of and _turn(name)[0] else lane


def _turn(lane: str) -> tuple[str, int, str]:
    part, of, whole = lane.rpartition(" of ")
    name, _, number = whole.rpartition(" ")
    return (name, int(number), part) if number.isdecimal() else ("", 0, "" if name or of else lane)
