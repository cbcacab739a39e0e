"""The strategies beside `kafka.controller.Election`: every election among few brokers, and some among more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from election import (
    NO_ELIGIBLE_LEADER,
    STRATEGIES,
    ElectionResult,
    Strategy,
    leader_for_controlled_shutdown,
    leader_for_controlled_shutdown_1_1,
)
from spec.kafka.jars import releases
from spec.kafka.pure import PureCalls
from statemachines.releases import Release
from tests.election.cases import Case, cases_of, orderings
from tests.election.mutants import MUTANTS, Mutant
from tests.kafka.conftest import RELEASE, calling

OTHERS = [each for each in releases() if Release("1.1.0") <= Release(each) and each != RELEASE]
"""The other releases with jars that have these strategies."""

STRATEGIES_UNTIL_2_0: Mapping[str, Strategy] = {
    **STRATEGIES,
    "controlled-shutdown": leader_for_controlled_shutdown_1_1,
}
"""The releases from 1.1 to 2.0."""


def strategies_of(release: str) -> Mapping[str, Strategy]:
    """The strategies of a release since 1.1."""
    return STRATEGIES_UNTIL_2_0 if Release(release) < Release("2.1.0") else STRATEGIES


class Question(NamedTuple):
    """An election by a strategy."""

    strategy: str
    case: Case
    failed: frozenset[int] = frozenset()
    """Running brokers whose log directory for the partition has failed; in the case they are not live."""

    def asked(self) -> dict[str, Any]:
        """The case as Kafka takes it."""
        replicas, isr, live, shutting_down, unclean = self.case
        return {
            "strategy": self.strategy,
            "replicas": replicas,
            "isr": isr,
            "live": sorted(live | self.failed),
            "shutting_down": sorted(shutting_down),
            "failed": sorted(self.failed),
            "unclean": unclean,
        }


class Difference(NamedTuple):
    """An election that Kafka decides differently."""

    question: Question
    kafka: Mapping[str, Any] | None
    ours: ElectionResult


def in_kafkas_form(result: ElectionResult, kafka: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A result in Kafka's form; it includes whether it is unclean only if Kafka says so."""
    if result == NO_ELIGIBLE_LEADER:
        return None
    marked = kafka is not None and kafka["unclean"] is not None
    return {
        "leader": result.leader,
        "isr": list(result.isr or ()),
        "recipients": list(result.recipients),
        "unclean": result.unclean if marked else None,
    }


def right(case: Case, result: ElectionResult) -> ElectionResult:
    """No mistake."""
    return result


def differences(
    pure: PureCalls,
    questions: Iterable[Question],
    altered: Callable[[Case, ElectionResult], ElectionResult] = right,
    strategies: Mapping[str, Strategy] = STRATEGIES,
) -> Iterator[Difference]:
    """The elections where a release differs from our strategies, or from a mutant of them."""
    questions = list(questions)
    answers = pure.of("Elections", (question.asked() for question in questions))
    for question, (_, kafka) in zip(questions, answers, strict=True):
        result = altered(question.case, question.case.elect(strategies[question.strategy]))
        if in_kafkas_form(result, kafka) != kafka:
            yield Difference(question, kafka, result)


def among(brokers: int, strategies: Iterable[str] = STRATEGIES) -> Iterator[Question]:
    """Every election among so many brokers, in any order."""
    for replicas in orderings(tuple(range(brokers))):
        for case in cases_of(replicas, brokers):
            for strategy in strategies:
                yield Question(strategy, case)


def with_failed_directories(brokers: int) -> Iterator[Question]:
    """Every election among so many brokers, with every choice of failed log directories."""
    ids = range(brokers)
    orders = list(orderings(tuple(ids)))
    clusters = list(product(["dead", "live", "shutting down", "failed", "failed, shutting down"], repeat=brokers))
    for replicas, isr, cluster, unclean, strategy in product(orders, orders, clusters, (False, True), STRATEGIES):
        live = frozenset(broker for broker in ids if cluster[broker] in ("live", "shutting down"))
        shutting_down = frozenset(broker for broker in ids if "shutting down" in cluster[broker])
        failed = frozenset(broker for broker in ids if "failed" in cluster[broker])
        yield Question(strategy, Case(replicas, isr, live, shutting_down, unclean), failed)


