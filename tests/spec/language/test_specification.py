"""A specification is its constants, variables, initial states, actions and properties, in order of declaration."""

from __future__ import annotations

import inspect
import itertools
import pickle
import types
from collections.abc import Callable, MutableMapping
from enum import Enum
from typing import Any

import numpy as np
import pytest

from spec.language import (
    AssumptionViolated,
    MappingDomain,
    Specification,
    SpecificationError,
    State,
    Step,
    UsageError,
    action,
    assumption,
    booleans,
    constant,
    initial,
    integers,
    invariant,
    mapping,
    one_of,
    require,
    sometimes,
    subset_of,
    switch,
    transition_invariant,
    variable,
    view,
)
from tests.rows import rows


class Weather(Enum):
    """Sun or rain."""

    SUN = 1
    RAIN = 2


class GardenState(State):
    """The states of `Garden`."""

    water: MutableMapping[int, int] = variable(
        "How much each has.", of=lambda self: mapping(range(self.plants), integers(0, 2))
    )
    full: bool = variable("Whether the can is full.", of=lambda self: booleans())


class Garden(Specification[GardenState]):
    """Plants that are watered."""

    plants: int = constant(2, "How many there are.", at_least=1, at_most=4)
    owner: str = constant("Ann", "The owner.")
    hose: bool = switch(True, "Whether there is a hose.")
    season: str = switch("dry", "The usual weather.", among=["dry", "wet"])

    @assumption
    def big_enough_for_a_hose(self) -> bool:
        """A hose is for
        more than one plant.

        This paragraph is not printed.
        """
        return self.plants > 1 or not self.hose

    @assumption(when=lambda self: self.season == "wet")
    def wet_gardens_are_bobs(self) -> bool:
        """Only Bob has a wet garden."""
        return self.owner == "Bob"

    @initial(first=lambda self: range(self.plants), amount=(1, 2))
    def one_watered(self, s: GardenState, first: int, amount: int) -> None:
        """One has water."""
        s.water[first] = amount

    @action(plant=lambda self: range(self.plants), amount=integers(1, 2))
    def pour(self, s: GardenState, plant: int, amount: int) -> None:
        """A plant is watered from the can.

        More about it.
        """
        require(s.full and s.water[plant] + amount <= 2)
        s.water[plant] += amount
        s.full = False

    @action
    def fill(self, s: GardenState) -> None:
        """The can is filled."""
        require(not s.full)
        s.full = True

    @action(when=lambda self: self.hose)
    def spray(self, s: GardenState) -> None:
        """All are watered at once."""
        s.water = dict.fromkeys(range(self.plants), 2)

    @action(weather=Weather)
    def change(self, s: GardenState, weather: Weather) -> None:
        """The weather changes."""
        require(weather is Weather.RAIN)
        s.full = True

    @invariant(plant=lambda self: range(self.plants))
    def not_drowned(self, s: GardenState, plant: int) -> bool:
        """No plant has too much."""
        return bool(s.water[plant] <= 2)

    @transition_invariant
    def only_grows(self, before: GardenState, step: Step, after: GardenState) -> bool:
        """Water never disappears."""
        return all(after.water[plant] >= before.water[plant] for plant in before.water)

    @sometimes
    def all_full(self, s: GardenState) -> bool:
        """All can have enough."""
        return all(amount == 2 for amount in s.water.values())

    @sometimes(when=lambda self: self.plants > 3)
    def a_step_of_two(self, before: GardenState, step: Step, after: GardenState) -> bool:
        """A plant can be given two at once."""
        return step.parameters.get("amount") == 2


# Constants.


def test_constants_have_their_defaults() -> None:
    """Without other values, each constant has its as default, in order of declaration."""
    expected = {"plants": 2, "owner": "Ann", "hose": True, "season": "dry"}
    assert list(Garden().valuation.items()) == list(expected.items())
    assert Garden().plants == 2


def test_constants_are_set_by_name() -> None:
    """A given value replaces the default, and reads as an attribute."""
    garden = Garden(plants=3, hose=False)
    assert (garden.plants, garden.owner, garden.hose) == (3, "Ann", False)
    assert repr(garden) == "Garden(plants=3, owner='Ann', hose=False, season='dry')"


