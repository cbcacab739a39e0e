"""Symmetry: one state for each orbit, the verdict of the full run, and refusals of rules that distinguish brokers."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.checking import Result, check
from spec.checking.model import Model
from spec.checking.symmetry.group import Codes, MinimumImage, Permuted, every_permutation, images, order, sorts_in
from spec.checking.traces.replay import Replay
from spec.language import (
    Domain,
    MappingDomain,
    Specification,
    State,
    Step,
    Total,
    UsageError,
    action,
    bound,
    constant,
    either,
    every_combination,
    initial,
    integers,
    interchangeable,
    invariant,
    mapping,
    one_of,
    optional,
    part_of,
    partial_mapping,
    record,
    require,
    sequence_of,
    sometimes,
    subset_of,
    transition_invariant,
    variable,
)
from spec.language.permutations import Permutation
from spec.language.state import Values
from spec.systems.controller_election import ControllerElection
from spec.systems.replication import Replication
from tests.spec.checking.toys import Clock


def each_broker(self: Any) -> Domain[int]:
    """The interchangeable brokers."""
    return interchangeable("broker", range(self.brokers))


def reduced(specification: Specification, **options: Any) -> Result:
    """The result of the reference engine on representatives."""
    return check(specification, engine="reference", symmetry=True, **options)


def outcome(result: Result) -> dict[str, Any]:
    """The part of a reduced run that must equal a full one."""
    return {
        "verdict": result.verdict,
        "why": result.why,
        "depth": result.depth,
        "properties": [(each.name, each.verdict, each.length) for each in result.properties],
        "counterexample": result.counterexample and (result.counterexample.broken, result.counterexample.length),
        "never taken": [each.name for each in result.actions if not each.taken],
    }


class VotesState(State):
    """The state of `Votes`."""

    vote: Total[Any, Any] = variable(
        "The vote.", of=lambda self: mapping(each_broker(self), optional(each_broker(self)))
    )


class Votes(Specification[VotesState]):
    """Each broker votes for one broker, or for none yet: the partial functions from brokers to brokers."""

    brokers: int = constant(3, "how many there are", at_least=1)

    @action(broker=each_broker, whom=each_broker)
    def votes(self, s: VotesState, broker: int, whom: int) -> None:
        require(s.vote[broker] is None)
        s.vote[broker] = whom

    @action(broker=each_broker)
    def withdraws(self, s: VotesState, broker: int) -> None:
        require(s.vote[broker] is not None)
        s.vote[broker] = None


@pytest.mark.parametrize(("brokers", "states", "orbits"), [(1, 2, 2), (2, 9, 6), (3, 64, 16), (4, 625, 45)])
def test_distinct_states_are_the_orbits(brokers: int, states: int, orbits: int) -> None:
    """Partial functions on labelled and on unlabelled points (OEIS A126285)."""
    assert check(Votes(brokers=brokers), engine="reference").distinct_states == states
    assert reduced(Votes(brokers=brokers)).distinct_states == orbits


# Every kind of domain.


class Session(NamedTuple):
    """The owner of a session, and its number."""

    broker: int
    number: int


class Node(NamedTuple):
    """The data and owner of a node."""

    owner: Session | None
    data: int


class Said(NamedTuple):
    """A word and its addressee."""

    to: int
    word: int


def each_session(self: Any) -> Domain[Session]:
    """Two sessions of each broker."""
    return every_combination(Session, broker=each_broker(self), number=range(2))


def path(broker: int) -> str:
    """The path of a broker's node."""
    return f"/ids/{broker}"


def each_node(self: Any) -> MappingDomain:
    """The owner of a broker's node is a session of that broker, or none."""
    of_all = record(Node, owner=optional(each_session(self)), data=each_broker(self))
    mine = {
        path(broker): record(
            Node, owner=part_of(each_session(self), Session(broker, 0), Session(broker, 1)), data=one_of(0)
        )
        for broker in each_broker(self)
    }
    return partial_mapping(
        either(["/", "/ids"], every_combination(path, broker=each_broker(self))), lambda path: mine.get(path, of_all)
    )


class EverythingState(State):
    """The state of `Everything`."""

    leader: Said | None = variable(
        "The leader.", of=lambda self: optional(record(Said, to=each_broker(self), word=range(3)))
    )
    nodes: Any = variable("The nodes.", of=each_node)
    heard: Total[Any, tuple[Said | None, ...]] = variable(
        "The heard.",
        of=lambda self: mapping(
            each_session(self), sequence_of(optional(record(Said, to=each_broker(self), word=range(2))), longest=2)
        ),
    )
    alive: Any = variable("The alive.", of=lambda self: subset_of(each_session(self)))
    eats: Total[Any, int | None] = variable(
        "The eats.", of=lambda self: mapping(each_broker(self), optional(interchangeable("dish", range(self.dishes))))
    )


