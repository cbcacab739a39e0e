"""The state that actions see, and the window through which an engine moves it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.language import (
    ABSENT,
    LEFT_OUT,
    SpecificationError,
    booleans,
    integers,
    left_out,
    mapping,
    optional,
    partial_mapping,
    record,
    sequence_of,
    subset_of,
    tuple_of,
)
from spec.language.cells import WORD, OutOfCell
from spec.language.domains import Domain, FrozenMapping, FrozenMappingDomain, MappingDomain, PossiblyDomain, Subset
from spec.language.state import Layout, Values, Window
from tests.rows import rows
from tests.spec.language.trees import Pair, Tree, exact, trees


def layout(**variables: Domain[Any] | MappingDomain) -> Layout:
    """Variables without documentation."""
    return Layout({name: ("", domain) for name, domain in variables.items()})


def opened(laid_out: Layout) -> tuple[Window, Any]:
    """A writable window on the first state."""
    window = Window(laid_out)
    state = window.load(laid_out.first())
    window.writable("a test")
    return window, state


def shop() -> Layout:
    """A plain variable, a total mapping, and a partial one."""
    return layout(
        till=integers(0, 9),
        price=mapping(("pear", "fig", "apple"), integers(0, 4)),
        stock=partial_mapping(("pear", "fig", "apple"), optional(integers(0, 4))),
    )


# Reading and assigning.


def test_the_first_state_holds_the_first_values() -> None:
    """Without assignments, every variable holds the first value of its domain, and a partial mapping no key."""
    _, s = opened(shop())
    assert (s.till, dict(s.price), dict(s.stock)) == (0, {"pear": 0, "fig": 0, "apple": 0}, {})


def test_assigned_values_are_read_back() -> None:
    """Plain variables and keys hold their last assigned values, within the same action."""
    _, s = opened(shop())
    s.till = 3
    s.till += 2
    s.price["fig"] = 4
    s.stock["apple"] = None
    s.stock["fig"] = s.price["fig"]
    assert (s.till, s.price["fig"], s.stock["apple"], s.stock["fig"]) == (5, 4, None, 4)


def test_mappings_are_walked_in_the_order_of_their_keys() -> None:
    """Keys, values and items follow the variable's declaration, in whatever order they were assigned."""
    _, s = opened(shop())
    s.stock["apple"] = 1
    s.stock["pear"] = 2
    s.price["apple"] = 3
    assert list(s.stock) == ["pear", "apple"]
    assert list(s.stock.items()) == [("pear", 2), ("apple", 1)]
    assert list(s.stock.values()) == [2, 1]
    assert list(s.price) == list(s.price.keys()) == ["pear", "fig", "apple"]
    assert list(s.price.items()) == [("pear", 0), ("fig", 0), ("apple", 3)]
    assert list(s.price.values()) == [0, 0, 3]


def test_emptying_a_partial_mapping_looks_at_nothing() -> None:
    """Clearing reads no presence; truth reads keys only up to the first present one."""
    window, s = opened(shop())
    s.stock = {"fig": 2, "apple": None}
    looked_at = window.watch()
    s.stock.clear()
    assert not looked_at
    assert (dict(s.stock), bool(s.stock)) == ({}, False)
    s.stock["pear"] = 1
    looked_at.clear()
    assert s.stock
    assert [window.layout.cells[at].name for at in looked_at] == ["stock[pear]"]


def test_a_partial_mapping_is_a_dict_of_its_present_keys() -> None:
    """Length, membership, `get`, `pop` and equality are those of a dict."""
    _, s = opened(shop())
    s.stock["fig"] = None
    assert (len(s.stock), "fig" in s.stock, "pear" in s.stock, "plum" in s.stock) == (1, True, False, False)
    assert (s.stock.get("fig", 9), s.stock.get("pear"), s.stock.get("plum", 7)) == (None, None, 7)
    assert s.stock == {"fig": None}
    assert s.stock.pop("fig") is None
    assert s.stock == {}
    assert not s.stock


@pytest.mark.parametrize("key", ["pear", "plum", 3])
def test_an_absent_key_is_a_key_error(key: object) -> None:
    """Reading or deleting an absent key raises KeyError, as a dict does."""
    _, s = opened(shop())
    with pytest.raises(KeyError, match=repr(key)):
        s.stock[key]
    with pytest.raises(KeyError, match=repr(key)):
        del s.stock[key]


