"""Domains number exactly their own values, densely and in the documented order."""

from __future__ import annotations

import copy
import operator
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import chain, combinations, count, pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from spec.language import (
    ABSENT,
    LEFT_OUT,
    Domain,
    OutOfDomain,
    SpecificationError,
    booleans,
    either,
    every_combination,
    integers,
    interchangeable,
    left_out,
    mapping,
    one_of,
    optional,
    partial_mapping,
    possibly_empty,
    record,
    sequence_of,
    subset_of,
    tuple_of,
)
from spec.language.domains import PossiblyDomain, Subset, as_domain
from tests.rows import rows
from tests.spec.language.trees import Colour, Pair, Tree, Twin, disguises, exact, trees

# All domains.


@given(trees())
def test_a_domain_is_walked_in_its_documented_order(tree: Tree) -> None:
    """Iteration gives each member once, in the documented order."""
    assert list(map(exact, tree.domain)) == list(map(exact, tree.members))


@given(trees())
def test_codes_are_dense(tree: Tree) -> None:
    """The members are numbered 0 to size - 1 in their order; equal forms of a member have the same number."""
    expected = list(range(tree.domain.size))
    assert list(map(tree.domain.rank, tree.members)) == expected
    assert list(map(tree.domain.rank, tree.domain)) == expected


@given(trees())
def test_a_value_comes_back_from_its_code(tree: Tree) -> None:
    """`unrank` undoes `rank`, and restores the types of parts."""
    assert [exact(tree.domain.unrank(tree.domain.rank(each))) for each in tree.members] == list(
        map(exact, tree.members)
    )


def with_cells() -> st.SearchStrategy[Tree]:
    """Any domain, or its cell in a partial mapping."""
    cells = trees(most=40).map(lambda tree: Tree(PossiblyDomain(tree.domain), [ABSENT, *tree.members]))
    return st.one_of(trees(), cells)


@given(with_cells(), with_cells())
def test_included_values_are_members(one: Tree, other: Tree) -> None:
    """Inclusion means inclusion of every value; a domain includes itself."""
    assert not one.domain.includes(other.domain) or all(value in one.domain for value in other.domain)
    assert one.domain.includes(one.domain)


@pytest.mark.parametrize(
    ("narrower", "wider"),
    [
        (integers(1, 2), integers(0, 3)),
        (one_of(1, 2), integers(0, 3)),
        (integers(1, 2), one_of(2, 1, 0)),
        (integers(1, 2), optional(integers(1, 3))),
        (optional(one_of(1)), optional(integers(1, 3))),
        (subset_of([1]), subset_of(integers(0, 3))),
        (sequence_of(integers(0, 1), longest=40), sequence_of(integers(0, 2), longest=40)),
        (sequence_of(integers(0, 1), longest=40), sequence_of(integers(0, 1), longest=41)),
        (tuple_of(integers(0, 1), one_of("a")), tuple_of(integers(0, 1), one_of("a", "b"))),
        (record(Pair, left=integers(0, 1), right=one_of(5)), record(Pair, left=integers(0, 1), right=one_of(4, 5))),
    ],
    ids=str,
)
def test_a_narrower_domain_is_included(narrower: Domain[Any], wider: Domain[Any]) -> None:
    """Inclusion is decided part by part, for any number of values; the wider domain is not included."""
    assert wider.includes(narrower)
    assert not narrower.includes(wider)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (record(Pair, left=[1], right=[1, 2]), record(Twin, left=[1], right=[1, 2])),
        (tuple_of([1, 2]), tuple_of([1, 2], [1, 2])),
        (subset_of([1, 2]), sequence_of([1, 2], longest=2)),
        (integers(0, 1), booleans()),
    ],
    ids=str,
)
def test_other_kinds_are_not_included(one: Domain[Any], other: Domain[Any]) -> None:
    """Even if their values look alike."""
    assert not one.includes(other)
    assert not other.includes(one)


