"""A few states of each level are evaluated in plain Python too, where tables have paths that nobody recorded."""

from __future__ import annotations

from typing import Any

import pytest

from spec.checking.check import check
from spec.checking.local import LocalEngine, fold_samples, recording, worker_pool
from spec.checking.local.folds.aggregates import Graph
from spec.checking.reference import ReferenceEngine
from spec.language import Specification, State, Step, action, initial, integers, invariant, subset_of, variable
from spec.language import transition_invariant as transition
from tests.spec.checking.everywhere import whole
from tests.spec.checking.local.folds.crowds import fold_from


class Pile(State):
    """The state of `Piles`."""

    there: frozenset[int] = variable("What is there.", of=lambda self: subset_of(range(8)))
    counted: int = variable("The number counted last.", of=lambda self: integers(0, 8))


class Piles(Specification[Pile]):
    """Things are added, and counted."""

    @initial
    def begin(self, s: Pile) -> None:
        s.there, s.counted = frozenset(), 0

    @action(thing=lambda self: range(8))
    def add(self, s: Pile, thing: int) -> None:
        s.there |= {thing}

    @action
    def count(self, s: Pile) -> None:
        s.counted = len(s.there)

    @invariant
    def few(self, s: Pile) -> bool:
        """At most seven."""
        return len(s.there) < 8

    @transition
    def upwards(self, before: Pile, step: Step, after: Pile) -> bool:
        """Nothing goes."""
        return len(after.there) >= len(before.there)


@pytest.fixture(autouse=True)
def _folding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules whose twins read less fold from the first path on, and are learned at once."""
    fold_from(1, monkeypatch, recording.SHORTER)
    monkeypatch.setattr(worker_pool, "PATIENCE", 2)


def explored(engine: Any) -> Any:
    return check(Piles(), engine=engine, keep_going=True)


def test_the_result_says_what_was_compared() -> None:
    result = explored(LocalEngine(1))
    assert result.folds.startswith("count, few, upwards: compared with plain evaluation in ")
    assert result.folds in str(result)
    assert not explored(ReferenceEngine()).folds
    assert not check(Piles(), engine=LocalEngine(1), keep_going=True, folds=False).folds


def test_rules_whose_paths_are_rare_do_not_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their paths so far would be recorded anew."""
    fold_from(5, monkeypatch)
    assert explored(LocalEngine(1)).folds
    monkeypatch.setattr(recording, "RARE", -1)  # however few states there are
    assert not explored(LocalEngine(1)).folds


@pytest.mark.long
def test_a_wrong_graph_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules are then evaluated in plain Python, and the result is right."""
    right = Graph.of

    def wrong(cls: type[Graph], aggregate: Any, forms: Any) -> Graph:
        """Each question of the graph is about the slot of its first one."""
        graph = right(aggregate, forms)
        graph.code[: graph.results : 3] = graph.code[0]
        return graph

    monkeypatch.setattr(Graph, "of", classmethod(wrong))
    result = explored(LocalEngine(1))
    assert set(result.opaque_rules) >= {"count"}
    assert whole(lambda: result) == whole(lambda: explored(ReferenceEngine()))


def test_comparing_has_a_price_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few states are compared where each takes many evaluations; which ones does not depend on the time."""
    many = explored(LocalEngine(1)).folds
    monkeypatch.setattr(fold_samples, "FIRST", 4)
    few = explored(LocalEngine(1)).folds
    assert few == explored(LocalEngine(1)).folds
    assert 0 < int(few.split()[-8]) < int(many.split()[-8])
