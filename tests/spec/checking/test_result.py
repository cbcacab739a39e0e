"""A result follows the JSON contract, and a verdict has an exit code."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest

from spec.checking import Result, Simulation, Trace, check, simulate
from spec.checking.exploration import Jobs
from spec.checking.result import EXIT_CODES, LIBRARIES, versions
from spec.language import Specification
from tests.rows import rows
from tests.spec.checking.toys import Bank, Clock, Counters, Table
from tests.spec.checking.traces.test_trace import Post

# The contract: an exact value, a type, or several types.
NUMBER = (int, float)
KINDS: dict[str, Any] = {
    "system": str,
    "constants": dict,
    "switches": dict,
    "release": (str, type(None)),
    "leaves_out": str,
    "bounds": dict,
    "symmetry": bool,
    "compared": (str, type(None)),
    "accept_vacuous": list,
    "engine": str,
    "jobs": (dict, type(None)),
    "versions": dict,
    "verdict": str,
    "why": (str, type(None)),
    "distinct_states": int,
    "generated_states": int,
    "depth": int,
    "interned": dict,
    "seconds": NUMBER,
    "compile_seconds": NUMBER,
    "states_per_second": int,
    "bytes_per_state": (*NUMBER, type(None)),
    "properties": list,
    "actions": list,
    "counterexample": (dict, type(None)),
    "counterexamples": list,
    "shown": (dict, type(None)),
    "opaque_rules": list,
    "known": list,
    "without_effect": list,
    "folds": (str, type(None)),
    "advice": (str, type(None)),
    "profile": list,
}


def through_json(result: Result) -> dict[str, Any]:
    """The result as another program reads it."""
    read: dict[str, Any] = json.loads(json.dumps(result.to_json()))
    return read


CHECKED: dict[str, tuple[Specification, dict[str, Any]]] = {
    "holds": (Clock(), {}),
    "bounded": (Clock(), {"max_depth": 3}),
    "vacuous": (Table(), {}),
    "deadlock": (Counters(), {"deadlock": True}),
    "violated": (Bank(rich=3), {"keep_going": True}),
}


@rows("verdict", [*CHECKED])
def test_the_object_has_the_keys_and_kinds_of_the_contract(verdict: str) -> None:
    """Exactly these keys, in this order, for every verdict."""
    specification, asked = CHECKED[verdict]
    read = through_json(check(specification, **asked))
    assert read["verdict"] == verdict
    assert list(read) == list(KINDS)
    assert [name for name, kind in KINDS.items() if not isinstance(read[name], kind)] == []
    assert list(read["bounds"]) == ["max_states", "max_depth"]
    assert (read["why"] is None) == (verdict == "holds")
    for each in read["properties"]:
        assert list(each) == ["name", "kind", "verdict", "length"]
        assert each["kind"] in {"invariant", "transition_invariant", "sometimes"}
        assert each["verdict"] in {"holds", "violated", "witnessed", "unwitnessed", "undecided"}
        assert (each["length"] is None) == (each["verdict"] in {"holds", "unwitnessed", "undecided"})
    for each in read["actions"]:
        assert list(each) == ["name", "enabled", "taken", "new_states", "bounded"]
    assert read["counterexample"] == next(iter(read["counterexamples"]), None)
    if read["counterexample"] is not None:
        assert list(read["counterexample"]) == ["property", "length", "initial", "steps"]
        assert len(read["counterexample"]["steps"]) == read["counterexample"]["length"] - 1
        for step in read["counterexample"]["steps"]:
            assert list(step) == ["action", "parameters", "changes"]  # and "views", if any
            assert all(len(change) == 2 for change in step["changes"].values())


class Released(Counters):
    """It leaves things out in a release."""

    name = "counters"
    leaves_out = "Everything else to count."
    releases = {"1.0": {"counters": 2, "at_most": 1}}


def test_a_result_by_hand() -> None:
    """A counter that must not reach two: every figure."""
    read = through_json(check(Released(counters=2, top=2, at_most=1), engine="reference", release="1.0", max_depth=9))
    assert (read.pop("counterexamples"), read.pop("shown")) == ([read["counterexample"]], None)
    assert read.pop("seconds") >= 0
    assert read.pop("states_per_second") >= 0
    assert read == {
        "system": "counters",
        "constants": {"counters": 2, "top": 2, "at_most": 1, "closed_at": 1000},
        "switches": {},
        "release": "1.0",
        "leaves_out": "Everything else to count.",
        "bounds": {"max_states": None, "max_depth": 9},
        "interned": {},
        "symmetry": False,
        "compared": None,
        "accept_vacuous": [],
        "opaque_rules": [],
        "known": [],
        "without_effect": [],
        "folds": None,
        "advice": None,
        "profile": [],
        "engine": "reference",
        "jobs": None,
        "versions": {"python": platform.python_version(), "kafkaspec": version("kafkaspec")},
        "compile_seconds": 0.0,
        "verdict": "violated",
        "why": "not_too_many is violated, in 3 states",
        "distinct_states": 6,
        "generated_states": 1 + 2 + 4,
        "depth": 3,
        "bytes_per_state": None,
        "properties": [
            {"name": "type_ok", "kind": "invariant", "verdict": "undecided", "length": None},
            {"name": "not_too_many", "kind": "invariant", "verdict": "violated", "length": 3},
        ],
        "actions": [{"name": "up", "enabled": 3, "taken": 6, "new_states": 5, "bounded": 0}],
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


@rows(
    "specification, options, why",
    [
        (Clock(), {}, None),
        (Clock(), {"max_depth": 3}, "the bound on depth was reached"),
        (Clock(), {"max_states": 3}, "the bound on states was reached"),
        (Table(), {}, "action a is never taken; action b is never taken; to_be_seen is never witnessed"),
        (Counters(), {"deadlock": True}, "deadlock, in 7 states"),
        (Clock(), {"show": "s.hand == 3"}, "s.hand == 3 is witnessed, in 4 states"),
    ],
)
def test_reasons_for_verdicts(specification: Specification, options: dict[str, Any], why: str | None) -> None:
    """Only "holds" has none."""
    assert check(specification, **options).to_json()["why"] == why


def test_versions_belong_to_the_exploring_engine() -> None:
    """The compiled engines list their libraries, too. A custom engine lists only this project."""
    of = {engine: list(versions(engine)) for engine in ("reference", "local", "spark", "steam")}
    compiled = ["python", "kafkaspec", "numba", "llvmlite", "numpy"]
    assert of == {
        "reference": compiled[:2],
        "local": compiled,
        "spark": [*compiled, "pyspark", "pyarrow"],
        "steam": compiled[:2],
    }
    assert versions("local")["numpy"] == version("numpy")


def test_a_library_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, if the sources are only on Python's path."""
    monkeypatch.setitem(LIBRARIES, "steam", ("no-such-library",))
    assert list(versions("steam")) == ["python", "kafkaspec"]