def test_keys_may_be_deleted_while_they_are_walked() -> None:
    """The keys of a partial mapping are fixed, so walking it survives their deletion."""
    _, s = opened(shop())
    s.stock = {"pear": 1, "apple": 2}
    for key in s.stock:
        del s.stock[key]
    assert dict(s.stock) == {}


def test_a_mapping_is_assigned_as_a_whole() -> None:
    """It equals the given mapping afterwards: other keys are removed, whatever the type of the source."""
    _, s = opened(shop())
    s.stock = {"fig": 1, "pear": 2}
    s.stock = {"apple": 3, "fig": 4}
    s.price = {**s.stock, "pear": 0}
    assert dict(s.stock) == {"fig": 4, "apple": 3}
    assert dict(s.price) == {"pear": 0, "fig": 4, "apple": 3}
    s.stock = s.price
    assert dict(s.stock) == {"pear": 0, "fig": 4, "apple": 3}
    s.stock = s.stock
    assert dict(s.stock) == {"pear": 0, "fig": 4, "apple": 3}


def test_a_mapping_prints_as_a_dict() -> None:
    """Its `repr` is that of a dict."""
    _, s = opened(shop())
    s.stock["fig"] = 1
    assert repr(s.stock) == "{'fig': 1}"


@st.composite
def _operations(draw: st.DrawFn) -> tuple[str, Any]:
    keys, values = st.sampled_from(("pear", "fig", "apple")), st.integers(0, 4)
    drawn: tuple[str, Any] = draw(
        st.one_of(
            st.tuples(st.just("till"), values),
            st.tuples(st.just("price"), st.tuples(keys, values)),
            st.tuples(st.just("stock"), st.tuples(keys, st.none() | values)),
            st.tuples(st.just("sell out"), keys),
            st.tuples(st.just("all stock"), st.dictionaries(keys, values)),
            st.tuples(st.just("all prices"), st.fixed_dictionaries(dict.fromkeys(("fig", "apple", "pear"), values))),
            st.tuples(st.just("reset"), st.none()),
            st.tuples(st.just("commit"), st.none()),
            st.tuples(st.just("take, then go back"), st.none()),
        )
    )
    return drawn


@given(st.lists(_operations(), max_size=30))
def test_state_mappings_behave_like_dicts(operations: list[tuple[str, Any]]) -> None:
    """After any assignments, undos and steps, the variables equal an int and two dicts."""
    window, s = opened(shop())
    committed: dict[str, Any] = {"till": 0, "price": dict.fromkeys(("pear", "fig", "apple"), 0), "stock": {}}
    now: dict[str, Any] = {"till": 0, "price": dict(committed["price"]), "stock": {}}
    for what, given_ in operations:
        match what:
            case "till":
                s.till = now["till"] = given_
            case "price" | "stock":
                getattr(s, what)[given_[0]] = now[what][given_[0]] = given_[1]
            case "sell out":
                if given_ in now["stock"]:
                    del s.stock[given_]
                    del now["stock"][given_]
            case "all stock":
                s.stock, now["stock"] = given_, dict(given_)
            case "all prices":
                s.price, now["price"] = given_, dict(given_)
            case "reset":
                window.reset()
                now = {
                    "till": committed["till"],
                    "price": dict(committed["price"]),
                    "stock": dict(committed["stock"]),
                }
            case "take, then go back":
                window.changed()
            case "commit":
                window.load(window.changed())
                committed = {"till": now["till"], "price": dict(now["price"]), "stock": dict(now["stock"])}
        assert {"till": s.till, "price": dict(s.price), "stock": dict(s.stock)} == now
        assert list(s.stock) == [key for key in ("pear", "fig", "apple") if key in now["stock"]]


@st.composite
def _through_mappings(draw: st.DrawFn) -> tuple[str, int, str, int | None]:
    """What is done, through which of the mappings read so far, and with which key and value."""
    what = draw(st.sampled_from(("read", "assign", "delete", "assign all")))
    return what, draw(st.integers(0, 9)), draw(st.sampled_from(("pear", "fig", "apple"))), draw(st.integers(0, 2))


