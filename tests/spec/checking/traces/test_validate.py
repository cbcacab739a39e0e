"""Following a recorded trace: it is confirmed, or the report says where and how it leaves the specification."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from spec.checking import Replay, check
from spec.checking.traces.itf import RecordedState, RecordedTrace
from spec.checking.traces.validate import Validation, validate
from spec.language import Specification, State, Step, action, integers, require, sometimes, variable
from tests.rows import rows
from tests.spec.checking.toys import Bank, Jugs, Ring
from tests.spec.checking.traces.test_replay import DOWN, Lift, up


class GateState(State):
    """The state of `Gate`."""

    coins: int = variable("How many were thrown in.", of=lambda self: integers(0, 3))


class Gate(Specification[GateState]):
    """It opens for two coins; after that nothing is enabled."""

    @action
    def insert(self, s: GateState) -> None:
        require(s.coins < 2)
        s.coins += 1

    @action
    def open(self, s: GateState) -> None:
        self.paid(s)
        s.coins = 3

    def paid(self, s: GateState) -> None:
        """The guard is in a method of its own."""
        require(
            s.coins == 2,
        )

    @sometimes
    def is_open(self, s: GateState) -> bool:
        """It opens."""
        return s.coins == 3


def recorded(specification: Any, **asked: Any) -> RecordedTrace:
    """The counterexample of the reference engine."""
    found = check(specification, engine="reference", **asked).counterexample
    assert found is not None
    return RecordedTrace.of(specification, found)


def run(specification: Any, *steps: Step, decided: str = "") -> RecordedTrace:
    """A run of these steps, recorded."""
    replay = Replay(specification)
    for step in steps:
        replay.do(step)
    return RecordedTrace.along(replay, decided)


def changed(trace: RecordedTrace, index: int, **changes: Any) -> RecordedTrace:
    """The trace with one state replaced."""
    states = list(trace.states)
    states[index] = states[index]._replace(**changes)
    return replace(trace, states=tuple(states))


INSERT, OPEN = Step("insert", {}), Step("open", {})
OPENED = run(Gate(), INSERT, INSERT, OPEN, decided="is_open")


def left(followed: Validation) -> tuple[int, str]:
    """Where and how the trace leaves, after checking that the exit code and JSON agree."""
    document = followed.to_json()
    assert (followed.exit_code, document["verdict"], document["state"]) == (12, "leaves", followed.at)
    assert str(followed).endswith(f"state {followed.at}: {document['why']}")
    return followed.at, followed.left


@pytest.mark.parametrize(
    "trace",
    [
        (Jugs(), recorded(Jugs())),
        (Bank(rich=3), recorded(Bank(rich=3))),
        (Lift(floors=1, busy=9), recorded(Lift(floors=1, busy=9), properties=["type_ok"])),
        (Gate(), recorded(Gate(), deadlock=True, properties=["deadlock"])),
        (Gate(), OPENED),
        (Gate(), run(Gate())),
    ],
    ids=["a violation", "values of every kind", "a domain left", "a deadlock", "a witness", "a run"],
)
def test_a_valid_trace_is_followed_to_its_end(trace: tuple[Specification[Any], RecordedTrace]) -> None:
    """Its end is as recorded, and recording it again gives the same trace."""
    specification, known = trace
    followed = validate(known, specification)
    assert (followed.left, followed.exit_code, followed.at) == ("", 0, len(known.states))
    assert followed.to_json()["verdict"] == "follows"
    if followed.trace is not None:
        assert RecordedTrace.of(specification, followed.trace) == known


def test_the_end_is_reported() -> None:
    """A witness is witnessed, any other property breaks."""
    assert str(validate(OPENED, Gate())) == (
        "gate: this is a run of it, in 4 states, and is_open is witnessed in the last, as recorded"
    )
    assert str(validate(recorded(Jugs()), Jugs())).endswith(
        "in 7 states, and not_four breaks in the last, as recorded"
    )
    assert str(validate(run(Jugs()), Jugs())) == "jugs: this is a run of it, in 1 states"


def test_a_trace_passes_unrelated_exceptions() -> None:
    """Only the trace's own steps are taken. Exceptions elsewhere, hidden from `check` by a bound, do not matter."""
    lift = Lift(busy=0, rope=0)
    assert str(validate(recorded(lift), lift)).endswith("not_in_the_cellar breaks in the last, as recorded")


