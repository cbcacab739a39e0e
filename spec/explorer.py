"""The explorer: a part of a state graph as one HTML file, in which a person goes from state to state.

Nothing in the file comes from elsewhere: no network, no font, no library. It has the states that are nearest to where
one begins, up to a number of them, each with all that can be done there; where a step leads beyond them, it says so.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from typing import Any, Final, NamedTuple

from spec.checking.followed import Followed
from spec.checking.model import Model, Transition
from spec.checking.paths import as_variables
from spec.checking.values import fields_of, show
from spec.checking.views import sentences
from spec.language.domains import LEFT_OUT
from spec.language.specification import Specification
from spec.language.state import Misplaced, Values, key_in_brackets
from spec.language.words import listening, without_bounds

__all__ = ["MOST", "Exit", "Explorer", "of_system", "of_trace"]

MOST: Final = 1_000
"""States that a file has, if nothing else is said: a megabyte or two."""
TITLE: Final = "<!--title-->"
DATA: Final = "/*data*/"
"""Where in the page they go."""


class Exit(NamedTuple):
    """A step that can be done in a state."""

    action: str
    parameters: Mapping[str, str]
    said: str
    actor: str
    receiver: str
    to: int | None
    """The number of the state that it leads to; None if that is not in the file."""
    wrong: str
    """Which value leaves its domain, if that is why."""


@dataclass(frozen=True)
class Explorer:
    """What is in the file. States are known by their numbers."""

    title: str
    sentence: str
    """What the property says whose trace it is, or what the system is about."""
    settings: Mapping[str, str]
    """Every constant and switch, as a person writes them."""
    documentation: Mapping[str, str]
    """The sentence of each variable and action."""
    states: Sequence[Mapping[str, Any]]
    """By variable, as the page draws them, see `pictured`."""
    views: Sequence[Sequence[str]]
    """What the views say of each state."""
    exits: Sequence[Sequence[Exit]]
    """What can be done in each state."""
    begins: Sequence[int]
    """Where one begins: the initial states, or that of a trace."""
    trace: Sequence[int] = ()
    """Which exit the trace takes, in each of its states but the last; nothing if it is no trace."""
    ending: str = ""
    """What is said of the trace's last state."""

    def to_json(self) -> dict[str, Any]:
        """One object, in which a value that several states have is written once."""
        pools: dict[str, dict[str, int]] = {name: {} for name in self.states[0]}
        rows = []
        for state in self.states:
            texts = {name: json.dumps(value, separators=(",", ":")) for name, value in state.items()}
            rows.append([pools[name].setdefault(text, len(pools[name])) for name, text in texts.items()])
        return {
            "title": self.title,
            "sentence": self.sentence,
            "settings": dict(self.settings),
            "documentation": dict(self.documentation),
            "variables": list(pools),
            "values": [[json.loads(text) for text in pool] for pool in pools.values()],
            "states": rows,
            "views": [list(each) for each in self.views],
            "exits": [[each._asdict() for each in exits] for exits in self.exits],
            "begins": list(self.begins),
            "trace": list(self.trace),
            "ending": self.ending,
        }

    def to_html(self) -> str:
        """The file."""
        data = json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))
        page = files("spec").joinpath("explorer.html").read_text(encoding="utf-8")
        return page.replace(TITLE, escape(self.title)).replace(DATA, data.replace("<", "\\u003c"))


def of_system(specification: Specification, most: int = MOST) -> Explorer:
    """The states nearest to the initial ones, that a search would come to.

    Raises:
        EvaluationFailed: an action raised.
    """
    model = Model(specification)
    first = [state for state, _ in model.initial_states() if state is not None]
    return _around(model, first, most)