@given(with_cells())
def test_the_flattened_form_keeps_the_order(tree: Tree) -> None:
    """The code tuples of successive members increase; each code fits its slot, and no slot has a bit too many."""
    codes = [tree.domain.codes(member) for member in tree.members]
    assert all(one < other for one, other in pairwise(codes))
    slots = tree.domain.slots
    assert all(0 <= code < slot.size for each in codes for code, slot in zip(each, slots, strict=True))
    assert [max(column) + 1 for column in zip(*codes, strict=True)] == [slot.size for slot in slots]
    assert all(slot.size >= 2 for slot in slots)


@given(with_cells())
def test_a_value_comes_back_from_its_flattened_form(tree: Tree) -> None:
    """It is the canonical value, the same as from `unrank`."""
    back = [tree.domain.value(tree.domain.codes(member)) for member in tree.members]
    assert list(map(exact, back)) == list(map(exact, tree.members))
    assert list(map(repr, back)) == list(map(repr, tree.domain))
    assert list(map(type, back)) == list(map(type, tree.domain))


@given(with_cells(), st.data())
def test_foreign_values_are_refused_by_slots_and_by_number(tree: Tree, data: st.DataObject) -> None:
    """With the same message."""

    def refusal(ask: Callable[[Any], object], value: Any) -> str | None:
        try:
            ask(value)
        except OutOfDomain as wrong:
            return str(wrong)
        return None

    for value in disguises(data.draw(st.sampled_from(tree.members))):
        assert refusal(tree.domain.codes, value) == refusal(tree.domain.rank, value)


@given(with_cells())
def test_the_width_is_that_of_the_slots(tree: Tree) -> None:
    """Each slot takes the bits of its greatest code."""
    assert tree.domain.width == sum(len(f"{slot.size - 1:b}") for slot in tree.domain.slots)


@given(trees(most=40), st.data())
def test_a_domain_holds_its_members_and_nothing_that_looks_like_them(tree: Tree, data: st.DataObject) -> None:
    """Membership is strict: True is not 1, a list is not a tuple, and records of different classes differ."""
    members = set(map(exact, tree.members))
    member = data.draw(st.sampled_from(tree.members))
    for value in disguises(member):
        assert (value in tree.domain) == (exact(value) in members), repr(value)


@given(trees(), trees())
def test_a_domain_refuses_the_members_of_another(one: Tree, other: Tree) -> None:
    """A value of another domain is a member only if it is listed."""
    members = set(map(exact, one.members))
    assert [each in one.domain for each in other.members] == [exact(each) in members for each in other.members]


@given(trees(), st.data())
def test_a_strategy_draws_members(tree: Tree, data: st.DataObject) -> None:
    """Hypothesis draws only members from a domain."""
    drawn = data.draw(tree.domain.strategy())
    assert exact(drawn) in set(map(exact, tree.members))


@given(trees(), st.data())
def test_members_survive_pickling(tree: Tree, data: st.DataObject) -> None:
    """A value from another process is the same value, with the same order of iteration."""
    value = data.draw(tree.domain.strategy())
    back = pickle.loads(pickle.dumps(value))
    assert (exact(back), repr(back)) == (exact(value), repr(value))


# Each kind of domain.