@pytest.mark.parametrize("name", ["price", "stock"])
@given(st.lists(_through_mappings(), max_size=20))
def test_a_mapping_that_was_read_stays_as_it_was(name: str, operations: list[tuple[str, int, str, int]]) -> None:
    """Unless it is itself assigned to. The state has every assignment, through whichever mapping."""
    _, s = opened(shop())
    now = dict(getattr(s, name))
    held = [(getattr(s, name), dict(now))]
    for what, number, key, value in operations:
        through, expected = held[number % len(held)]
        match what:
            case "read":
                held.append((getattr(s, name), dict(now)))
            case "assign":
                through[key] = now[key] = expected[key] = value
            case "delete" if name == "stock" and key in expected:
                del through[key], expected[key]
                now.pop(key, None)
            case "assign all":
                setattr(s, name, through)
                now = dict(expected)
        s.till = (s.till + 1) % 10
        assert [dict(each) for each, _ in held] == [kept for _, kept in held]
        assert dict(getattr(s, name)) == now


def test_states_are_equal_by_their_variables() -> None:
    """As plain values and mappings are; a state equals nothing else."""
    (_, one), (_, other) = opened(laid_out := shop()), opened(laid_out)
    assert one == other
    other.stock["fig"] = 2
    assert one != other
    one.stock = {"fig": 2}
    assert one == other
    one.till = 1
    assert one != other
    assert one not in (None, {"till": 1}, layout(till=integers(0, 9)))


@pytest.mark.parametrize(
    "ask", [hash, copy.copy, copy.deepcopy, pickle.dumps, lambda s: {s}, cache(lambda s: s.till)]
)
def test_a_state_is_no_element_key_or_copy(ask: Callable[[Any], Any]) -> None:
    """The error says in one line what to use instead."""
    _, s = opened(shop())
    with pytest.raises(SpecificationError, match=r"^a state .*, such as \(s\.a, s\.b\)") as refused:
        ask(s)
    assert "\n" not in str(refused.value)


def test_a_state_prints_its_variables() -> None:
    """And no address."""
    _, s = opened(shop())
    s.stock["fig"] = None
    expected = "State(till=0, price={'pear': 0, 'fig': 0, 'apple': 0}, stock={'fig': None})"
    assert str(s) == repr(s) == expected


# Refusals.

MISTAKES: list[tuple[str, Callable[[Any], Any], str]] = [
    ("reading an unknown variable", lambda s: s.tyll, "there is no variable tyll; there are till, price, stock"),
    (
        "assigning an unknown variable",
        lambda s: setattr(s, "tyll", 1),
        "there is no variable tyll; there are till, price, stock",
    ),
    (
        "deleting a key that is always there",
        lambda s: s.price.pop("fig"),
        "del price[fig]: its keys are always present",
    ),
    ("emptying a total mapping", lambda s: s.price.clear(), "its keys are always present"),
    (
        "assigning a whole mapping that lacks a key",
        lambda s: setattr(s, "price", {"fig": 1, "pear": 2}),
        "it has no value for key apple, and each key of price needs one; to change some keys only, write price |= ",
    ),
    (
        "assigning absence",
        lambda s: s.stock.__setitem__("fig", ABSENT),
        "stock[fig] = absent: delete it instead",
    ),
    ("assigning a number to a mapping", lambda s: setattr(s, "price", 5), "price = 5: the variable is a mapping"),
    (
        "assigning a list to a mapping",
        lambda s: setattr(s, "stock", ["fig"]),
        "stock = ['fig']: the variable is a mapping",
    ),
]


@rows("mistake, message", {name: row for name, *row in MISTAKES})
def test_a_misuse_is_a_one_line_error(mistake: Callable[[Any], Any], message: str) -> None:
    """The error names the variable, and the alternatives."""
    _, s = opened(shop())
    with pytest.raises(SpecificationError) as refused:
        mistake(s)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


UNKNOWN_KEYS: list[tuple[str, Callable[[Any], Any], str]] = [
    ("read", lambda s: s.price["plum"], "price: 'plum' is not a key of it"),
    ("assigned", lambda s: s.price.__setitem__("plum", 1), "price: 'plum' is not a key of it"),
    ("assigned, where keys come and go", lambda s: s.stock.__setitem__(3, 1), "stock: 3 is not a key of it"),
    ("assigned with the whole", lambda s: setattr(s, "stock", {"plum": 1}), "stock: 'plum' is not a key of it"),
]