WRONG_CONSTANTS: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("unknown", {"plant": 3}, UsageError, "garden has no constant plant; it has plants, owner, hose, season"),
    ("of another type", {"plants": "3"}, UsageError, "plants = '3': it must be an integer"),
    ("a boolean for an integer", {"plants": True}, UsageError, "plants = True: it must be an integer"),
    ("a number for a string", {"owner": 3}, UsageError, "owner = 3: it must be a string"),
    ("a number for a switch", {"hose": 1}, UsageError, "hose = 1: it must be true or false"),
    ("outside the enumeration", {"season": "dusty"}, UsageError, "season = 'dusty': it must be one of dry, wet"),
    ("too small", {"plants": 0}, AssumptionViolated, "plants = 0: it must be at least 1"),
    ("too great", {"plants": 5}, AssumptionViolated, "plants = 5: it must be at most 4"),
    (
        "against an assumption",
        {"plants": 1},
        AssumptionViolated,
        "big_enough_for_a_hose: A hose is for more than one plant.",
    ),
    (
        "against an assumption of some constants",
        {"season": "wet"},
        AssumptionViolated,
        "wet_gardens_are_bobs: Only Bob has a wet garden.",
    ),
]


@pytest.mark.parametrize("make", [Garden, Garden.of], ids=["class", "of"])
@pytest.mark.parametrize(
    ("constants", "error", "message"), [row[1:] for row in WRONG_CONSTANTS], ids=[row[0] for row in WRONG_CONSTANTS]
)
def test_a_wrong_constant_is_refused(
    make: Callable[..., Any], constants: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Ill-typed values are usage errors; values that the specification excludes violate an assumption."""
    with pytest.raises(error) as refused:
        make(**constants)
    assert str(refused.value) == message


def test_an_assumption_has_a_condition() -> None:
    """An assumption whose condition excludes these constants is not evaluated; one that holds admits them."""
    assert Garden(season="wet", owner="Bob").season == "wet"
    assert Garden(plants=1, hose=False).plants == 1


BAD_CONSTANTS: list[tuple[str, Callable[[], Any], str]] = [
    ("a list", lambda: constant([1], "..."), "constant([1]): its default must be immutable"),
    (
        "a switch of no kind",
        lambda: switch("on", "..."),
        "switch('on'): without among= the default must be True or False",
    ),
    (
        "a default that is not allowed",
        lambda: switch("c", "...", among=("a", "b")),
        "switch('c'): the default must be one of a, b",
    ),
    ("True for one", lambda: switch(True, "...", among=(0, 1)), "switch(True): the default must be one of 0, 1"),
    ("an iterator", lambda: constant(iter("ab"), "..."), "its default must be immutable"),
    (
        "a value unequal to itself",
        lambda: constant(float("nan"), "..."),
        "constant(nan): its default must be immutable",
    ),
    ("a default without a doc", lambda: constant(3, 4), "its second argument is its meaning"),  # type: ignore[arg-type]
    ("bounds of a string", lambda: constant("a", "...", at_least=1), "at_least= and at_most= must have the type of"),
    ("forms without end", lambda: switch(0, "...", among=itertools.count()), "count(0): more than 100,000 values"),
]


@rows("declare, message", {name: row for name, *row in BAD_CONSTANTS})
def test_a_badly_declared_constant_is_refused(declare: Callable[[], Any], message: str) -> None:
    """The error comes at the declaration."""
    with pytest.raises(SpecificationError) as refused:
        declare()
    assert message in str(refused.value)


def test_constants_may_be_any_immutable_value() -> None:
    """A tuple or a frozenset may be a constant, and takes values of its type."""

    class Cluster(Specification):
        brokers: frozenset[int] = constant(frozenset({101, 205}), "Their ids.")
        replicas: tuple[int, ...] = constant((1, 2), "Where it is.")

    assert Cluster(replicas=(3,)).valuation == {"brokers": frozenset({101, 205}), "replicas": (3,)}
    with pytest.raises(UsageError, match="brokers = 3: it must be a frozenset"):
        Cluster(brokers=3)


def test_numpys_integers_are_integers() -> None:
    """As a constant, inside one, as a default, and in a switch's choices; numpy's integers count."""

    class Cluster(Specification):
        brokers: int = constant(np.int64(3), "How many.")
        replicas: tuple[Any, ...] = constant((), "Where it is.")
        form: int = switch(np.uint8(1), "How it is done.", among=np.arange(3))

    cluster = Cluster(brokers=np.int32(5), replicas=(np.int64(1), frozenset({np.int8(2)})), form=np.int16(2))
    assert cluster.valuation == {"brokers": 5, "replicas": (1, frozenset({2})), "form": 2}
    values = (*Cluster().valuation.values(), cluster.brokers, cluster.replicas[0], *cluster.replicas[1], cluster.form)
    assert {type(value) for value in values} == {int, tuple}


# Members of a specification.


def test_variables_are_declared_in_order() -> None:
    """Each has its docstring and its domain, under these constants."""
    variables = Garden(plants=3).variables
    assert [(name, doc) for name, (doc, _) in variables.items()] == [
        ("water", "How much each has."),
        ("full", "Whether the can is full."),
    ]
    water = variables["water"][1]
    assert isinstance(water, MappingDomain)
    assert list(water.cells) == [0, 1, 2]


def test_initial_states_cover_all_parameter_values() -> None:
    """The later parameter changes faster."""
    assert [instance.parameters for instance in Garden().initials] == [
        {"first": first, "amount": amount} for first in (0, 1) for amount in (1, 2)
    ]


def test_the_default_initial_state_assigns_nothing() -> None:
    """Every variable then starts with the first value of its domain."""

    class NothingState(State):
        x: int = variable("The x.", of=lambda self: integers(0, 1))

    class Nothing(Specification[NothingState]):
        pass

    assert [instance.parameters for instance in Nothing().initials] == [{}]


def test_actions_are_in_order_with_all_their_instances() -> None:
    """Parameters range over a domain or its equivalent, an Enum class, or a function of the specification."""
    actions = Garden().actions
    assert [(each.name, each.doc) for each in actions] == [
        ("pour", "A plant is watered from the can."),
        ("fill", "The can is filled."),
        ("spray", "All are watered at once."),
        ("change", "The weather changes."),
    ]
    assert [list(map(str, map(each.step, range(len(each.instances))))) for each in actions] == [
        ["pour(plant=0, amount=1)", "pour(plant=0, amount=2)", "pour(plant=1, amount=1)", "pour(plant=1, amount=2)"],
        ["fill()"],
        ["spray()"],
        ["change(weather=<Weather.SUN: 1>)", "change(weather=<Weather.RAIN: 2>)"],
    ]


def test_actions_and_witnesses_may_depend_on_constants() -> None:
    """`when=` decides whether an action or witness exists under these constants."""
    assert [each.name for each in Garden(hose=False).actions] == ["pour", "fill", "change"]
    assert [each.name for each in Garden(plants=4).properties][-1] == "a_step_of_two"
    assert [each.name for each in Garden().properties] == ["not_drowned", "only_grows", "all_full"]


def test_properties_are_in_order_with_their_kinds() -> None:
    """A property's parameters show whether it is about states or steps."""
    assert [(each.name, each.kind, each.over_steps, len(each.instances)) for each in Garden(plants=4).properties] == [
        ("not_drowned", "invariant", False, 4),
        ("only_grows", "transition_invariant", True, 1),
        ("all_full", "sometimes", False, 1),
        ("a_step_of_two", "sometimes", True, 1),
    ]


class Shown(Garden):
    """A garden with views."""

    @view(plant=lambda self: range(self.plants))
    def thirst(self, s: GardenState, plant: int) -> str:
        """The dry plants.

        More about it.
        """
        return "" if s.water[plant] else f"plant {plant} is dry"

    @view(when=lambda self: self.hose)
    def can(self, s: GardenState) -> str:
        """Whether the can is full."""
        return "the can is full" if s.full else "the can is empty"


class ShownWithoutAHose(Shown, hose=False):
    """Its plants have another view."""

    def thirst(self, s: GardenState, plant: int) -> str:
        """The plants to water by hand."""
        return f"plant {plant}"

    @view
    def hands(self, s: GardenState) -> str:
        """The gardener."""
        return f"{self.owner} waters them"


class NotShown(Shown):
    """It drops the view of dry plants."""

    thirst = None  # type: ignore[assignment]


def test_views_are_in_order_with_all_their_instances() -> None:
    """Views have parameters, conditions and overrides like actions and properties, and are listed separately."""
    assert [(each.name, each.doc, len(each.instances)) for each in Shown(plants=3).views] == [
        ("thirst", "The dry plants.", 3),
        ("can", "Whether the can is full.", 1),
    ]
    assert [each.name for each in Shown(hose=False).views] == ["thirst"]
    assert [(each.name, each.doc, len(each.instances)) for each in ShownWithoutAHose().views] == [
        ("thirst", "The plants to water by hand.", 2),
        ("hands", "The gardener.", 1),
    ]
    assert [each.name for each in NotShown().views] == ["can"]
    assert Garden().views == ()
    assert Shown().properties[-1].name == Garden().properties[-1].name == "all_full"


def test_a_parameter_called_step_does_not_make_a_step_property() -> None:
    """An invariant is over states, whatever the names of its parameters."""

    class Stairs(Specification):
        @invariant(step=range(2))
        def never(self, s: State, step: int) -> bool:
            return True

        @sometimes(step=range(2))
        def ever(self, s: State, step: int) -> bool:
            return True

    assert [each.over_steps for each in Stairs().properties] == [False, False]


def test_a_system_has_its_classs_name_by_default() -> None:
    """Hyphens join the words of the class name; an explicit name takes precedence."""

    class TwoPhaseCommit(Specification):
        pass

    class Named(Specification):
        name = "its-own"

    class Changed(Named):
        pass

    assert (TwoPhaseCommit.name, Named.name, Garden.name) == ("two-phase-commit", "its-own", "garden")
    assert Changed.name == "changed"


def test_a_variant_has_its_systems_name() -> None:
    """It is that system under certain constants, unless it has its own name, or its base has none."""

    class First(Specification, form="a"):
        form: str = switch("a", "Its form.", among=["a", "b", "c"])

    class Second(First, form="b"):
        pass

    class Third(First, form="c"):
        name = "its-own"

    assert (NoHose.name, NoHoseInTheWet.name) == ("garden", "garden")
    assert (First.name, Second.name, Third.name) == ("first", "first", "its-own")


# Variants by difference.


class NoHose(Garden, hose=False):
    """Without the hose, water evaporates."""

    spray = None  # type: ignore[assignment]

    def fill(self, s: GardenState) -> None:
        """The can is filled at the well."""
        s.full = not s.full

    @action
    def evaporate(self, s: GardenState) -> None:
        """The water goes."""
        s.water = dict.fromkeys(range(self.plants), 0)


class NoHoseInTheWet(NoHose, season="wet", owner="Bob"):
    """A variant that fixes more."""

    @action(plant=range(1))
    def pour(self, s: GardenState, plant: int) -> None:  # type: ignore[override]
        """An override with a new mark and other parameters."""


class Mutant(NoHose):
    """It fixes no constant in its head, so it is used only on request."""


def test_a_variant_changes_only_what_it_overrides() -> None:
    """Overrides keep their places, marked again or not; None removes a member; new members follow."""
    assert [(each.name, each.doc, len(each.instances)) for each in NoHose().actions] == [
        ("pour", "A plant is watered from the can.", 4),
        ("fill", "The can is filled at the well.", 1),
        ("change", "The weather changes.", 2),
        ("evaporate", "The water goes.", 1),
    ]
    assert [(each.name, len(each.instances)) for each in NoHoseInTheWet().actions] == [
        ("pour", 1),
        ("fill", 1),
        ("change", 2),
        ("evaporate", 1),
    ]
    assert [each.name for each in NoHose().properties] == [each.name for each in Garden().properties]


def test_a_variant_fixes_its_constants() -> None:
    """The fixed value is the variant's default and its only allowed value."""
    assert (NoHose().hose, NoHoseInTheWet().valuation) == (
        False,
        {"plants": 2, "owner": "Bob", "hose": False, "season": "wet"},
    )
    assert NoHose(hose=False).hose is False
    with pytest.raises(UsageError, match=r"^NoHose is the variant with hose = False$"):
        NoHose(hose=True)
    with pytest.raises(UsageError, match=r"^NoHoseInTheWet is the variant with hose = False$"):
        NoHoseInTheWet(hose=True)


FOUND: list[tuple[type[Garden], dict[str, Any], type[Garden]]] = [
    (Garden, {}, Garden),
    (Garden, {"hose": True}, Garden),
    (Garden, {"hose": False}, NoHose),
    (Garden, {"hose": False, "plants": 3}, NoHose),
    (Garden, {"season": "wet", "owner": "Bob"}, Garden),
    (Garden, {"hose": False, "season": "wet", "owner": "Bob"}, NoHoseInTheWet),
    (NoHose, {}, NoHose),
    (NoHose, {"season": "wet", "owner": "Bob"}, NoHoseInTheWet),
    (NoHoseInTheWet, {}, NoHoseInTheWet),
    (Mutant, {}, Mutant),
]


@rows("system, constants, variant", FOUND)
def test_the_most_particular_variant_is_found(
    system: type[Garden], constants: dict[str, Any], variant: type[Garden]
) -> None:
    """Constants select the variant that fixes most of them; a mutant is never selected."""
    found = system.of(**constants)
    assert type(found) is variant
    assert {name: found.valuation[name] for name in constants} == constants


def test_two_variants_at_once_are_not_guessed() -> None:
    """If neither varies the other, only a written variant of both is found."""

    class Door(Specification):
        bolt: bool = switch(True, "It has a bolt.")
        lock: bool = switch(True, "It has a lock.")

    class NoBolt(Door, bolt=False):
        pass

    class NoLock(Door, lock=False):
        pass

    with pytest.raises(SpecificationError) as refused:
        Door.of(bolt=False, lock=False)
    assert (
        str(refused.value) == "door: these constants match NoBolt and NoLock, and neither is a variant of the other"
    )

    class Open(NoBolt, NoLock):
        pass

    assert [type(Door.of(bolt=bolt, lock=lock)) for bolt in (True, False) for lock in (True, False)] == [
        Door,
        NoLock,
        NoBolt,
        Open,
    ]


def test_a_variant_of_a_variant_may_fix_another_value() -> None:
    """The last value counts, as with any inheritance."""

    class Vote(Specification):
        rule: str = switch("all", "The required majority.", among=["all", "most", "one"])

    class Most(Vote, rule="most"):
        pass

    class One(Most, rule="one"):
        pass

    assert [type(Vote.of(rule=rule)) for rule in ("all", "most", "one")] == [Vote, Most, One]


class Lawn(Specification):
    mower: str = switch("none", "The mower.", among=["none", "hand", "motor"])


class ByHand(Lawn, mower="hand"):
    """It has a constant of its own."""

    sharp: bool = switch(True, "It is sharp.")


class ByMotor(ByHand, mower="motor"):
    fuel: int = constant(3, "How much there is.", at_least=1)


class Blunt(ByMotor, sharp=False):
    """It fixes a constant that only another variant has."""


class Rusty(ByMotor):
    """Never selected, since it fixes nothing more."""

    sharp: bool = switch(False, "It never was.")
    rust: bool = switch(True, "It has rust.")


class RustyToo(ByHand, mower="hand"):
    """Never selected either."""

    rust: bool = switch(True, "It has rust.")


def test_a_variant_may_have_constants_of_its_own() -> None:
    """They may be set together with the constants that select it; its own variants have them too."""
    assert Lawn.of(mower="hand", sharp=False).valuation == {"mower": "hand", "sharp": False}
    assert Lawn.of(mower="motor").valuation == {"mower": "motor", "sharp": True, "fuel": 3}
    assert Lawn.of().valuation == {"mower": "none"}


def test_a_variants_own_constants_may_select_its_variant() -> None:
    """Unmentioned constants keep their defaults; a subclass that fixes nothing more is never selected."""
    variants = {
        "Lawn": Lawn.of(),
        "ByHand": Lawn.of(mower="hand", sharp=False),
        "ByMotor": Lawn.of(mower="motor", fuel=2),
        "Blunt": Lawn.of(mower="motor", sharp=False),
    }
    assert {name: type(each).__name__ for name, each in variants.items()} == {name: name for name in variants}
    assert [each.__name__ for each in Lawn.variants()] == list(variants)


def test_a_variant_may_fix_the_default_of_another() -> None:
    """Constants that mention only that other variant select it."""

    class Lamp(Specification):
        lit: bool = switch(False, "It burns.")

    class Lit(Lamp, lit=True):
        bright: bool = switch(True, "It is bright.")

    class Bright(Lit, bright=True):
        pass

    assert [type(Lamp.of(lit=True, **more)) for more in ({}, {"bright": True}, {"bright": False})] == [
        Bright,
        Bright,
        Lit,
    ]


def test_a_release_gives_constants() -> None:
    """Explicit constants override it; its values for constants of other variants are ignored."""

    class Meadow(Lawn):
        releases = {"1.0": {"mower": "none"}, "2.0": {"mower": "motor", "fuel": 5}}

    class Scythed(Meadow, mower="hand"):
        pass

    class Motorised(Meadow, mower="motor"):
        fuel: int = constant(3, "How much there is.", at_least=1)

    assert Meadow.of_release("1.0").valuation == {"mower": "none"}
    assert Meadow.of_release("2.0").valuation == {"mower": "motor", "fuel": 5}
    assert Meadow.of_release("2.0", fuel=1).valuation == {"mower": "motor", "fuel": 1}
    assert type(Meadow.of_release("2.0", mower="hand")) is Scythed
    with pytest.raises(UsageError, match="has no constant fuel"):
        Meadow.of_release("2.0", mower="hand", fuel=5)


@rows(
    "constants, message",
    [
        ({"fuel": 1}, "lawn has no constant fuel; it has mower"),
        ({"mower": "hand", "fuel": 1}, "lawn with mower = hand has no constant fuel; it has mower, sharp"),
        (
            {"mower": "motor", "sharp": False, "rust": True},
            "lawn with mower = motor, sharp = False has no constant rust; it has mower, sharp, fuel",
        ),
        ({"mower": "motor", "fuel": "3"}, "fuel = '3': it must be an integer"),
        ({"mower": "nail scissors"}, "mower = 'nail scissors': it must be one of none, hand, motor"),
    ],
)
def test_a_constant_of_another_variant_is_refused(constants: dict[str, Any], message: str) -> None:
    """The message names the selected variant and its constants."""
    with pytest.raises(UsageError) as refused:
        Lawn.of(**constants)
    assert str(refused.value) == message


def test_the_class_is_found_without_making_it() -> None:
    """Values and names are not validated yet."""
    assert Lawn.variant_for(mower="hand", fuel=0, nonsense=1) is Lawn.variants()[1]
    assert Lawn.variant_for(mower="nail scissors") is Lawn


# A specification has no state of its own.


def test_a_specification_comes_back_from_pickling() -> None:
    """With its class and constants; variants too."""
    for garden in (Garden(plants=3, hose=False), NoHoseInTheWet(plants=4)):
        back = pickle.loads(pickle.dumps(garden))
        assert (type(back), back.valuation) == (type(garden), garden.valuation)
        assert [str(each.step(0)) for each in back.actions] == [str(each.step(0)) for each in garden.actions]


def test_a_specification_is_not_assigned_to() -> None:
    """It keeps nothing between steps, neither in constants nor in new attributes."""
    garden = Garden()
    for name in ("plants", "new"):
        with pytest.raises(SpecificationError) as refused:
            setattr(garden, name, 3)
        assert str(refused.value) == f"self.{name} is assigned: a specification keeps nothing between steps"
        with pytest.raises(SpecificationError) as refused:
            delattr(garden, name)
        assert str(refused.value) == f"self.{name} is deleted: a specification keeps nothing between steps"


@pytest.mark.parametrize("value", [[], {}, set()], ids=["list", "dict", "set"])
def test_a_mutable_class_attribute_is_refused(value: object) -> None:
    """A value that could be changed in place between steps is refused, with its name."""
    with pytest.raises(SpecificationError) as refused:
        type("Forgetful", (Specification,), {"seen": value})
    assert str(refused.value) == (
        "Forgetful.seen can be changed in place; a specification keeps nothing between steps"
    )


def test_releases_and_helpers_are_allowed() -> None:
    """The table of releases, tuples and plain methods carry no state."""

    class Helped(Specification):
        releases = {"1.0": {}}
        names = ("a", "b")

        def helper(self) -> int:
            return 1

    assert Helped().helper() == 1


WORDS: dict[str, Callable[[Any], Any]] = {
    "action": lambda name: action(_named(name, "self, s")),
    "invariant": lambda name: invariant(_named(name, "self, s")),
    "view": lambda name: view(_named(name, "self, s")),
}


def _named(name: str, parameters: str) -> Any:
    scope: dict[str, Any] = {}
    exec(f"def {name}({parameters}): pass", scope)
    return scope[name]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "name", ["actions", "variables", "deadlock", "name", "of", "type_ok", "constants", "releases", "views"]
)
def test_taken_names_are_refused(word: str, name: str) -> None:
    """A method may not have a name of the language or of a property that every system has."""
    with pytest.raises(SpecificationError) as refused:
        type("Greedy", (Specification,), {name: WORDS[word](name)})
    assert str(refused.value) == f"{word} Greedy.{name}: the language uses that name itself"