def test_every_election_among_three_brokers(pure: PureCalls) -> None:
    """Kafka decides each in the same way."""
    questions = list(among(3))
    assert len(questions) == 16 * 16 * 3**3 * 2 * 4
    assert list(differences(pure, questions)) == []


def test_failed_log_directories(pure: PureCalls) -> None:
    """Among two brokers: these are not live for the partition, but may be shutting down."""
    assert list(differences(pure, with_failed_directories(2))) == []


def test_shutting_down_is_said_of_brokers(pure: PureCalls) -> None:
    """A strategy that keeps those with failed directories in the ISR is contradicted."""

    def keeping(case: Case, result: ElectionResult) -> ElectionResult:
        return case._replace(shutting_down=case.shutting_down & case.live).elect(leader_for_controlled_shutdown)

    questions = [each for each in with_failed_directories(2) if each.strategy == "controlled-shutdown"]
    first = Question("controlled-shutdown", Case((0,), (0, 1), frozenset({0}), frozenset({1}), False), frozenset({1}))
    contradicted = {each.question: each for each in differences(pure, questions, keeping)}
    _, kafka, ours = contradicted[first]
    assert kafka is not None
    assert (kafka["isr"], ours.isr) == ([0], (0, 1))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.mistake)
def test_a_strategy_that_is_wrong(pure: PureCalls, mutant: Mutant) -> None:
    """Kafka contradicts it."""
    questions = list(among(3, [mutant.strategy]))[::7]
    assert any(differences(pure, questions, mutant.elect))


@st.composite
def larger(draw: st.DrawFn) -> Question:
    """An election among up to seven brokers."""
    brokers = st.sets(st.integers(0, 6))
    orders = st.lists(st.integers(0, 6), unique=True).map(tuple)
    live = frozenset(draw(brokers))
    shutting_down = live & draw(brokers)
    case = Case(draw(orders), draw(orders), live, shutting_down, draw(st.booleans()))
    return Question(draw(st.sampled_from(sorted(STRATEGIES))), case)


@settings(max_examples=20, deadline=None)
@given(st.lists(larger(), min_size=1, max_size=100))
def test_elections_among_more_brokers(pure: PureCalls, questions: list[Question]) -> None:
    """Kafka decides each in the same way."""
    assert list(differences(pure, questions)) == []


@pytest.mark.long
def test_every_election_among_four_brokers(pure: PureCalls) -> None:
    """Kafka decides each in the same way."""
    number = 0
    for replicas in orderings(tuple(range(4))):
        questions = [Question(strategy, case) for case in cases_of(replicas, 4) for strategy in STRATEGIES]
        assert list(differences(pure, questions)) == []
        number += len(questions)
    assert number == 2_737_800


@pytest.mark.long
def test_every_failed_log_directory(pure: PureCalls) -> None:
    """Among three brokers."""
    assert list(differences(pure, with_failed_directories(3))) == []


@pytest.mark.long
@pytest.mark.parametrize("release", OTHERS)
def test_every_election_in_other_releases(release: str) -> None:
    """Among three brokers each decides in the same way; since 3.2 Kafka also reports whether it is unclean."""
    strategies = strategies_of(release)
    with calling(release) as others:
        assert list(differences(others, among(3), strategies=strategies)) == []
        assert list(differences(others, with_failed_directories(2), strategies=strategies)) == []


@pytest.mark.long
@pytest.mark.parametrize("release", [each for each in OTHERS if strategies_of(each) is STRATEGIES_UNTIL_2_0])
def test_brokers_shutting_down_receive_no_request(release: str) -> None:
    """1.1 and 2.0 do not inform them; there is no other difference from later releases."""
    with calling(release) as others:
        found = list(differences(others, among(3)))
    assert found
    for question, kafka, ours in found:
        assert kafka is not None
        assert (kafka["leader"], kafka["isr"]) == (ours.leader, list(ours.isr or ()))
        assert set(ours.recipients) - set(kafka["recipients"]) <= question.case.shutting_down
