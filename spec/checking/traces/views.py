"""What the author shows of a state: the sentences of its views, and its pictures.

A trace must be printed whatever mistakes its views have. So if a view or a picture raises, or returns something else
than a text or a drawing, a message that says so takes its place.

A page gets pictures as JSON. There a thing is its words, or `{"tag": words, "look": ..., "note": ...}`; a drawing is
named by its shape, such as `{"queue": [...]}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args

from spec.checking.model import Model
from spec.checking.values.text import show
from spec.language.errors import Disabled, NotApplicable
from spec.language.instances import Instance
from spec.language.pictures import Cells, Drawing, Grid, Look, Queue, Tag, Tags, Tree
from spec.language.state import State, Values
from spec.language.words import Step

# Sentences.


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


# Pictures.


class Caption(NamedTuple):
    """The heading of a picture."""

    name: str
    sentence: str


def captions(model: Model) -> tuple[Caption, ...]:
    """The caption of each picture, with each of its parameters, in order of declaration."""
    return tuple(
        Caption(_name(picture.name, instance), picture.doc)
        for picture in model.specification.pictures
        for instance in picture.instances
    )


def drawings_in(model: Model, state: Values) -> tuple[Any, ...]:
    """The drawing of each picture, as JSON, in the order of their captions; None where it draws nothing.

    The state need not be reachable.
    """
    s = model.window().load(state)
    return tuple(
        _drawing(picture.name, instance, s)
        for picture in model.specification.pictures
        for instance in picture.instances
    )


def _name(picture: str, instance: Instance) -> str:
    given = ", ".join(f"{name}={show(value)}" for name, value in instance.parameters.items())
    return f"{picture}({given})" if given else picture


def _drawing(name: str, instance: Instance, s: State) -> Any:
    answer, wrong = evaluate(instance, s, None)
    if answer is None and not wrong:
        return None
    if not wrong and not isinstance(answer, get_args(Drawing)):
        wrong = f"it answers {answer!r}, not a drawing"
    if not wrong:
        try:
            return to_json(answer)
        except (Exception, Disabled) as failure:  # its content does not fit its shape
            wrong = f"{type(failure).__name__}: {failure}"
    return {"fails": failure_text("picture", name, instance, wrong)}


def to_json(thing: Any) -> Any:
    """A drawing, or a thing in one, as JSON.

    >>> to_json(Cells(("a", 7), {"end": 2})), to_json(Tag(None, Look.gone))
    ({'cells': ['a', '7'], 'marks': [['end', 2]], 'room': 2}, {'tag': 'none', 'look': 'gone', 'note': ''})
    >>> to_json(Tree({"/a": "", "/a/b": 1}))
    {'tree': [['/a', 0, 'a', ''], ['/a/b', 1, 'b', '1']]}
    """
    match thing:
        case str():
            return thing
        case Tag(what=what, look=Look.plain, note=""):
            return to_json(what)
        case Tag(what=what, look=look, note=note):
            return {"tag": what if isinstance(what, str) else show(what), "look": look.name, "note": to_json(note)}
        case Tags(things=things):
            return {"tags": [to_json(each) for each in things]}
        case Queue(things=things):
            return {"queue": [to_json(each) for each in things]}
        case Cells(things=things, marks=marks, room=room):
            cells = [to_json(each) for each in things]
            places = [[to_json(name), place] for name, place in marks.items()]
            return {"cells": cells, "marks": places, "room": max([room, len(cells), *marks.values()])}
        case Tree(nodes=nodes):
            return {"tree": [list(row) for row in _rows(nodes)]}
        case Grid(titles=titles, rows=rows):
            return {"grid": [[to_json(each) for each in titles], *([to_json(each) for each in row] for row in rows)]}
        case _:
            return show(thing)


def _rows(nodes: Mapping[str, Any]) -> Iterator[tuple[str, int, str, Any]]:
    """Each node in depth-first order: its path, its depth, its name below its parent, its content."""
    above: list[str] = []
    for path in sorted(nodes, key=lambda path: path.rstrip("/").split("/")):
        while above and not path.startswith(f"{above[-1].rstrip('/')}/"):
            above.pop()
        name = path[len(above[-1]) :].lstrip("/") if above else path.lstrip("/") or path
        yield path, len(above), name, to_json(nodes[path])
        above.append(path)