LISTED: list[tuple[str, Domain[Any], list[Any]]] = [
    ("integers, the lowest first", integers(-1, 1), [-1, 0, 1]),
    ("a single integer", integers(7, 7), [7]),
    ("an enumeration as it is given", one_of("z", 3, None), ["z", 3, None]),
    ("an Enum class as it is declared", as_domain(Colour), [Colour.GREEN, Colour.BLUE, Colour.RED]),
    ("False before True", booleans(), [False, True]),
    ("None before the others", optional(range(2)), [None, 0, 1]),
    ("nothing but None", optional(()), [None]),
    ("a range that goes down", as_domain(range(3, 0, -1)), [3, 2, 1]),
    ("a range with gaps", as_domain(range(0, 6, 2)), [0, 2, 4]),
    ("a list", as_domain(["b", "a"]), ["b", "a"]),
    ("no subset but the empty one", subset_of(()), [frozenset()]),
    (
        "subsets as binary numbers",
        subset_of(("xyz", "b", "a")),
        [
            frozenset(each)
            for each in ([], ["xyz"], ["b"], ["xyz", "b"], ["a"], ["xyz", "a"], ["b", "a"], ["xyz", "b", "a"])
        ],
    ),
    ("only the empty sequence", sequence_of(("ab",), 0), [()]),
    ("shorter sequences first", sequence_of(range(2), 2), [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]),
    ("sequences of nothing", sequence_of((), 3), [()]),
    (
        "records by their first field",
        record(Pair, left=range(2), right=(5, 4)),
        [Pair(0, 5), Pair(0, 4), Pair(1, 5), Pair(1, 4)],
    ),
    ("tuples by their first part", tuple_of(booleans(), (1, 2)), [(False, 1), (False, 2), (True, 1), (True, 2)]),
    ("the empty tuple", tuple_of(), [()]),
]


@rows("domain, members", {name: row for name, *row in LISTED})
def test_the_order_of_each_kind(domain: Domain[Any], members: list[Any]) -> None:
    """Each constructor gives the values in the order promised in its docstring."""
    assert list(map(exact, domain)) == list(map(exact, members))


HOLDS_NOTHING = tuple_of(())

FLATTENED: list[tuple[str, Domain[Any], list[tuple[str, int]]]] = [
    ("integers", integers(-1, 5), [("", 7)]),
    ("an enumeration", one_of("a", None), [("", 2)]),
    ("a single value", one_of("a"), []),
    ("a left out value", left_out(), []),
    ("nothing but None", optional(()), []),
    ("None or the only value", optional(("a",)), [("", 2)]),
    ("None or a number", optional(range(3)), [("", 4)]),
    ("None or a record with one choice", optional(record(Pair, left=(0,), right=range(3))), [("", 4)]),
    (
        "None or several parts",
        optional(tuple_of(range(3), booleans())),
        [(" is not None", 2), ("[0]", 3), ("[1]", 2)],
    ),
    (
        "empty, or one of others",
        possibly_empty([("a",), ("a", "b"), ("b",)]),
        [(" is not empty", 2), ("", 3)],
    ),
    ("empty, or the only other", possibly_empty([("a",)]), [(" is not empty", 2)]),
    ("an absent number", PossiblyDomain(optional(range(3))), [("", 5)]),
    (
        "absent, or None, or several parts",
        PossiblyDomain(optional(tuple_of(booleans(), booleans()))),
        [(" is there", 2), (" is not None", 2), ("[0]", 2), ("[1]", 2)],
    ),
    ("the last element of a set first", subset_of(("fig", "kiwi")), [("{kiwi}", 2), ("{fig}", 2)]),
    ("no elements", subset_of(()), []),
    (
        "the length of a sequence first",
        sequence_of(record(Pair, left=range(3), right=(0,)), 2),
        [(".length", 3), ("[0].left", 3), ("[1].left", 3)],
    ),
    ("a sequence of one and the same", sequence_of(("a",), 3), [(".length", 4)]),
    ("a sequence that is empty", sequence_of(range(2), 0), []),
    ("a sequence of nothing", sequence_of(HOLDS_NOTHING, 3), []),
    (
        "the fields of a record",
        record(Pair, left=subset_of(("x",)), right=record(Twin, left=left_out(), right=range(9))),
        [(".left{x}", 2), (".right.right", 9)],
    ),
    ("an empty domain", HOLDS_NOTHING, []),
]


@rows("domain, slots", {name: row for name, *row in FLATTENED})
def test_the_slots_of_each_kind(domain: Domain[Any], slots: list[tuple[str, int]]) -> None:
    """Each part with a choice has its slot, named like the part."""
    assert list(domain.slots) == slots


