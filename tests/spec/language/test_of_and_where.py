"""`where=` or `where(...)` limits a property to some states, and `of=` to some actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from spec.checking import check
from spec.checking.model import EvaluationFailed
from spec.language import (
    Part,
    Size,
    Specification,
    SpecificationError,
    State,
    Step,
    action,
    constant,
    each,
    invariant,
    part,
    require,
    sometimes,
    transition_invariant,
    variable,
    view,
    where,
)
from tests.rows import rows

ENGINES = ("reference", "local")


def left(by: int) -> None:
    """To the left."""


def right(by: int) -> None:
    """To the right."""


class Place(State):
    """A place, and a lock."""

    at: int = variable("How far to the right.")
    locked: bool = variable("Whether it is held fast.")


class Slide(Specification[Place]):
    """It slides by one or two, and can be locked at the left end."""

    locks: bool = constant(True, "Whether there is a lock.")

    def sizes(self) -> Mapping[Any, Size]:
        """Four places."""
        return {int: range(4)}

    @action(to=each(lambda self: ["left", "right"], like={"left": left, "right": right}.__getitem__), by=(1, 2))
    def slide(self, s: Place, to: str, by: int) -> None:
        """It moves."""
        far = s.at + (by if to == "right" else -by)
        require(not s.locked and 0 <= far <= 3)
        s.at = far

    @action(when=lambda self: self.locks)
    def lock(self, s: Place) -> None:
        """It is held fast."""
        require(s.at == 0)
        s.locked = True

    def held(self, s: Place) -> bool:
        """Whether it is held fast."""
        return s.locked


def verdicts(cls: type[Slide], engine: str, **constants: Any) -> dict[str, str]:
    """Return an engine's verdict on each property."""
    result = check(cls(**constants), engine=engine, keep_going=True)
    return {each.name: each.verdict for each in result.properties}


class Judged(Slide):
    """Properties of each kind; some do not hold."""

    @invariant(where=Slide.held)
    def held_at_the_end(self, s: Place) -> bool:
        """It is locked at the left end only."""
        return s.at == 0

    @invariant(where=lambda self, s: s.at > 1, other=range(3))
    def not_there(self, s: Place, other: int) -> bool:
        """Broken for one value, at 2."""
        return s.at != other

    @sometimes(where=Slide.held)
    def locked_far_out(self, s: Place) -> bool:
        """Never witnessed."""
        return s.at == 3

    @transition_invariant(of="slide")
    def by_what_it_says(self, before: Place, after: Place, by: int) -> bool:
        """It moves so far."""
        return abs(before.at - after.at) == by

    @transition_invariant(of=["left", "lock"])
    def never_up(self, before: Place, after: Place) -> bool:
        """Neither of them moves it to the right."""
        return after.at <= before.at

    @transition_invariant(of="right")
    def by_one_only(self, before: Place, after: Place, by: int) -> bool:
        """Broken: it goes by two."""
        return by == 1

    @sometimes(of="right")
    def to_the_end(self, before: Place, after: Place, by: int) -> bool:
        """It gets there by two."""
        return by == 2 and after.at == 3

    @sometimes(of="left")
    def left_to_the_end(self, before: Place, after: Place) -> bool:
        """Never witnessed."""
        return after.at == 3

    @sometimes(of="lock")
    def is_locked(self, before: Place, after: Place) -> bool:
        """Where there is a lock."""
        return after.locked


@pytest.mark.parametrize("engine", ENGINES)
def test_a_property_skips_states_outside_its_condition(engine: str) -> None:
    """In other states an invariant holds and a witness is not seen."""
    found = verdicts(Judged, engine)
    assert [name for name, verdict in found.items() if verdict == "violated"] == ["not_there", "by_one_only"]
    unseen = [name for name, verdict in found.items() if verdict == "unwitnessed"]
    assert unseen == ["locked_far_out", "left_to_the_end"]


def test_a_property_of_impossible_parameters_is_absent() -> None:
    """Without a lock there is no witness of locking; for a property of several actions, one of them is enough."""
    with_a_lock, without = (set(verdicts(Judged, "reference", locks=locks)) for locks in (True, False))
    assert with_a_lock - without == {"is_locked"}