class Everything(Specification[EverythingState]):
    """A state with brokers in every place; no real system."""

    brokers: int = constant(3, "how many there are", at_least=1)
    dishes: int = constant(1, "of another sort", at_least=1)

    @action(broker=each_broker, session=each_session)
    def nothing_happens(self, s: EverythingState, broker: int, session: Session) -> None:
        """Only states matter here."""


@cache
def everything(brokers: int, dishes: int) -> Model:
    """The model of this system."""
    return Model(Everything(brokers=brokers, dishes=dishes))


@st.composite
def states_of(draw: st.DrawFn, model: Model) -> Values:
    """A state of a model, reachable or not, often with few distinct values so that there are ties."""
    dull = draw(st.booleans())
    values = []
    for cell in model.layout.cells:
        most = cell.domain.size - 1
        values.append(cell.domain.unrank(draw(st.integers(0, min(most, 2)) if dull else st.integers(0, most))))
    return model.layout.unpack(model.layout.pack(tuple(values)))


@st.composite
def symmetric_states(draw: st.DrawFn) -> tuple[Model, Values]:
    """A state of `Everything`."""
    model = everything(draw(st.integers(1, 4)), draw(st.integers(1, 2)))
    return model, draw(states_of(model))


@cache
def group_of(model: Model) -> tuple[Permutation, ...]:
    """Every permutation under which a model is symmetric."""
    return tuple(every_permutation(sorts_in(model)))


@cache
def least_of(model: Model) -> MinimumImage:
    """The minimum image of a model's states."""
    return MinimumImage(model.layout, (images(model, each) for each in group_of(model)))


def renamed(model: Model, permutation: Permutation, state: Values) -> Values:
    """A state permuted value by value, through the domains instead of the codes."""
    layout = model.layout
    found = list(state)
    for name, (_, domain) in model.specification.variables.items():
        at = layout.variables[name].at
        if isinstance(domain, MappingDomain):
            assert isinstance(at, dict)
            for key, cell in at.items():
                found[at[domain.keys.moved(key, permutation)]] = domain.cells[key].moved(state[cell], permutation)
        else:
            assert isinstance(at, int)
            found[at] = domain.moved(state[at], permutation)
    return tuple(found)


@given(symmetric_states(), st.data())
def test_images_are_those_of_the_values(drawn: tuple[Model, Values], data: st.DataObject) -> None:
    """Slot by slot, cell by cell and value by value give the same image."""
    model, state = drawn
    number = data.draw(st.integers(0, len(group_of(model)) - 1))
    codes, packed = Codes(model.layout), model.layout.pack(state)
    before, its = codes.unpack(packed), least_of(model).images[number]
    after = model.layout.pack(renamed(model, group_of(model)[number], state))
    assert sum(image.of(before) << shift for image, shift in zip(its, codes.shifts, strict=True)) == after
    assert Permuted(model.layout, its).of(packed) == after


@given(symmetric_states())
def test_the_minimum_equals_trying_all_permutations(drawn: tuple[Model, Values]) -> None:
    """So every state of an orbit has the same minimum."""
    model, state = drawn
    orbit = {model.layout.pack(renamed(model, permutation, state)) for permutation in group_of(model)}
    assert {least_of(model).representative(packed) for packed in orbit} == {min(orbit)}


def test_the_group_is_every_permutation_of_every_sort() -> None:
    """The first one changes nothing. The size is computed without listing them."""
    group = group_of(everything(3, 2))
    assert group[0] == {"broker": {0: 0, 1: 1, 2: 2}, "dish": {0: 0, 1: 1}}
    assert len({(*each["broker"].values(), *each["dish"].values()) for each in group}) == 6 * 2
    assert order(sorts_in(everything(3, 2))) == 6 * 2
    assert order({"broker": tuple(range(20)), "dish": ("soup", "stew")}) == 2 * 2432902008176640000


def test_equal_permutations_are_tried_once() -> None:
    """The first slot belongs to a broker's own log: it is compared four times, not once for each permutation."""
    model = Model(Replication.of(brokers=4))
    tree = least_of(model).tree
    assert (len(group_of(model)), len(tree.branches)) == (24, 4)
    assert [len(behind.permutations) for _, behind in tree.branches] == [6, 6, 6, 6]


# Full and reduced runs.


