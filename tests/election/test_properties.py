"""The properties determine the result."""

from itertools import product

import pytest

from election import STRATEGIES, UNCLEAN, ElectionResult
from tests.election.cases import cases, orderings
from tests.election.properties import broken, is_thinned
from tests.rows import rows


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_properties_determine_the_result(strategy: str) -> None:
    """Of all possible results among two brokers, only the strategy's own satisfies its properties."""
    orders = tuple(orderings((0, 1)))
    thinkable = [ElectionResult(*fields) for fields in product((None, 0, 1), (None, *orders), orders, (False, True))]
    for case in cases(brokers=2):
        passing = [result for result in thinkable if not broken(strategy, case, result)]
        assert [case.elect(STRATEGIES[strategy])] == passing


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_only_some_make_use_of_the_permission_to_elect_uncleanly(strategy: str) -> None:
    """The other strategies give the same result with and without it."""
    elect = STRATEGIES[strategy]
    differs = any(
        case._replace(unclean=True).elect(elect) != case._replace(unclean=False).elect(elect) for case in cases(2)
    )
    assert differs is (strategy in UNCLEAN)


@rows(
    "few, many, expected",
    [
        ((), (), True),
        ((), (1,), True),
        ((1, 3), (1, 2, 3), True),
        ((3, 1), (1, 2, 3), False),
        ((1, 1), (1, 2), False),
        ((4,), (1, 2), False),
    ],
)
def test_thinned(few: tuple[int, ...], many: tuple[int, ...], expected: bool) -> None:
    """Thinning removes members and changes nothing more."""
    assert is_thinned(few, many) is expected
