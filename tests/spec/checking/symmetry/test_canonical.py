"""Canonical forms: one state of each orbit, without listing the group."""

from __future__ import annotations

from collections import deque
from functools import cache
from math import factorial
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.checking import check
from spec.checking.exploration import Statistics
from spec.checking.model import Model
from spec.checking.symmetry import reduction as symmetry_module
from spec.checking.symmetry.canonical import Canonical
from spec.checking.symmetry.group import Codes, generators, images, sorts_in
from spec.checking.symmetry.relations import Relations
from spec.language import (
    Domain,
    Specification,
    State,
    Total,
    UsageError,
    action,
    every_combination,
    mapping,
    part_of,
    subset_of,
    variable,
)
from spec.language.permutations import Permutation
from spec.language.state import Values
from tests.gallery.exploring import system
from tests.spec.checking.graphs import HARD, Graph, graph, rook, shrikhande
from tests.spec.checking.symmetry.test_reduction import (
    REFUSED,
    Society,
    Votes,
    each_broker,
    group_of,
    outcome,
    reduced,
    renamed,
    societies,
    states_of,
    symmetric_states,
)

TwoPhaseCommit = system("two_phase_commit")
"""Two-phase commit, from the gallery."""


@cache
def facts_of(model: Model) -> Relations:
    """The relations that a model's states hold between interchangeable values."""
    sorts = sorts_in(model)
    return Relations(model, [*map(len, sorts.values())], [images(model, each) for each in generators(sorts)])


@cache
def canonical(model: Model) -> Canonical:
    """The canonical form of a model's states."""
    return Canonical(model.layout, facts_of(model))


def representatives(model: Model, state: Values) -> tuple[set[int], set[int]]:
    """The canonical forms of all states of an orbit, and these states."""
    orbit = {model.layout.pack(renamed(model, permutation, state)) for permutation in group_of(model)}
    return {canonical(model).representative(packed) for packed in orbit}, orbit


def shuffled(model: Model, state: Values, chance: Random) -> int:
    """A random state of the orbit, packed."""
    permutation: Permutation = {
        sort: dict(zip(values, chance.sample(values, len(values)), strict=True))
        for sort, values in sorts_in(model).items()
    }
    return model.layout.pack(renamed(model, permutation, state))


# Facts.


def test_facts_of_a_kind_are_a_relation() -> None:
    """A vote for another has two arguments, a vote for oneself one. Not voting is the default, and no relation."""
    facts = facts_of(Model(Votes(brokers=5)))
    assert sorted(facts.arity.tolist()) == [1, 2]
    assert [(facts.kind_of == kind).sum() for kind in (0, 1)] == [5, 20]
    assert (facts.kind_of < 0).sum() == 5


@given(symmetric_states(), st.data())
def test_tables_have_the_facts_that_permutations_make(drawn: tuple[Model, Values], data: st.DataObject) -> None:
    """One lookup gives the fact of the same kind about the permuted arguments."""
    model, state = drawn
    permutation = data.draw(st.sampled_from(group_of(model)))
    form, layout = canonical(model), model.layout
    values = [value for its in sorts_in(model).values() for value in its]
    sorts = [sort for sort, its in sorts_in(model).items() for _ in its]
    takes = [
        form.sort_begins[at] + sorts_in(model)[sort].index(permutation[sort][value])
        for at, (sort, value) in enumerate(zip(sorts, values, strict=True))
    ]
    codes = Codes(layout).unpack(layout.pack(state))
    after = Codes(layout).unpack(layout.pack(renamed(model, permutation, state)))
    for slot, first, guard, above in form.facts.slots:
        fact = first + codes[slot]
        if form.kind_of[fact] >= 0 and (guard < 0 or codes[guard] > above):
            its = form.facts.arguments[fact, : form.arity[form.kind_of[fact]]]
            image = form.about(fact, [takes[value] for value in its])
            assert after[form.slot_of[image]] == form.code_of[image]


# The form.


@given(symmetric_states())
def test_an_orbit_has_one_canonical_form(drawn: tuple[Model, Values]) -> None:
    """It is a state of the orbit."""
    found, orbit = representatives(*drawn)
    assert len(found) == 1
    assert found < orbit or found == orbit


FIVE = Model(Graph(vertices=5))


