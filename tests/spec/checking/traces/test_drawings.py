"""Pictures: what they draw of a state, whatever their author got wrong in them."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

from spec.checking import Model
from spec.checking.traces import drawings, lanes
from spec.checking.traces.drawings import captions, drawings_in
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
    """A shelf is filled by somebody else."""

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
        """Its only shelf."""
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
    """What drawings are as JSON, and in which order lanes stand."""
    for module in (drawings, lanes):
        found = doctest.testmod(module)
        assert found.attempted > 0
        assert found.failed == 0


def test_each_picture_is_drawn_with_each_of_its_parameters() -> None:
    """Those of parts behind those of the whole, under the name that the whole gives them."""
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


def test_a_picture_says_nothing_where_it_is_not_about_the_state() -> None:
    """By `where`, as a view."""
    model = Model(Library())
    [begin] = model.first_states()
    [shut] = [step.after for step in model.expand(begin).steps]
    assert shut is not None
    assert drawings_in(model, shut)[:2] == (None, None)


def of(made: Any) -> dict[str, Any]:
    """What is drawn where a picture does this."""

    class Wrong(Library):
        """It has one picture that is not as it should be."""

        @picture
        def view_of(self, s: Room) -> Any:
            """Something."""
            return made(s)

    model = Model(Wrong())
    [begin] = model.first_states()
    found: dict[str, Any] = drawings_in(model, begin)[2]
    return found


@rows(
    "made, told",
    [
        (lambda s: Tags([1 // 0]), "ZeroDivisionError: integer division or modulo by zero"),
        (lambda s: 7, "it answers 7, not a drawing"),
        (lambda s: require(False), "`require` and `bound` belong in actions"),
        (lambda s: Queue(require(False) for _ in "a"), "Disabled:"),  # type: ignore[func-returns-value]
        (lambda s: Queue(7), "TypeError: 'int' object is not iterable"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_in_a_picture_is_told_in_its_place(made: Any, told: str) -> None:
    """A page must open whatever its author got wrong."""
    assert of(made) == {"fails": f"picture view_of() fails: {told}"}


@rows(
    "drawing, told",
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
def test_things_in_drawings_in(drawing: Any, told: str) -> None:
    """Values as traces show them; drawings within grids and trees; marks beyond the cells have room."""
    assert str(drawings.to_json(drawing)) == told


def test_a_picture_begins_as_a_view_does() -> None:
    """It is given the specification and a state."""
    with pytest.raises(SpecificationError, match=r"picture Odd.of_what: it must begin \(self, s, ...\)"):

        class Odd(Library):
            """Odd."""

            @picture
            def of_what(self) -> Tags:
                """Nothing."""
                return Tags(())
