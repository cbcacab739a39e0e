"""A trace shows what each step changed; repeating the steps leads to the same end."""

from __future__ import annotations

import json
import re
import sys
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


def test_a_trace_shows_each_step_and_what_it_changed() -> None:
    """Changes include additions and removals, down to the fields of records. Steps have what their actions said."""
    found = traces(Bank(rich=2))["not_rich"]
    assert (found.broken, found.sentence, found.length) == ("not_rich", "Nobody has too much.", 3)
    assert found.initial == {"account": {}, "till": 4, "known": frozenset({"zoe"})}
    assert [(str(each.step), each.sentences, dict(each.changes)) for each in found.steps] == [
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
    assert (found.failing, found.looked_at) == ("who = bob", {"account[bob]": Account("bob", 2, (1,))})


def test_a_trace_of_a_step_shows_both_sides() -> None:
    """A property of steps shows what it read before and after."""
    found = traces(Bank())["nobody_closes_with_money"]
    assert str(found.steps[-1].step) == "close(who='ann')"
    assert found.steps[-1].changes == {"account[ann]": (Account("ann", 1, (1,)), ABSENT), "till": (3, 4)}
    assert found.failing == "who = ann"
    assert found.looked_at == {"before, account[ann]": Account("ann", 1, (1,)), "account[ann]": ABSENT}


def test_traces_name_the_parameters_of_the_property() -> None:
    """The first that fail, in the order of their domain, and only what the property read for them."""
    found = traces(Philosophers())
    assert set(found) == {"deadlock"}
    assert (found["deadlock"].failing, found["deadlock"].looked_at, found["deadlock"].sentence) == (
        "",
        {},
        "In every state some action is enabled.",
    )


class CountingState(State):
    """The state of `Counting`."""

    counted: Total[str, int] = variable("The counted.", of=lambda self: mapping(("a", "b", "c"), integers(0, 1)))


class Counting(Specification[CountingState]):
    """Three counters; only the middle one counts."""

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
def test_values_after_an_early_exit_were_not_looked_at(name: str) -> None:
    """A loop that leaves a mapping early has read only the values up to there. Engines learn no more than that."""
    found = traces(Counting(), name)[name]
    assert found.looked_at == {"counted[a]": 0, "counted[b]": 1}


def test_a_step_that_changes_nothing_has_no_changes() -> None:
    """The trace shows the step, without changes."""
    model = Model(Bank())
    number = model.numbers(["not_rich"])[0]
    ((initial, _),) = list(model.initial_states())
    assert initial is not None
    found = trace(model, number, (initial, [(3, 0), (0, 1), (3, 0)]))
    assert [(str(each.step), bool(each.changes)) for each in found.steps] == [
        ("look()", False),
        ("open_account(who='bob')", True),
        ("look()", False),
    ]


def test_a_witness_has_a_trace_too() -> None:
    """It shows how the witness is reached; nothing fails."""
    table = Table(size=3, rows=(Row(0, "b", 1, 1), Row(1, "a", 0, 2)), seen=(2,))
    found = traces(table, "to_be_seen")["to_be_seen"]
    assert ([str(each.step) for each in found.steps], found.failing, found.looked_at) == (
        ["b(p=1)", "a(p=0)"],
        "",
        {},
    )


def test_a_trace_as_json() -> None:
    """Records are objects, absent values null, sets and tuples lists, and each change a pair."""
    document = traces(Bank(rich=2))["not_rich"].to_json()
    assert json.loads(json.dumps(document)) == {
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


# Repeating traces.


def _replaced(value: Any, fields: list[str], new: Any) -> Any:
    """A record with one field, at any depth, replaced."""
    if not fields:
        return new
    return value._replace(**{fields[0]: _replaced(getattr(value, fields[0]), fields[1:], new)})


def folded(path: Trace) -> list[dict[str, Any]]:
    """The states of a trace, built from its first state and its changes alone."""
    cells: dict[str, Any] = {}
    for name, value in path.initial.items():
        if isinstance(value, dict):
            cells |= {f"{name}[{key}]": part for key, part in value.items()}
        else:
            cells[name] = value
    states = [cells]
    for each in path.steps:
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
    """Cells by name as a state of the model, with canonical values."""
    return tuple(cell.admit(cells.get(cell.name, ABSENT)) for cell in model.layout.cells)


def breaks(model: Model, path: Trace) -> bool:
    """Whether the folded trace is a run of the model whose last state or step decides the property."""
    (number,) = model.numbers([path.broken])
    judged = model.properties[number]
    cells = folded(path)
    outside = path.broken == TYPE_OK
    states = [as_state(model, each) for each in (cells[:-1] if outside else cells)]
    assert states[0] in [state for state, _ in model.initial_states()]
    for at, each in enumerate(path.steps):
        expansion = model.expand(states[at], [number] if judged.over_steps else [])
        (taken,) = [
            taken for taken in expansion.steps if model.actions[taken.action].step(taken.instance) == each.step
        ]
        if at + 1 < len(states):
            assert taken.after == states[at + 1]
        else:
            return outside and taken.after is None and taken.out_of_domain == path.failing
        if judged.over_steps and at + 1 == len(path.steps):
            return number in taken.found
    if path.broken == "deadlock":
        expansion = model.expand(states[-1])
        return not expansion.steps and not expansion.bounded
    return number in model.found_in(states[-1], [number])


@given(tables())
def test_every_trace_of_a_table_can_be_repeated(table: Table) -> None:
    """Applying the changes to the initial state gives a run whose end decides the property."""
    found = traces(table)
    assert [name for name, each in found.items() if not breaks(Model(table), each)] == []


REPLAYED: list[Specification] = [
    Jugs(),
    Counters(at_most=4),
    Philosophers(philosophers=4),
    Ring(machines=4, values=2),
    *(Bank(rich=rich) for rich in (1, 2, 3)),
]


@rows("specification", {repr(each): each for each in REPLAYED})
def test_every_trace_of_a_toy_can_be_repeated(specification: Specification) -> None:
    """With mappings, records and sets as values."""
    found = traces(specification)
    model = Model(specification)
    assert {name: breaks(model, each) for name, each in found.items()} == dict.fromkeys(found, True)
    assert all(each.length == len(folded(each)) for each in found.values())


# Left-out values, and steps that do not repeat.


class Letter(NamedTuple):
    """A record that leaves out a field, the first one."""

    stamp: Any
    words: int


class PostState(State):
    """The state of `Post`."""

    last: Letter = variable("The last.", of=lambda self: record(Letter, stamp=left_out(), words=range(3)))
    box: tuple[Letter, ...] = variable(
        "The box.", of=lambda self: sequence_of(record(Letter, stamp=left_out(), words=range(3)), longest=2)
    )
    stamps: Any = variable("The stamps.", of=lambda self: left_out())
    sent: int = variable("The sent.", of=lambda self: integers(0, 3))


class Post(Specification[PostState]):
    """Letters are put into a box that overflows."""

    @action
    def post(self, s: PostState) -> None:
        s.stamps = 17
        s.last = Letter(17, 5 if s.sent > 1 else 1)
        s.box = (Letter(17, 2), *s.box)
        s.sent += 1


def test_places_left_out_do_not_prevent_a_trace() -> None:
    """A trace shows a step that leaves a domain, although the written value still has the left-out field."""
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
    """The state of `Whim`."""

    x: int = variable("The x.", of=lambda self: integers(0, 40))


class Whim(Specification[WhimState]):
    """It steps once and then refuses to, in a way that no inspection notices."""

    @action
    def up(self, s: WhimState) -> None:
        calls = vars(sys.modules["string"]).setdefault("WHIM", [])
        calls.append(1)
        require(len(calls) != 80)
        s.x += 1


def test_an_unrepeatable_trace_is_an_error() -> None:
    """An action that changes its mind is reported as not deterministic."""
    with pytest.raises(EvaluationFailed) as failure:
        check(Whim())
    assert str(failure.value).startswith("up(): it is not deterministic")
    assert failure.value.state.startswith("x = ")


# The parts of a trace.


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
    ("a left-out value", LEFT_OUT, 5, {}),
    ("a left-out field of a record", Inner(LEFT_OUT, 1), Inner(5, 2), {"x.b": (1, 2)}),
    ("a key that goes", 1, ABSENT, {"x": (1, ABSENT)}),
]


@rows("old, new, expected", {name: row for name, *row in DIFFERENCES})
def test_differences_within_records_are_shown(old: Any, new: Any, expected: dict[str, tuple[Any, Any]]) -> None:
    """Each place that changed, and no other."""
    assert dict(differences("x", old, new)) == expected


def test_a_state_as_its_variables() -> None:
    """Mappings have the keys that are present."""
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
    """The initial state is bad."""
    found = traces(Table(size=5, starts=(start,), bad=(start,)), "good")["good"]
    assert (found.length, found.steps, found.initial, found.looked_at) == (1, (), {"at": start}, {"at": start})