@settings(max_examples=30)
@given(states_of(FIVE))
def test_a_graph_has_one_canonical_form(state: Values) -> None:
    """However its vertices refer to each other."""
    found, orbit = representatives(FIVE, state)
    assert len(found) == 1
    assert found <= orbit


SIXTEEN = Model(Graph(vertices=16))


@pytest.mark.parametrize("name", HARD)
def test_graphs_that_defeat_refinement_have_one_canonical_form(name: str) -> None:
    """For 16 vertices, with few and with many automorphisms, within seconds."""
    state, chance = graph(16, HARD[name]), Random(name)
    assert len({canonical(SIXTEEN).representative(shuffled(SIXTEEN, state, chance)) for _ in range(6)}) == 1


def test_similar_graphs_have_different_canonical_forms() -> None:
    """They are in two orbits."""
    one, other = (SIXTEEN.layout.pack(graph(16, edge)) for edge in (rook, shrikhande))
    assert canonical(SIXTEEN).representative(one) != canonical(SIXTEEN).representative(other)


@settings(max_examples=30)
@given(symmetric_states())
def test_canonical_forms_are_exact_without_hashes(drawn: tuple[Model, Values]) -> None:
    """If all hashes collide, the search tries more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spec.checking.symmetry.canonical.mixed", lambda word: 7)
        found, orbit = representatives(*drawn)
    assert len(found) == 1
    assert found <= orbit


class Team(NamedTuple):
    """A set of brokers."""

    members: frozenset[int]


class TeamsState(State):
    """The state of `Teams`."""

    team: Total[Any, Any] = variable(
        "The team.",
        of=lambda self: mapping(each_broker(self), every_combination(Team, members=subset_of(each_broker(self)))),
    )


class Teams(Specification[TeamsState]):
    """Values made of several others in no order."""

    brokers = 5

    @action(broker=each_broker)
    def nothing_happens(self, s: TeamsState, broker: int) -> None:
        """Here only states matter."""


def pairings(self: Any) -> Domain[Any]:
    """The ways in which four brokers form two pairs."""
    two = [frozenset({0, one}) for one in (1, 2, 3)]
    ways = [frozenset({pair, frozenset(range(4)) - pair}) for pair in two]
    return part_of(subset_of(subset_of(each_broker(self))), *ways)


class PairingsState(TeamsState):
    """The state of `Pairings`."""

    pairs: Any = variable("The pairs.", of=pairings)


class Pairings(Teams, Specification[PairingsState]):
    """The brokers in two pairs: a value made of all four, in which none is special."""

    brokers = 4


TEAMS, PAIRINGS = Model(Teams()), Model(Pairings())


@settings(max_examples=40)
@given(st.one_of([st.tuples(st.just(model), states_of(model)) for model in (TEAMS, PAIRINGS)]))
def test_values_without_an_order_have_one_canonical_form(drawn: tuple[Model, Values]) -> None:
    """A fact does not order its arguments, so it does not distinguish them."""
    found, orbit = representatives(*drawn)
    assert len(found) == 1
    assert found <= orbit


# Runs.


@pytest.mark.long
@settings(max_examples=40)
@given(societies(), st.booleans())
def test_runs_agree_with_full_ones_and_with_minimum_images(society: Society, keep_going: bool) -> None:
    """In everything but the names of brokers."""
    options: dict[str, Any] = {"keep_going": keep_going, "deadlock": True}
    full, least = check(society, engine="reference", **options), reduced(society, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(symmetry_module, "LISTED", 0)
        found = reduced(society, **options)
    assert outcome(found) == outcome(full)
    assert (found.distinct_states, found.depth) == (least.distinct_states, least.depth)
    assert sum(each.taken for each in found.actions) == sum(each.taken for each in least.actions)


def partial_functions(points: int) -> int:
    """The number of them on unnamed points, by Burnside's lemma (OEIS A126285)."""

    def fixed(cycles: tuple[int, ...]) -> int:
        found = 1
        for length in cycles:
            found *= 1 + sum(other for other in cycles if length % other == 0)
        return found

    def of_this_type(cycles: tuple[int, ...]) -> int:
        found = factorial(points)
        for length in set(cycles):
            found //= length ** cycles.count(length) * factorial(cycles.count(length))
        return found

    def partitions(rest: int, most: int) -> list[tuple[int, ...]]:
        if not rest:
            return [()]
        return [
            (first, *others) for first in range(1, min(rest, most) + 1) for others in partitions(rest - first, first)
        ]

    return sum(fixed(cycles) * of_this_type(cycles) for cycles in partitions(points, points)) // factorial(points)


