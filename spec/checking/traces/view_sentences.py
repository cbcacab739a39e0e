"""Views: their sentences about a state, and which of these are new since the state before.

A trace must be printed whatever mistakes its views have. So if a view raises, or returns something other than a text,
its sentence says that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spec.checking.model import Model
from spec.language.errors import Disabled, NotApplicable
from spec.language.instances import Instance
from spec.language.state import State, Values
from spec.language.words import Step

Sentences = Mapping[tuple[int, int], str]
"""Sentences about a state, in order of declaration, by the numbers of the view and of its instance."""


def sentences(model: Model, state: Values) -> Sentences:
    """The sentence of each view, with each of its parameters that has something to say."""
    if not model.views:
        return {}
    s = model.window().load(state)
    found: dict[tuple[int, int], str] = {}
    for number, view in enumerate(model.views):
        try:
            for at in view.present(s):
                found[number, at] = _sentence(view.name, view.instances[at], s)
        except (Exception, Disabled) as failure:  # a range raised
            found[number, 0] = _on_one_line(f"view {view.name} fails: {failure_of(failure)}")
    return {place: text for place, text in found.items() if text}


def changed_sentences(before: Sentences, after: Sentences) -> tuple[str, ...]:
    """The sentences about a state that are new since the state before.

    >>> changed_sentences({(0, 0): "it is shut", (1, 0): "it rains"}, {(0, 0): "it is open", (1, 0): "it rains"})
    ('it is open',)
    """
    return tuple(now for place, now in after.items() if now != before.get(place))


def evaluate(instance: Instance, s: State, nothing: Any) -> tuple[Any, str]:
    """The value of a view or a picture, `nothing` where it does not apply; and the error if it raised."""
    try:
        return instance(s), ""
    except NotApplicable:
        return nothing, ""
    except KeyboardInterrupt:
        raise
    except BaseException as failure:
        return None, failure_of(failure)


def failure_of(failure: BaseException) -> str:
    """What a view raised, in words."""
    if isinstance(failure, Disabled):
        return "`require` and `bound` belong in actions"
    return f"{type(failure).__name__}: {failure}"


def failure_text(word: str, name: str, instance: Instance, wrong: str) -> str:
    """The message that replaces an unusable value."""
    return _on_one_line(f"{word} {Step(name, instance.parameters)} fails: {wrong}")


def _sentence(name: str, instance: Instance, s: State) -> str:
    """The sentence of one view, in one line."""
    text, wrong = evaluate(instance, s, "")
    if isinstance(text, str):
        return _on_one_line(text)
    return failure_text("view", name, instance, wrong or f"it answers {text!r}, not a text")


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
