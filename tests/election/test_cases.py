"""The number of cases is right."""

from tests.election.cases import RANKING, Case, cases, cases_of, orderings, subsets
from tests.rows import rows


@rows("brokers, orders", [(0, 1), (1, 2), (2, 5), (3, 16), (4, 65)])
def test_number_of_cases(brokers: int, orders: int) -> None:
    """Each assignment meets all ISRs, all choices of up, leaving or dead per broker, and both permissions."""
    lengths = brokers + 1
    assert sum(1 for _ in cases(brokers)) == lengths * orders * 3**brokers * 2


def test_cases_are_distinct() -> None:
    """No case comes twice."""
    everything = list(cases(3))
    assert len(set(everything)) == len(everything)


def test_log_directories_do_not_fail() -> None:
    """A broker that is shutting down is live. Kafka's own classes answer for one that is not (tests/kafka)."""
    assert all(case.shutting_down <= case.live for case in cases(3))


def test_number_of_cases_of_one_assignment() -> None:
    """The smallest cluster has a case for each state of its broker, ISR and permission."""
    assert len(list(cases_of((0,), brokers=1))) == 2 * 3 * 2
    assert Case((0,), (0,), frozenset({0}), frozenset(), True) in cases_of((0,), brokers=1)


def test_ranking_is_not_sorted() -> None:
    """The assignment of each length above one is neither ascending nor descending."""
    for length in (3, 4):
        assert list(RANKING[:length]) not in (sorted(RANKING[:length]), sorted(RANKING[:length], reverse=True))


def test_subsets_and_orderings() -> None:
    """A subset keeps the given order; an ordering may have any."""
    assert list(subsets((2, 1))) == [(), (2,), (1,), (2, 1)]
    assert list(orderings((2, 1))) == [(), (2,), (1,), (2, 1), (1, 2)]