@pytest.mark.parametrize("name", ["actions", "variables", "valuation", "initials"])
def test_taken_names_are_no_constants(name: str) -> None:
    """A constant may not have such a name either."""
    with pytest.raises(SpecificationError) as refused:
        type("Greedy", (Specification,), {name: constant(3, "...")})
    assert str(refused.value) == f"constant Greedy.{name}: the language uses that name itself"


def test_taken_names_are_no_helpers() -> None:
    """A plain method that would hide a name of the language is refused too."""
    with pytest.raises(SpecificationError) as refused:
        type("Greedy", (Specification,), {"properties": lambda self: ()})
    assert str(refused.value) == "Greedy.properties: the language uses that name itself"


@pytest.mark.parametrize("name", ["_row", "_layout"])
def test_a_variable_is_not_called_as_the_insides_of_the_state(name: str) -> None:
    """It would replace an attribute of the state."""
    with pytest.raises(SpecificationError, match=f"variable Greedy.{name}: the language uses that name itself"):
        type("Greedy", (State,), {name: variable("..."), "__annotations__": {name: int}})


BADLY_FIXED: list[tuple[dict[str, Any], str]] = [
    ({"hoze": False}, "class Bad fixes hoze, which is not one of its constants"),
    ({"hose": 0}, "class Bad fixes hose = 0: it must be true or false"),
    ({"season": "dusty"}, "class Bad fixes season = 'dusty': it must be one of dry, wet"),
]