def test_each_verdict_has_its_exit_code() -> None:
    """TLC's code if it has one."""
    result = check(Clock())
    assert {verdict: replace(result, verdict=verdict).exit_code for verdict in EXIT_CODES} == {
        "holds": 0,
        "witnessed": 0,
        "deadlock": 11,
        "violated": 12,
        "bounded": 20,
        "vacuous": 21,
        "interrupted": 130,
    }


def test_spark_jobs_are_reported_on_a_line() -> None:
    """The line gives levels and workers, or says how to have jobs. Without Spark there is no line."""
    result = check(Clock(), engine="reference")
    assert (result.jobs, "Spark" in str(result)) == (None, False)
    for jobs, line in (
        (Jobs(12, 2), "  Spark jobs expanded 12 levels, with up to 2 workers"),
        (Jobs(1, 1), "  Spark jobs expanded 1 level, with up to 1 worker"),
        (Jobs(0, 0), "  Spark jobs expanded no level; with --engine spark --driver-level 0 every level is a job"),
    ):
        by_spark = replace(result, jobs=jobs)
        assert str(by_spark).splitlines()[2] == line
        assert through_json(by_spark)["jobs"] == {"levels": jobs.levels, "workers": jobs.workers}


def test_compile_time_is_reported_on_a_line() -> None:
    """Its seconds are counted apart. If nothing was compiled, there is no line."""
    result = check(Clock())
    assert "compiled" not in str(result)
    said = str(replace(result, compile_seconds=14.04)).splitlines()
    assert said[2] == "  compiled before that, once on this machine, in 14.0 s"


