"""Views: what they say of a state, and what of that they did not say of the state before.

A trace must be printed whatever its author got wrong in the sentences beside it. So if a view raises, or returns
something else than a text, its sentence says that.
"""

from __future__ import annotations

from spec.checking.model import Model
from spec.language.errors import Disabled, NothingToSay
from spec.language.part import Instance
from spec.language.state import State, Values
from spec.language.words import Step


def sentences(model: Model, state: Values) -> tuple[str, ...]:
    """What each view says, with each of its parameters, in order of declaration; empty where it says nothing."""
    if not model.views:
        return ()
    s = model.window().load(state)
    return tuple(_sentence(view.name, instance, s) for view in model.views for instance in view.instances)


def news(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences about a state that were not said of the state before.

    >>> news(("the door is shut", "it rains", ""), ("the door is open", "it rains", "somebody comes"))
    ('the door is open', 'somebody comes')
    """
    return tuple(now for then, now in zip(before, after, strict=True) if now and now != then)


def _sentence(name: str, instance: Instance, s: State) -> str:
    """What one view says, on one line."""
    try:
        text = instance(s)
        if isinstance(text, str):
            return _on_one_line(text)
        wrong = f"it answers {text!r}, not a text"
    except NothingToSay:
        return ""
    except Disabled:
        wrong = "`require` and `bound` belong into actions"
    except KeyboardInterrupt:
        raise
    except BaseException as failure:
        wrong = f"{type(failure).__name__}: {failure}"
    return _on_one_line(f"view {Step(name, instance.parameters)} fails: {wrong}")


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
