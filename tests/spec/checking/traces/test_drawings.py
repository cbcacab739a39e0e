"""Drawings: what pictures draw of a state, and how an author's mistakes in them are reported."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

from spec.checking import Model
from spec.checking.traces import trace, views
from spec.checking.traces.views import captions, drawings_in
from spec.language import (
    Cells,
    Grid,
    Look,
    Part,
    Queue,
    Specification,
    SpecificationError,
    State,
    Tag,
    Tags,
    Tree,
    action,
    part,
    picture,
    require,
    variable,
    where,
)
from tests.rows import rows


class Shelf(State):
    """A shelf with books."""

    books: tuple[int, ...] = variable("From left to right.", of=lambda self: [(), (7,), (7, 8)])


class Shelves(Part[Shelf]):
    """A part whose shelf is filled from outside."""

    @picture
    def row(self, s: Shelf) -> Cells:
        """The books."""
        return Cells(s.books, {"end": len(s.books)}, room=2)


class Room(State):
    """A room with a shelf."""

    shelf: Shelf
    shut: bool = variable("Whether it is shut.")


class Library(Specification[Room]):
    """A library."""

    @part
    def shelf(self) -> Shelves:
        """The only shelf."""
        return Shelves()

    @action
    def close(self, s: Room) -> None:
        """It is shut."""
        require(not s.shut)
        s.shut = True

    @picture(visitor=[1, 2])
    def inside(self, s: Room, visitor: int) -> Queue | None:
        """Who waits."""
        where(not s.shut)
        return Queue([Tag(f"visitor {visitor}", Look.faint)])


def test_examples() -> None:
    """Drawings as JSON, and the order of lanes."""
    for module in (trace, views):
        found = doctest.testmod(module)
        assert found.attempted > 0
        assert found.failed == 0


def test_each_picture_is_drawn_with_each_of_its_parameters() -> None:
    """The pictures of parts come after those of the whole, under the whole's name for the part."""
    model = Model(Library())
    assert [tuple(each) for each in captions(model)] == [
        ("inside(visitor=1)", "Who waits."),
        ("inside(visitor=2)", "Who waits."),
        ("shelf.row", "The books."),
    ]
    [begin] = model.first_states()
    assert drawings_in(model, begin) == (
        {"queue": [{"tag": "visitor 1", "look": "faint", "note": ""}]},
        {"queue": [{"tag": "visitor 2", "look": "faint", "note": ""}]},
        {"cells": [], "marks": [["end", 0]], "room": 2},
    )


def test_a_picture_is_left_out_where_its_condition_is_false() -> None:
    """`where` decides, as for a view."""
    model = Model(Library())
    [begin] = model.first_states()
    [shut] = [step.after for step in model.expand(begin).steps]
    assert shut is not None
    assert drawings_in(model, shut)[:2] == (None, None)


def of(made: Any) -> dict[str, Any]:
    """The drawings of a picture that does this."""

    class Wrong(Library):
        """A library with one mistaken picture."""

        @picture
        def view_of(self, s: Room) -> Any:
            """Something."""
            return made(s)

    model = Model(Wrong())
    [begin] = model.first_states()
    found: dict[str, Any] = drawings_in(model, begin)[2]
    return found


@rows(
    "made, message",
    [
        (lambda s: Tags([1 // 0]), "ZeroDivisionError: integer division or modulo by zero"),
        (lambda s: 7, "it answers 7, not a drawing"),
        (lambda s: require(False), "`require` and `bound` belong in actions"),
        (lambda s: Queue(require(False) for _ in "a"), "Disabled:"),  # type: ignore[func-returns-value]
        (lambda s: Queue(7), "TypeError: 'int' object is not iterable"),  # type: ignore[arg-type]
    ],
)
def test_an_error_in_a_picture_is_shown_in_its_place(made: Any, message: str) -> None:
    """A page must open despite any mistake of its author."""
    assert of(made) == {"fails": f"picture view_of() fails: {message}"}


@rows(
    "drawing, text",
    [
        (Tags([None, frozenset({1, 2}), "a"]), "{'tags': ['none', '{1, 2}', 'a']}"),
        (Tags([Tag(True)]), "{'tags': ['true']}"),
        (Cells([1], {"end": 3}), "{'cells': ['1'], 'marks': [['end', 3]], 'room': 3}"),
        (Grid(("who", "waits"), [("ann", Queue([1]))]), "{'grid': [['who', 'waits'], ['ann', {'queue': ['1']}]]}"),
        (
            Tree({"/ab": "", "/": "", "/a/c/d": "", "/a": Tags(())}),
            "{'tree': [['/', 0, '/', ''], ['/a', 1, 'a', {'tags': []}], "
            "['/a/c/d', 2, 'c/d', ''], ['/ab', 1, 'ab', '']]}",
        ),
    ],
)
def test_contents_of_drawings(drawing: Any, text: str) -> None:
    """Values as traces show them; drawings inside grids and trees; room for marks beyond the cells."""
    assert str(views.to_json(drawing)) == text


def test_a_picture_takes_the_parameters_of_a_view() -> None:
    """The specification and a state."""
    with pytest.raises(SpecificationError, match=r"picture Odd.of_what: its parameters must begin \(self, s, ...\)"):

        class Odd(Library):
            """Odd."""

            @picture
            def of_what(self) -> Tags:
                """Nothing."""
                return Tags(())