class Rule(NamedTuple):
    """A rule of brokers: the state and token that enable it, the next state, and its effect on the token."""

    state: int
    holds: bool
    becomes: int
    token: str


class SocietyState(State):
    """The state of `Society`."""

    state: Total[Any, int] = variable(
        "The state.", of=lambda self: mapping(each_broker(self), integers(0, self.most))
    )
    holder: int | None = variable("The holder.", of=lambda self: optional(each_broker(self)))
    held: tuple[int, ...] = variable("The held.", of=lambda self: sequence_of(each_broker(self), longest=2))


class Society(Specification[SocietyState]):
    """Brokers that follow rules, with one token and a list of its holders. The bad states are drawn, too."""

    brokers: int = constant(3, "how many there are", at_least=1)
    rules: tuple[Rule, ...] = constant((), "what a broker may do")
    bad: tuple[tuple[int, int], ...] = constant((), "the number in state 2, and the holder's state, -1 for none")
    bad_steps: tuple[tuple[int, int], ...] = constant((), "the acting broker's states before and after")
    most: int = constant(2, "states of a broker")

    @initial(broker=each_broker)
    def somebody_begins(self, s: SocietyState, broker: int) -> None:
        """One broker starts in another state."""
        s.state[broker] = 1

    @action(broker=each_broker, number=lambda self: range(len(self.rules)))
    def follow(self, s: SocietyState, broker: int, number: int) -> None:
        """Follow a rule."""
        rule = self.rules[number]
        require(s.state[broker] == rule.state and (s.holder == broker) == rule.holds)
        s.state[broker] = rule.becomes
        if rule.token == "take":
            require(s.holder is None)
            s.holder = broker
        if rule.token == "drop":
            bound(len(s.held) < 2)
            s.holder = None
            s.held += (broker,)

    @action(broker=each_broker, other=each_broker)
    def hand_over(self, s: SocietyState, broker: int, other: int) -> None:
        """The token passes to another broker in the same state."""
        require(s.holder == broker and broker != other and s.state[broker] == s.state[other])
        s.holder = other

    def looks(self, s: SocietyState) -> tuple[int, int]:
        """The part of the state that decides."""
        return sum(state == 2 for state in s.state.values()), -1 if s.holder is None else s.state[s.holder]

    @invariant
    def good(self, s: SocietyState) -> bool:
        """The state is not one of the bad ones."""
        return self.looks(s) not in self.bad

    @invariant(broker=each_broker)
    def never_twice(self, s: SocietyState, broker: int) -> bool:
        """No broker has held the token twice."""
        return bool(s.held.count(broker) < 2)

    @transition_invariant
    def good_steps(self, before: SocietyState, step: Step, after: SocietyState) -> bool:
        """No broker takes a bad step."""
        who = step.parameters["broker"]
        return bool((before.state[who], after.state[who]) not in self.bad_steps)

    @sometimes
    def two_had_it(self, s: SocietyState) -> bool:
        """Two brokers have held the token."""
        return len(set(s.held)) == 2

    @sometimes
    def back(self, before: SocietyState, step: Step, after: SocietyState) -> bool:
        """A broker takes the token again."""
        return bool(before.holder is None and after.holder is not None and after.holder in after.held)


def societies() -> st.SearchStrategy[Society]:
    """Two or three brokers. A rule may lead to state 3, which is outside the domain."""
    states, pairs = st.integers(0, 2), st.tuples(st.integers(0, 2), st.integers(-1, 2))
    rules = st.builds(
        Rule, states, st.booleans(), st.sampled_from([0, 1, 2, 2, 1, 3]), st.sampled_from(["", "take", "drop"])
    )
    return st.builds(
        Society,
        brokers=st.integers(2, 3),
        rules=st.lists(rules, min_size=1, max_size=6, unique=True).map(tuple),
        bad=st.lists(pairs, max_size=2).map(tuple),
        bad_steps=st.lists(st.tuples(states, states), max_size=1).map(tuple),
    )


@pytest.mark.long
@settings(max_examples=60)
@given(societies(), st.booleans())
def test_reduced_and_full_runs_agree(society: Society, keep_going: bool) -> None:
    """In the verdict, the depth, and the verdict of every property with the length of its shortest trace."""
    options: dict[str, Any] = {"keep_going": keep_going, "deadlock": True}
    full, less = check(society, engine="reference", **options), reduced(society, **options)
    assert outcome(less) == outcome(full)
    assert less.distinct_states <= full.distinct_states