def test_unused_slots_are_zero() -> None:
    """Parts of None, of absent values and beyond the length are zero, so that equal values have equal codes."""
    pairs = tuple_of(integers(4, 6), booleans())
    assert PossiblyDomain(optional(pairs)).codes(ABSENT) == (0, 0, 0, 0)
    assert PossiblyDomain(optional(pairs)).codes(None) == (1, 0, 0, 0)
    assert PossiblyDomain(optional(pairs)).codes((5, True)) == (1, 1, 1, 1)
    assert sequence_of(pairs, 2).codes(((6, False),)) == (1, 2, 0, 0, 0)


class Even(Domain[int]):
    """A kind of domain defined outside the language: even numbers, the greatest first."""

    size = 5

    def rank(self, value: Any) -> int:
        if value not in range(0, 10, 2):
            raise OutOfDomain(value, str(self))
        return 4 - int(value) // 2

    def unrank(self, code: int) -> int:
        return 8 - 2 * code

    def __str__(self) -> str:
        return "an even digit"


def test_a_domain_of_another_kind_is_one_slot() -> None:
    """A value's code is its number, alone and as a part."""
    assert (Even().slots, Even().codes(6), Even().value((1,))) == ((("", 5),), (1,), 6)
    assert tuple_of(booleans(), Even()).codes((True, 0)) == (1, 4)
    with pytest.raises(OutOfDomain, match="3 is not an even digit"):
        Even().codes(3)


REFUSALS: list[tuple[str, Domain[Any], Any, str]] = [
    ("too great", integers(0, 2), 3, "3 is not an integer of 0..2"),
    ("too small", integers(-2, 2), -3, "-3 is not an integer of -2..2"),
    ("a boolean for an integer", integers(0, 2), True, "True is not an integer of 0..2"),
    ("a float for an integer", integers(0, 2), 1.0, "1.0 is not an integer of 0..2"),
    ("a string for an integer", integers(0, 2), "1", "'1' is not an integer of 0..2"),
    ("an integer for a boolean", booleans(), 1, "1 is not one of False, True"),
    ("a boolean in an enumeration of integers", one_of(0, 1), True, "True is not one of 0, 1"),
    ("an unlisted value", one_of("a", "b"), "c", "'c' is not one of a, b"),
    ("a list in an enumeration", one_of("a", "b"), ["a"], "['a'] is not one of a, b"),
    ("a dict in an enumeration of one", one_of(0), {}, "{} is not 0"),
    ("a name for its member", as_domain(Colour), "GREEN", "'GREEN' is not one of Colour.GREEN"),
    ("a value that is neither", optional(range(2)), 2, "2 is not an integer of 0..1"),
    ("a list for a set", subset_of(("ab",)), ["ab"], "['ab'] is not a frozenset of ab"),
    ("a set that can be changed", subset_of(["a", "b"]), {"a"}, "{'a'} is not a frozenset of a, b"),
    ("a stranger in a set", subset_of([1, 2]), frozenset({3}), "{3} is not a frozenset of 1, 2"),
    ("a boolean in a set", subset_of([0, 1]), frozenset({True}), "{True} is not a frozenset of 0, 1"),
    ("too long", sequence_of(range(2), 1), (0, 0), "(0, 0) is not a tuple of at most 1, each an integer of 0..1"),
    ("a list for a tuple", sequence_of(range(2), 1), [0], "[0] is not a tuple of at most 1"),
    ("a record for a tuple", sequence_of(range(2), 2), Pair(0, 0), "Pair(left=0, right=0) is not a tuple of"),
    ("a stranger in a tuple", sequence_of(range(2), 1), (2,), "2 is not an integer of 0..1"),
    (
        "a record of another class",
        record(Pair, left=range(2), right=range(2)),
        Twin(0, 0),
        "Twin(left=0, right=0) is not a Pair of its domain",
    ),
    ("a tuple for a record", record(Pair, left=(0,), right=(0,)), (0, 0), "(0, 0) is not a Pair of its domain"),
    (
        "a record with one field wrong",
        record(Pair, left=range(2), right=range(2)),
        Pair(0, 9),
        "Pair(left=0, right=9) is not a Pair of its domain: its right is 9 is not an integer of 0..1",
    ),
    ("too short", tuple_of(range(2), range(2)), (0,), "(0,) is not (an integer of 0..1, an integer of 0..1)"),
    ("None for a tuple", tuple_of(range(2)), None, "None is not (an integer of 0..1)"),
]