@pytest.mark.parametrize(("fixed", "message"), BADLY_FIXED)
def test_a_variant_fixes_constants_to_allowed_values(fixed: dict[str, Any], message: str) -> None:
    """An unknown constant or a value of the wrong type in a class's head is refused there."""
    with pytest.raises(SpecificationError) as refused:
        types.new_class("Bad", (Garden,), fixed)
    assert str(refused.value) == message


# Parameters.


def _specified(word: Any, source: str, **ranges: Any) -> type[Specification]:
    """Define a a class with one method `it` with this decorator."""
    function = _named("it", source)
    return type("Odd", (Specification,), {"it": word(**ranges)(function) if ranges else word(function)})


SIGNATURES: list[tuple[str, Any, str, dict[str, Any], str]] = [
    (
        "a parameter without a domain",
        action,
        "self, s, broker",
        {},
        "action Odd.it: parameter broker has neither a range nor a type",
    ),
    (
        "a default is no domain",
        invariant,
        "self, s, broker=3",
        {},
        "invariant Odd.it: parameter broker has neither a range nor a type",
    ),
    (
        "a domain without a parameter",
        action,
        "self, s",
        {"broker": range(2)},
        "action Odd.it: broker= is given a range, but the method has no such parameter",
    ),
    (
        "a condition that is meant as a range",
        action,
        "self, s, when",
        {"when": lambda self: (1, 2)},
        "action Odd.it: the language uses the name when= itself; rename the parameter",
    ),
    (
        "states that are meant as a range",
        invariant,
        "self, s, where",
        {"where": lambda self, s: (1, 2)},
        "invariant Odd.it: the language uses the name where= itself; rename the parameter",
    ),
    ("an action of nothing", action, "self", {}, "action Odd.it: its parameters must begin (self, s, ...)"),
    (
        "an action of a state by another name",
        action,
        "self, state",
        {},
        "action Odd.it: its parameters must begin (self, s, ...)",
    ),
    (
        "a step without its states",
        transition_invariant,
        "self, step",
        {},
        "transition_invariant Odd.it: its parameters must begin (self, before, step, after, ...)",
    ),
    (
        "a witness of half a step",
        sometimes,
        "self, before, after",
        {},
        "sometimes Odd.it: its parameters must begin (self, s, ...) or (self, before, step, after, ...)",
    ),
    (
        "a view of a step",
        view,
        "self, before, step, after",
        {},
        "view Odd.it: its parameters must begin (self, s, ...)",
    ),
    (
        "a view of a parameter without a range",
        view,
        "self, s, broker",
        {},
        "view Odd.it: parameter broker has neither a range nor a type",
    ),
    (
        "an assumption of a state",
        assumption,
        "self, s",
        {},
        "assumption Odd.it: parameter s has neither a range nor a type",
    ),
]