def test_states_per_second_are_distinct_states_by_seconds() -> None:
    """Rounded; None if no time has passed."""
    result = replace(check(Clock()), distinct_states=1000)
    assert replace(result, seconds=0.3).states_per_second == 3333
    assert replace(result, seconds=0.0).states_per_second == 0


class Idle(Post):
    """No action is ever enabled."""

    look = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("specification", "options", "headline"),
    [
        (Post(boxes=1), {"properties": ["both_full"]}, "holds"),
        (Post(), {"properties": ["both_full"], "max_depth": 1}, "bounded: the bound on depth was reached"),
        (Idle(), {}, "vacuous: action take is never taken"),
        (Post(), {"properties": ["nothing_is_taken"]}, "nothing_is_taken is violated, in 4 states"),
    ],
)
def test_the_headline_is_the_verdict(specification: Post, options: dict[str, Any], headline: str) -> None:
    """With its reason, if it needs one."""
    result = check(specification, **options)
    assert result.headline == headline
    assert str(result).startswith(f"{result.system}: {headline}\n")


def answers() -> list[Result | Simulation | Trace]:
    """One answer of each kind that is printed."""
    checked = check(Post(), properties=["nothing_is_taken"])
    walked = simulate(Post(), runs=3, steps=2, seed=1)
    assert checked.counterexample is not None
    return [checked, walked, checked.counterexample]


def test_printing_a_result_shows_its_trace() -> None:
    """A result with its trace below it, or a trace alone. A notebook shows the same."""
    checked, walked, trace = map(str, answers())
    assert checked.startswith("post: nothing_is_taken is violated, in 4 states\n")
    assert checked.endswith(f"\n\n{trace}")
    assert trace.startswith("nothing_is_taken: No letter goes away.\n\n  1  initially\n")
    assert walked.startswith("post: bounded: nothing was found in 3 runs of up to 2 steps, which proves nothing\n")
    for answer in answers():
        shown = answer._repr_mimebundle_()
        assert list(shown) == ["text/plain", "text/html"]
        assert re.sub("in .* s ", "", shown["text/plain"]) == re.sub("in .* s ", "", str(answer))


def test_the_repr_of_an_answer_is_short() -> None:
    """One line is enough in a list or in a failed assertion."""
    assert list(map(repr, answers())) == [
        "<Result of post: nothing_is_taken is violated, in 4 states>",
        "<Simulation of post: bounded: nothing was found in 3 runs of up to 2 steps, which proves nothing>",
        "<Trace of nothing_is_taken, 4 states>",
    ]


ANSWER = """
import json
from spec.checking import check
from spec.language import Specification, State, action, constant, integers, invariant, require, subset_of, variable

class Baskets(State):
    fruit: frozenset = variable("What is in it.", of=lambda self: subset_of(("pear", "fig", "kiwi", "plum")))
    eaten: int = variable("How long the name was.", of=lambda self: integers(0, 9))

class Basket(Specification[Baskets]):
    liked: frozenset = constant(frozenset({"plum", "kiwi", "fig", "pear"}), "what somebody likes")

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
    """Statistics, coverage and counterexample are equal in processes with different string hashes."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", ANSWER],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert [json.loads(line)["counterexample"]["property"] for line in outputs[0][:2]] == ["type_ok", "type_ok"]


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_report_that_holds_says_what_a_bound_cut_off(engine: str) -> None:
    """In how many states, by action; where the sum is 2, six states of ten. Without such a state it says nothing."""
    cut, whole = (check(Counters(closed_at=closed), engine=engine) for closed in (2, 1000))
    assert "\n  bounded     up in 6 states\n" in str(cut)
    assert [each["bounded"] for each in cut.to_json()["actions"]] == [6]
    assert "bounded" not in str(whole)
    assert [each["bounded"] for each in whole.to_json()["actions"]] == [0]