@rows("domain, value, message", {name: row for name, *row in REFUSALS})
def test_foreign_values_are_refused_by_name(domain: Domain[Any], value: Any, message: str) -> None:
    """The message has the value and the allowed ones."""
    for ask in (domain.rank, domain.codes):
        with pytest.raises(OutOfDomain) as refused:
            ask(value)
        assert str(refused.value).startswith(message)
    assert value not in domain


@rows("domain, members", {name: row for name, *row in LISTED})
def test_a_strategy_shrinks_to_the_first_value(domain: Domain[Any], members: list[Any]) -> None:
    """For Hypothesis, the first value of a domain is the simplest."""
    assert exact(find(domain.strategy(), lambda _: True)) == exact(members[0])


class NotARecord:
    """A class that is not a NamedTuple."""


BADLY_BUILT: list[tuple[str, Callable[[], Any], str]] = [
    ("integers the wrong way round", lambda: integers(1, 0), "integers(1, 0): it is empty"),
    ("a value twice", lambda: one_of(1, 2, 1), "a value occurs twice"),
    ("a value twice, in disguise", lambda: one_of(1, True), "value occurs twice, because 1 equals True in Python"),
    (
        "records of two classes that are equal",
        lambda: one_of(Pair(0, 1), Twin(0, 1)),
        "a value occurs twice, because Pair(left=0, right=1) equals Twin(left=0, right=1) in Python; "
        "a field for the kind, kind: Literal[...], distinguishes them",
    ),
    ("a list in an enumeration", lambda: one_of([1], [2]), "its values must be immutable"),
    ("None twice", lambda: optional((None, 1)), "the domain already holds None"),
    ("None twice, nested", lambda: optional(optional(range(2))), "the domain already holds None"),
    ("a sequence shorter than none", lambda: sequence_of(range(2), -1), "it is empty"),
    ("a record of a class that is none", lambda: record(NotARecord, a=range(2)), "it is not a NamedTuple"),
    (
        "a record in another order",
        lambda: record(Pair, right=range(2), left=range(2)),
        "record(Pair): its fields are left, right, in this order; the given ones are right, left",
    ),
    ("a record without fields", lambda: record(Pair), "the given ones are none"),
    ("a set, which has no order", lambda: subset_of({1, 2}), "give a domain, a range, a sequence"),
    ("a number", lambda: sequence_of(3, 2), "3 is not a domain"),  # type: ignore[arg-type]
    ("a string", lambda: as_domain("ab"), "'ab' is not a domain"),
    ("the values of a mapping", lambda: mapping(range(2), 5), "5 is not a domain"),  # type: ignore[arg-type]
    ("the values of one key", lambda: partial_mapping("ab", lambda key: key), "'a' is not a domain"),
    ("a dictionary", lambda: as_domain({"a": 1}), "give its keys or its values"),
    ("None", lambda: optional(None), "None is not a domain"),  # type: ignore[arg-type]
    ("a mapping in a mapping", lambda: subset_of(mapping("ab", booleans())), "a mapping is a variable of its own"),  # type: ignore[arg-type]
    ("integers without an end", lambda: integers(0, float("inf")), "integers(0, inf): its ends must be integers"),  # type: ignore[arg-type]
    ("integers from nowhere", lambda: integers(float("nan"), 1), "its ends must be integers"),  # type: ignore[arg-type]
    ("a string for an end", lambda: integers(0, "9"), "integers(0, '9'): its ends must be integers"),  # type: ignore[arg-type]
    ("a fraction of a length", lambda: sequence_of(range(2), 1.5), "sequence_of(..., 1.5)"),  # type: ignore[arg-type]
    ("a value unequal to itself", lambda: one_of(0.5, float("nan")), "nan is not equal to itself"),
    ("a key twice", lambda: mapping((1, 2, 1), booleans()), "a value occurs twice"),
    ("a key that changes", lambda: mapping(([],), booleans()), "its values must be immutable"),  # type: ignore[arg-type]
    ("a set of keys", lambda: mapping({1, 2}, booleans()), "a set has no order"),
    ("no keys at all", lambda: mapping(3, booleans()), "3 is not a domain"),  # type: ignore[arg-type]
    # Infinite, or too large.
    ("a counter", lambda: as_domain(count()), "count(0): more than 100,000 values"),
    ("a range with gaps", lambda: as_domain(range(0, 10**12, 2)), "more than 100,000 values"),
    ("a set of very many", lambda: subset_of(range(10**12)), "1,000,000,000,000 values, and at most 100,000"),
    ("a set of very many sets", lambda: subset_of(subset_of(range(64))), "about 2**64 values"),
    ("all of very many sets", lambda: one_of(*subset_of(range(40))), "1,099,511,627,776 values"),
    ("keys without end", lambda: mapping(count(), booleans()), "count(0): more than"),
    ("very many keys", lambda: mapping(range(10**12), booleans()), "more than 100,000 values"),
    ("a sequence without end", lambda: sequence_of(range(2), 10**9), "1,000,000,000 bits"),
    ("a sequence of very many", lambda: sequence_of(integers(0, 2**40), 10**4), "410,000 bits"),
    ("many parts of many", lambda: tuple_of(*[sequence_of(range(2), 60_000)] * 2).slots, "more than 100,000 parts"),
    ("interchangeable values without end", lambda: interchangeable("x", range(10**12)), "1,000,000,000,000 values"),
    (
        "each of very many",
        lambda: every_combination(Pair, left=range(10**4), right=range(10**4)),
        "100,000,000 choices",
    ),
    ("either of very many", lambda: either(range(10**12), ("a",)), "1,000,000,000,000 values"),
]