def test_a_variant_has_a_condition_of_its_own() -> None:
    """The condition is that of the checked class."""

    class Otherwise(Judged):
        def held(self, s: Place) -> bool:
            """Everywhere."""
            return True

    assert verdicts(Otherwise, "reference")["held_at_the_end"] == "violated"


class Two(State):
    """Two slides."""

    upper: Place
    lower: Place


@pytest.mark.parametrize("engine", ENGINES)
def test_a_property_is_of_steps_of_a_part(engine: str) -> None:
    """Its own steps are distinct from another part's; the whole names them with the part."""

    class Slides(Part[Place]):
        sizes = Slide.sizes

        @action(by=(1, 2))
        def slide(self, s: Place, by: int) -> None:
            """It moves."""
            s.at = (s.at + by) % 4

        @transition_invariant(of="slide")
        def moves(self, before: Place, after: Place, by: int) -> bool:
            """By so much."""
            return (before.at + by) % 4 == after.at

    class Both(Specification[Two]):
        @part
        def upper(self) -> Slides:
            """One."""
            return Slides()

        @part
        def lower(self) -> Slides:
            """The other."""
            return Slides()

        @transition_invariant(of="upper.slide")
        def alone(self, before: Two, after: Two) -> bool:
            """The lower one does not move with it."""
            return before.lower.at == after.lower.at

        @sometimes(of="lower.slide")
        def together(self, before: Two, after: Two, by: int) -> bool:
            """It reaches the place of the upper one."""
            return by == 2 and before.lower.at != before.upper.at == after.lower.at

    result = check(Both(), engine=engine)
    assert result.verdict == "holds"
    assert {"alone", "together", "upper.moves", "lower.moves"} <= {each.name for each in result.properties}


NUMBER: Any = 3
WRONG: list[tuple[str, Callable[[], Any], str]] = [
    ("of no action", lambda: transition_invariant(of=NUMBER), "of= must be the name of an action, or several, not 3"),
    ("of nothing", lambda: sometimes(of=[]), "of= must be the name of an action, or several, not []"),
    ("where nothing", lambda: invariant(where=NUMBER), "where= must be a method, or a function, lambda self, s: ..."),
    (
        "an invariant of steps",
        lambda: invariant(of="slide"),
        "of= is for properties of steps, and this is one of states",
    ),
    (
        "steps by state",
        lambda: transition_invariant(where=Slide.held),
        "where= is for properties of states, and this is one of steps",
    ),
    (
        "both",
        lambda: sometimes(where=Slide.held, of="slide"),
        "where= is for properties of states, and this is one of steps",
    ),
]


@rows("write, message", {name: row for name, *row in WRONG})
def test_an_invalid_condition_is_refused(write: Callable[[], Any], message: str) -> None:
    with pytest.raises(SpecificationError) as refused:
        write()
    assert str(refused.value).partition(": ")[2] == message


def test_an_unknown_action_is_refused() -> None:
    """But an action that is absent only under these constants is accepted."""

    class Misspelt(Slide):
        @sometimes(of="lok")
        def is_locked(self, before: Place, after: Place) -> bool:
            """Never witnessed."""
            return True

    with pytest.raises(SpecificationError) as refused:
        check(Misspelt(locks=False))
    assert str(refused.value) == (
        "sometimes is_locked: of= lok: there is no such action; there are left, right, slide, lock"
    )


def test_an_unknown_step_parameter_is_refused() -> None:
    class Asking(Slide):
        @transition_invariant(of=["lock", "left"])
        def it(self, before: Place, after: Place, by: int) -> bool:
            """It reads a parameter that `lock` lacks."""
            return True

    with pytest.raises(SpecificationError) as refused:
        check(Asking())
    assert str(refused.value) == "transition_invariant it: action lock has no parameter by; it has none"


