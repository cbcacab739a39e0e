"""A type has a size, which determines the domain of every type made of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import pytest

from spec.checking import check
from spec.checking.model import Model
from spec.language import (
    LEFT_OUT,
    Partial,
    Size,
    Specification,
    SpecificationError,
    State,
    Step,
    Total,
    action,
    at_most,
    initial,
    integers,
    interchangeable,
    invariant,
    left_out,
    mapping,
    require,
    transition_invariant,
    variable,
)
from spec.language.sizes import Sizes
from tests.rows import rows

Number = Annotated[int, "a plot's number"]
Litres = Annotated[int, "litres"]
Notes = Annotated[tuple[Litres, ...], "the notes"]


class Plant(Enum):
    """A kind of plant."""

    FIG = 1
    PEAR = 2


class Bed(NamedTuple):
    """A bed in a garden."""

    plant: Plant | None
    water: Litres
    watched: bool


class Gap(NamedTuple):
    """The beds with nothing between them."""

    between: tuple[Number, Number]
    why: Literal["dry", "cold"]


GARDEN: Mapping[Any, Size] = {Number: range(2), Litres: integers(0, 3), Notes: at_most(2)}


@rows(
    "type_, values",
    [
        (bool, [False, True]),
        (None, [None]),
        (Plant, [Plant.FIG, Plant.PEAR]),
        (Number, [0, 1]),
        (Number | None, [None, 0, 1]),
        (Literal["dry", "cold"], ["dry", "cold"]),
        (Literal[-1] | Number, [-1, 0, 1]),
        (Literal[-1] | Number | None, [None, -1, 0, 1]),
        (frozenset[Number], [frozenset(), {0}, {1}, {0, 1}]),
        (tuple[Number, bool], [(0, False), (0, True), (1, False), (1, True)]),
        (tuple[()], [()]),
        (Annotated[Number, "another's"], [0, 1]),
    ],
)
def test_a_type_has_the_domain_of_its_parts(type_: Any, values: list[Any]) -> None:
    """In the order of its parts."""
    assert list(Sizes(GARDEN).domain(type_)) == values


def test_a_size_fixes_the_length_of_a_tuple() -> None:
    """A longer tuple is not in its domain."""
    notes = Sizes(GARDEN).domain(Notes)
    assert (notes.size, (0, 3) in notes, (0, 3, 1) in notes) == (1 + 4 + 16, True, False)


def test_a_record_is_sized_field_by_field() -> None:
    """By the types of its fields, or by a narrower size, everywhere or in one place."""
    everywhere = Sizes({**GARDEN, Bed.water: [1], Bed.plant: [None, Plant.PEAR]})
    assert Sizes(GARDEN).domain(Bed).size == 3 * 4 * 2
    assert everywhere.domain(Bed).size == 2 * 1 * 2
    assert everywhere.domain(Bed, water=[2, 3]).size == 2 * 2 * 2
    assert Sizes(GARDEN).domain(Gap).size == 2 * 2 * 2


def test_unread_fields_are_left_out() -> None:
    """Everywhere, or in one place."""
    assert list(Sizes({Litres: left_out()}).domain(Bed, plant=[None], watched=[True])) == [(None, LEFT_OUT, True)]
    assert Sizes({**GARDEN, Bed.water: left_out()}).domain(Bed).size == 3 * 1 * 2


def test_a_type_is_made_once() -> None:
    """For any number of variables, because permutations and learning compare domains."""
    sizes = Sizes(GARDEN)
    assert sizes.domain(Bed) is sizes.domain(Bed)


Plain = Annotated[int, "a number of something"]


@rows(
    "given, type_, said",
    [
        ({}, Number, "a plot's number: int has no size: give its values in sizes()"),
        ({}, Bed, "Bed.water: litres: int has no size: give its values in sizes()"),
        ({}, str, "str has no size: give its values in sizes()"),
        (
            {Number: range(2)},
            tuple[Number, ...],
            "tuple[a plot's number, ...] has no size: give its length in sizes(), at_most(...)",
        ),
        ({Number: at_most(2)}, Number, "at_most(2) is the size of a tuple[X, ...], not of int, a plot's number"),
        ({**GARDEN, Bed.water: [3, 4]}, Bed, "Bed.water: 4 is not an integer of 0..3, the values of int, litres"),
        ({Number: 7}, Number, "the size of int, a plot's number: 7 is not a domain: give a domain, a range, a "),
        (GARDEN, Total[str, Litres], "the keys of Total[str, litres]: str has no size: give its values in sizes()"),
        (
            {**GARDEN, Number: integers(0, 10**6)},
            Total[Number, Litres],
            "the keys of Total[a plot's number, litres]: an integer of 0..1000000: 1,000,001 values, and at most",
        ),
    ],
)
def test_a_missing_size_is_reported_with_its_place(given: Mapping[Any, Size], type_: Any, said: str) -> None:
    """In one line."""
    with pytest.raises(SpecificationError) as wrong:
        Sizes(given).domain(type_)
    assert said in str(wrong.value)
    assert "\n" not in str(wrong.value)


@rows(
    "type_, narrowed, said",
    [
        (Bed, {"colour": ["red"]}, "Bed has no field colour; it has plant, water, watched"),
        (Number, {"water": [1]}, "int, a plot's number is not a NamedTuple, so it has no fields to narrow"),
        (Bed, {"water": [9]}, "Bed.water: 9 is not an integer of 0..3, the values of int, litres"),
    ],
)
def test_an_impossible_narrowing_is_refused(type_: Any, narrowed: dict[str, Size], said: str) -> None:
    """The error names the field."""
    with pytest.raises(SpecificationError) as wrong:
        Sizes(GARDEN).domain(type_, **narrowed)
    assert str(wrong.value) == said


# In a specification.


class Plots(State):
    """A garden."""

    beds: Total[Number, Bed] = variable("The beds by their plots.")
    cans: Partial[Number, Litres] = variable("Litres in each existing can.", of=lambda self, plot: range(plot + 1))
    best: Number | None = variable("The winner of the prize.")
    rain: bool = variable("Whether it rains.", when=lambda self: self.wet)
    paths: Any = variable("Between beds.", of=lambda self: mapping("ab", self.domain_of(bool)))

    def dry(self) -> list[Number]:
        """The beds without water."""
        return [number for number, bed in self.beds.items() if not bed.water]


P = TypeVar("P", bound=Plots)


class Rules(Specification[P]):
    """Common rules of all gardens."""

    wet = False

    def sizes(self) -> Mapping[Any, Size]:
        return GARDEN

    @initial
    def planted(self, s: P, plant: Plant) -> None:
        """One of each."""
        s.beds[0] = Bed(plant, 0, True)

    @action
    def pour(self, s: P, number: Number, litres: Litres) -> None:
        """Water a bed."""
        require(s.beds[number].water + litres < 4)
        s.beds[number] = s.beds[number]._replace(water=s.beds[number].water + litres)

    @action(number=(1,))
    def open_a_path(self, s: P, which: Literal["a", "b"], number: Number) -> None:
        """A path to the last bed."""
        s.paths[which] = number in s.dry()

    @invariant
    def watered(self, s: P, number: Number) -> bool:
        """Always."""
        return s.beds[number].water >= 0

    @transition_invariant
    def stays(self, before: P, step: Step, after: P, number: Number) -> bool:
        """A plant."""
        return before.beds[number].plant == after.beds[number].plant


class Garden(Rules[Plots]):
    """A plain one."""


class Sheds(Plots):
    """A garden with sheds."""

    keys: frozenset[Number] = variable("The holders of a key.")


class WithSheds(Rules[Sheds]):
    """A variant with more variables, and an override without a mark."""

    wet = True

    def pour(self, s: Sheds, number: int, litres: int) -> None:
        super().pour(s, number, litres)
        s.keys |= {number}


def cells(specification: Specification) -> list[str]:
    """Return the positions of its values."""
    return [cell.name for cell in Model(specification).layout.cells]


def test_variables_are_lines_in_a_class_of_states() -> None:
    """In their order, with a variant's own at the end; each with its sentence, domain and condition."""
    common = ["beds[0]", "beds[1]", "cans[0]", "cans[1]", "best"]
    assert cells(Garden()) == [*common, "paths[a]", "paths[b]"]
    assert cells(WithSheds()) == [*common, "rain", "paths[a]", "paths[b]", "keys"]
    assert Garden().variables["best"][0] == "The winner of the prize."
    sizes = {cell.name: cell.domain.size for cell in Model(Garden()).layout.cells}
    assert (sizes["cans[0]"], sizes["cans[1]"], sizes["best"]) == (2, 3, 3)