@rows("build, message", {name: row for name, *row in BADLY_BUILT})
def test_a_badly_built_domain_is_refused(build: Callable[[], Any], message: str) -> None:
    """An impossible domain is refused where it is written, in one line with the reason."""
    with pytest.raises(SpecificationError) as refused:
        build()
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1000


def test_an_iterator_that_ends_is_listed() -> None:
    """It is read once, in its order; integers of other classes become plain ones."""
    assert list(as_domain(letter for letter in "ba")) == ["b", "a"]
    assert list(as_domain({"b": 1, "a": 2}.keys())) == ["b", "a"]
    assert list(map(exact, as_domain(np.arange(2)))) == list(map(exact, [0, 1]))
    assert list(map(exact, integers(*np.array([1, 2])))) == list(map(exact, [1, 2]))


def test_unlisted_domains_may_be_large() -> None:
    """Numbers, sets and sequences are counted and flattened without enumerating their values."""
    assert integers(0, 10**12).size == 10**12 + 1
    assert len(subset_of(range(1000)).slots) == 1000
    long = sequence_of(range(30), 30)
    assert (len(long.slots), long.rank(()), long.unrank(long.size - 1)) == (31, 0, (29,) * 30)


def test_a_message_names_only_some_of_many_values() -> None:
    """The first ones, and the count of all."""
    assert (
        str(as_domain([*range(0, 2000, 2)])) == f"one of {', '.join(map(str, range(0, 40, 2)))}, ... (1,000 of them)"
    )
    assert len(str(OutOfDomain("x" * 10**6, "a letter"))) < 400


def test_a_domain_is_not_wrapped_again() -> None:
    """A domain is not wrapped again."""
    domain = integers(0, 1)
    assert as_domain(domain) is domain


# Subsets are walked in the order of their domain.

ORDER = ("pear", "fig", "apple", "kiwi")
FRUIT = subset_of(ORDER)
SOME = st.frozensets(st.sampled_from(ORDER))


def canonical(elements: frozenset[str]) -> frozenset[str]:
    """Return the canonical set of these elements, as a state holds it."""
    return FRUIT.unrank(FRUIT.rank(elements))