def of_trace(followed: Followed, most: int = MOST) -> Explorer:
    """The states of a trace, and those nearest to them that a search would come to. The trace may go beyond bounds.

    Args:
        followed: a recorded trace that the specification has.
        most: how many states; those of the trace are there, however many they are.

    Raises:
        EvaluationFailed: an action raised.
    """
    replay, trace = followed.replay, followed.trace
    assert replay is not None, "only a trace that the specification has can be explored"
    assert trace is not None, "and then it is told"
    around = _around(replay.model, replay.reached, most, replay.choices)
    steps = [(each.action, {name: show(value) for name, value in each.parameters.items()}) for each in replay.steps]
    taken, here = [], 0
    for step in steps:
        at, exit_ = next(
            (at, each) for at, each in enumerate(around.exits[here]) if (each.action, each.parameters) == step
        )
        taken.append(at)
        here = here if exit_.to is None else exit_.to
    system = followed.recorded.system
    return replace(
        around,
        title=f"{system}: {trace.broken}" if trace.broken else f"{system}: a run of {trace.length} states",
        sentence=trace.sentence or around.sentence,
        begins=[0],
        trace=taken,
        ending=trace.ending,
    )


def pictured(value: Any) -> Any:
    """A value as the page draws it: words, a list of cells, or the pairs of a `record` or a `mapping`.

    >>> pictured((1, frozenset({2}))), pictured({"ann": None})
    (['1', '{2}'], {'mapping': [['ann', 'none']]})
    """
    if isinstance(value, Mapping):
        return {
            "mapping": [[key_in_brackets(key), pictured(part)] for key, part in value.items() if part is not LEFT_OUT]
        }
    if fields := fields_of(value):
        return {"record": [[name, pictured(part)] for name, part in fields]}
    if type(value) is tuple:
        return [pictured(each) for each in value]
    return show(value)


def _around(model: Model, seeds: Sequence[Values], most: int, choices: Sequence[tuple[int, int]] = ()) -> Explorer:
    """These states and the nearest to them, breadth first; each seed has its choice, whatever bounds say."""
    numbers = {state: number for number, state in enumerate(dict.fromkeys(seeds))}
    begins, left, expansions = len(numbers), deque(numbers), list[list[Transition]]()
    chosen = dict(zip(seeds, choices, strict=False))
    while left:
        state = left.popleft()
        steps = model.expand(state).steps
        if state in chosen and chosen[state] not in [(step.action, step.instance) for step in steps]:
            with without_bounds():
                beyond = model.expand(state).steps
            steps += [step for step in beyond if (step.action, step.instance) == chosen[state]]
        expansions.append(steps)
        for step in steps:
            if step.after is not None and step.after not in numbers and len(numbers) < most:
                numbers[step.after] = len(numbers)
                left.append(step.after)
    told = model.specification
    return Explorer(
        title=told.name,
        sentence=(type(told).__doc__ or "").strip().partition("\n")[0],
        settings={name: show(value) for name, value in told.valuation.items()},
        documentation={
            **{name: doc for name, (doc, _) in told.variables.items()},
            **{each.name: each.doc for each in model.actions},
        },
        states=[{name: pictured(value) for name, value in as_variables(model, state).items()} for state in numbers],
        views=[[each for each in sentences(model, state) if each] for state in numbers],
        exits=[
            [_exit(model, state, step, numbers) for step in steps]
            for state, steps in zip(numbers, expansions, strict=True)
        ],
        begins=range(begins),
    )


def _exit(model: Model, state: Values, step: Transition, numbers: Mapping[Values, int]) -> Exit:
    action, said = model.actions[step.action], list[str]()
    window = model.window()
    window.load(state)
    window.writable(action.name)
    with listening(said.append), suppress(Misplaced), without_bounds():
        action.instances[step.instance](window.s)
    lanes = action.lanes(step.instance)
    return Exit(
        action=action.name,
        parameters={name: show(value) for name, value in action.step(step.instance).parameters.items()},
        said="; ".join(said),
        actor=lanes.actor,
        receiver=lanes.receiver,
        to=None if step.after is None else numbers.get(step.after),
        wrong=step.wrong,
    )
