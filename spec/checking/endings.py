"""Endings: the states and steps at which properties were decided, and the paths that lead there.

No state remembers where it came from. What is asked instead, level by level from the deepest, is which of the
states before it is the lowest that leads there: one more pass over these levels, for all paths together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from spec.checking.exploration import Finding
from spec.checking.model import Model
from spec.checking.paths import Path
from spec.checking.symmetry import Symmetry
from spec.language.state import Values


class Ending(NamedTuple):
    """Where a property is broken or witnessed, in packed states. Of two endings the lower counts.

    For a property of states only `state` is given. A step that leaves a domain has no end state, and so is
    below all others.
    """

    state: bytes
    before: bytes = b""
    action: int = -1
    instance: int = -1

    @property
    def is_step(self) -> bool:
        """Whether it is a step that decides."""
        return self.action >= 0

    def to_json(self) -> dict[str, Any]:
        """As it stands in a commit."""
        if not self.is_step:
            return {"state": self.state.hex()}
        return {**self._asdict(), "state": self.state.hex(), "before": self.before.hex()}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Ending:
        """What `to_json` gave."""
        state, before = (bytes.fromhex(found.get(name, "")) for name in ("state", "before"))
        return cls(state, before, found.get("action", -1), found.get("instance", -1))


class Decided(NamedTuple):
    """A property that came to an end."""

    length: int
    """States on the way there."""
    ending: Ending

    @property
    def last(self) -> tuple[int, bytes]:
        """The level and state from which the path goes back."""
        return (self.length - 1, self.ending.before) if self.ending.is_step else (self.length, self.ending.state)


class Arrival(NamedTuple):
    """How a state is reached. Of two arrivals the lower counts."""

    before: bytes
    action: int
    instance: int


def keep_lowest(lowest: dict[bytes, Arrival], found: dict[bytes, Arrival]) -> None:
    """Of two ways to a target, keep the lower one."""
    for target, arrival in found.items():
        if target not in lowest or arrival < lowest[target]:
            lowest[target] = arrival


FindArrivals = Callable[[int, frozenset[bytes]], Mapping[bytes, Arrival]]
"""Given a level and states of the next one: the lowest way in which each of them is reached."""


def decided_in(model: Model, found: Mapping[str, Mapping[str, Any]]) -> dict[int, Decided]:
    """The properties that were decided, by number, from what a commit says by name."""
    return {
        number: Decided(found[each.name]["length"], Ending.from_json(found[each.name]))
        for number, each in enumerate(model.properties)
        if each.name in found
    }


def as_found(model: Model, decided: Mapping[int, Decided]) -> dict[str, dict[str, Any]]:
    """What a commit says of these properties."""
    return {
        model.properties[number].name: {"length": length, **ending.to_json()}
        for number, (length, ending) in decided.items()
    }


def findings(
    model: Model,
    decided: Mapping[int, Decided],
    find_arrivals: FindArrivals,
    symmetry: Symmetry | None = None,
) -> dict[int, Finding]:
    """Each property that was decided, with the lowest path there; of orbits, a path of the model through them."""
    found = {}
    for number, (packed, choices) in paths(decided, find_arrivals).items():
        length, ending = decided[number]
        states = [_unpacked(model, state) for state in packed]
        path: Path
        if symmetry is None:
            path = states[0], choices
        elif ending.is_step:
            path = symmetry.concrete(states, number, int.from_bytes(ending.state, "big"))
        else:
            path = symmetry.concrete(states)
        found[number] = Finding(length, path)
    return found


def way_to(
    model: Model, level: int, state: bytes, find_arrivals: FindArrivals, symmetry: Symmetry | None = None
) -> Path:
    """The lowest path to a state of a level; of orbits, a path of the model through them."""
    ((packed, choices),) = paths({0: Decided(level, Ending(state))}, find_arrivals).values()
    states = [_unpacked(model, each) for each in packed]
    return symmetry.way_through(states) if symmetry else (states[0], choices)


def _unpacked(model: Model, packed: bytes) -> Values:
    return model.layout.unpack(int.from_bytes(packed, "big"))


def paths(
    decided: Mapping[int, Decided], find_arrivals: FindArrivals
) -> dict[int, tuple[list[bytes], list[tuple[int, int]]]]:
    """For each of them the states on the way, and the action and instance of each step.

    A step that decides is the last of the steps; its end is not among the states.
    """
    states: dict[int, list[bytes]] = {}
    steps: dict[int, list[tuple[int, int]]] = {}
    levels: dict[int, int] = {}
    for number, each in decided.items():
        levels[number], last = each.last
        states[number] = [last]
        steps[number] = [(each.ending.action, each.ending.instance)] if each.ending.is_step else []
    for level in range(max(levels.values(), default=1), 1, -1):
        here = [number for number in decided if levels[number] >= level]
        arrivals = find_arrivals(level - 1, frozenset(states[number][-1] for number in here))
        for number in here:
            before, action, instance = arrivals[states[number][-1]]
            states[number].append(before)
            steps[number].append((action, instance))
    return {number: (states[number][::-1], steps[number][::-1]) for number in decided}
