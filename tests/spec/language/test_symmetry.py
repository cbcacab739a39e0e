"""Interchangeable values: how permutations move values, and that codes move with their values."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.language import (
    ABSENT,
    Domain,
    OutOfDomain,
    SpecificationError,
    either,
    every_combination,
    integers,
    interchangeable,
    left_out,
    mapping,
    one_of,
    optional,
    part_of,
    partial_mapping,
    possibly_empty,
    record,
    sequence_of,
    subset_of,
    tuple_of,
)
from spec.language.domains import PossiblyDomain
from spec.language.permutations import Permutation, Route
from spec.language.symmetry import ValuesDistinguished, anonymity
from tests.rows import rows

BROKERS = interchangeable("broker", range(3))
TURN: Permutation = {"broker": {0: 1, 1: 2, 2: 0}}
SWAP: Permutation = {"broker": {0: 1, 1: 0, 2: 2}}


class Session(NamedTuple):
    """A session's owner and number."""

    broker: int
    number: int


def path(broker: int) -> str:
    """The owner of a broker's node."""
    return f"/ids/{broker}"


SESSIONS = every_combination(Session, broker=BROKERS, number=range(2))
PATHS = either(["/", "/ids"], every_combination(path, broker=BROKERS))


# Declarations.


def test_interchangeable_values_keep_order_and_codes() -> None:
    """Only the sort is added."""
    assert list(BROKERS) == [0, 1, 2]
    assert list(interchangeable("dish", ("soup", "stew"))) == ["soup", "stew"]
    assert str(BROKERS) == str(integers(0, 2))
    assert BROKERS.sorts == {"broker": (0, 1, 2)}


def test_interchangeable_leaves_a_given_domain_plain() -> None:
    """It makes a new domain."""
    plain = integers(0, 2)
    interchangeable("broker", plain)
    assert (plain.moving, plain.sorts, plain.moved(0, TURN)) == (None, {}, 0)


def test_every_choice_of_parts_is_made_once() -> None:
    """The first part changes slowest; a permutation moves the parts."""
    assert list(SESSIONS) == [Session(broker, number) for broker in range(3) for number in range(2)]
    assert SESSIONS.moved(Session(2, 1), TURN) == Session(0, 1)


def test_in_a_union_only_interchangeable_values_move() -> None:
    """Fixed paths stay."""
    assert list(PATHS) == ["/", "/ids", "/ids/0", "/ids/1", "/ids/2"]
    assert [PATHS.moved(each, TURN) for each in PATHS] == ["/", "/ids", "/ids/1", "/ids/2", "/ids/0"]


def test_a_part_moves_with_the_whole() -> None:
    """So a permutation may take a value out of the part."""
    part = part_of(SESSIONS, Session(0, 0), Session(0, 1))
    assert part.moved(Session(0, 1), TURN) == Session(1, 1)


def test_a_part_lies_in_the_whole() -> None:
    """Otherwise the error lists the whole's values."""
    with pytest.raises(OutOfDomain):
        part_of(SESSIONS, Session(3, 0))


def test_a_sort_has_the_same_values_everywhere() -> None:
    """Two sorts need two names."""
    with pytest.raises(
        SpecificationError, match=r"^interchangeable 'broker': its values are \(0, 1, 2\) in one place and "
    ):
        assert tuple_of(BROKERS, interchangeable("broker", range(2))).sorts


@pytest.mark.parametrize("word", [mapping, partial_mapping])
def test_a_mapping_knows_the_sort_of_its_keys(word: Any) -> None:
    """Keys from an interchangeable domain move as in it; other keys stay."""
    assert word(SESSIONS, integers(0, 1)).keys.moved(Session(0, 0), TURN) == Session(1, 0)
    assert word(range(3), integers(0, 1)).keys.moved(0, TURN) == 0


# Values and codes.


def _leaves() -> st.SearchStrategy[Domain[Any]]:
    return st.sampled_from(
        [
            BROKERS,
            SESSIONS,
            PATHS,
            integers(0, 2),
            one_of("a", "b"),
            left_out(),
            interchangeable("dish", ("soup", "stew")),
        ]
    )


def _nested(children: st.SearchStrategy[Domain[Any]]) -> st.SearchStrategy[Domain[Any]]:
    return st.one_of(
        children.map(_possibly),
        children.filter(lambda domain: 1 < domain.size < 10).map(subset_of),
        st.builds(sequence_of, children, st.integers(0, 2)),
        st.builds(tuple_of, children, children),
        st.builds(lambda left, right: possibly_empty(tuple_of(left, right)), children, children),
        st.builds(lambda left, right: record(Session, broker=left, number=right), children, children),
    )


def _possibly(domain: Domain[Any]) -> Domain[Any]:
    """A domain, optional if it has no None, and one in a partial mapping if it has."""
    if None not in domain:
        return optional(domain)
    return domain if ABSENT in domain else PossiblyDomain(domain)


def domains() -> st.SearchStrategy[Domain[Any]]:
    """Domains of every kind, around brokers and around other values."""
    return st.recursive(_leaves(), _nested, max_leaves=4).filter(lambda domain: domain.size < 10**9)


def permuted() -> st.SearchStrategy[Permutation]:
    """A permutation of the brokers and one of the dishes."""
    return st.builds(
        lambda brokers, dishes: {
            "broker": dict(enumerate(brokers)),
            "dish": dict(zip(("soup", "stew"), dishes, strict=True)),
        },
        st.permutations(range(3)),
        st.permutations(("soup", "stew")),
    )