@rows("word, parameters, ranges, message", {name: row for name, *row in SIGNATURES})
def test_a_method_takes_its_decorators_parameters_and_those_with_ranges(
    word: Any, parameters: str, ranges: dict[str, Any], message: str
) -> None:
    """Anything else is refused at the class definition, with class, method and parameter."""
    with pytest.raises(SpecificationError) as refused:
        _specified(word, parameters, **ranges)
    assert str(refused.value) == message


def test_an_override_takes_the_parameters_that_have_ranges() -> None:
    """Without a second mark the base's ranges apply, so the parameters must be the same."""
    with pytest.raises(
        SpecificationError,
        match=r"action Changed.pour: amount= is given a range, but the method has no such parameter",
    ):
        type("Changed", (Garden,), {"pour": _named("pour", "self, s, plant")})


RANGES: list[tuple[str, Any, list[Any]]] = [
    ("a range", range(1, 3), [1, 2]),
    ("a tuple", ("b", "a"), ["b", "a"]),
    ("a domain", booleans(), [False, True]),
    ("an Enum class", Weather, [Weather.SUN, Weather.RAIN]),
    ("a function that gives a domain", lambda self: one_of(self.most, 0), [3, 0]),
    ("a function that gives a range", lambda self: range(self.most), [0, 1, 2]),
    ("a function that gives an Enum class", lambda self: Weather, [Weather.SUN, Weather.RAIN]),
    ("nothing", (), []),
]


