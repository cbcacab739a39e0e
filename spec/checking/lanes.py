"""Lanes: those who act, as a sequence diagram stands them beside each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SYSTEM: Final = "system"
"""The lane of steps that no one is said to do."""


def from_left_to_right(lanes: Iterable[str]) -> tuple[str, ...]:
    """Each lane once: those with a number behind their name in its order, any others before them.

    >>> from_left_to_right(["broker 10", "ZooKeeper", "broker 2", "ZooKeeper"])
    ('ZooKeeper', 'broker 2', 'broker 10')
    """
    return tuple(sorted(dict.fromkeys(lanes), key=_turn))


def _turn(lane: str) -> tuple[str, int, str]:
    name, _, number = lane.rpartition(" ")
    return (name, int(number), "") if number.isdecimal() else ("", 0, "" if name else lane)