def in_order(elements: frozenset[str] | set[str]) -> list[str]:
    """Return the elements in the order of the domain."""
    return [each for each in ORDER if each in elements]


OPERATORS: list[Callable[[Any, Any], Any]] = [operator.and_, operator.or_, operator.sub, operator.xor]


@pytest.mark.parametrize("combine", OPERATORS)
@given(one=SOME, other=SOME)
def test_operators_keep_the_order(combine: Callable[[Any, Any], Any], one: Any, other: Any) -> None:
    """A canonical set combined with any frozenset, on either side, is walked in domain order."""
    expected = in_order(combine(one, other))
    assert list(combine(canonical(one), other)) == expected
    assert list(combine(canonical(one), set(other))) == expected
    assert list(combine(canonical(one), dict.fromkeys(other).keys())) == expected
    assert list(combine(one, canonical(other))) == expected
    assert list(combine(canonical(one), canonical(other))) == expected


@pytest.mark.parametrize("name", ["union", "intersection", "difference", "symmetric_difference"])
@given(one=SOME, other=SOME)
def test_methods_keep_the_order(name: str, one: frozenset[str], other: frozenset[str]) -> None:
    """The named methods equal the operators, and take any iterable."""
    assert list(getattr(canonical(one), name)(sorted(other))) == in_order(getattr(one, name)(other))


@given(SOME)
def test_a_canonical_set_is_the_set(elements: frozenset[str]) -> None:
    """It equals the plain frozenset, has the same hash, and prints its elements in order."""
    made = canonical(elements)
    assert (made, hash(made), len(made)) == (elements, hash(elements), len(elements))
    assert repr(made) == "{" + ", ".join(map(repr, in_order(elements))) + "}"
    assert (list(made), sorted(made), [*made], tuple(made)) == (
        in_order(elements),
        sorted(elements),
        in_order(elements),
        tuple(in_order(elements)),
    )


def test_foreign_values_sort_after_members() -> None:
    """A set with elements outside its domain still has one order, whatever their hashes."""
    mixed = canonical(frozenset({"kiwi", "pear"})) | {"zucchini", "banana", "melon"}
    assert list(mixed) == ["pear", "kiwi", "banana", "melon", "zucchini"]


def test_sets_combine_only_with_sets() -> None:
    """A list raises the same error as with a frozenset."""
    for combine in OPERATORS:
        with pytest.raises(TypeError, match="unsupported operand"):
            combine(canonical(frozenset()), ["pear"])


WALK = """
from spec.language import ABSENT, integers, one_of, optional, record, sequence_of, subset_of, tuple_of
from spec.language.domains import Subset
from tests.spec.language.trees import Pair

letters = one_of(*"qwertyuiop")
sets = subset_of(letters)
nested = record(Pair, left=subset_of(one_of("yes", "no", "maybe")), right=subset_of(subset_of(one_of("a", "b"))))
full = sets.unrank(sets.size - 1)
print(list(full), repr(full), list(full - {"w"}), list(full ^ {"new", "newer", "q"}), list(full & set("poi")))
print([repr(each) for each in nested])
print(list(sets.unrank(sets.rank(frozenset("ytrewq")))))
"""