@pytest.mark.parametrize(
    ("mistake", "message"), [row[1:] for row in UNKNOWN_KEYS], ids=[row[0] for row in UNKNOWN_KEYS]
)
def test_an_unknown_key_is_out_of_the_domain(mistake: Callable[[Any], Any], message: str) -> None:
    """A key that the variable does not declare is an error of the domain, with the variable's name."""
    _, s = opened(shop())
    with pytest.raises(OutOfCell) as refused:
        mistake(s)
    assert str(refused.value) == message


WRITES: list[tuple[str, Callable[[Any], Any], str]] = [
    ("a variable", lambda s: setattr(s, "till", 3), "till"),
    ("a key", lambda s: s.price.__setitem__("fig", 3), "price"),
    ("a key that comes", lambda s: s.stock.__setitem__("pear", 3), "stock"),
    ("a key that goes", lambda s: s.stock.pop("fig"), "stock"),
    ("a whole mapping", lambda s: setattr(s, "stock", {}), "stock"),
    ("an unchanged value", lambda s: setattr(s, "till", s.till), "till"),
    ("a mapping's own method", lambda s: s.price.update(fig=1), "price"),
]


@rows("write, name", {name: row for name, *row in WRITES})
def test_writes_outside_an_action_are_refused(write: Callable[[Any], Any], name: str) -> None:
    """In a property, for example, each form of assignment is refused, and nothing changes."""
    window, s = opened(shop())
    s.stock["fig"] = 1
    before = window.load(window.changed()) and window.changed()
    window.writable(None)
    with pytest.raises(SpecificationError) as refused:
        write(s)
    assert str(refused.value) == f"{name} is assigned: only actions and `initial` may change the state"
    assert window.changed() == before


MISPLACED: list[tuple[str, Callable[[Any], Any], str, object, str]] = [
    ("a plain variable", lambda s: setattr(s, "count", 3), "count", 3, "count: 3 is not an integer of 0..2"),
    ("a boolean", lambda s: setattr(s, "count", True), "count", True, "count: True is not an integer of 0..2"),
    (
        "a key",
        lambda s: s.flag.__setitem__("b", 1),
        "flag[b]",
        1,
        "flag[b]: 1 is not one of False, True",
    ),
    (
        "a key that comes and goes",
        lambda s: s.pair.__setitem__(1, Pair(0, 5)),
        "pair[1]",
        Pair(0, 5),
        "pair[1]: Pair(left=0, right=5) is not a Pair of its domain: its right is 5 is not an integer of 0..1",
    ),
]


@pytest.mark.parametrize(
    ("write", "cell", "value", "message"), [row[1:] for row in MISPLACED], ids=[row[0] for row in MISPLACED]
)
def test_a_value_outside_its_domain_is_named_with_its_cell(
    write: Callable[[Any], Any], cell: str, value: object, message: str
) -> None:
    """The error of the step names the cell, its value and the allowed ones."""
    window, s = opened(
        layout(
            count=integers(0, 2),
            flag=mapping("ab", booleans()),
            pair=partial_mapping(range(2), record(Pair, left=range(2), right=range(2))),
        )
    )
    write(s)
    with pytest.raises(OutOfCell) as refused:
        window.changed()
    assert (refused.value.cell, refused.value.value, str(refused.value)) == (cell, value, message)
    window.reset()
    assert window.changed() == window.layout.first()


MUTABLE: list[Any] = [[1], {"a": 1}, {1}, ([1],), Pair(0, [1])]


@pytest.mark.parametrize("value", MUTABLE, ids=map(repr, MUTABLE))
def test_mutable_values_are_refused(value: object) -> None:
    """A list at any depth of a value is refused with the name of the cell, whatever its domain."""
    for domain in (integers(0, 1), left_out(), sequence_of(range(2), 2)):
        window, s = opened(layout(count=domain))
        s.count = value
        with pytest.raises(SpecificationError) as refused:
            window.changed()
        assert str(refused.value) == (
            f"count = {value!r}: it can be changed in place, and the state holds immutable values"
        )


