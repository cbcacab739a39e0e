"""Another shortest path to the same state: the one with the fewest changes of actor.

Engines keep no predecessors. So all states nearer to the first than the last one is are explored once more, in plain
Python, and paths are traced back from the last. That is exact; if it would take more than `MOST` states, it is not
done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from spec.checking.model import Choice, EvaluationFailed, Model, Path
from spec.checking.traces.reordering import actor_of
from spec.language.state import Values

MOST: Final = 6_000
"""The most states explored for it: about a second."""

Way = tuple[int, tuple[Choice, ...]]
"""A beginning: how often its actor changes, and its steps."""

Arrivals = Mapping[Values, list[tuple[Values, Choice]]]
"""By the states of a level, each step that leads there, with the state before it."""


def fewest_changes_of_shortest(model: Model, path: Path, *, last_stays: bool) -> Path | None:
    """Of all shortest paths from the same state to the same state, one with the fewest changes of actor.

    Args:
        model: the model of the path.
        path: the known path.
        last_stays: whether its last step must be done last, from the same state.

    Returns:
        None if the path is not one of the shortest, or there are too many states on the way.
    """
    first, choices = path
    ahead, then = (choices[:-1], choices[-1:]) if last_stays else (choices, choices[:0])
    try:
        last = _end(model, first, ahead)
        levels = None if last is None else _levels(model, first, last, len(ahead))
    except EvaluationFailed:  # in a state or a step that the path's finder did not try
        return None
    if levels is None or last is None:
        return None
    ways = _ways(levels, last)
    best: dict[Values, dict[str, Way]] = {first: {"": (0, ())}}
    for level in ways:
        best = {state: _best(model, best, arrivals) for state, arrivals in level.items()}
    after = {actor_of(model, each) for each in then}
    ends = best[last].items()
    return first, [*min((changes + bool(after - {actor}), way) for actor, (changes, way) in ends)[1], *then]


def _end(model: Model, first: Values, choices: Iterable[Choice]) -> Values | None:
    """The end of a path; None if it goes beyond bounds, as a replay may."""
    state = first
    for choice in choices:
        steps = {(step.action, step.instance): step.after for step in model.expand(state).steps}
        after = steps.get(choice)
        if after is None:
            return None
        state = after
    return state


def _levels(model: Model, first: Values, last: Values, length: int) -> list[Arrivals] | None:
    """The states at most as many steps away as the last state, by level; None if that one is nearer, or too many."""
    levels: list[Arrivals] = [{first: []}]
    known = {first}
    for _ in range(length):
        level: dict[Values, list[tuple[Values, Choice]]] = {}
        for state in levels[-1]:
            for step in model.expand(state).steps:
                if step.after is not None and step.after not in known:
                    level.setdefault(step.after, []).append((state, (step.action, step.instance)))
            if len(known) + len(level) > MOST:
                return None
        known.update(level)
        levels.append(level)
    return levels if last in levels[-1] else None


def _ways(levels: list[Arrivals], last: Values) -> list[Arrivals]:
    """The levels after the first, reduced to states on a path to the last state."""
    ways: list[Arrivals] = []
    wanted = {last}
    for level in reversed(levels[1:]):
        ways.append({state: arrivals for state, arrivals in level.items() if state in wanted})
        wanted = {before for state in wanted for before, _ in level[state]}
    return ways[::-1]


def _best(
    model: Model, begun: Mapping[Values, Mapping[str, Way]], arrivals: list[tuple[Values, Choice]]
) -> dict[str, Way]:
    """The best ways to a state, by their last actor."""
    best: dict[str, Way] = {}
    for before, choice in arrivals:
        actor = actor_of(model, choice)
        for earlier, (changes, way) in begun.get(before, {}).items():
            candidate = changes + bool(way and earlier != actor), (*way, choice)
            best[actor] = min(best.get(actor, candidate), candidate)
    return best
