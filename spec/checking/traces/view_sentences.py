"""Views: their sentences about a state, and which of these are new since the state before.

A trace must be printed whatever mistakes its views have. So if a view raises, or returns something other than a text,
its sentence says that.
"""

from __future__ import annotations

from typing import Any

from spec.checking.model import Model
from spec.language.errors import Disabled, NotApplicable
from spec.language.rules import Instance
from spec.language.state import State, Values
from spec.language.words import Step


def sentences(model: Model, state: Values) -> tuple[str, ...]:
    """The sentence of each view, with each of its parameters, in order of declaration; empty if there is none."""
    if not model.views:
        return ()
    s = model.window().load(state)
    return tuple(_sentence(view.name, instance, s) for view in model.views for instance in view.instances)


def changed_sentences(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences about a state that are new since the state before.

    >>> changed_sentences(("the door is shut", "it rains", ""), ("the door is open", "it rains", "somebody comes"))
    ('the door is open', 'somebody comes')
    """
    return tuple(now for then, now in zip(before, after, strict=True) if now and now != then)


def evaluate(instance: Instance, s: State, nothing: Any) -> tuple[Any, str]:
    """The value of a view or a picture, `nothing` where it does not apply; and the error if it raised."""
    try:
        return instance(s), ""
    except NotApplicable:
        return nothing, ""
    except Disabled:
        return None, "`require` and `bound` belong in actions"
    except KeyboardInterrupt:
        raise
    except BaseException as failure:
        return None, f"{type(failure).__name__}: {failure}"


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
