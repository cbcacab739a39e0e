"""The page as one file: it has the states nearest to its start, each with its enabled steps.

The file loads nothing: no network, no font, no library. Where a step leads to a state that is not in the file, the
page says so.
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

MOST: Final = 1_000
"""The default number of states in a file: a megabyte or two."""


@dataclass(frozen=True)
class Explorer:
    """The contents of the file. States are identified by numbers."""

    head: Mapping[str, Any]
    """The data common to all states, see `ExplorerModel.head`."""
    states: Sequence[Mapping[str, Any]]
    """The values of each state by variable, in the page's form, see `pictured`."""
    views: Sequence[Sequence[str]]
    """The sentences of the views for each state."""
    drawings: Sequence[Sequence[Any]]
    """The drawings of each state."""
    exits: Sequence[Sequence[EnabledStep[int]]]
    """The enabled steps of each state."""
    begins: Sequence[int]
    """The states to start from: the initial ones, or that of a trace."""
    trace: Sequence[int] = ()
    """The exit that the trace takes in each of its states but the last; empty without a trace."""

    @property
    def is_whole(self) -> bool:
        """Whether every step leads to a state in the file."""
        return all(each.to is not None or each.wrong for exits in self.exits for each in exits)

    def to_json(self) -> dict[str, Any]:
        """The contents as one object, in which a value of several states is written once."""
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
        """The file as HTML."""
        return page(self.head["title"], self.to_json())


class _Pool:
    """Numbered values."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def at(self, value: Any) -> int:
        number = self._numbers.setdefault(json.dumps(value), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def embedded(model: ExplorerModel, most: int = MOST) -> Explorer:
    """The states to start from, those of the trace, and the states nearest to them, breadth first: at most `most`,
    but always all of the first two. EvaluationFailed if an action raised.
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
    """The states nearest to the initial ones, among those that a search reaches; EvaluationFailed if an action
    raised.
    """
    return embedded(model_of_system(specification), most)


def of_trace(followed: Validation, most: int = MOST) -> Explorer:
    """The states of a trace, and the nearest states that a search reaches: at most `most`, but always all of the
    trace, which may exceed bounds. EvaluationFailed if an action raised.
    """
    return embedded(model_of_trace(followed), most)