def test_order_does_not_depend_on_string_hashing() -> None:
    """Sets of strings are walked in the same order in processes that hash strings in different ways."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", WALK],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].splitlines()[2] == str(list("qwerty"))


# LEFT_OUT and ABSENT.


@pytest.mark.parametrize("single", [LEFT_OUT, ABSENT], ids=["left out", "absent"])
def test_the_singletons_stay_single(single: Any) -> None:
    """Pickling and copying return the same object, alone or inside a value."""
    copies = [pickle.loads(pickle.dumps(single, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    copies += [copy.copy(single), copy.deepcopy(single), pickle.loads(pickle.dumps((1, single)))[1]]
    assert all(each is single for each in copies)


ABSORBED: list[Any] = [3, "text", (1,), frozenset({1}), canonical(frozenset({"fig"})), None, LEFT_OUT, {1: 2}]


@pytest.mark.parametrize("other", ABSORBED, ids=map(repr, ABSORBED))
def test_left_out_values_absorb_operations(other: Any) -> None:
    """Addition, subtraction and union with any value, on either side, give LEFT_OUT."""
    for combine in (operator.add, operator.sub, operator.or_, operator.and_):
        assert combine(LEFT_OUT, other) is LEFT_OUT
        assert combine(other, LEFT_OUT) is LEFT_OUT


LOOKS: list[tuple[str, Callable[[Any], Any]]] = [
    ("equality", lambda it: it == 3),
    ("equality from the other side", lambda it: operator.eq(3, it)),
    ("equality with another of it", lambda it: it == LEFT_OUT),
    ("difference", lambda it: it != 3),
    ("difference from the other side", lambda it: operator.ne("x", it)),
    ("order", lambda it: it < 3),
    ("order from the other side", lambda it: operator.lt(3, it)),
    ("less or equal", lambda it: it <= 3),
    ("greater", lambda it: it > 3),
    ("greater or equal", lambda it: it >= 3),
    ("truth", bool),
    ("length", len),
    ("walking", list),
    ("membership", lambda it: 3 in it),
    ("as an integer", int),
    ("as an index", lambda it: [1, 2][it]),
    ("in a text", lambda it: f"{it}"),
    ("difference of sets", lambda it: frozenset({1}) <= it),
]


@rows("look", dict(LOOKS))
def test_left_out_values_cannot_be_read(look: Callable[[Any], Any]) -> None:
    """Comparing, measuring or formatting one raises an error that says it is left out."""
    with pytest.raises(SpecificationError, match=r"^a value that the specification leaves out was read$"):
        look(LEFT_OUT)


def test_left_out_values_discard_writes() -> None:
    """Its domain accepts any value, and stores only LEFT_OUT."""
    domain = left_out()
    assert [domain.rank(value) for value in (0, "x", None, [1], LEFT_OUT)] == [0] * 5
    assert (domain.size, domain.width) == (1, 0)
    assert domain.unrank(0) is LEFT_OUT
    assert next(iter(domain)) is LEFT_OUT
    assert [domain.codes(value) for value in (0, [1])] == [(), ()]
    assert domain.value(()) is LEFT_OUT


class Stamped(NamedTuple):
    """A record whose first field is left out."""

    at: Any
    value: Any


def test_records_that_differ_in_left_out_fields_are_equal() -> None:
    """A field that is left out takes no bits, and does not count in comparison."""
    domain = record(Stamped, at=left_out(), value=range(3))
    assert domain.size == 3
    assert domain.rank(Stamped(17, 2)) == domain.rank(Stamped(LEFT_OUT, 2)) == 2
    assert domain.unrank(2).at is LEFT_OUT
    assert domain.codes(Stamped(17, 2)) == (2,)
    assert domain.value((2,)).at is LEFT_OUT


def test_the_keys_of_a_mapping_are_laid_out_in_their_order() -> None:
    """A function gives each key its own domain; in a partial mapping each cell may also be absent."""
    total = mapping(("b", "a"), lambda key: range(3) if key == "a" else booleans())
    partial = partial_mapping(("b", "a"), range(2))
    assert [(key, list(cell)) for key, cell in total.cells.items()] == [("b", [False, True]), ("a", [0, 1, 2])]
    assert [(key, list(cell)) for key, cell in partial.cells.items()] == [(key, [ABSENT, 0, 1]) for key in ("b", "a")]
    assert [(each.rank(ABSENT), each.rank(1)) for each in partial.cells.values()] == [(0, 2), (0, 2)]
    assert (total.partial, partial.partial) == (False, True)


def test_every_subset_is_held_once() -> None:
    """The powerset of five has 32 members, each with its own number."""
    domain = subset_of(range(5))
    members = {frozenset(each) for each in chain.from_iterable(combinations(range(5), n) for n in range(6))}
    assert {domain.rank(each) for each in members} == set(range(32))
    assert all(isinstance(each, Subset) for each in domain)
