"""Steps as written in a printed program: `press(by=2)`, where `press` is a function of the machine's `actions`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from keyword import iskeyword
from typing import NamedTuple

from spec.checking.values.literals import class_name, literal
from spec.language.words import Step


class CalledStep(NamedTuple):
    """A step, and the name of the function that makes it."""

    name: str
    step: Step
    class_name: Callable[[type], str] = class_name
    """The name of a class in the program."""

    def __repr__(self) -> str:
        arguments = (f"{key}={literal(value, self.class_name)}" for key, value in self.step.parameters.items())
        return f"{self.name}({', '.join(arguments)})"


ActionFunction = Callable[..., CalledStep]
"""A function that makes the step of an action or an `initial` from its parameters."""


def action_function(
    name: str, action: str, doc: str, class_name: Callable[[type], str] = class_name
) -> ActionFunction:
    """The function of an action, with its description.

    >>> action_function("press", "press", "Press the button.")(by=2)
    press(by=2)
    """

    def step_of(**parameters: object) -> CalledStep:
        return CalledStep(name, Step(action, parameters), class_name)

    step_of.__name__ = step_of.__qualname__ = name
    step_of.__doc__ = doc
    return step_of


def free_names(actions: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """A name in a program for each action: its own if that is free, otherwise with underscores appended.

    >>> free_names(["zk.expire", "zk_expire", "state"], ["state"])
    {'zk.expire': 'zk_expire', 'zk_expire': 'zk_expire_', 'state': 'state_'}
    """
    names: dict[str, str] = {}
    used = set(taken)
    for action in actions:
        name = action.replace(".", "_")
        while name in used or iskeyword(name):
            name += "_"
        used.add(name)
        names[action] = name
    return names
