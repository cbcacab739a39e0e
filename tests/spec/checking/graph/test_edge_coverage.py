"""Shortest paths to each class of edges, none of them past an end, and tours that take every edge."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from spec.checking.graph.edge_coverage import EdgeCoverage, EdgePath, EdgeTours
from spec.checking.model import Model
from spec.language import Specification, State, Step, action, integers, require, variable
from tests.spec.toys import TOYS


class Count(State):
    """A number."""

    n: int = variable("It goes up, and back to 0.", of=lambda self: integers(0, 5))


class Counter(Specification[Count]):
    """Counts to five, and may start again at any time."""

    name = "counter"

    @action
    def up(self, s: Count) -> None:
        """One more."""
        require(s.n < 5)
        s.n += 1

    @action
    def anew(self, s: Count) -> None:
        """Back to 0."""
        require(s.n)
        s.n = 0


def parity(before: Count, step: Step, after: Count) -> Hashable:
    """The action, and whether it starts from an odd number."""
    return step.action, before.n % 2


def what_is_done(before: State, step: Step, after: State) -> Hashable:
    """The action."""
    return step.action


def ends_of(paths: list[EdgePath], model: Model) -> dict[Hashable, list[int]]:
    """For each class, the numbers along its path."""
    window = model.window()
    found = {}
    for path in paths:
        numbers = []
        for state in path.states:
            s: Any = window.load(state)
            numbers.append(s.n)
        found[path.of] = numbers
    return found


def test_a_shortest_path_to_each_class() -> None:
    """Up and anew, from even and odd numbers, starting at 0."""
    model = Model(Counter())
    coverage = EdgeCoverage(model, parity, max_states=100)
    assert ends_of(list(coverage), model) == {
        ("up", 0): [0, 1],
        ("up", 1): [0, 1, 2],
        ("anew", 1): [0, 1, 0],
        ("anew", 0): [0, 1, 2, 0],
    }
    assert coverage.edges == {("up", 0): 3, ("up", 1): 2, ("anew", 1): 3, ("anew", 0): 2}
    assert (coverage.states, coverage.expanded, coverage.statistics().depth) == (6, 6, 6)


@pytest.mark.parametrize("per_class", [2, 3])
def test_some_paths_to_each_class(per_class: int) -> None:
    """At most the requested number of paths."""
    coverage = EdgeCoverage(Model(Counter()), parity, max_states=100, per_class=per_class)
    paths = list(coverage)
    assert {of: sum(1 for path in paths if path.of == of) for of in coverage.edges} == {
        of: min(edges, per_class) for of, edges in coverage.edges.items()
    }


def test_the_choices_lead_along_the_states() -> None:
    """Each choice is a step of the model from one state to the next."""
    model = Model(Counter())
    for path in EdgeCoverage(model, parity, max_states=100):
        assert len(path.choices) == len(path.states) - 1
        for state, choice, target in zip(path.states, path.choices, path.states[1:], strict=False):
            assert target in [each.after for each in model.expand(state).steps if each[:2] == choice]


def test_edges_after_an_end_are_left_out() -> None:
    """The edge to 2 is an end: it is covered, and no step from 2 is."""

    def to_two(before: Count, step: Step, after: Count) -> Hashable:
        return "two" if after.n == 2 else (step.action, before.n)

    coverage = EdgeCoverage(Model(Counter()), to_two, max_states=100, ends=lambda of: of == "two")
    assert {path.of for path in coverage} == {("up", 0), "two", ("anew", 1)}


def test_unclassified_edges_are_skipped() -> None:
    """They are neither counted nor followed."""

    def upwards(before: Count, step: Step, after: Count) -> Hashable:
        return None if step.action == "up" and before.n == 1 else step.action

    coverage = EdgeCoverage(Model(Counter()), upwards, max_states=100)
    assert [path.of for path in coverage] == ["up", "anew"]
    assert coverage.edges == {"up": 1, "anew": 1}


def test_max_states_bounds_the_coverage() -> None:
    """Edges between the states within the bound still count."""
    coverage = EdgeCoverage(Model(Counter()), parity, max_states=2)
    assert len(list(coverage)) == 3
    assert (coverage.states, sum(coverage.edges.values())) == (2, 3)


def test_coverage_is_deterministic() -> None:
    """Each computation starts from the beginning and gives the same paths."""
    coverage = EdgeCoverage(Model(Counter()), parity, max_states=100)
    assert list(coverage) == list(coverage)


# Tours.


def edges_along(paths: list[EdgePath]) -> list[tuple[Any, Any, Any]]:
    """Every edge that the paths take, with repetitions."""
    return [
        (state, choice, target)
        for path in paths
        for state, choice, target in zip(path.states, path.choices, path.states[1:], strict=False)
    ]


def all_edges(model: Model) -> set[tuple[Any, Any, Any]]:
    """Every edge of the model."""
    known, ahead, found = set(model.first_states()), list(model.first_states()), set()
    while ahead:
        state = ahead.pop()
        for each in model.expand(state).steps:
            found.add((state, each[:2], each.after))
            if each.after not in known and each.after is not None:
                known.add(each.after)
                ahead.append(each.after)
    return found


@pytest.mark.parametrize(
    "specification", [Counter(), *map(TOYS.__getitem__, ("jugs", "walkers", "several starts", "countdown"))], ids=repr
)
def test_tours_take_every_edge(specification: Specification) -> None:
    """Each tour starts in an initial state; together they have fewer steps than one path for each edge."""
    model = Model(specification)
    tours = EdgeTours(model, what_is_done, max_states=10**6)
    paths = list(tours)
    assert set(edges_along(paths)) == all_edges(model)
    assert {path.states[0] for path in paths} <= set(model.first_states())
    assert sum(tours.edges.values()) == len(all_edges(model))
    each = list(EdgeCoverage(model, what_is_done, max_states=10**6, per_class=10**6))
    assert len(edges_along(paths)) < len(edges_along(each))


def test_an_edge_that_ends_has_a_path_of_its_own() -> None:
    """One for each class of ends; tours take no others."""

    def to_two(before: Count, step: Step, after: Count) -> Hashable:
        return "two" if after.n == 2 else step.action

    model = Model(Counter())
    paths = list(EdgeTours(model, to_two, max_states=100, ends=lambda of: of == "two"))
    assert [path.of for path in paths].count("two") == 1
    assert ends_of(paths, model)["two"] == [0, 1, 2]
    assert ends_of(paths, model)[None] == [0, 1, 0]


def test_tours_within_a_bound() -> None:
    """Edges to states beyond the bound are taken, and end there."""
    model = Model(Counter())
    paths = list(EdgeTours(model, parity, max_states=2))
    assert len(set(edges_along(paths))) == 3
