"""Aggregates of sets and mappings: one path for each result, and in every state what plain Python decides."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain, product, repeat
from random import Random
from typing import Any

import pytest

from spec.checking.check import check
from spec.checking.local import LocalEngine, plain_comparison
from spec.checking.local.folds import aggregation
from spec.checking.local.folds.aggregates import Aggregate, Branch, Contribution, aggregate
from spec.checking.local.folds.aggregation import BUILTINS, KINDS, Aggregation
from spec.checking.reference import ReferenceEngine
from spec.language import (
    Specification,
    State,
    Step,
    action,
    constant,
    initial,
    invariant,
    require,
    sometimes,
    subset_of,
    transition_invariant,
    variable,
)
from tests.rows import rows
from tests.spec.checking.everywhere import whole
from tests.spec.checking.local.folds.crowds import Judged, fold_from, found, paths, require_agreement

# Functions of a state whose set has up to four members, 0 to 3.


def many(s: Any) -> bool:
    return len(s.there) > 2


def few_of_them(s: Any) -> bool:
    return len([m for m in s.there if m != 2]) < 2


def heavy(s: Any) -> bool:
    return bool(sum(m // 2 + 1 for m in s.there) > 3)


def too_different(s: Any) -> bool:
    """Nearly every subset has a sum of its own, so memberships are read one by one."""
    return bool(sum(s.there) > 3)


def of_themselves(s: Any) -> bool:
    """The body asks whether the set has the element."""
    return bool(sum(1 if m in s.there else 5 for m in s.there) == 3)


def how_often(s: Any) -> bool:
    return bool(sum(m > 0 for m in s.there) == 2)


def great(s: Any) -> bool:
    return bool(max(s.there, default=-1) == s.limit)


def small(s: Any) -> bool:
    return min([m * m for m in s.there if m > 0], default=-1) > 1


def of_two_kinds(s: Any) -> bool:
    return len({m % 2 for m in s.there}) == 2


def kinds(s: Any) -> bool:
    return {m % 2 for m in s.there} == {1}


def kinds_by_name(s: Any) -> bool:
    return frozenset(str(m % 2) for m in s.there) >= frozenset(["1"]) and set([m % 2 for m in s.there]) <= {1}  # noqa: C403


def pairs(s: Any) -> bool:
    return len({(m % 2, None) for m in s.there}) > 1


def with_another(s: Any) -> bool:
    return len(s.there | {2}) > 3


def above_the_limit(s: Any) -> bool:
    """What bodies want is read first."""
    return sum(1 for m in s.there if m >= s.limit) > 1


def after_a_member(s: Any) -> bool:
    """A membership that is known is not asked for."""
    return 1 in s.there and len(s.there) > 2


def without_a_member(s: Any) -> bool:
    return 1 not in s.there and len(s.there) > 2


def before_a_member(s: Any) -> bool:
    """A membership is read after an aggregate that depends on it."""
    return len(s.there) > 2 and 1 in s.there


def twice(s: Any) -> bool:
    """What is known is not read again."""
    return len(s.there) > 1 and len(s.there) < 3


def two(s: Any) -> bool:
    return len(s.there) > 1 and sum(m // 2 + 1 for m in s.there) > 3


def within_a_body(s: Any) -> bool:
    """An aggregate that is known tells which elements matter."""
    return len(s.there) > 1 and any(m == len(s.there) for m in s.there)


def of_pairs(s: Any) -> bool:
    """A body that goes through the set itself is recorded as it was."""
    return sum(1 for m in s.there for n in s.there if m + n == 3) > 2


def in_a_loop(s: Any) -> bool:
    total = 0
    for m in s.there:
        half = m // 2
        if half == 3:
            continue
        total += half + 1
    return total > 3


def in_a_loop_with_two_variables(s: Any, wanted: Any = None) -> bool:
    changes = 0
    for m in s.there:
        for n in range(m // 2, m // 2 + 1):
            if wanted != n:
                changes += 1
            wanted = n
    return bool(changes == 2 and wanted == 1)


def in_two_loops(s: Any) -> bool:
    first = second = 0
    for m in s.there:
        first = min(first + m // 2 + 1, 2)
    for m in s.there:
        second = max(second, m // 2)
    return first + second == 3


def until_there_are_enough(s: Any) -> bool:
    number = 0
    for m in s.there:
        if m // 2 == number - 1:
            return bool(m > 2)
        number += 1
    return number > 1


def in_a_loop_above_the_limit(s: Any) -> bool:
    found = False
    total = 0
    for m in s.there:
        found = found or (m >= s.limit and total > 0)
        total = 1
    return found


@pytest.mark.long
@rows(
    "judged, expected",
    [
        *[(many, 5), (few_of_them, 4), (heavy, 7), (too_different, 16), (how_often, 4), (great, 20), (small, 4)],
        (of_themselves, 5),
        *[(of_two_kinds, 3), (kinds, 5), (kinds_by_name, 5), (pairs, 3), (with_another, 4), (above_the_limit, 15)],
        *[
            (after_a_member, 5),
            (without_a_member, 5),
            (before_a_member, 6),
            (twice, 5),
            (two, 8),
            (within_a_body, 9),
            (of_pairs, 9),
        ],
        *[
            (in_a_loop, 7),
            (in_a_loop_with_two_variables, 4),
            (in_two_loops, 4),
            (until_there_are_enough, 5),
            (in_a_loop_above_the_limit, 12),
        ],
    ],
)
def test_aggregates_have_a_path_for_each_result(
    judged: Judged, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And in every state the answer is that of plain Python. There are 16 sets, and 4 limits."""
    require_agreement(judged, monkeypatch)
    assert paths(judged, folds=True) == expected


