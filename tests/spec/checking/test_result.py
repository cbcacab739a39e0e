"""A result is the object of the JSON contract, and a verdict an exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from spec.checking import Result, check
from spec.checking.result import EXIT_CODES
from spec.language import Specification
from tests.spec.checking.toys import Bank, Clock, Counters, Table

# As the contract has it: an exact value, a type, or several types.
NUMBER = (int, float)
KINDS: dict[str, Any] = {
    "system": str,
    "constants": dict,
    "switches": dict,
    "release": (str, type(None)),
    "engine": str,
    "verdict": str,
    "distinct_states": int,
    "generated_states": int,
    "depth": int,
    "seconds": NUMBER,
    "states_per_second": int,
    "bytes_per_state": (*NUMBER, type(None)),
    "properties": list,
    "actions": list,
    "counterexample": (dict, type(None)),
}


def through_json(result: Result) -> dict[str, Any]:
    """What somebody else reads."""
    read: dict[str, Any] = json.loads(json.dumps(result.to_json()))
    return read


CHECKED: dict[str, tuple[Specification, dict[str, Any]]] = {
    "holds": (Clock(), {}),
    "bounded": (Clock(), {"max_depth": 3}),
    "vacuous": (Table(), {}),
    "deadlock": (Counters(), {"deadlock": True}),
    "violated": (Bank(rich=3), {"keep_going": True}),
}


@pytest.mark.parametrize("verdict", CHECKED)
def test_the_object_has_the_keys_and_kinds_of_the_contract(verdict: str) -> None:
    """Exactly these, in this order, whatever the verdict."""
    specification, asked = CHECKED[verdict]
    read = through_json(check(specification, **asked))
    assert read["verdict"] == verdict
    assert list(read) == list(KINDS)
    assert [name for name, kind in KINDS.items() if not isinstance(read[name], kind)] == []
    for each in read["properties"]:
        assert list(each) == ["name", "kind", "verdict", "length"]
        assert each["kind"] in {"invariant", "transition_invariant", "sometimes"}
        assert each["verdict"] in {"holds", "violated", "witnessed", "unwitnessed", "undecided"}
        assert (each["length"] is None) == (each["verdict"] in {"holds", "unwitnessed", "undecided"})
    for each in read["actions"]:
        assert list(each) == ["name", "enabled", "taken", "new_states"]
    if read["counterexample"] is not None:
        assert list(read["counterexample"]) == ["property", "length", "initial", "steps"]
        assert len(read["counterexample"]["steps"]) == read["counterexample"]["length"] - 1
        for step in read["counterexample"]["steps"]:
            assert list(step) == ["action", "parameters", "changes"]  # and "views", where there are some: test_views
            assert all(len(change) == 2 for change in step["changes"].values())


def test_a_result_by_hand() -> None:
    """A counter that may not reach two, to the last figure."""
    read = through_json(check(Counters(counters=2, top=2, at_most=1), engine="reference", release="1.0"))
    assert read.pop("seconds") >= 0
    assert read.pop("states_per_second") >= 0
    assert read == {
        "system": "counters",
        "constants": {"counters": 2, "top": 2, "at_most": 1, "closed_at": 1000},
        "switches": {},
        "release": "1.0",
        "engine": "reference",
        "verdict": "violated",
        "distinct_states": 6,
        "generated_states": 1 + 2 + 4,
        "depth": 3,
        "bytes_per_state": None,
        "properties": [
            {"name": "type_ok", "kind": "invariant", "verdict": "undecided", "length": None},
            {"name": "not_too_many", "kind": "invariant", "verdict": "violated", "length": 3},
        ],
        "actions": [{"name": "up", "enabled": 3, "taken": 6, "new_states": 5}],
        "counterexample": {
            "property": "not_too_many",
            "length": 3,
            "initial": {"count": {"0": 0, "1": 0}},
            "steps": [
                {"action": "up", "parameters": {"counter": 1}, "changes": {"count[1]": [0, 1]}},
                {"action": "up", "parameters": {"counter": 1}, "changes": {"count[1]": [1, 2]}},
            ],
        },
    }


def test_each_verdict_has_its_exit_code() -> None:
    """TLC's where it has them."""
    result = check(Clock())
    assert {verdict: replace(result, verdict=verdict).exit_code for verdict in EXIT_CODES} == {
        "holds": 0,
        "deadlock": 11,
        "violated": 12,
        "bounded": 20,
        "vacuous": 21,
        "interrupted": 130,
    }


def test_states_per_second_are_distinct_states_by_seconds() -> None:
    """Rounded; none where no time has passed."""
    result = replace(check(Clock()), distinct_states=1000)
    assert replace(result, seconds=0.3).states_per_second == 3333
    assert replace(result, seconds=0.0).states_per_second == 0


ANSWER = """
import json
from spec.checking import check
from spec.language import Specification, action, constant, integers, invariant, require, subset_of, variable

class Basket(Specification):
    liked: frozenset = constant(frozenset({"plum", "kiwi", "fig", "pear"}), "what somebody likes")

    @variable
    def fruit(self):
        return subset_of(("pear", "fig", "kiwi", "plum"))

    @variable
    def eaten(self):
        return integers(0, 9)

    @action(which=subset_of(("plum", "kiwi")))
    def put(self, s, which):
        s.fruit = frozenset(s.fruit | which | {"fig"})

    @action
    def eat(self, s):
        require(len(s.fruit) > 2)
        for fruit in s.fruit:
            s.eaten = len(fruit)
            break

    @action
    def spoil(self, s):
        require(s.eaten == 3)
        s.fruit = frozenset({"worm", "maggot", "larva", "fly"})

    @invariant
    def not_three_eaten(self, s):
        return s.eaten != 4 or "plum" not in s.fruit

for asked in ({}, {"properties": ["type_ok"]}):
    result = check(Basket(), **asked).to_json()
    del result["seconds"], result["states_per_second"]
    print(json.dumps(result))
print(check(Basket(), properties=["type_ok"]).counterexample.failing)
"""


def test_a_result_does_not_depend_on_how_strings_hash() -> None:
    """Figures, coverage and counterexample are the same in processes that hash strings in different ways."""
    told = [
        subprocess.run(
            [sys.executable, "-c", ANSWER],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert [json.loads(line)["counterexample"]["property"] for line in told[0][:2]] == ["type_ok", "type_ok"]