def test_a_dict_in_the_place_of_a_mapping_is_refused_with_the_word_for_one() -> None:
    """A domain with mappings, at any depth, is told of `frozen`."""
    inside = FrozenMappingDomain(integers(0, 1), dict.fromkeys(range(2), PossiblyDomain(booleans())))
    held = layout(plain=inside, at=partial_mapping("ab", inside), deep=sequence_of(inside, 1))
    for name, value in (("plain", {0: True}), ("at", {"a": {0: True}}), ("deep", ({0: True},))):
        window, s = opened(held)
        setattr(s, name, value)
        with pytest.raises(SpecificationError, match=rf"^{name}.* = .*frozen"):
            window.changed()


def test_a_dict_joins_a_mapping_from_either_side() -> None:
    """The right side's values stay, as for two dicts, and the result is a value that can be assigned."""
    window, s = opened(shop())
    s.price["fig"], s.stock["fig"] = 2, 3
    price, stock = dict(s.price), dict(s.stock)
    for mapping_, as_dict in ((s.price, price), (s.stock, stock), (s.price | {}, price)):
        joined = {"fig": 0, "apple": 1} | mapping_
        assert (dict(joined), type(joined)) == ({"fig": 0, "apple": 1} | as_dict, FrozenMapping)
        assert dict(mapping_ | {"fig": 0}) == as_dict | {"fig": 0}
        for other in ({"fig"}, 3, None):
            with pytest.raises(TypeError):
                other | mapping_
    s.stock = {"apple": 1} | s.stock
    window.changed()
    assert dict(s.stock) == {"fig": 3, "apple": 1}


def test_a_mapping_of_the_state_is_no_value_of_it() -> None:
    """A window's mapping in a plain variable would change with the window."""
    window, s = opened(shop())
    s.till = s.price
    with pytest.raises(SpecificationError, match=r"till = .*: it can be changed in place"):
        window.changed()


def test_a_state_is_no_value_of_a_variable() -> None:
    """Nor a part of one; the variable is named."""
    window, s = opened(shop())
    for value in (s, (1, s)):
        s.till = value
        with pytest.raises(SpecificationError, match=r"^till = .*: it can be changed in place"):
            window.changed()
        window.reset()


def test_a_variable_needs_a_value() -> None:
    """An empty domain is refused with the name of its variable, before anything runs."""
    assert len(layout(x=subset_of(())).cells) == 1
    with pytest.raises(SpecificationError, match=r"^variable x: its domain is empty$"):
        layout(x=record(Pair, left=(), right=(1,)))
    with pytest.raises(SpecificationError, match=r"^variable x\[b\]: its domain is empty$"):
        layout(x=mapping("ab", lambda key: range(0 if key == "b" else 1)))


# The window.


def test_the_window_goes_from_state_to_state() -> None:
    """Loading drops the assignments, resetting returns to the loaded state, and taking gives the successor."""
    window, s = opened(layout(x=integers(0, 5), y=integers(0, 5)))
    s.x = 1
    same: Any = window.load((2, 3))
    assert same is s
    assert (s.x, s.y, window.changed(), window.assigned()) == (2, 3, (2, 3), {})
    s.x, s.y = 4, 5
    window.reset()
    assert (s.x, s.y, window.changed()) == (2, 3, (2, 3))
    s.x = 4
    s.x = 1
    assert window.changed() == (1, 3)
    window.reset()
    assert (s.x, window.changed()) == (2, (2, 3))


def test_without_assignment_the_successor_is_the_state() -> None:
    """Without assignments the successor is the loaded tuple itself; assignments never change that tuple."""
    window, s = opened(layout(x=integers(0, 5)))
    loaded = (3,)
    window.load(loaded)
    assert window.changed() is loaded
    s.x = 4
    assert (window.changed(), loaded) == ((4,), (3,))


def test_successors_hold_canonical_values() -> None:
    """Equal values are one object in every state, and sets are in domain order once the step is taken."""
    window, s = opened(layout(some=subset_of(["z", "y", "x", "w"]), forgotten=left_out(), pair=sequence_of((7,), 2)))
    s.some, s.forgotten, s.pair = frozenset("wxz"), 12345, (7, 7)
    first = window.changed()
    window.load(window.layout.first())
    s.some, s.forgotten, s.pair = frozenset("zxw"), "something else", (7,) * 2
    second = window.changed()
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert isinstance(first[0], Subset)
    assert (list(first[0]), first[1] is LEFT_OUT) == (["z", "x", "w"], True)


