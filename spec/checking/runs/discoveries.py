"""Discoveries in packed states: where properties were decided, and how the paths to those states are reconstructed.

No state remembers its predecessor. Paths are reconstructed backwards instead: level by level from the deepest, the
engine finds the lowest predecessor in the level before. One more pass over a level serves all paths together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from spec.checking.exploration import Discovery
from spec.checking.model import TYPE_OK, Model, Path
from spec.checking.states.packed_state import PackedState
from spec.checking.symmetry.reduction import Symmetry
from spec.language.state import Values


class PathEnd(NamedTuple):
    """The place where a property is broken or witnessed, in packed states. Of two ends the lower counts.

    For a property of states only `state` is given. A step that leaves a domain has no end state, and so sorts before
    all others.
    """

    state: bytes
    before: bytes = b""
    action: int = -1
    instance: int = -1

    @property
    def is_step(self) -> bool:
        """Whether a step decides the property."""
        return self.action >= 0

    def to_json(self) -> dict[str, Any]:
        """The JSON form in a commit."""
        if not self.is_step:
            return {"state": self.state.hex()}
        return {**self._asdict(), "state": self.state.hex(), "before": self.before.hex()}

    @classmethod
    def from_json(cls, committed: Mapping[str, Any]) -> PathEnd:
        """The inverse of `to_json`."""
        state, before = (bytes.fromhex(committed.get(name, "")) for name in ("state", "before"))
        return cls(state, before, committed.get("action", -1), committed.get("instance", -1))


class PackedDiscovery(NamedTuple):
    """A `Discovery` in the form that a run keeps: the end of a path that is not yet reconstructed."""

    length: int
    """States on the path."""
    end: PathEnd

    @property
    def last(self) -> tuple[int, bytes]:
        """The level and state from which the path is traced back."""
        return (self.length - 1, self.end.before) if self.end.is_step else (self.length, self.end.state)


class Predecessor(NamedTuple):
    """A packed state and the step from it that leads to a state. Of two predecessors the lower counts."""

    state: bytes
    action: int
    instance: int


def keep_lowest(lowest: dict[bytes, Predecessor], found: dict[bytes, Predecessor]) -> None:
    """Of two predecessors of a target, keep the lower one."""
    for target, predecessor in found.items():
        if target not in lowest or predecessor < lowest[target]:
            lowest[target] = predecessor


FindPredecessors = Callable[[int, frozenset[bytes]], Mapping[bytes, Predecessor]]
"""Given a level and states of the next one: the lowest predecessor of each in the level."""


def discovered_in(model: Model, committed: Mapping[str, Mapping[str, Any]]) -> dict[int, PackedDiscovery]:
    """The discoveries by number of the property, from a commit's entries by name."""
    return {
        number: PackedDiscovery(committed[each.name]["length"], PathEnd.from_json(committed[each.name]))
        for number, each in enumerate(model.properties)
        if each.name in committed
    }


def as_committed(model: Model, discoveries: Mapping[int, PackedDiscovery]) -> dict[str, dict[str, Any]]:
    """The entries of a commit for these discoveries."""
    return {
        model.properties[number].name: {"length": length, **end.to_json()}
        for number, (length, end) in discoveries.items()
    }


def packed_discovery(
    model: Model, number: int, discovery: Discovery, symmetry: Symmetry | None = None
) -> PackedDiscovery:
    """The packed form of the discovery of a property: the end of its path, under symmetry in representatives."""
    of_step = model.properties[number].over_steps or model.properties[number].name == TYPE_OK

    def pack(state: Values) -> bytes:
        return PackedState.of_values(model.layout, symmetry.representative(state) if symmetry else state).bytes

    state, choices = discovery.path
    before: Values = state
    after: Values | None = state
    for choice in choices:
        assert after is not None, "only the last step of a path leaves the domains"
        before = after
        steps = model.expand(before).steps
        after = next(each.after for each in steps if (each.action, each.instance) == choice)
    end = b"" if after is None else pack(after)
    return PackedDiscovery(discovery.length, PathEnd(end, pack(before), *choices[-1]) if of_step else PathEnd(end))


def with_paths(
    model: Model,
    discoveries: Mapping[int, PackedDiscovery],
    find_predecessors: FindPredecessors,
    symmetry: Symmetry | None = None,
) -> dict[int, Discovery]:
    """Each discovery with the lowest path to it; under symmetry, a path of the model through the orbits."""
    found = {}
    for number, (packed, choices) in packed_paths(discoveries, find_predecessors).items():
        length, end = discoveries[number]
        states = [_unpacked(model, state) for state in packed]
        path: Path
        if symmetry is None:
            path = states[0], choices
        elif end.is_step:
            path = symmetry.concrete(states, number, PackedState.of_bytes(model.layout, end.state).number)
        else:
            path = symmetry.concrete(states, number)
        found[number] = Discovery(length, path)
    return found


def path_to(
    model: Model, level: int, state: bytes, find_predecessors: FindPredecessors, symmetry: Symmetry | None = None
) -> Path:
    """The lowest path to a state of a level; under symmetry, a path of the model through the orbits."""
    sought = {0: PackedDiscovery(level, PathEnd(state))}
    ((packed, choices),) = packed_paths(sought, find_predecessors).values()
    states = [_unpacked(model, each) for each in packed]
    return symmetry.path_through(states) if symmetry else (states[0], choices)


def _unpacked(model: Model, packed: bytes) -> Values:
    return PackedState.of_bytes(model.layout, packed).values


def packed_paths(
    discoveries: Mapping[int, PackedDiscovery], find_predecessors: FindPredecessors
) -> dict[int, tuple[list[bytes], list[tuple[int, int]]]]:
    """For each discovery the states of its path, and the action and instance of each step.

    If a step decides the property, it is the last of the steps; its end is not among the states.
    """
    states: dict[int, list[bytes]] = {}
    steps: dict[int, list[tuple[int, int]]] = {}
    levels: dict[int, int] = {}
    for number, each in discoveries.items():
        levels[number], last = each.last
        states[number] = [last]
        steps[number] = [(each.end.action, each.end.instance)] if each.end.is_step else []
    for level in range(max(levels.values(), default=1), 1, -1):
        here = [number for number in discoveries if levels[number] >= level]
        predecessors = find_predecessors(level - 1, frozenset(states[number][-1] for number in here))
        for number in here:
            before, action, instance = predecessors[states[number][-1]]
            states[number].append(before)
            steps[number].append((action, instance))
    return {number: (states[number][::-1], steps[number][::-1]) for number in discoveries}