@pytest.mark.long
@settings(max_examples=40)
@given(societies())
def test_discoveries_are_paths_of_the_system(society: Society) -> None:
    """Each step is enabled in the state that the step before led to, and the last one decides the property."""
    result = reduced(society, keep_going=True, deadlock=True)
    shown = result.counterexample
    if shown is None:
        return
    model = Model(society)
    reachable = {state for state, _ in model.initial_states() if state is not None}
    for step in shown.steps:
        taken = [
            each
            for state in reachable
            for each in model.expand(state).steps
            if model.actions[each.action].step(each.instance) == step.step
        ]
        assert taken
        reachable = {each.after for each in taken if each.after is not None}
    numbers = model.numbers([shown.broken])
    if shown.broken in {"good", "never_twice"}:
        assert any(model.found_in(state, numbers) for state in reachable)


@pytest.mark.parametrize(
    ("brokers", "states", "orbits"), [(2, 37, 19), (3, 271, 55), pytest.param(4, 1993, 135, marks=pytest.mark.long)]
)
def test_replication_has_as_many_states_as_orbits(brokers: int, states: int, orbits: int) -> None:
    """The orbits are counted among all states of a full run."""
    specification = Replication.of(
        truncation="kip-320", brokers=brokers, log_size=1, max_records=1, max_leader_epoch=0
    )
    model = Model(specification)
    reached = set[Values]()
    level = [state for state, _ in model.initial_states() if state is not None]
    while level:
        reached.update(level)
        after = {each.after for state in level for each in model.expand(state).steps}
        level = [state for state in after if state is not None and state not in reached]
    counted = {frozenset(renamed(model, each, state) for each in group_of(model)) for state in reached}
    assert frozenset().union(*counted) == reached
    assert (len(reached), len(counted)) == (states, orbits)
    assert reduced(specification).distinct_states == orbits


@pytest.mark.long
@pytest.mark.parametrize(
    "specification",
    [
        Replication.of(brokers=4, log_size=1, max_records=1, max_leader_epoch=0),
        Replication.of(brokers=3, log_size=1, max_records=1, max_leader_epoch=1),
        Replication.of(brokers=2, max_leader_epoch=1, truncation="truncate-to-high-watermark", history=True),
        ControllerElection.of(brokers=2, elections=1, crashes=False, operator_deletes=False),
    ],
    ids=["four brokers", "three brokers", "with a history", "election"],
)
def test_reduced_verdicts_equal_full_verdicts(specification: Specification) -> None:
    """Including witnesses and actions never taken."""
    full = check(specification, engine="reference", keep_going=True)
    assert outcome(reduced(specification, keep_going=True)) == outcome(full)


def test_a_counterexample_can_be_replayed() -> None:
    """Its brokers keep their names from step to step, and it breaks its property."""
    specification = Replication.of(brokers=2, max_leader_epoch=1, truncation="truncate-to-high-watermark")
    shown = reduced(specification).counterexample
    assert shown is not None
    replay = Replay(specification, shown.initial)
    for step in shown.steps:
        assert replay.do(step.step) == step
    assert replay.broken[shown.broken] == shown.length == 9


# Rules that distinguish brokers.


class ApartState(VotesState):
    """The state of `Apart`."""

    chosen: int | None = variable("The chosen.", of=lambda self: optional(each_broker(self)))


class Apart(Votes, Specification[ApartState]):
    """Votes, with rules that a test adds."""


class OrdersInAnAction(Apart):
    @action
    def choose(self, s: ApartState) -> None:
        """The least of the voters."""
        voters = [broker for broker in each_broker(self) if s.vote[broker] is not None]
        require(len(voters) > 1)
        s.chosen = min(voters)


class SinglesOutInAGuard(Apart):
    @action(broker=each_broker)
    def choose(self, s: ApartState, broker: int) -> None:
        """Only broker 1."""
        require(s.vote[broker] == broker and broker == 1)
        s.chosen = broker


class SinglesOutInAnEffect(Apart):
    @action(broker=each_broker)
    def choose(self, s: ApartState, broker: int) -> None:
        """Always broker 0."""
        require(s.vote[broker] == broker)
        s.chosen = 0


class Counts(Apart):
    @action(broker=each_broker)
    def choose(self, s: ApartState, broker: int) -> None:
        """The next one."""
        s.chosen = (broker + 1) % self.brokers


class GoesByTheOrderOfASet(Apart):
    @action
    def choose(self, s: ApartState) -> None:
        """The first voter in the order of iteration."""
        voters = {broker: None for broker in each_broker(self) if s.vote[broker] is not None}
        require(voters)
        s.chosen = next(iter(voters))