def test_the_window_reports_assignments() -> None:
    """Each assigned cell with its old and new value, in the order of the cells, or ABSENT for a missing key."""
    window, s = opened(shop())
    s.stock["fig"], s.till = 3, 99
    assert list(window.assigned().items()) == [("till", (0, 99)), ("stock[fig]", (ABSENT, 3))]


def test_the_window_records_reads() -> None:
    """While it watches, it records exactly the cells that are read, including tests of presence."""
    window, s = opened(shop())
    s.stock["fig"] = 1
    window.load(window.changed())
    seen = window.watch()
    assert s.till == 0
    assert s.price["fig"] == 0
    assert "apple" not in s.stock
    assert s.stock.get("fig") == 1
    assert {window.layout.cells[at].name for at in seen} == {"till", "price[fig]", "stock[apple]", "stock[fig]"}


# Packing.


def spread(drawn: Iterable[Tree]) -> Layout:
    """One plain variable for each domain, then all of them once more as a partial mapping."""
    made = list(drawn)
    plain = {f"v{n}": tree.domain for n, tree in enumerate(made)}
    return layout(**plain, m=partial_mapping(range(len(made)), lambda n: made[n].domain))


def states(laid_out: Layout) -> st.SearchStrategy[tuple[int, ...]]:
    """Any state, given by the codes of its cells."""
    return st.tuples(*(st.integers(0, cell.domain.size - 1) for cell in laid_out.cells))


def of_codes(laid_out: Layout, codes: Iterable[int]) -> Values:
    """Return the state whose cells have these codes."""
    return tuple(cell.domain.unrank(code) for cell, code in zip(laid_out.cells, codes, strict=True))


@given(st.lists(trees(most=40), min_size=1, max_size=12), st.data())
def test_packing_keeps_states_apart_and_in_order(drawn: list[Tree], data: st.DataObject) -> None:
    """A state is restored from its packed integer, which has the order of the code tuples and fits its words."""
    laid_out = spread(drawn)
    one, other = data.draw(states(laid_out)), data.draw(states(laid_out))
    packed = [laid_out.pack(of_codes(laid_out, codes)) for codes in (one, other)]
    assert [(packed[0] < packed[1]), (packed[0] == packed[1])] == [(one < other), (one == other)]
    assert max(packed).bit_length() <= WORD * laid_out.words
    back = laid_out.unpack(packed[0])
    assert list(map(exact, back)) == list(map(exact, of_codes(laid_out, one)))


@given(st.lists(trees(most=40), min_size=1, max_size=12), st.data())
def test_a_slot_is_read_from_its_word(drawn: list[Tree], data: st.DataObject) -> None:
    """The layout's position holds the code of the cell's value, and nothing more."""
    laid_out = spread(drawn)
    values = of_codes(laid_out, data.draw(states(laid_out)))
    packed = laid_out.pack(values).to_bytes(8 * laid_out.words, "big")
    words = [int.from_bytes(packed[at : at + 8], "big") for at in range(0, len(packed), 8)]
    for at, (cell, value) in enumerate(zip(laid_out.cells, values, strict=True)):
        first = laid_out.first_slot[at]
        places = laid_out.slots[first : first + len(cell.domain.slots)]
        assert places == cell.places
        assert [place.name for place in places] == [cell.name + slot.name for slot in cell.domain.slots]
        assert {place.cell for place in places} <= {at}
        assert tuple(words[each.word] >> each.shift & (1 << each.width) - 1 for each in places) == cell.domain.codes(
            value
        )
    for place in laid_out.slots:
        words[place.word] &= ~((1 << place.width) - 1 << place.shift)
    assert not any(words)


@given(st.lists(trees(most=40), min_size=1, max_size=12))
def test_slots_are_placed_one_after_the_other(drawn: list[Tree]) -> None:
    """From the top of the first word; a slot begins a new word only if it does not fit into the last one."""
    laid_out = spread(drawn)
    word, free = 0, WORD
    for place in laid_out.slots:
        if place.word == word:
            assert place.shift == free - place.width
        else:
            assert (place.word, place.shift) == (word + 1, WORD - place.width)
            assert place.width > free
        word, free = place.word, place.shift
    assert laid_out.words == word + 1
    assert laid_out.width == sum(place.width for place in laid_out.slots)