# Functions whose aggregates could go wrong, each with what would.


def of_equal_values(s: Any) -> bool:
    """1 and True are equal, and a set keeps the one that comes first."""
    return "True" in map(str, {True if m == 3 else m % 2 for m in s.there})


def of_equal_tuples(s: Any) -> bool:
    """The same, within tuples."""
    return "(True,)" in map(str, {(True,) if m == 3 else (m % 2,) for m in s.there})


def in_order(s: Any) -> bool:
    """A set of 0 and 8 begins with the one that came first."""
    return next(iter({(8, 0, 8, 8)[m] for m in s.there}), 0) == 8


def once_each(s: Any) -> bool:
    """Equal values count once."""
    return bool(sum({m // 2 + 1 for m in s.there}) > 3)


def from_a_start(s: Any) -> bool:
    return bool(sum((m // 2 + 1 for m in s.there), start=s.limit) > 4)


def of_nothing(s: Any) -> bool:
    """The greatest of no element is the default."""
    return bool(max((m // 2 for m in s.there), default=-1) == -1)


def of_nothing_at_all(s: Any) -> bool:
    """Without a default it is an error."""
    return bool(max(m // 2 for m in s.there) == -1)


def raising(s: Any) -> bool:
    """A body raises, but only for an element that is there."""
    return 0 in s.there or sum(6 // m > 2 for m in s.there) > 1


def shadowed(s: Any) -> bool:
    """`sum` is another function."""
    sum = max  # noqa: A001
    return sum((m // 2 + 1 for m in s.there), default=0) > 2


def noting(s: Any) -> bool:
    """A list changes for an element that is not there."""
    found: list[int] = []
    return sum(noted(found, m) for m in s.there) > 2 or len(found) > 2


def noted(found: list[int], m: int) -> int:
    found += [m]
    return m // 2


def late(s: Any) -> bool:
    """A variable around a body changes."""
    least, total = 0, 0
    for least in range(3):
        total += sum(1 for m in s.there if m > least)
    return total > least


def consuming(s: Any) -> bool:
    """A body consumes an iterator."""
    numbers = iter(range(4))
    return len([m for m in s.there if m in numbers]) > 1 or sum(numbers) < 5


def of_equal_values_in_a_loop(s: Any) -> bool:
    """1 and True are equal."""
    last: Any = None
    for m in s.there:
        last = True if m == 3 else m % 2
    return repr(last) == "True"


def of_a_list(s: Any) -> bool:
    """A list changes for an element that is not there."""
    seen: list[int] = []
    for m in s.there:
        seen += [m // 2]
    return len(seen) > 2


def after_its_turn(s: Any) -> bool:
    """A variable of the last turn is looked at."""
    last, total = 0, 0
    for m in s.there:
        last = m // 2
        if last:
            total = last
    return last + total > 1


def after_an_inner_loop(s: Any) -> bool:
    """The variable of an inner loop is looked at."""
    total = n = 0
    for m in s.there:
        for n in range(m // 2 + 1):
            total = max(total, n)
    return total + n > 1


def after_the_loop(s: Any) -> bool:
    """The last element is looked at."""
    m = total = 0
    for m in s.there:
        total = max(total, m // 2)
    return bool(total + m // 2 > 1)


def at_the_end(s: Any) -> bool:
    """A loop with `else`."""
    total = 0
    for m in s.there:
        total = min(total + m // 2 + 1, 3)
    else:
        total += s.limit
    return bool(total > 3)


def through_a_function(s: Any) -> bool:
    """A function looks at a variable of the loop."""
    total = 0
    for m in s.there:
        total = min(total + m // 2 + 1, 3 + max([0], key=lambda _: total))
    return total > 3


CAREFUL = [
    *(of_equal_values_in_a_loop, of_a_list, after_its_turn, after_an_inner_loop, after_the_loop, at_the_end),
    through_a_function,
    *(of_equal_values, of_equal_tuples, in_order, once_each, from_a_start, of_nothing, of_nothing_at_all),
    *(raising, shadowed, noting, late, consuming),
]


@rows("judged", [*CAREFUL])
def test_what_an_aggregate_would_lose_stays(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    require_agreement(judged, monkeypatch)


# Graphs.


CODES = 2, 3, 2, 3, 2, 3
"""By slot."""


def made(name: str, random: Random) -> tuple[Aggregate | None, list[Contribution]]:
    """An aggregate of random numbers. What some elements contribute depends on the code of one slot, or of two."""
    contributions = [contribution(random, [slot, slot + 1][: random.randrange(3)]) for slot in range(0, 6, 2)]
    return aggregate(KINDS[name], contributions), contributions


def contribution(random: Random, slots: list[int]) -> Contribution:
    """A contribution that depends on these slots, unless it happens to be always the same."""
    if not slots:
        return tuple(random.choices(range(3), k=random.randrange(3)))
    slot, *others = slots
    return Branch(slot, tuple(contribution(random, others) for _ in range(CODES[slot])))


def values(contributions: list[Contribution], codes: dict[int, int]) -> list[Any]:
    """What the elements contribute, given the code of each slot."""
    found: list[Any] = []
    for each in contributions:
        while isinstance(each, Branch):
            each = each.by_code[codes[each.slot]]
        found += each
    return found


def plainly(name: str, numbers: list[Any]) -> Hashable:
    """The result of a builtin; None if there is none."""
    if name == "len of a set":
        return len({*numbers})
    if name in ("set", "frozenset"):
        return tuple(dict.fromkeys(numbers))
    result: Hashable = None if name in ("max", "min") and not numbers else BUILTINS[name](numbers)
    return result


@rows("name", [*KINDS])
def test_graphs_give_what_the_builtin_gives(name: str) -> None:
    """For all codes, and also for those that the comparison of a path chooses."""
    for seed in range(20):
        random = Random(seed)
        its, contributions = made(name, random)
        assert its is not None
        for chosen in product(*map(range, CODES)):
            codes = dict(enumerate(chosen))
            result = its.result(codes.__getitem__)
            assert its.results[result] == plainly(name, values(contributions, codes))
            known = {slot: code for slot, code in codes.items() if random.random() < 0.3}
            others = its.other_codes(result, known, random)
            if others is not None:
                assert its.result(others.__getitem__) == result
                assert all(others[slot] == known[slot] for slot in others.keys() & known.keys())
        assert all(len({*node.edges}) > 1 for node in its.nodes)


def test_other_codes_are_found_where_they_exist() -> None:
    """Three of six elements can be chosen in twenty ways."""
    its = aggregate(KINDS["len"], [Branch(slot, ((), (None,))) for slot in range(6)])
    assert its is not None
    random = Random(0)
    found = {tuple((its.other_codes(3, {}, random) or {}).items()) for _ in range(500)}
    assert len(found) == 20


def test_graphs_that_grow_like_trees_are_given_up() -> None:
    """Each subset has a sum of its own; or there are too many nodes."""
    assert aggregate(KINDS["sum"], [Branch(slot, ((), (1 << slot,))) for slot in range(20)]) is None
    some = [Branch(slot, ((), (1,))) for slot in range(20)]
    assert aggregate(KINDS["sum"], some) is not None
    assert aggregate(KINDS["sum"], some, largest=200) is None


def test_plain_values_refute_an_aggregate(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a result hides a difference, the rule gets plain values, and the result is right."""
    forgetful = KINDS["sum"]._replace(add=lambda partial, value: (partial + value) % 2)
    monkeypatch.setitem(aggregation.KINDS, "sum", forgetful)
    fold_from(1, monkeypatch)
    expected = found(heavy, ReferenceEngine())
    assert found(heavy, LocalEngine(1)) == expected._replace(opaque=("act",))


def test_other_codes_refute_a_result_that_hides_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each state of a path that nobody recorded would otherwise get the answer of the recorded one."""

    def compared(states: int) -> bool:
        monkeypatch.setattr(plain_comparison, "OF_SAME_AGGREGATES", states)
        return found(in_order, LocalEngine(1)) == found(in_order, ReferenceEngine())

    monkeypatch.setitem(
        aggregation.KINDS, "set", KINDS["set"]._replace(add=lambda *pair: tuple(sorted(_joined(*pair))))
    )
    fold_from(1, monkeypatch)
    assert not compared(0)
    assert found(in_order, LocalEngine(1)).opaque == ()
    compared(8)
    assert found(in_order, LocalEngine(1)).opaque == ("act",)


def _joined(partial: tuple[int, ...], value: int) -> set[int]:
    return {*partial, value}


def test_a_path_that_reads_memberships_in_the_place_of_an_aggregate_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And so is the reverse: a rule that is recorded now in this way, now in that, contradicts itself."""
    number, turns = Aggregation._number, repeat(True)

    def now_and_then(*given: Any) -> int | None:
        return number(*given) if next(turns) else None

    fold_from(1, monkeypatch)
    monkeypatch.setattr(Aggregation, "_number", now_and_then)
    for first in (True, False):
        turns = chain([first] * 2, repeat(not first))  # type: ignore[assignment]
        assert "not deterministic" in str(found(many, LocalEngine(1)).enabled)


# A whole specification.


class BagState(State):
    """A bag."""

    things: frozenset[int] = variable("What is in it.", of=lambda self: subset_of(range(self.n)))


class Bag(Specification[BagState]):
    """Things go in and out."""

    n: int = constant(12, "Things.", at_least=1)

    @initial
    def empty(self, s: BagState) -> None:
        """Nothing is in it."""

    @action(thing=lambda self: range(self.n))
    def put(self, s: BagState, thing: int) -> None:
        require(thing not in s.things and sum(1 for each in s.things if each % 3 == thing % 3) < 3)
        s.things |= {thing}

    @action
    def take_the_greatest(self, s: BagState) -> None:
        require(len(s.things) > 4)
        s.things -= {max(s.things)}

    @invariant
    def light(self, s: BagState) -> bool:
        return sum(each % 4 for each in s.things) < 16

    @invariant
    def of_few_kinds(self, s: BagState) -> bool:
        return len({each % 5 for each in s.things}) <= len(s.things)

    @invariant
    def mixed(self, s: BagState) -> bool:
        changes, last = 0, 0
        for each in s.things:
            if changes > 4:
                return False
            if each % 2 != last:
                changes += 1
            last = each % 2
        return changes < 5

    @sometimes
    def heavy(self, s: BagState) -> bool:
        return sum(each % 4 for each in s.things) > 14 and min(s.things) > 0

    @transition_invariant
    def one_at_a_time_up_to_eight(self, before: BagState, step: Step, after: BagState) -> bool:
        return len(after.things) - len(before.things) in (-1, 1) and len(after.things) < 9


@pytest.mark.long
@rows("first", [1, 1_000])
def test_a_specification_of_many_sums_is_explored_as_in_plain_python(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole results are the same, whether aggregates are read from the first path on or later."""
    fold_from(first, monkeypatch)
    results = [check(Bag(), engine=engine, keep_going=True) for engine in (LocalEngine(1), ReferenceEngine())]
    assert whole(lambda: results[0]) == whole(lambda: results[1])
    assert results[0].distinct_states == 15**3
    assert not results[0].opaque_rules