@pytest.mark.parametrize(("engine", "brokers"), [("reference", 5), ("local", 7)])
def test_distinct_states_are_the_orbits(engine: str, brokers: int) -> None:
    """Of votes, in which brokers refer to each other in every possible way."""
    assert partial_functions(4) == 45
    assert check(Votes(brokers=brokers), engine=engine, symmetry=True).distinct_states == partial_functions(brokers)


Counted = tuple[bool, bool, bool, tuple[tuple[str, bool, bool], ...]]


@cache
def counted(managers: int) -> tuple[int, int]:
    """The number of orbits of two-phase commit, and their depth, by counting managers.

    A manager is reduced to its state, whether it said that it is prepared, and whether that was received.
    """
    first: Counted = (False, False, False, (("working", False, False),) * managers)
    depth, left = {first: 1}, deque([first])

    def reach(before: Counted, *after: Any) -> None:
        state: Counted = (*after[:3], tuple(sorted(after[3])))
        if state not in depth:
            depth[state] = depth[before] + 1
            left.append(state)

    while left:
        state = left.popleft()
        done, commit, abort, all_of_them = state
        if not done:
            reach(state, True, commit, True, all_of_them)
            if all(heard for _, _, heard in all_of_them):
                reach(state, True, True, abort, all_of_them)
        for at, (about, said, heard) in enumerate(all_of_them):
            following = [("committed", said, heard)] * commit + [("aborted", said, heard)] * abort
            if said and not done:
                following.append((about, said, True))
            if about == "working":
                following += [("prepared", True, heard), ("aborted", said, heard)]
            for one in following:
                reach(state, done, commit, abort, (*all_of_them[:at], one, *all_of_them[at + 1 :]))
    return len(depth), max(depth.values())


@pytest.mark.long
def test_two_phase_commit_orbits_equal_brute_force() -> None:
    """For four managers: all states, with all 24 images of each."""
    model = Model(TwoPhaseCommit(managers=4))
    reached, level = set[Values](), model.first_states()
    while level:
        reached.update(level)
        after = {each.after for state in level for each in model.expand(state).steps}
        level = [state for state in after if state is not None and state not in reached]
    orbits = {min(model.layout.pack(renamed(model, each, state)) for each in group_of(model)) for state in reached}
    assert (len(reached), len(orbits)) == (1568, counted(4)[0])


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize("managers", [4, pytest.param(6, marks=pytest.mark.long)])
def test_two_phase_commit_is_explored_by_orbits(engine: str, managers: int) -> None:
    """With either way of finding representatives."""
    found = check(TwoPhaseCommit(managers=managers), engine=engine, symmetry=True)
    assert (found.verdict, found.distinct_states, found.depth) == ("holds", *counted(managers))


@pytest.mark.long
def test_two_phase_commit_among_ten_managers_is_explored() -> None:
    """There are 3,628,800 permutations."""
    found = check(TwoPhaseCommit(managers=10), engine="local", symmetry=True)
    assert (found.verdict, found.distinct_states, found.depth) == ("holds", *counted(10))


@pytest.mark.parametrize("spoilt", REFUSED, ids=lambda each: each.__name__)
def test_a_rule_that_distinguishes_some_of_many_is_refused_by_name(spoilt: Any) -> None:
    """Only the generators of the group are tried."""
    what, _, _ = REFUSED[spoilt].partition(" tells ")
    with pytest.raises(UsageError) as refused:
        reduced(spoilt(brokers=6))
    assert str(refused.value).startswith("--symmetry: " + what.format(spoilt.name))


def test_tables_that_would_be_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error gives the allowed number."""
    monkeypatch.setattr("spec.checking.symmetry.relations.PLACES", 100)
    assert reduced(Votes(brokers=2), max_depth=1).verdict == "bounded"
    with pytest.raises(UsageError, match=r"^--symmetry: .* in votes .* and 100 are allowed") as refused:
        reduced(Votes(brokers=5))
    assert "\n" not in str(refused.value)


def test_long_preparations_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before there are any figures."""
    monkeypatch.setattr(symmetry_module, "PATIENCE", 0)
    progress: list[Statistics] = []
    reduced(Votes(brokers=5), max_depth=1, on_progress=progress.append)
    assert "5 of sort broker" in progress[0].doing
    assert not progress[-1].doing
