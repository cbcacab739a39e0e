"""The page as one file: it has the states that are nearest to where one begins, each with all that can be done there.

Nothing in the file comes from elsewhere: no network, no font, no library. Where a step leads beyond the states that
it has, it says so.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spec.checking.model import Transition
from spec.checking.traces.validate import Validation
from spec.explorer.explorer_model import EnabledStep, ExplorerModel, model_of_system, model_of_trace
from spec.explorer.page import page
from spec.language.specification import Specification
from spec.language.state import Values

__all__ = ["MOST", "Explorer", "embedded", "of_system", "of_trace"]

MOST: Final = 1_000
"""States that a file has, if nothing else is said: a megabyte or two."""


@dataclass(frozen=True)
class Explorer:
    """What is in the file. States are known by their numbers."""

    head: Mapping[str, Any]
    """What is the same in all states, see `ExplorerModel.head`."""
    states: Sequence[Mapping[str, Any]]
    """By variable, as the page draws them, see `pictured`."""
    views: Sequence[Sequence[str]]
    """What the views say of each state."""
    drawings: Sequence[Sequence[Any]]
    """What the pictures draw of it."""
    exits: Sequence[Sequence[EnabledStep[int]]]
    """What can be done in each state."""
    begins: Sequence[int]
    """Where one begins: the initial states, or that of a trace."""
    trace: Sequence[int] = ()
    """Which exit the trace takes, in each of its states but the last; nothing if it is no trace."""

    @property
    def is_whole(self) -> bool:
        """Whether every step leads to a state that the file has."""
        return all(each.to is not None or each.wrong for exits in self.exits for each in exits)

    def to_json(self) -> dict[str, Any]:
        """One object, in which a value that several states have is written once."""
        variables, captions = self.head["variables"], self.head["captions"]
        values = [_Pool() for _ in variables]
        drawn = [_Pool() for _ in captions]
        rows = [[pool.at(each[name]) for name, pool in zip(variables, values, strict=True)] for each in self.states]
        pictures = [[pool.at(one) for one, pool in zip(each, drawn, strict=True)] for each in self.drawings]
        return {
            **self.head,
            "values": [pool.values for pool in values],
            "states": rows,
            "views": [list(each) for each in self.views],
            "drawings": [pool.values for pool in drawn],
            "pictures": pictures,
            "exits": [[each._asdict() for each in exits] for exits in self.exits],
            "begins": list(self.begins),
            "trace": list(self.trace),
        }

    def to_html(self) -> str:
        """The file."""
        return page(self.head["title"], self.to_json())


class _Pool:
    """Values, each of which has a number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def at(self, value: Any) -> int:
        number = self._numbers.setdefault(json.dumps(value), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def embedded(model: ExplorerModel, most: int = MOST) -> Explorer:
    """Where one begins, the trace, and the states nearest to them, breadth first.

    Args:
        model: what is explored.
        most: how many states; those where one begins and those of the trace are there, however many they are.

    Raises:
        EvaluationFailed: an action raised.
    """
    numbers = {state: number for number, state in enumerate(dict.fromkeys((*model.begins, *model.states)))}
    left, expansions = deque(numbers), dict[Values, list[Transition]]()
    while left:
        state = left.popleft()
        expansions[state] = steps = model.steps_of(state)
        for step in steps:
            if step.after is not None and step.after not in numbers and len(numbers) < most:
                numbers[step.after] = len(numbers)
                left.append(step.after)
    return Explorer(
        head=model.head,
        states=[model.values_of(state) for state in numbers],
        views=[model.sentences_of(state) for state in numbers],
        drawings=[model.drawings_of(state) for state in numbers],
        exits=[
            [
                model.enabled_step(state, step, None if step.after is None else numbers.get(step.after))
                for step in expansions[state]
            ]
            for state in numbers
        ],
        begins=range(len(model.begins)),
        trace=model.taken,
    )


def of_system(specification: Specification, most: int = MOST) -> Explorer:
    """The states nearest to the initial ones, that a search would come to.

    Raises:
        EvaluationFailed: an action raised.
    """
    return embedded(model_of_system(specification), most)


def of_trace(followed: Validation, most: int = MOST) -> Explorer:
    """The states of a trace, and those nearest to them that a search would come to. The trace may go beyond bounds.

    Args:
        followed: a recorded trace that the specification has.
        most: how many states; those of the trace are there, however many they are.

    Raises:
        EvaluationFailed: an action raised.
    """
    return embedded(model_of_trace(followed), most)
