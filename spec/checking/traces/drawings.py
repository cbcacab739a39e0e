"""Pictures of a state, as JSON for the page that shows them.

A thing is its words, or `{"tag": words, "look": ..., "note": ...}`; a drawing is named by its shape, such as
`{"queue": [...]}`. As with views, if a picture raises or returns something else, the message takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args

from spec.checking.model import Model
from spec.checking.traces.view_sentences import evaluate, failure_text
from spec.checking.values.text import show
from spec.language.errors import Disabled
from spec.language.instances import Instance
from spec.language.pictures import Cells, Drawing, Grid, Look, Queue, Tag, Tags, Tree
from spec.language.state import State, Values


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
