"""Paths: how the states at which properties ended are reached, found by going back through the levels.

No state remembers where it came from. What is asked instead, level by level from the deepest, is which of the
states before it is the lowest that leads there: one more pass over these levels, for all paths together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spec.checking.spark.work import Arrival, Ending

FindArrivals = Callable[[int, frozenset[bytes]], Mapping[bytes, Arrival]]
"""Given a level and states of the next one: the lowest way in which each of them is reached."""


def paths(
    endings: Mapping[int, Ending], lengths: Mapping[int, int], find_arrivals: FindArrivals
) -> dict[int, tuple[bytes, list[tuple[int, int]]]]:
    """For each ending the initial state, and the action and instance of each step that leads from there."""
    states: dict[int, bytes] = {}
    steps: dict[int, list[tuple[int, int]]] = {}
    levels: dict[int, int] = {}
    for number, ending in endings.items():
        states[number] = ending.before if ending.is_step else ending.state
        steps[number] = [(ending.action, ending.instance)] if ending.is_step else []
        levels[number] = lengths[number] - len(steps[number])
    for level in range(max(levels.values(), default=1), 1, -1):
        here = [number for number in endings if levels[number] >= level]
        arrivals = find_arrivals(level - 1, frozenset(states[number] for number in here))
        for number in here:
            before, action, instance = arrivals[states[number]]
            states[number] = before
            steps[number].append((action, instance))
    return {number: (states[number], steps[number][::-1]) for number in endings}