@rows("domain, values", {name: row for name, *row in RANGES})
def test_a_parameter_ranges_over(domain: Any, values: list[Any]) -> None:
    """The instances of an action follow the order of its parameter's range."""

    class Ranging(Specification):
        most: int = constant(3, "...")

        @action(it=domain)
        def act(self, s: State, it: Any) -> None:
            pass

    (act,) = Ranging().actions
    assert [instance.parameters["it"] for instance in act.instances] == values


def test_a_parameter_that_ranges_over_nothing_known_is_refused_by_name() -> None:
    """A set has no order, so it is no range; the message names the action and the parameter."""

    class Unordered(Specification):
        @action(it=lambda self: {1, 2})
        def act(self, s: State, it: int) -> None:
            pass

        @view(it=lambda self: {1, 2})
        def look(self, s: State, it: int) -> str:
            return ""

    with pytest.raises(SpecificationError, match=r"^action act: parameter it: \{1, 2\} is not a domain"):
        _ = Unordered().actions
    with pytest.raises(SpecificationError, match=r"^view look: parameter it: \{1, 2\} is not a domain"):
        _ = Unordered().views


def test_an_iterator_of_a_parameter_is_read_once() -> None:
    """Although each instance of the specification uses it."""

    class Once(Specification):
        @action(it=iter("ab"))
        def act(self, s: State, it: str) -> None:
            pass

    assert [len(Once().actions[0].instances) for _ in range(2)] == [2, 2]