def test_parameters_range_over_their_types() -> None:
    """Parameters without a range of their own do, in their order."""
    pour, path = Garden().actions
    assert [dict(each.parameters) for each in pour.instances[:5]] == [
        {"number": number, "litres": litres} for number, litres in ((0, 0), (0, 1), (0, 2), (0, 3), (1, 0))
    ]
    assert [[*each.parameters.values()] for each in path.instances] == [["a", 1], ["b", 1]]
    assert len([*Garden().initials]) == 2
    assert [len(each.instances) for each in Garden().properties] == [2, 2]


def test_a_method_that_overrides_needs_no_mark_and_no_types() -> None:
    """Its parameters keep their ranges."""
    pour = WithSheds().actions[0]
    assert [*pour.domains] == ["number", "litres"]
    assert len(pour.instances) == 2 * 4


def test_states_may_have_methods() -> None:
    """On every engine."""
    local = check(Garden(), engine="local")
    assert local.verdict == "holds"
    assert local.distinct_states == check(Garden(), engine="reference").distinct_states == 2 * 4 * 4 * 4


def test_absent_variables_cannot_be_read() -> None:
    """The error is that of an undeclared variable."""

    class Reads(Garden):
        @action
        def look(self, s: Plots) -> None:
            require(s.rain)

    with pytest.raises(Exception, match="there is no variable rain; there are beds, cans, best, paths"):
        check(Reads())


