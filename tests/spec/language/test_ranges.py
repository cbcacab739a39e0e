"""A parameter may range over values of the current state: a set, the keys of a mapping, or an expression of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest

from spec.checking import EvaluationFailed, Result, check
from spec.checking.model import Model
from spec.checking.traces.explain import explain
from spec.checking.traces.itf import RecordedTrace
from spec.language import (
    Partial,
    Size,
    Specification,
    SpecificationError,
    State,
    Step,
    UsageError,
    action,
    at_most,
    bound,
    each,
    initial,
    interchangeable,
    invariant,
    require,
    sometimes,
    subset_of,
    transition_invariant,
    variable,
    view,
    where,
)
from tests.spec.checking.everywhere import agreed

Place = Annotated[int, "a place"]


class Letter(NamedTuple):
    """A letter from one place to another."""

    sender: Place
    receiver: Place


class Post(State):
    """Letters on their way, and the arrived ones in each box."""

    letters: frozenset[Letter] = variable("The letters on their way.")
    boxes: Partial[Place, int] = variable("Letters in each existing box.", of=lambda self, at: range(3))


class ByDomain(Specification[Post]):
    """Parameters range over every possible letter, with a guard."""

    def sizes(self) -> Mapping[Any, Size]:
        return {Place: range(3)}

    @action
    def put_up(self, s: Post, place: Place) -> None:
        """A box."""
        require(place not in s.boxes)
        s.boxes[place] = 0

    @action
    def send(self, s: Post, letter: Letter) -> None:
        """A letter."""
        require(letter.sender != letter.receiver)
        s.letters |= {letter}

    @action
    def deliver(self, s: Post, letter: Letter, box: Place) -> None:
        """A letter to a box."""
        require(letter in s.letters and box in s.boxes)
        require(letter.receiver == box)
        bound(s.boxes[box] < 2)
        s.letters -= {letter}
        s.boxes[box] += 1

    @action
    def take_down(self, s: Post, box: Place) -> None:
        """A box that is not the first one."""
        require(box in [place for place in s.boxes if place > 0])
        del s.boxes[box]


class ByState(ByDomain):
    """Letters and their boxes."""

    @action(letter=lambda self, s: s.letters, box=lambda self, s: s.boxes)
    def deliver(self, s: Post, letter: Letter, box: Place) -> None:
        """A letter to a box."""
        require(letter.receiver == box)
        bound(s.boxes[box] < 2)
        s.letters -= {letter}
        s.boxes[box] += 1

    @action(box=lambda self, s: [place for place in s.boxes if place > 0])
    def take_down(self, s: Post, box: Place) -> None:
        """A box that is not the first one."""
        del s.boxes[box]


def figures(result: Result) -> tuple[Any, ...]:
    """Return the figures, and how often each action was taken."""
    taken = [(each.name, each.taken, each.enabled) for each in result.actions]
    return result.verdict, result.distinct_states, result.generated_states, result.depth, taken


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_actions_range_over_present_values(engine: str) -> None:
    """The result equals that of a guard, on every engine."""
    asked: dict[str, Any] = {"engine": engine, "max_depth": 8}
    assert figures(check(ByState(), **asked)) == figures(check(ByDomain(), **asked))
    assert check(ByState(), **asked).distinct_states > 1000


class UntypedState(State):
    """The states of `Untyped`."""

    letters: frozenset[str] = variable("The letters on their way.", of=lambda self: subset_of(("a", "b")))


class Untyped(Specification[UntypedState]):
    """Two letters without a type."""

    @action
    def send(self, s: UntypedState) -> None:
        """The first."""
        s.letters |= {"a"}

    @action(letter=lambda self, s: s.letters)
    def receive(self, s: UntypedState, letter: str) -> None:
        """One."""
        s.letters -= {letter}

    @invariant(letter=lambda self, s: s.letters)
    def only_the_first(self, s: UntypedState, letter: str) -> bool:
        """One of the present letters."""
        return letter == "a"

    @sometimes(letter=lambda self, s: s.letters)
    def something(self, s: UntypedState, letter: str) -> bool:
        """A letter is on its way."""
        return True

    @view(letter=lambda self, s: s.letters)
    def under_way(self, s: UntypedState, letter: str) -> str:
        """The letters on their way."""
        return f"{letter} is on its way"


def test_the_domain_is_that_of_the_set() -> None:
    """If the range is a set or a mapping of the state, the parameter needs no type."""
    result = check(Untyped())
    assert (result.verdict, result.distinct_states) == ("holds", 2)
    assert [len(each.instances) for each in Untyped().actions] == [1, 2]


def test_properties_and_views_range_over_present_values() -> None:
    """For an absent value an invariant holds, a witness is not seen, and a view prints nothing."""

    class Second(Untyped):
        @action
        def send(self, s: UntypedState) -> None:
            """The other."""
            s.letters |= {"b"}

    result = check(Second())
    assert result.verdict == "violated"
    assert result.counterexample is not None
    assert [*result.counterexample.steps[-1].views] == ["b is on its way"]
    assert {each.name: each.verdict for each in result.properties}["something"] == "witnessed"


def test_a_range_made_of_the_state_needs_a_type() -> None:
    """The possible values cannot be derived from an expression."""

    class Computed(Untyped):
        @action(letter=lambda self, s: [each for each in s.letters if each != "b"])
        def receive(self, s: UntypedState, letter) -> None:  # type: ignore[no-untyped-def]
            """One."""

    with pytest.raises(SpecificationError, match="parameter letter: it ranges over part of the state"):
        check(Computed())


class Astray(Untyped):
    """Parameters range over a computed set."""

    @action(letter=lambda self, s: ["a", "z"] if s.letters else [])
    def receive(self, s: UntypedState, letter: Annotated[str, "a letter"]) -> None:
        """One."""

    def sizes(self) -> dict[Any, Size]:
        """Two letters."""
        return {Annotated[str, "a letter"]: ["a", "b"]}


class AstrayProperty(Astray):
    """A property with such a range."""

    @action
    def receive(self, s: UntypedState, letter: Annotated[str, "a letter"]) -> None:
        """One."""

    @invariant(letter=lambda self, s: {"a", "z"} if s.letters else set())
    def only_the_first(self, s: UntypedState, letter: Annotated[str, "a letter"]) -> bool:
        """One of the present letters."""
        return True


class Boxes(State):
    """The states of `OneOrOther`."""

    few: frozenset[Annotated[int, "a few"]] = variable("Two.")
    many: frozenset[Annotated[int, "many"]] = variable("Four.")


class OneOrOther(Specification[Boxes]):
    """A parameter ranges over one of two sets, and the state decides which."""

    def sizes(self) -> dict[Any, Size]:
        """One is larger."""
        return {Annotated[int, "a few"]: range(2), Annotated[int, "many"]: range(4)}

    @initial
    def begin(self, s: Boxes) -> None:
        """Only one set is filled, with elements that the other cannot have."""
        s.many = frozenset({3})

    @action(box=lambda self, s: s.few or s.many)
    def take(self, s: Boxes, box: Annotated[int, "many"]) -> None:
        """Its set is empty."""
        s.many -= {box}


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_parameter_ranges_over_either(engine: str) -> None:
    """It may take the values of both, not only of the one returned when the state is unknown."""
    result = check(OneOrOther(), engine=engine)
    assert (result.verdict, result.distinct_states) == ("holds", 2)


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize("astray", [Astray, AstrayProperty])
def test_an_impossible_parameter_value_is_reported(astray: type[Astray], engine: str) -> None:
    """A silent skip would look like an action that is never taken."""
    outside = "parameter letter: its range in this state exceeds its type: 'z' is not one of a, b"
    with pytest.raises(EvaluationFailed, match=outside) as failed:
        check(astray(), engine=engine)
    assert failed.value.trace is not None
    assert failed.value.trace.length == 2


def test_a_step_has_two_states() -> None:
    """So a parameter of a step property ranges over a domain."""
    with pytest.raises(
        SpecificationError, match="letter cannot range over a state, because it is not about one state"
    ):

        class OfSteps(Untyped):
            @transition_invariant(letter=lambda self, s: s.letters)
            def stays(self, before: UntypedState, step: Step, after: UntypedState, letter: str) -> bool:
                """It does."""
                return True


def test_no_name_stands_for_two_things_in_one_class() -> None:
    """The second definition would replace the first."""
    with pytest.raises(SpecificationError, match=r"^action x: an invariant already has that name$"):

        class Twice(Untyped):
            @invariant
            def x(self, s: UntypedState) -> bool:
                """It."""
                return True

            @action  # type: ignore[no-redef]
            def x(self, s: UntypedState) -> None:  # noqa: F811
                """It."""


class Drawer(State):
    """The states of `Drawn`."""

    cards: tuple[Annotated[int, "a card"], ...] = variable("Cards, some of them twice.")
    open: bool = variable("Whether one can be taken.")


class Drawn(Specification[Drawer]):
    """Parameters beside each other, of the state and of their types; ranges with duplicates, guards and bounds."""

    def sizes(self) -> dict[Any, Size]:
        """Three cards."""
        return {Annotated[int, "a card"]: range(3), tuple[Annotated[int, "a card"], ...]: at_most(3)}

    @action
    def put(self, s: Drawer, card: Annotated[int, "a card"]) -> None:
        """A card."""
        require(len(s.cards) < 3)
        s.cards += (card,)

    @action(card=lambda self, s: s.cards)
    def take(self, s: Drawer, keep_open: bool, card: Annotated[int, "a card"]) -> None:
        """Every such card."""
        s.cards = tuple(each for each in s.cards if each != card)
        s.open = keep_open

    def of_the_open(self, s: Drawer) -> Iterator[int]:
        """Cards, if it is open and has few."""
        require(s.open)
        bound(len(s.cards) < 3)
        return reversed(s.cards)

    @action(other=lambda self, s: s.cards, card=of_the_open)
    def exchange(self, s: Drawer, other: Annotated[int, "a card"], card: Annotated[int, "a card"]) -> None:
        """One for another."""
        s.cards = tuple(other if each == card else each for each in s.cards)


class AstrayLate(Drawn):
    """The second range exceeds its type, if the first has a value."""

    @action(other=lambda self, s: s.cards[1:], card=lambda self, s: (9, 7))
    def exchange(self, s: Drawer, other: Annotated[int, "a card"], card: Annotated[int, "a card"]) -> None:
        """Never."""


class NoCollection(Drawn):
    """A range is sometimes a number."""

    @action(card=lambda self, s: len(s.cards) > 1 or s.cards)
    def take(self, s: Drawer, keep_open: bool, card: Annotated[int, "a card"]) -> None:
        """Nothing."""


@pytest.mark.parametrize("drawn", [pytest.param(Drawn, marks=pytest.mark.long), AstrayLate, NoCollection])
def test_ranges_mean_the_same_to_every_engine(drawn: type[Drawn], tmp_path: Path) -> None:
    """The same steps in the same order, and the same errors, with the path to the state."""
    agreed(drawn(), tmp_path, seed=1)


def test_an_error_names_the_action_and_the_parameter() -> None:
    """With the value and the allowed ones."""
    with pytest.raises(EvaluationFailed) as failed:
        check(AstrayLate(), engine="reference")
    assert str(failed.value) == (
        "exchange: parameter card: its range in this state exceeds its type: 9 is not an integer of 0..2"
    )
    with pytest.raises(EvaluationFailed, match="take: card= returns True, which is no collection"):
        check(NoCollection(), engine="reference")


class Many(Untyped):
    """A range over a type of many values, few of which are there."""

    @action(number=lambda self, s: range(10 * len(s.letters), 10 * len(s.letters) + 2))
    def count(self, s: UntypedState, number: Annotated[int, "a number"]) -> None:
        """Nothing."""

    def sizes(self) -> dict[Any, Size]:
        """A thousand numbers."""
        return {Annotated[int, "a number"]: range(1000)}


def test_only_present_values_are_tried() -> None:
    """The range is read once in a state, and not for each value of its type."""
    called = Counter[str]()
    model = Model(Many())
    state, _ = next(model.initial_states())
    assert state is not None
    model.expand(state)
    sys.setprofile(lambda frame, event, _: called.update([event]))
    try:
        steps = model.expand(state).steps
    finally:
        sys.setprofile(None)
    assert [step.instance for step in steps if model.actions[step.action].name == "count"] == [0, 1]
    assert called["call"] < 1000


class Dependent(Drawn):
    """Ranges that depend on earlier parameters, one of which ranges over its type."""

    @action(
        card=lambda self, s: s.cards,
        at=lambda self, s, card: (at for at, its in enumerate(s.cards) if its == card),
        to=lambda self, s, at, up: range(at + 1, len(s.cards)) if up else range(at),
    )
    def shift(
        self,
        s: Drawer,
        up: bool,
        card: Annotated[int, "a card"],
        at: Annotated[int, "a card"],
        to: Annotated[int, "a card"],
    ) -> None:
        """A card goes to another place."""
        rest = [*s.cards[:at], *s.cards[at + 1 :]]
        s.cards = (*rest[:to], card, *rest[to:])


class AstrayDependent(Dependent):
    """A range exceeds its type for one value of an earlier parameter, which is not its first."""

    @action(card=lambda self, s: s.cards, other=lambda self, s, card: range(2 * card))
    def exchange(self, s: Drawer, other: Annotated[int, "a card"], card: Annotated[int, "a card"]) -> None:
        """Never."""


@pytest.mark.parametrize("drawn", [pytest.param(Dependent, marks=pytest.mark.long), AstrayDependent])
def test_a_range_may_depend_on_earlier_parameters(drawn: type[Drawn], tmp_path: Path) -> None:
    """It is evaluated only for those of their values that are there; every engine gives the same."""
    agreed(drawn(), tmp_path, seed=1)


def test_dependent_ranges_equal_guards() -> None:
    """The same steps as with parameters that range over their types."""

    class ByGuard(Dependent):
        @action
        def shift(
            self,
            s: Drawer,
            up: bool,
            card: Annotated[int, "a card"],
            at: Annotated[int, "a card"],
            to: Annotated[int, "a card"],
        ) -> None:
            """A card goes to another place."""
            require(at < len(s.cards) and s.cards[at] == card)
            require(at < to < len(s.cards) if up else to < at)
            super().shift(s, up, card, at, to)

    assert figures(check(Dependent(), engine="reference")) == figures(check(ByGuard(), engine="reference"))
    with pytest.raises(EvaluationFailed, match=r"parameter other: its range .* 3 is not an integer of 0..2"):
        check(AstrayDependent(), engine="reference")


def test_actions_of_one_rule_have_ranges_of_their_own() -> None:
    """The value that makes the action is an earlier parameter."""

    def low() -> None:
        """Take a low one."""

    def high() -> None:
        """Take a high one."""

    class Family(Drawn):
        @action(
            of=each(lambda self: (1, 3), like=lambda of: low if of == 1 else high), card=lambda self, s, of: range(of)
        )
        def take_some(self, s: Drawer, of: int, card: Annotated[int, "a card"]) -> None:
            """One."""
            s.cards = ()

    model = Model(Family())
    steps = model.expand(next(model.initial_states())[0] or ()).steps
    taken = [(model.actions[step.action].name, step.instance) for step in steps]
    assert [step for step in taken if step[0] in {"low", "high"}] == [
        ("low", 0),
        ("high", 0),
        ("high", 1),
        ("high", 2),
    ]


def test_a_range_takes_only_earlier_parameters() -> None:
    """Otherwise nothing could enumerate it."""
    with pytest.raises(SpecificationError, match=r"the range of letter takes box, which is no earlier .*: none"):

        class Backwards(ByState):
            @action(letter=lambda self, s, box: s.letters, box=lambda self, s: s.boxes)
            def deliver(self, s: Post, letter: Letter, box: Place) -> None:
                """A letter to a box."""


Stamp = Annotated[int, "a stamp"]


class Parcel(NamedTuple):
    """A parcel, of which there are more than 10**10."""

    receiver: Place
    number: Stamp
    weight: Stamp


class Parcels(State):
    """Two parcels at most."""

    next: Stamp = variable("The number of the next one.")
    belt: tuple[Parcel, ...] = variable("Parcels on their way.")


class ManyParcels(Specification[Parcels]):
    """Parameters of an immense type, whose instances are more than `len` can count."""

    def sizes(self) -> dict[Any, Size]:
        """Few are ever on the belt."""
        return {Place: range(3), Stamp: range(60_000), tuple[Parcel, ...]: at_most(2)}

    @action
    def put(self, s: Parcels, place: Place) -> None:
        """A parcel on the belt."""
        require(len(s.belt) < 2)
        bound(s.next < 4)
        s.belt += (Parcel(place, s.next, 50_000 + place),)
        s.next += 1

    @action(parcel=lambda self, s: s.belt)
    def take(self, s: Parcels, parcel: Parcel) -> None:
        """One of them."""
        s.belt = tuple(each for each in s.belt if each != parcel)

    @action(one=lambda self, s: s.belt, other=lambda self, s, one: s.belt[s.belt.index(one) + 1 :])
    def exchange(self, s: Parcels, one: Parcel, other: Parcel) -> None:
        """Two of them."""
        s.belt = (other, one)

    @invariant(parcel=lambda self, s: s.belt)
    def is_numbered(self, s: Parcels, parcel: Parcel) -> bool:
        """Numbers begin with 0."""
        return parcel.number < s.next

    @invariant(one=lambda self, s: s.belt, other=lambda self, s: s.belt)
    def is_in_order(self, s: Parcels, one: Parcel, other: Parcel) -> bool:
        """Parcels to the last place are not on the belt together with those to the first."""
        return {one.receiver, other.receiver} != {0, 2}

    @sometimes(parcel=lambda self, s: s.belt)
    def is_late(self, s: Parcels, parcel: Parcel) -> bool:
        """Another one was faster."""
        return s.belt.index(parcel) > 0 and parcel.number < s.belt[0].number

    @view(parcel=lambda self, s: s.belt)
    def seen(self, s: Parcels, parcel: Parcel) -> str:
        """The parcels."""
        return f"parcel {parcel.number} goes to {parcel.receiver}"


def test_instances_of_an_immense_type_are_not_listed(tmp_path: Path) -> None:
    """Every engine, simulations and state machines find the same, and traces are followed again."""
    assert [each.instances.size for each in ManyParcels().actions] == [3, 3 * 60_000**2, (3 * 60_000**2) ** 2]
    agreed(ManyParcels(), tmp_path, seed=5)


def test_a_trace_shows_present_instances_of_an_immense_type() -> None:
    """Parameters, views, and the parameters for which the invariant fails."""
    result = check(ManyParcels())
    assert (result.verdict, result.counterexample and result.counterexample.broken) == ("violated", "is_in_order")
    assert result.counterexample is not None
    first, second = result.counterexample.steps
    assert (first.views, second.views) == (("parcel 0 goes to 0",), ("parcel 1 goes to 2",))
    assert result.counterexample.failing == (
        "one = Parcel(receiver=0, number=0, weight=50000), other = Parcel(receiver=2, number=1, weight=50002)"
    )


def test_steps_of_an_immense_type_are_explained_where_they_are_present() -> None:
    """Others are too many to be listed; and none of them can be named by a text."""
    trace = check(ManyParcels()).counterexample
    assert trace is not None
    explained = explain(RecordedTrace.of(ManyParcels(), trace), ManyParcels(), action="take")
    assert [step.parameters["parcel"].number for step, _ in explained.outcomes] == [0, 1]
    with pytest.raises(UsageError, match="10,800,000,000 values, and at most 100,000 are listed"):
        check(ManyParcels(), show="take(parcel=x)")
    assert check(ManyParcels(), show="exchange").verdict == "witnessed"


def test_symmetry_is_refused_for_an_immense_type() -> None:
    """It compares all instances, also absent ones, so that no range singles out a value unseen."""

    class Symmetric(ManyParcels):
        def sizes(self) -> dict[Any, Size]:
            """Places are interchangeable."""
            return {**super().sizes(), Place: interchangeable("place", range(3))}

    with pytest.raises(UsageError, match=r"--symmetry compares all instances: take: 10,800,000,000 instances"):
        check(Symmetric(), symmetry=True)


def test_unranged_parameters_are_still_limited() -> None:
    """Each of their values is tried in each state."""

    class Unranged(ManyParcels):
        @action(parcel=lambda self, s: s.belt)
        def weigh(self, s: Parcels, parcel: Parcel, other: Parcel) -> None:
            """With another."""

    with pytest.raises(SpecificationError, match=r"^action weigh: parameters other \(10,800,000,000\): "):
        check(Unranged())


def test_a_range_of_a_property_may_not_apply(tmp_path: Path) -> None:
    """Then the property says nothing about this state, or about these values of earlier parameters."""

    class Limited(Drawn):
        def of_the_open(self, s: Drawer) -> Iterator[int]:
            where(s.open)
            return iter(s.cards)

        def beside_a_one(self, s: Drawer, card: int) -> Iterator[int]:
            where(card == 1)
            return iter(s.cards)

        @invariant(card=of_the_open)
        def is_low(self, s: Drawer, card: Annotated[int, "a card"]) -> bool:
            """An open drawer has no high card."""
            return card < 2

        @sometimes(card=lambda self, s: s.cards, other=beside_a_one)
        def is_beside(self, s: Drawer, card: Annotated[int, "a card"], other: Annotated[int, "a card"]) -> bool:
            """A one and a two."""
            return other == 2

    found = check(Limited(), engine="reference", keep_going=True)
    assert [each.verdict for each in found.properties][1:3] == ["violated", "witnessed"]
    agreed(Limited(), tmp_path, seed=1, keep_going=True)


def test_the_first_wrong_instance_decides() -> None:
    """If a later range would exceed its type, an invariant that is broken before it is broken."""

    class Both(Drawn):
        @invariant(card=lambda self, s: s.cards, other=lambda self, s, card: (card, 9) if card else ())
        def is_low(self, s: Drawer, card: Annotated[int, "a card"], other: Annotated[int, "a card"]) -> bool:
            """Cards are zeros."""
            return True

        @invariant(card=lambda self, s: s.cards, other=lambda self, s, card: (card, 9) if card == 2 else (card,))
        def is_first(self, s: Drawer, card: Annotated[int, "a card"], other: Annotated[int, "a card"]) -> bool:
            """Cards are not zero."""
            return card > 0

    for engine in ("reference", "local"):
        with pytest.raises(EvaluationFailed, match=r"is_low: parameter other: .* 9 is not an integer of 0..2"):
            check(Both(), engine=engine)
        assert check(Both(), engine=engine, properties="is_first").verdict == "violated"