ENDLESS: list[tuple[str, Callable[..., Any], dict[str, Any], str]] = [
    ("a range", action, {"it": range(10**12)}, "action act: parameters it (1,000,000,000,000): 1,000,000,000,000"),
    (
        "a product",
        action,
        {"a": range(100), "b": range(100), "c": range(100)},
        "action act: parameters a (100), b (100), c (100): 1,000,000 choices, and at most 100,000 are listed",
    ),
    (
        "a function",
        view,
        {"it": lambda self: itertools.count()},
        "view act: parameter it: count(0): more than 100,000",
    ),
    ("an iterator", invariant, {"it": itertools.count()}, "@invariant: parameter it: count(0): more than 100,000"),
    (
        "a function of three",
        action,
        {"it": lambda *, x: x},
        "@action: it= must be a domain, or a function, lambda self: ",
    ),
    ("a condition that is none", action, {"when": True}, "@action: when= must be a function of the specification"),
    (
        "a parameter called when",
        action,
        {"when": range(3)},
        "@action: when= must be a function of the specification, lambda self: ...; no parameter can be called when",
    ),
]


@rows("word, ranges, message", {name: row for name, *row in ENDLESS})
def test_an_unlistable_range_is_refused_by_name(
    word: Callable[..., Any], ranges: dict[str, Any], message: str
) -> None:
    """Before anything is listed; the message names the word, the method and the parameters."""

    def listing() -> None:
        act = word(**ranges)(_named("act", ", ".join(["self", "s", *ranges])))
        made = type("Endless", (Specification,), {"act": act})()
        _ = made.actions, made.initials, made.properties, made.views

    with pytest.raises(SpecificationError) as refused:
        listing()
    assert str(refused.value).startswith(message)