def test_the_step_is_not_given_where_its_action_is_known() -> None:
    with pytest.raises(SpecificationError) as refused:

        class Given(Slide):
            @transition_invariant(of="lock")
            def it(self, before: Place, step: Any, after: Place) -> bool:
                """It takes the step."""
                return True

    assert str(refused.value) == "transition_invariant Given.it: its parameters must begin (self, before, after, ...)"


def test_a_parameter_of_the_step_has_no_range() -> None:
    with pytest.raises(SpecificationError) as refused:

        class Ranged(Slide):
            @transition_invariant(of="slide", by=(1,))
            def it(self, before: Place, after: Place, by: int) -> bool:
                """It has a range for a step's parameter."""
                return True

    assert (
        str(refused.value)
        == "transition_invariant Ranged.it: with of= its parameters are the step's, so by= cannot have a range"
    )


def test_actions_and_views_have_parameters_of_these_names() -> None:
    """`of` and `where` are special only for properties."""

    class Marked(Slide):
        @action(of=(1, 2), where=(0,))
        def note(self, s: Place, of: int, where: int) -> None:
            """Nothing."""
            require(s.at == of + where)

        @view(where=(0, 1))
        def here(self, s: Place, where: int) -> str:
            """Whether it is there."""
            return "here" if s.at == where else ""

    assert {each.name for each in Marked().actions} == {"left", "right", "lock", "note"}
    assert len(Marked().views[0].instances) == 2


# Inside a property, `where` may depend on parameters and steps.


class Spoken(Slide):
    """The properties of `Judged` that can be written this way, and more."""

    @invariant
    def held_at_the_end(self, s: Place) -> bool:
        """It is locked at the left end only."""
        where(s.locked)
        return s.at == 0

    @invariant(other=range(3))
    def not_there(self, s: Place, other: int) -> bool:
        """Broken for one value, at 2; other values are outside its condition."""
        where(s.at > other > 0)
        return s.at + other != 3

    @sometimes
    def locked_far_out(self, s: Place) -> bool:
        """Never witnessed."""
        where(s.locked)
        return s.at == 3

    @transition_invariant
    def up(self, before: Place, step: Step, after: Place) -> bool:
        """To the right is up."""
        where(step.action == "right")
        return after.at > before.at

    @transition_invariant
    def never_by_two(self, before: Place, step: Step, after: Place, far: int) -> bool:
        """Broken from one place on."""
        where(before.at == far == 1)
        return abs(after.at - far) < 2

    @sometimes
    def from_end_to_end(self, before: Place, step: Step, after: Place) -> bool:
        """Never witnessed."""
        where(before.at == 0)
        return after.at == 3

    @sometimes
    def back_by_two(self, before: Place, step: Step, after: Place) -> bool:
        """It is witnessed."""
        where(before.at == 3)
        return after.at == 1

    @view(far=range(4))
    def there(self, s: Place, far: int) -> str:
        """Its place, if that is far."""
        where(s.at == far > 1)
        return f"it is at {far}"


@pytest.mark.parametrize("engine", ENGINES)
def test_where_inside_a_property_is_equivalent(engine: str) -> None:
    """Outside the condition, an invariant holds and a witness is not seen."""
    found = verdicts(Spoken, engine)
    assert [name for name, verdict in found.items() if verdict == "violated"] == ["not_there", "never_by_two"]
    unseen = [name for name, verdict in found.items() if verdict == "unwitnessed"]
    assert unseen == ["locked_far_out", "from_end_to_end"]


def test_a_trace_names_the_value_that_breaks_it() -> None:
    """A value outside the condition is not named, and a view prints only where its condition holds."""
    trace = check(Spoken(), properties=["not_there"]).counterexample
    assert trace is not None
    assert trace.failing == "other = 1"
    assert [each.views for each in trace.steps] == [("it is at 2",)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_where_clause_in_an_action_is_refused(engine: str) -> None:
    """An action uses guards instead."""

    class Guarded(Slide):
        @action
        def stay(self, s: Place) -> None:
            """It stays where it is."""
            where(s.at == 1)

    with pytest.raises(EvaluationFailed, match=r"^stay\(\): NotApplicable: `where` is for properties and views$"):
        check(Guarded(), engine=engine)