def test_a_packed_state_is_as_wide_as_its_slots_together() -> None:
    """Three bits for a plain variable of six, one bit for each of two keys, and none without a choice."""
    laid_out = layout(x=integers(0, 5), m=mapping("ab", booleans()), nothing=left_out(), single=integers(4, 4))
    assert (laid_out.width, laid_out.words) == (5, 1)
    assert laid_out.pack((5, True, False, LEFT_OUT, 4)) == 0b101_1_0 << 59
    assert laid_out.first_slot == [0, 1, 2, 3, 3]


def test_a_state_without_choice_is_one_word_of_zeros() -> None:
    """So every state has at least one word to store."""
    laid_out = layout(nothing=left_out(), single=integers(4, 4))
    assert (laid_out.slots, laid_out.width, laid_out.words) == ((), 0, 1)
    assert laid_out.pack((LEFT_OUT, 4)) == 0
    assert laid_out.unpack(0) == laid_out.first() == (LEFT_OUT, 4)


def test_a_slot_never_lies_across_a_border() -> None:
    """The widest slot fills a word of its own, whatever is free before it; a wider one is refused."""
    widest = integers(0, 2**64 - 1)
    laid_out = layout(x=booleans(), wide=widest, pair=record(Pair, left=integers(0, 2**63 - 1), right=range(4)))
    assert [(place.name, place.word, place.shift, place.width) for place in laid_out.slots] == [
        ("x", 0, 63, 1),
        ("wide", 1, 0, 64),
        ("pair.left", 2, 1, 63),
        ("pair.right", 3, 62, 2),
    ]
    assert (laid_out.words, laid_out.width) == (4, 130)
    state = (True, 2**64 - 1, Pair(7, 3))
    assert laid_out.unpack(laid_out.pack(state)) == state
    with pytest.raises(SpecificationError) as refused:
        layout(y=mapping("ab", lambda _: record(Pair, left=integers(0, 2**64), right=range(4))))
    assert str(refused.value) == ("variable y[a].left: it has about 2**64 values, more than 64 bits can hold")


def test_equal_values_are_unpacked_to_one_object() -> None:
    """The canonical one, whether the value or its bits came first."""
    laid_out = layout(some=subset_of(("a", "b", "c")), pair=sequence_of((7, 8), 2))
    packed = laid_out.pack((frozenset("ca"), (7, 7)))
    unpacked = laid_out.unpack(packed)
    assert all(one is other for one, other in zip(unpacked, laid_out.unpack(packed), strict=True))
    admitted = [cell.admit(value) for cell, value in zip(laid_out.cells, (frozenset("ac"), (7,) * 2), strict=True)]
    assert all(one is other for one, other in zip(unpacked, admitted, strict=True))


def test_cells_are_named_as_they_are_written() -> None:
    """A plain variable by its name, a key in brackets after it, in the order of declaration."""
    assert [cell.name for cell in shop().cells] == [
        "till",
        *(f"price[{key}]" for key in ("pear", "fig", "apple")),
        *(f"stock[{key}]" for key in ("pear", "fig", "apple")),
    ]
    keys = [("a", 1), ("b",), (), Pair("c", 1)]
    named = layout(x=mapping(keys, booleans()))
    assert [cell.name for cell in named.cells] == ["x[a, 1]", "x[b]", "x[()]", "x[Pair(left='c', right=1)]"]


def test_equal_values_of_other_types_are_distinguished() -> None:
    """True is refused even after 1, although a dictionary treats them as equal."""
    window, s = opened(layout(x=integers(0, 1)))
    for value, fits in ((1, True), (True, False), (1.0, False), (0, True), (False, False)):
        window.load((0,))
        s.x = value
        if fits:
            assert exact(window.changed()[0]) == exact(value)
        else:
            with pytest.raises(OutOfCell):
                window.changed()


def test_sets_with_equal_members_of_other_types_are_distinguished() -> None:
    """Also when they are packed, and whichever members the sets have in common."""
    laid_out = layout(x=subset_of(tuple_of(range(2), range(2))))
    window, s = opened(laid_out)
    first, shared = laid_out.first(), laid_out.unpack(laid_out.pack((frozenset({(0, 1)}),)))[0]
    for member, fits in (((1, 0), True), ((True, 0), False), ((1, 0), True), ((1.0, 0), False)):
        for take in (window.changed, partial(window.packed, laid_out.pack(first))):
            window.load(first)
            s.x = shared | {member}
            if fits:
                take()
            else:
                with pytest.raises(OutOfCell):
                    take()