def test_a_decorator_needs_a_method() -> None:
    """Positional values are no ranges."""
    with pytest.raises(SpecificationError, match=r"^@action decorates a method, not \(1, 2\)$"):
        action((1, 2))  # type: ignore[call-overload]


def test_a_variable_without_end_is_refused_by_name() -> None:
    """At any depth of its domain."""

    class EndlessState(State):
        x: frozenset[int] = variable("The x.", of=lambda self: subset_of(range(10**12)))

    class Endless(Specification[EndlessState]):
        pass

    with pytest.raises(SpecificationError, match=r"^variable x: an integer of 0\.\..*: 1,000,000,000,000 values"):
        _ = Endless().variables


def test_a_variable_that_is_no_domain_is_refused_by_name() -> None:
    """The message has its name."""

    class ShapelessState(State):
        x: int = variable("The x.", of=lambda self: 7)

    class Shapeless(Specification[ShapelessState]):
        pass

    with pytest.raises(SpecificationError, match=r"^variable x: 7 is not a domain"):
        _ = Shapeless().variables


def test_the_documentation_of_the_language_can_be_run() -> None:
    """The example in the package's docstring is a working specification."""
    import spec.language

    source = inspect.cleandoc((spec.language.__doc__ or "").split("\n\n", 1)[1].rsplit("\n\n", 1)[0])
    scope: dict[str, Any] = {"__name__": "example"}
    exec(source, scope)
    counter = scope["Counter"](top=2)
    assert [each.name for each in counter.actions] == ["press"]
    assert [each.name for each in counter.properties] == ["never_beyond_the_top"]
