"""Of each class of edges there is a path, a shortest one, and nothing behind what ends is met."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from spec.checking.edge_coverage import EdgeCoverage, EdgePath
from spec.checking.model import Model
from spec.language import Specification, State, Step, action, integers, require, variable


class Count(State):
    """A number."""

    n: int = variable("It goes up, and down to nothing.", of=lambda self: integers(0, 5))


class Counter(Specification[Count]):
    """Counts to five, and begins anew whenever it likes."""

    name = "counter"

    @action
    def up(self, s: Count) -> None:
        """One more."""
        require(s.n < 5)
        s.n += 1

    @action
    def anew(self, s: Count) -> None:
        """From the beginning."""
        require(s.n)
        s.n = 0


def parity(before: Count, step: Step, after: Count) -> Hashable:
    """What is done, and whether from an odd number."""
    return step.action, before.n % 2


def ends_of(paths: list[EdgePath], model: Model) -> dict[Hashable, list[int]]:
    """Of each class, the numbers along its path."""
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
    """Both ways from odd and even numbers, which begin at 0."""
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
    """As many as there are, up to the number asked for."""
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


def test_what_lies_behind_an_end_is_left_out() -> None:
    """No step from 2 is met where going there is an end; the edge to it is."""

    def to_two(before: Count, step: Step, after: Count) -> Hashable:
        return "two" if after.n == 2 else (step.action, before.n)

    coverage = EdgeCoverage(Model(Counter()), to_two, max_states=100, ends=lambda of: of == "two")
    assert {path.of for path in coverage} == {("up", 0), "two", ("anew", 1)}


def test_what_has_no_class_is_passed_over() -> None:
    """Neither counted nor followed."""

    def upwards(before: Count, step: Step, after: Count) -> Hashable:
        return None if step.action == "up" and before.n == 1 else step.action

    coverage = EdgeCoverage(Model(Counter()), upwards, max_states=100)
    assert [path.of for path in coverage] == ["up", "anew"]
    assert coverage.edges == {"up": 1, "anew": 1}


def test_no_more_states_than_asked_for() -> None:
    """The edges of those that there are count all the same."""
    coverage = EdgeCoverage(Model(Counter()), parity, max_states=2)
    assert len(list(coverage)) == 3
    assert (coverage.states, sum(coverage.edges.values())) == (2, 3)


def test_two_goes_are_the_same() -> None:
    """It begins anew each time."""
    coverage = EdgeCoverage(Model(Counter()), parity, max_states=100)
    assert list(coverage) == list(coverage)
