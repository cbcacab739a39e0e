"""Small specifications in the first idiom that comes to mind, each hard for some engine.

`natural` measures them, with Paxos and MultiPaxos of the gallery. `Quicksort` and `CoffeeCan` are TLA+ examples
[tlaplus/Examples, specifications/LoopInvariance/MCQuicksort.cfg and specifications/CoffeeCan].
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Annotated, Any, NamedTuple

from spec.language import (
    Size,
    Specification,
    State,
    Total,
    action,
    at_most,
    constant,
    initial,
    invariant,
    require,
    variable,
)

Number = Annotated[int, "a number"]
Index = Annotated[int, "a place in a sequence"]
Node = Annotated[int, "a node"]
Candidate = Annotated[int, "a candidate"]


class Numbers(State):
    """Numbers that were drawn."""

    drawn: frozenset[Number] = variable("The numbers drawn so far.")


class Sums(Specification[Numbers]):
    """Numbers are drawn, and properties take sums, maxima and loops over all of them."""

    numbers: int = constant(18, "Numbers.", at_least=1)

    def sizes(self) -> dict[Any, Size]:
        """So many numbers."""
        return {Number: range(1, self.numbers + 1)}

    @action
    def draw(self, s: Numbers, number: Number) -> None:
        """A number is drawn."""
        require(number not in s.drawn)
        s.drawn |= {number}

    @invariant
    def sum_is_bounded(self, s: Numbers) -> bool:
        """The sum is at most that of all numbers."""
        return sum(s.drawn) <= self.numbers * (self.numbers + 1) // 2

    @invariant
    def maximum_is_bounded(self, s: Numbers) -> bool:
        """No number is greater than the greatest."""
        return max(s.drawn, default=0) <= self.numbers

    @invariant
    def odd_numbers_are_few(self, s: Numbers) -> bool:
        """At most every other number is odd."""
        odd = 0
        for number in s.drawn:
            if number % 2:
                odd += 1
        return 2 * odd <= self.numbers + 1


class Ballots(State):
    """Votes, and the leader."""

    vote: Total[Node, Candidate | None] = variable("The vote of each node, if it has voted.")
    leader: Candidate | None = variable("The leader, if there is one.")


class Votes(Specification[Ballots]):
    """Nodes vote once, and a candidate with most of the votes may lead: votes are counted in a mapping."""

    nodes: int = constant(8, "Nodes.", at_least=1)
    candidates: int = constant(3, "Candidates.", at_least=1)

    def sizes(self) -> dict[Any, Size]:
        """So many nodes and candidates."""
        return {Node: range(self.nodes), Candidate: range(self.candidates)}

    def votes_for(self, s: Ballots, candidate: Candidate) -> int:
        """The votes for a candidate."""
        return sum(vote == candidate for vote in s.vote.values())

    @action
    def cast(self, s: Ballots, node: Node, candidate: Candidate) -> None:
        """A node votes."""
        require(s.vote[node] is None)
        s.vote[node] = candidate

    @action
    def lead(self, s: Ballots, candidate: Candidate) -> None:
        """A candidate begins to lead."""
        require(s.leader is None and 2 * self.votes_for(s, candidate) > self.nodes)
        s.leader = candidate

    @invariant
    def leader_has_most_votes(self, s: Ballots) -> bool:
        """The leader has more votes than all others together."""
        return s.leader is None or 2 * self.votes_for(s, s.leader) > self.nodes


class Count(State):
    """A counter."""

    count: Number = variable("The count.")


class Counter(Specification[Count]):
    """It counts: each level has one state."""

    limit: int = constant(20_000, "Bound: the count.", at_least=1)

    def sizes(self) -> dict[Any, Size]:
        """Up to the bound."""
        return {Number: range(self.limit + 1)}

    @action
    def add(self, s: Count) -> None:
        """One more."""
        require(s.count < self.limit)
        s.count += 1

    @invariant
    def within_limit(self, s: Count) -> bool:
        """The count stays within its bound."""
        return s.count <= self.limit


class Can(NamedTuple):
    """The beans in the can."""

    black: Number
    white: Number


class Coffee(State):
    """A can of beans."""

    can: Can = variable("The can.")


class CoffeeCan(Specification[Coffee]):
    """Two beans are taken out of a can, and one is put back, until one is left: most states are initial."""

    beans: int = constant(315, "The most beans at first.", at_least=1)

    def sizes(self) -> dict[Any, Size]:
        """No more of a colour than beans."""
        return {Number: range(self.beans + 1)}

    @initial
    def fill(self, s: Coffee, can: Can) -> None:
        """The can holds any number of beans."""
        require(1 <= sum(can) <= self.beans)
        s.can = can

    @action
    def two_black(self, s: Coffee) -> None:
        """Two black beans are taken, and one goes back."""
        require(s.can.black >= 2)
        s.can = s.can._replace(black=s.can.black - 1)

    @action
    def two_white(self, s: Coffee) -> None:
        """Two white beans are taken, and a black one goes back."""
        require(s.can.white >= 2)
        s.can = Can(s.can.black + 1, s.can.white - 2)

    @action
    def one_of_each(self, s: Coffee) -> None:
        """One of each is taken, and the white one goes back."""
        require(s.can.black >= 1 and s.can.white >= 1)
        s.can = s.can._replace(black=s.can.black - 1)

    @invariant
    def is_never_empty(self, s: Coffee) -> bool:
        """A bean is left."""
        return sum(s.can) > 0


class Sorting(State):
    """A sequence that is being sorted."""

    sequence: tuple[Number, ...] = variable("The sequence now.")
    given: tuple[Number, ...] = variable("The sequence at first.")
    unsorted: frozenset[frozenset[Index]] = variable("Intervals of places that are still to be sorted.")
    done: bool = variable("Whether it has ended.")


class Quicksort(Specification[Sorting]):
    """Any interval is partitioned at any place; the guard says which outcomes are partitions."""

    numbers: int = constant(3, "Numbers.", at_least=1)
    longest: int = constant(4, "Bound: the length of the sequence.", at_least=1)

    def sizes(self) -> dict[Any, Size]:
        """Sequences up to a length, of a few numbers."""
        return {
            Number: range(1, self.numbers + 1),
            Index: range(self.longest),
            tuple[Number, ...]: at_most(self.longest),
        }

    @initial
    def begin(self, s: Sorting, given: tuple[Number, ...]) -> None:
        """Any sequence with a number."""
        require(given)
        s.sequence = s.given = given
        s.unsorted = frozenset({frozenset(range(len(given)))})

    @action(interval=lambda self, s: s.unsorted)
    def drop(self, s: Sorting, interval: frozenset[Index]) -> None:
        """An interval of one place is sorted."""
        require(len(interval) == 1)
        s.unsorted -= {interval}

    @action(interval=lambda self, s: s.unsorted)
    def partition(self, s: Sorting, interval: frozenset[Index], pivot: Index, outcome: tuple[Number, ...]) -> None:
        """The numbers up to a pivot become no greater than those after it."""
        require(len(interval) > 1 and min(interval) <= pivot < max(interval))
        require(self.is_partition(s.sequence, outcome, interval, pivot))
        self.split(s, interval, pivot, outcome)

    def is_partition(
        self, before: tuple[int, ...], after: tuple[int, ...], interval: frozenset[int], pivot: int
    ) -> bool:
        """Whether only an interval is permuted, and its lower part has no greater number than the other."""
        return (
            sorted(before) == sorted(after)
            and all(before[at] == after[at] for at in range(len(before)) if at not in interval)
            and all(after[low] <= after[high] for low in interval for high in interval if low <= pivot < high)
        )

    def split(self, s: Sorting, interval: frozenset[int], pivot: int, outcome: tuple[int, ...]) -> None:
        """An interval becomes two."""
        s.sequence = outcome
        lower = frozenset(at for at in interval if at <= pivot)
        s.unsorted = s.unsorted - {interval} | {lower, interval - lower}

    @action
    def end(self, s: Sorting) -> None:
        """No interval is left."""
        require(not s.unsorted)
        s.done = True

    @invariant
    def is_sorted(self, s: Sorting) -> bool:
        """In the end the sequence is sorted."""
        return not s.done or s.sequence == tuple(sorted(s.given))


class DependentQuicksort(Quicksort):
    """Each choice ranges over what earlier choices leave: no guard is needed."""

    @action(
        interval=lambda self, s: [each for each in s.unsorted if len(each) > 1],
        pivot=lambda self, s, interval: range(min(interval), max(interval)),
        outcome=lambda self, s, interval, pivot: self.partitions(s.sequence, interval, pivot),
    )
    def partition(self, s: Sorting, interval: frozenset[Index], pivot: Index, outcome: tuple[Number, ...]) -> None:
        """The numbers up to a pivot become no greater than those after it."""
        self.split(s, interval, pivot, outcome)

    def partitions(
        self, sequence: tuple[int, ...], interval: frozenset[int], pivot: int
    ) -> Iterator[tuple[int, ...]]:
        """All outcomes of partitioning an interval."""
        places = sorted(interval)
        for numbers in permutations(sequence[at] for at in places):
            moved = dict(zip(places, numbers, strict=True))
            outcome = tuple(moved.get(at, number) for at, number in enumerate(sequence))
            if self.is_partition(sequence, outcome, interval, pivot):
                yield outcome