def test_a_guard_that_refuses_is_shown() -> None:
    """As in the source, with the values that the action read."""
    states = (*OPENED.states[:2], OPENED.states[3])
    followed = validate(replace(OPENED, states=states), Gate())
    assert followed.refusal is not None
    assert followed.refusal.guard == "require( s.coins == 2, )"
    assert followed.refusal.looked_at == {"coins": 1}
    file, line = followed.refusal.place.split(", line ")
    assert (file, line.isdecimal()) == ("test_validate.py", True)
    where, why = left(followed)
    assert (where, why.replace(line, "N")) == (
        3,
        "open() cannot be done: require( s.coins == 2, ) (test_validate.py, line N) does not hold, where coins = 1",
    )
    assert followed.to_json()["looked_at"] == {"coins": 1}


def test_a_bound_does_not_refuse() -> None:
    """It limits the search, not the system."""
    high = run(Lift(), up(2), up(2))
    assert validate(high, Lift(busy=0)).exit_code == 0


INTEGER = {"#bigint": "9"}
WRONG = {
    "another beginning": (
        changed(OPENED, 0, variables={"coins": INTEGER}),
        (1, "the specification has no such initial state: coins is 0, and was recorded as 9"),
    ),
    "another state": (
        changed(OPENED, 2, variables={"coins": INTEGER}),
        (3, "insert() leads elsewhere: coins is 2, and was recorded as 9"),
    ),
    "a variable too many": (
        changed(OPENED, 1, variables={"coins": {"#bigint": "1"}, "notes": INTEGER}),
        (2, "insert() leads elsewhere: the specification has no notes"),
    ),
    "a variable too few": (changed(OPENED, 1, variables={}), (2, "insert() leads elsewhere: coins is not recorded")),
    "no such action": (
        changed(OPENED, 1, action="push"),
        (2, "there is no action push; there are insert, open"),
    ),
    "no such parameter": (
        changed(OPENED, 1, picks={"by": INTEGER}),
        (2, "there is no insert(by=9); it takes no parameters"),
    ),
    "another end": (replace(OPENED, property="full"), (4, "there is no property full; there are ")),
    "no end yet": (
        replace(OPENED, states=OPENED.states[:3]),
        (3, "is_open is neither broken nor witnessed at the end"),
    ),
    "no deadlock": (
        replace(OPENED, states=OPENED.states[:3], property="deadlock"),
        (3, "it is not a deadlock: open() can be done"),
    ),
}


@rows("wrong", [*WRONG])
def test_an_invalid_step_is_reported(wrong: str) -> None:
    """In one line, with the state where the trace leaves."""
    trace, (at, said) = WRONG[wrong]
    where, why = left(validate(trace, Gate()))
    assert (where, why[: len(said)]) == (at, said)
    assert "\n" not in why


def test_a_property_decided_before_the_end_is_reported() -> None:
    """The trace is longer than its finding needs."""
    below = run(Lift(), DOWN, up(1), decided="not_in_the_cellar")
    assert left(validate(below, Lift())) == (3, "not_in_the_cellar was already decided by state 2")


def test_a_step_out_of_the_domains_is_reported() -> None:
    """For example, if a constant is smaller than when it was recorded. The rest of the file cannot be followed."""
    high = run(Lift(floors=4), up(2), up(2), DOWN)
    assert left(validate(high, Lift(floors=3))) == (
        3,
        "up(by=2) leaves the domains: floor: 4 is not an integer of -1..3",
    )


def test_the_first_state_must_be_initial() -> None:
    """The recorded values select it."""
    ring = Ring()
    states = RecordedTrace.along(Replay(ring, {"value": {0: 1, 1: 0, 2: 0}}))
    assert validate(states, ring).exit_code == 0
    elsewhere = replace(states, states=(RecordedState({"value": {"#map": []}}, "init", {}),))
    assert left(validate(elsewhere, ring)) == (1, "the specification has no such initial state: it is none of 27")


ANN = "Account(owner=ann, money=0, note=())"
ELSEWHERE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a key": (lambda each: each.update({"#map": []}), "account[ann] is there, and was not"),
    "a field": (
        lambda each: each["#map"][0][1]["value"].update(money=INTEGER),
        "account[ann].money is 0, and was recorded as 9",
    ),
    "a class": (
        lambda each: each["#map"][0][1].update(tag="Purse"),
        f"account[ann] is {ANN}, and was recorded as {ANN.replace('Account', 'Purse')}",
    ),
}


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_the_place_that_differs_is_named(elsewhere: str) -> None:
    """Down to the field of a record in a mapping."""
    change, said = ELSEWHERE[elsewhere]
    opened = run(Bank(), Step("open_account", {"who": "ann"}))
    variables = json.loads(json.dumps(opened.states[1].variables))
    change(variables["account"])
    _, why = left(validate(changed(opened, 1, variables=variables), Bank()))
    assert why == f"open_account(who='ann') leads elsewhere: {said}"
