"""A trace tells, step by step, what changed; whoever does the steps again comes to the same end."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.checking import EvaluationFailed, Model, Trace, check
from spec.checking.check import silent
from spec.checking.exploration import Options
from spec.checking.model import TYPE_OK
from spec.checking.reference import ReferenceEngine
from spec.checking.traces.paths import as_variables, differences, trace
from spec.language import (
    ABSENT,
    LEFT_OUT,
    Specification,
    State,
    Total,
    action,
    integers,
    invariant,
    left_out,
    mapping,
    record,
    require,
    sequence_of,
    variable,
)
from tests.rows import rows
from tests.spec.checking.test_reference import tables
from tests.spec.checking.toys import Account, Bank, Counters, Jugs, Philosophers, Ring, Row, Table


def traces(specification: Specification, *names: str) -> dict[str, Trace]:
    """The trace of each discovery about these properties, or about all."""
    model = Model(specification)
    numbers = model.numbers(names or (each.name for each in model.properties))
    found = ReferenceEngine().explore(model, Options(numbers, keep_going=True), silent)
    return {model.properties[n].name: trace(model, n, discovery.path) for n, discovery in found.discoveries.items()}


# A trace by hand.


def test_a_trace_tells_each_step_and_what_it_changed() -> None:
    """As deep as the fields of records, what came and what went; and what the action said."""
    told = traces(Bank(rich=2))["not_rich"]
    assert (told.broken, told.sentence, told.length) == ("not_rich", "Nobody has too much.", 3)
    assert told.initial == {"account": {}, "till": 4, "known": frozenset({"zoe"})}
    assert [(str(each.step), each.sentences, dict(each.changes)) for each in told.steps] == [
        (
            "open_account(who='bob')",
            ("welcome", "an account is opened"),
            {
                "account[bob]": (ABSENT, Account("bob", 0)),
                "known": (frozenset({"zoe"}), frozenset({"zoe", "bob"})),
            },
        ),
        (
            "pay(who='bob', much=2)",
            (),
            {"account[bob].money": (0, 2), "account[bob].note": ((), (1,)), "till": (4, 2)},
        ),
    ]
    assert (told.failing, told.looked_at) == ("who = bob", {"account[bob]": Account("bob", 2, (1,))})


def test_a_trace_of_a_step_shows_both_sides() -> None:
    """What a property of steps looked at before, and what after."""
    told = traces(Bank())["nobody_closes_with_money"]
    assert str(told.steps[-1].step) == "close(who='ann')"
    assert told.steps[-1].changes == {"account[ann]": (Account("ann", 1, (1,)), ABSENT), "till": (3, 4)}
    assert told.failing == "who = ann"
    assert told.looked_at == {"before, account[ann]": Account("ann", 1, (1,)), "account[ann]": ABSENT}


def test_the_parameters_of_a_property_are_told() -> None:
    """Those with which it fails first, in the order of their domain, and only what it then looked at."""
    told = traces(Philosophers())
    assert set(told) == {"deadlock"}
    assert (told["deadlock"].failing, told["deadlock"].looked_at, told["deadlock"].sentence) == (
        "",
        {},
        "In every state some action is enabled.",
    )


class CountingState(State):
    """Of `Counting`."""

    counted: Total[str, int] = variable("The counted.", of=lambda self: mapping(("a", "b", "c"), integers(0, 1)))


class Counting(Specification[CountingState]):
    """Three counters, of which the one between counts."""

    @action
    def count(self, s: CountingState) -> None:
        s.counted["b"] = 1

    @invariant
    def none_by_value(self, s: CountingState) -> bool:
        return all(number < 1 for number in s.counted.values())

    @invariant
    def none_by_item(self, s: CountingState) -> bool:
        return not any(number for _, number in s.counted.items())


@pytest.mark.parametrize("name", ["none_by_value", "none_by_item"])
def test_values_that_nobody_came_to_were_not_looked_at(name: str) -> None:
    """A loop over a mapping that is left early has read what it came to: engines learn no more than that."""
    told = traces(Counting(), name)[name]
    assert told.looked_at == {"counted[a]": 0, "counted[b]": 1}


def test_a_step_that_changes_nothing_has_no_changes() -> None:
    """It is told as a step, with nothing behind it."""
    model = Model(Bank())
    number = model.numbers(["not_rich"])[0]
    ((initial, _),) = list(model.initial_states())
    assert initial is not None
    told = trace(model, number, (initial, [(3, 0), (0, 1), (3, 0)]))
    assert [(str(each.step), bool(each.changes)) for each in told.steps] == [
        ("look()", False),
        ("open_account(who='bob')", True),
        ("look()", False),
    ]


def test_a_witness_has_a_trace_too() -> None:
    """It says how it comes about; nothing fails."""
    table = Table(size=3, rows=(Row(0, "b", 1, 1), Row(1, "a", 0, 2)), seen=(2,))
    told = traces(table, "to_be_seen")["to_be_seen"]
    assert ([str(each.step) for each in told.steps], told.failing, told.looked_at) == (
        ["b(p=1)", "a(p=0)"],
        "",
        {},
    )


def test_a_trace_as_json() -> None:
    """Records as objects, absent things as null, sets and tuples as lists, each change as a pair."""
    told = traces(Bank(rich=2))["not_rich"].to_json()
    assert json.loads(json.dumps(told)) == {
        "property": "not_rich",
        "length": 3,
        "initial": {"account": {}, "till": 4, "known": ["zoe"]},
        "steps": [
            {
                "action": "open_account",
                "parameters": {"who": "bob"},
                "changes": {
                    "account[bob]": [None, {"owner": "bob", "money": 0, "note": []}],
                    "known": [["zoe"], ["zoe", "bob"]],
                },
            },
            {
                "action": "pay",
                "parameters": {"who": "bob", "much": 2},
                "changes": {"account[bob].money": [0, 2], "account[bob].note": [[], [1]], "till": [4, 2]},
            },
        ],
    }


# Traces can be done again.


def _replaced(value: Any, fields: list[str], new: Any) -> Any:
    """A record with one field, however deep, replaced."""
    if not fields:
        return new
    return value._replace(**{fields[0]: _replaced(getattr(value, fields[0]), fields[1:], new)})


def folded(told: Trace) -> list[dict[str, Any]]:
    """The states of a trace, made of nothing but its first state and its changes."""
    cells: dict[str, Any] = {}
    for name, value in told.initial.items():
        if isinstance(value, dict):
            cells |= {f"{name}[{key}]": part for key, part in value.items()}
        else:
            cells[name] = value
    states = [cells]
    for each in told.steps:
        cells = dict(cells)
        for place, (old, new) in each.changes.items():
            matched = re.fullmatch(r"(\w+(?:\[.*\])?)((?:\.\w+)*)", place)
            assert matched is not None
            cell, fields = matched[1], matched[2].split(".")[1:]
            was = cells.get(cell, ABSENT)
            for field in fields:
                was = getattr(was, field)
            assert was == old
            cells[cell] = _replaced(cells.get(cell), fields, new)
        states.append({cell: value for cell, value in cells.items() if value is not ABSENT})
    return states


def as_state(model: Model, cells: dict[str, Any]) -> tuple[Any, ...]:
    """Cells by name as a state of the model, every value canonical."""
    return tuple(cell.admit(cells.get(cell.name, ABSENT)) for cell in model.layout.cells)


def breaks(model: Model, told: Trace) -> bool:
    """Whether the folded trace is a run of the model, at the end of which the property is decided."""
    (number,) = model.numbers([told.broken])
    judged = model.properties[number]
    cells = folded(told)
    outside = told.broken == TYPE_OK
    states = [as_state(model, each) for each in (cells[:-1] if outside else cells)]
    assert states[0] in [state for state, _ in model.initial_states()]
    for at, each in enumerate(told.steps):
        expansion = model.expand(states[at], [number] if judged.over_steps else [])
        (taken,) = [
            taken for taken in expansion.steps if model.actions[taken.action].step(taken.instance) == each.step
        ]
        if at + 1 < len(states):
            assert taken.after == states[at + 1]
        else:
            return outside and taken.after is None and taken.out_of_domain == told.failing
        if judged.over_steps and at + 1 == len(told.steps):
            return number in taken.found
    if told.broken == "deadlock":
        expansion = model.expand(states[-1])
        return not expansion.steps and not expansion.closed
    return number in model.found_in(states[-1], [number])


@given(tables())
def test_every_trace_of_a_table_can_be_done_again(table: Table) -> None:
    """Folding the changes over the initial state gives a run that ends where the property is decided."""
    told = traces(table)
    assert [name for name, each in told.items() if not breaks(Model(table), each)] == []


REPLAYED: list[Specification] = [
    Jugs(),
    Counters(at_most=4),
    Philosophers(philosophers=4),
    Ring(machines=4, values=2),
    *(Bank(rich=rich) for rich in (1, 2, 3)),
]


@rows("specification", {repr(each): each for each in REPLAYED})
def test_every_trace_of_a_toy_can_be_done_again(specification: Specification) -> None:
    """Whatever its values: mappings, records, sets."""
    told = traces(specification)
    model = Model(specification)
    assert {name: breaks(model, each) for name, each in told.items()} == dict.fromkeys(told, True)
    assert all(each.length == len(folded(each)) for each in told.values())


# What was never taken over.


class Letter(NamedTuple):
    """A record that is left out in part, first of all."""

    stamp: Any
    words: int


class PostState(State):
    """Of `Post`."""

    last: Letter = variable("The last.", of=lambda self: record(Letter, stamp=left_out(), words=range(3)))
    box: tuple[Letter, ...] = variable(
        "The box.", of=lambda self: sequence_of(record(Letter, stamp=left_out(), words=range(3)), longest=2)
    )
    stamps: Any = variable("The stamps.", of=lambda self: left_out())
    sent: int = variable("The sent.", of=lambda self: integers(0, 3))


class Post(Specification[PostState]):
    """Letters in a box that overflows."""

    @action
    def post(self, s: PostState) -> None:
        s.stamps = 17
        s.last = Letter(17, 5 if s.sent > 1 else 1)
        s.box = (Letter(17, 2), *s.box)
        s.sent += 1


def test_what_is_left_out_does_not_stand_in_the_way_of_a_trace() -> None:
    """A step that leaves a domain is told although what it wrote still has what is to be left out."""
    result = check(Post())
    assert result.counterexample is not None
    assert (result.counterexample.broken, result.counterexample.failing) == (
        "type_ok",
        "last: Letter(stamp=17, words=5) is not a Letter of its domain: its words is 5 is not an integer of 0..2",
    )
    last = result.counterexample.steps[-1].changes
    assert (last["last.words"], last["sent"]) == ((1, 5), (2, 3))
    assert set(last) == {"last.words", "sent", "box"}
    assert json.dumps(result.counterexample.to_json())


class WhimState(State):
    """Of `Whim`."""

    x: int = variable("The x.", of=lambda self: integers(0, 40))


class Whim(Specification[WhimState]):
    """It does once what it will not do again, where no inspection sees it."""

    @action
    def up(self, s: WhimState) -> None:
        calls = globals()["CALLS"]
        calls.append(1)
        require(len(calls) != 80)
        s.x += 1


CALLS: list[int] = []


def test_a_trace_that_cannot_be_done_again_is_no_trace() -> None:
    """An action that is not as it was is told as what it is: not deterministic."""
    with pytest.raises(EvaluationFailed) as failure:
        check(Whim())
    assert str(failure.value).startswith("up(): it is not deterministic")
    assert failure.value.state.startswith("x = ")


# Its parts.


class Inner(NamedTuple):
    """A record."""

    a: Any
    b: Any


DIFFERENCES: list[tuple[str, Any, Any, dict[str, tuple[Any, Any]]]] = [
    ("nothing", 3, 3, {}),
    ("a value", 3, 4, {"x": (3, 4)}),
    ("one of another type that is equal", 1, True, {"x": (1, True)}),
    ("a field", Inner(1, 2), Inner(1, 3), {"x.b": (2, 3)}),
    ("both fields", Inner(1, 2), Inner(2, 1), {"x.a": (1, 2), "x.b": (2, 1)}),
    ("a field of a field", Inner(Inner(1, 2), 3), Inner(Inner(1, 9), 3), {"x.a.b": (2, 9)}),
    ("a record that comes", None, Inner(1, 2), {"x": (None, Inner(1, 2))}),
    ("a record for a tuple", (1, 2), Inner(1, 2), {"x": ((1, 2), Inner(1, 2))}),
    ("a record inside a tuple", (Inner(1, 2),), (Inner(1, 3),), {"x": ((Inner(1, 2),), (Inner(1, 3),))}),
    ("what is left out", LEFT_OUT, 5, {}),
    ("what is left out of a record", Inner(LEFT_OUT, 1), Inner(5, 2), {"x.b": (1, 2)}),
    ("a key that goes", 1, ABSENT, {"x": (1, ABSENT)}),
]


@rows("old, new, expected", {name: row for name, *row in DIFFERENCES})
def test_differences_are_told_as_deep_as_records_go(old: Any, new: Any, expected: dict[str, tuple[Any, Any]]) -> None:
    """Each place that changed, and only those."""
    assert dict(differences("x", old, new)) == expected


def test_a_state_as_its_variables() -> None:
    """Mappings with the keys that are there."""
    model = Model(Bank())
    window = model.window()
    s: Any = window.load(model.layout.first())
    window.writable("a test")
    s.account["bob"] = Account("bob", 1)
    assert as_variables(model, window.changed()) == {
        "account": {"bob": Account("bob", 1)},
        "till": 0,
        "known": frozenset(),
    }


@given(st.integers(0, 4))
def test_a_trace_of_length_one_has_no_steps(start: int) -> None:
    """An initial state that is bad."""
    told = traces(Table(size=5, starts=(start,), bad=(start,)), "good")["good"]
    assert (told.length, told.steps, told.initial, told.looked_at) == (1, (), {"at": start}, {"at": start})