def test_interchangeable_values_are_those_of_a_type() -> None:
    """In every place of the type."""

    class Alike(Garden):
        def sizes(self) -> Mapping[Any, Size]:
            return {**GARDEN, Number: interchangeable("plot", range(2))}

        open_a_path = None  # type: ignore[assignment]  # it distinguishes the last one

    with pytest.raises(Exception, match="cans"):  # each of these holds as many litres as its number says
        check(Alike(), symmetry=True)


# Mistakes.


def test_a_variable_without_a_type_is_refused() -> None:
    with pytest.raises(SpecificationError, match=r"variable Bare\.x: it has no type"):

        class Bare(State):
            x = variable("What it is.")


def test_a_variable_does_not_take_the_name_of_something_else() -> None:
    with pytest.raises(SpecificationError, match=r"variable Taken\.members: the language uses that name itself"):

        class Taken(State):
            members: bool = variable("Whether.")  # type: ignore[assignment]


def test_sizes_is_a_method() -> None:
    with pytest.raises(SpecificationError, match=r"Given\.sizes is a method that returns the size of each type"):

        class Given(Specification):
            sizes = {Number: range(2)}  # type: ignore[assignment]


class Unsized(Specification[Plots]):
    """It gives no sizes."""

    wet = False

    @action
    def nothing(self, s: Plots) -> None:
        """Nothing."""


def test_a_type_without_size_is_reported_with_its_variable() -> None:
    with pytest.raises(SpecificationError, match=r"^variable beds: a plot's number: int has no size"):
        Model(Unsized())


def test_an_unknown_name_is_reported() -> None:
    class Strange(State):
        x: Unknown = variable("What it is.")  # type: ignore[name-defined]  # noqa: F821

    class OfThem(Specification[Strange]):
        @action
        def nothing(self, s: Strange) -> None:
            """Nothing."""

    with pytest.raises(SpecificationError, match=r"variable x: the annotations of .*Strange: name 'Unknown'"):
        Model(OfThem())


@rows(
    "of, when, said",
    [(range(3), None, "of= must be a function"), (None, 3, "when= must be a function")],
)
def test_of_and_when_of_a_variable_are_functions(of: Any, when: Any, said: str) -> None:
    """Anything else is refused."""
    with pytest.raises(SpecificationError, match=rf"variable\('What it is.'\): {said} of the specification"):
        variable("What it is.", of=of, when=when)