class GoesByAName(Apart):
    @action(broker=each_broker)
    def choose(self, s: ApartState, broker: int) -> None:
        """A broker whose name is not the least."""
        require(str(broker) > "0")
        s.chosen = broker


class OrdersInAnInvariant(Apart):
    @invariant(broker=each_broker)
    def upwards(self, s: ApartState, broker: int) -> bool:
        """Every vote is for a higher broker."""
        return s.vote[broker] is None or s.vote[broker] <= 1


class SinglesOutInAWitness(Apart):
    @sometimes
    def first_votes(self, s: ApartState) -> bool:
        """A broker votes for broker 0."""
        return any(vote == 0 for vote in s.vote.values())


class GoesByTheOrderInAnInvariant(Apart):
    @invariant
    def first_is_silent(self, s: ApartState) -> bool:
        """The first broker does not vote."""
        return next(iter(s.vote.values())) is None


class SinglesOutInAStep(Apart):
    @transition_invariant
    def first_never_votes(self, before: ApartState, step: Step, after: ApartState) -> bool:
        """Broker 0 never acts."""
        return str(step.parameters["broker"]) != "0"


class BeginsWithOne(Apart):
    @initial
    def begin(self, s: ApartState) -> None:
        """Broker 0 is chosen."""
        s.chosen = next(iter(each_broker(self)))


class BoundsOne(Apart):
    @action(broker=each_broker)
    def choose(self, s: ApartState, broker: int) -> None:
        """A bound excludes states in which the second broker votes."""
        bound(s.vote[broker] is None or str(broker) != "1")
        require(False)


class HasAFavouriteState(ApartState):
    favourite: Total[Any, Any] = variable(
        "A number whose range depends on the broker.",
        of=lambda self: mapping(each_broker(self), lambda broker: one_of(*range(2 + int(str(broker))))),
    )


class HasAFavourite(Apart, Specification[HasAFavouriteState]):
    pass


REFUSED: dict[type[Specification], str] = {
    OrdersInAnAction: "action choose of {} tells brokers apart: it orders brokers",
    SinglesOutInAGuard: "action choose of {} tells brokers apart: it distinguishes broker 1",
    SinglesOutInAnEffect: "action choose of {} tells brokers apart: it distinguishes broker 0",
    Counts: "action choose of {} tells brokers apart: it calculates with a broker",
    GoesByTheOrderOfASet: "action choose of {} tells brokers apart: its result differs with broker 1 for 2, ",
    GoesByAName: "action choose of {} tells brokers apart: its result differs with ",
    OrdersInAnInvariant: "property upwards of {} tells brokers apart: it orders brokers",
    SinglesOutInAWitness: "property first_votes of {} tells brokers apart: it distinguishes broker 0",
    GoesByTheOrderInAnInvariant: "property first_is_silent of {} tells brokers apart: its result differs with ",
    SinglesOutInAStep: "property first_never_votes of {} tells brokers apart: its result differs with ",
    BeginsWithOne: "initial of {} tells brokers apart: it singles out a broker",
    BoundsOne: "action choose of {} tells brokers apart: its result differs with ",
    HasAFavourite: "variable favourite of {} tells brokers apart: its domain is not symmetric: ",
}


@pytest.mark.parametrize("spoilt", REFUSED, ids=lambda each: each.__name__)
def test_a_rule_that_distinguishes_brokers_is_refused_by_name(spoilt: type[Specification]) -> None:
    """The error gives the reason. Without symmetry the specification is accepted."""
    check(spoilt(), engine="reference")
    with pytest.raises(UsageError) as refused:
        reduced(spoilt())
    assert str(refused.value).startswith("--symmetry: " + REFUSED[spoilt].format(spoilt.name))


def test_an_unchecked_property_may_distinguish_brokers() -> None:
    """Only checked properties must be symmetric."""
    assert reduced(SinglesOutInAStep(), properties=["type_ok"]).verdict == "holds"


def test_without_interchangeable_values_there_is_no_symmetry() -> None:
    """A clock has no interchangeable values."""
    with pytest.raises(UsageError, match=r"^--symmetry: clock has no interchangeable values; a domain of them is "):
        reduced(Clock())


def test_one_sort_has_one_set_of_values() -> None:
    """Different sets need two sorts with different names."""

    class TwoOfANameState(VotesState):
        chosen: int = variable("The chosen.", of=lambda self: interchangeable("broker", range(self.brokers + 1)))

    class TwoOfAName(Votes, Specification[TwoOfANameState]):
        pass

    with pytest.raises(
        UsageError, match=r"^--symmetry: interchangeable 'broker': its values are \(0, 1, 2\) in one place and "
    ):
        reduced(TwoOfAName())
