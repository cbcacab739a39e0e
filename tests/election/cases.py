"""Every possible election among a few brokers.

A strategy never looks at a broker's number, only at which brokers are equal. So one assignment of each length
stands for all of that length, and the tests take the first few of RANKING. RANKING is neither ascending nor
descending, so an order by number cannot pass for the order of the assignment. Another test shows that numbers do
not matter.

Everything else is enumerated in full. The ISR is any choice of brokers, assigned or not, in any order, because its
order must survive and must not decide. Any brokers are live, any of those are shutting down, and an unclean election
is permitted or not.

Broker 0 takes part because code easily mistakes it for no broker.
"""

from collections.abc import Iterator
from itertools import chain, combinations, permutations
from typing import NamedTuple

from election import ElectionResult, Strategy

RANKING = (2, 0, 3, 1)


class Case(NamedTuple):
    """The arguments of a strategy, in its order."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    live: frozenset[int]
    shutting_down: frozenset[int]
    unclean: bool

    @property
    def online(self) -> frozenset[int]:
        return self.live - self.shutting_down

    def elect(self, strategy: Strategy) -> ElectionResult:
        return strategy(self.replicas, self.isr, self.live, shutting_down=self.shutting_down, unclean=self.unclean)


def cases(brokers: int) -> Iterator[Case]:
    """Yield each case among so many brokers, with one assignment for each length."""
    ranking = [broker for broker in RANKING if broker < brokers]
    for length in range(brokers + 1):
        yield from cases_of(tuple(ranking[:length]), brokers)


def cases_of(replicas: tuple[int, ...], brokers: int) -> Iterator[Case]:
    """Yield each case of this assignment among so many brokers."""
    clusters = [
        (frozenset(live), frozenset(shutting_down))
        for live in subsets(tuple(range(brokers)))
        for shutting_down in subsets(live)
    ]
    for isr in orderings(tuple(range(brokers))):
        for live, shutting_down in clusters:
            for unclean in (False, True):
                yield Case(replicas, isr, live, shutting_down, unclean)


def subsets(brokers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield each subset of the brokers, in their order."""
    return chain.from_iterable(combinations(brokers, size) for size in range(len(brokers) + 1))


def orderings(brokers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield each subset of the brokers, in every order."""
    return chain.from_iterable(permutations(brokers, size) for size in range(len(brokers) + 1))