def through(taken: list[Route], codes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the codes, moved by their routes."""
    found = {}
    for route, code in zip(taken, codes, strict=True):
        in_use = route.guard is None or codes[route.guard] > route.above
        found[route.slot] = route.codes[code] if in_use else code
    return tuple(found[slot] for slot in range(len(codes)))


@given(domains(), permuted(), st.data())
def test_codes_go_where_their_values_go(domain: Domain[Any], permutation: Permutation, data: st.DataObject) -> None:
    """Moving a value's codes gives the codes of the moved value; unused codes stay 0."""
    value = domain.unrank(data.draw(st.integers(0, domain.size - 1)))
    taken = domain.routes(domain, permutation)
    assert through(taken, domain.codes(value)) == domain.codes(domain.moved(value, permutation))


@given(domains(), permuted())
def test_routes_are_one_to_one(domain: Domain[Any], permutation: Permutation) -> None:
    """Each slot has one source, and each code in it too."""
    taken = domain.routes(domain, permutation)
    assert sorted(route.slot for route in taken) == list(range(len(domain.slots)))
    assert all(sorted(route.codes) == list(range(len(route.codes))) for route in taken)


@given(domains(), permuted(), permuted(), st.data())
def test_one_permutation_after_the_other_is_a_permutation(
    domain: Domain[Any], first: Permutation, second: Permutation, data: st.DataObject
) -> None:
    """Permutations act on values as a group."""
    value = domain.unrank(data.draw(st.integers(0, domain.size - 1)))
    both = {sort: {key: second[sort][image] for key, image in first[sort].items()} for sort in first}
    one_by_one = domain.moved(domain.moved(value, first), second)
    assert domain.rank(one_by_one) == domain.rank(domain.moved(value, both))


def test_one_brokers_domain_maps_to_anothers() -> None:
    """The codes are those of the target domain."""
    mine = optional(part_of(SESSIONS, Session(0, 0), Session(0, 1)))
    its = optional(part_of(SESSIONS, Session(1, 1), Session(1, 0)))
    assert mine.routes(its, SWAP) == [Route(0, (0, 2, 1))]


@rows(
    "domain, other",
    [
        (part_of(BROKERS, 0), part_of(BROKERS, 0)),
        (part_of(BROKERS, 0, 1), part_of(BROKERS, 0, 2)),
        (tuple_of(BROKERS, BROKERS), tuple_of(BROKERS, BROKERS, BROKERS)),
        (sequence_of(BROKERS, 3), tuple_of(integers(0, 3), BROKERS, BROKERS, BROKERS)),
        (subset_of(part_of(BROKERS, 0, 1)), subset_of(part_of(BROKERS, 0, 2))),
    ],
)
def test_a_domain_that_is_not_symmetric_is_refused(domain: Domain[Any], other: Domain[Any]) -> None:
    """A permutation would take a value outside the domain."""
    with pytest.raises(OutOfDomain):
        domain.routes(other, TURN)


def test_absent_values_stay_absent() -> None:
    """None and absent belong to no sort."""
    assert optional(BROKERS).moved(None, TURN) is None
    assert PossiblyDomain(BROKERS).moved(ABSENT, TURN) is ABSENT


# Anonymous values.


def test_anonymous_values_compare_for_equality_only() -> None:
    """Equality suffices for sets and mappings; no anonymous value equals None or a string."""
    (one, other), (same, _) = anonymous(), anonymous()
    assert (one == same, one != other, one == None, one == "0", one == 7) == (True, True, False, False, False)  # noqa: E711
    assert hash(one) == hash(other)
    assert {one, other, same} == {one, other}
    assert {one: "a", other: "b"}[same] == "a"


def anonymous() -> tuple[Any, Any]:
    """Two brokers."""
    with anonymity():
        one, other = interchangeable("broker", range(2))
    return one, other


@rows(
    "does, why",
    [
        (lambda one, other: one < other, "it orders brokers"),
        (lambda one, other: min({one, other}), "it orders brokers"),
        (lambda one, other: sorted([Session(one, 0), Session(other, 0)]), "it orders brokers"),
        (lambda one, other: one + 1, "it calculates with a broker"),
        (lambda one, other: 1 - one, "it calculates with a broker"),
        (lambda one, other: (one, other)[one], "it calculates with a broker"),
        (lambda one, other: list(range(one)), "it calculates with a broker"),
        (lambda one, other: one % 2, "it calculates with a broker"),
        (lambda one, other: other or one, "it tests whether a broker is true"),
        (lambda one, other: one == 0, "it distinguishes broker 0"),
        (lambda one, other: other in (5, 1), "it distinguishes broker 1"),
    ],
)
def test_distinguishing_anonymous_values_is_refused(does: Any, why: str) -> None:
    """The message names the attempted operation."""
    with pytest.raises(ValuesDistinguished) as refused:
        does(*anonymous())
    assert str(refused.value) == why


def test_conversions_are_free() -> None:
    """Kafka's code writes an id into a path and reads it with `int`; the result is still that broker."""
    one, other = anonymous()
    assert (path(one), f"{one!r}") == ("/ids/0", "0")
    assert (int(one) == one, int(one) == other, one == int(one), int(one) == int(other)) == (True, False, True, False)


def test_anonymity_ends() -> None:
    """After the block, brokers are plain values again, whatever happened."""
    with pytest.raises(ZeroDivisionError), anonymity(), anonymity():
        raise ZeroDivisionError
    assert list(interchangeable("broker", range(2))) == [0, 1]


def test_permutations_of_two_sorts_are_independent() -> None:
    """A value of neither sort stays."""
    pair = tuple_of(BROKERS, interchangeable("dish", ("soup", "stew")))
    images = {
        pair.moved((0, "soup"), {"broker": dict(enumerate(brokers)), "dish": {"soup": dish}})
        for brokers, dish in product(permutations(range(3)), ("soup", "stew"))
    }
    assert len(images) == 6
    assert pair.moved((0, "soup"), {}) == (0, "soup")
