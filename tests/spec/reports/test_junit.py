"""JUnit XML: its cases and their outcomes, as a parser of such files reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from spec.checking import Result, check
from spec.reports import Unfinished, to_junit, unfinished_to_junit
from spec.reports.junit import ACTIONS
from tests.rows import rows
from tests.spec.checking.toys import Clock, Counters
from tests.spec.reports.odd import Odd, broken, vacuous
from tests.spec.toys import Walkers


def read(text: str) -> TestSuite:
    """Return the one suite of a file, after comparing its counts with its cases."""
    suites = JUnitXml.fromstring(text.encode())
    (suite,) = suites
    cases = list(suite)
    of = {kind: sum(isinstance(each, kind) for case in cases for each in case.result) for kind in (Failure, Error)}
    assert (suite.tests, suite.failures, suite.errors) == (len(cases), of[Failure], of[Error])
    assert (suites.tests, suites.failures, suites.errors) == (suite.tests, suite.failures, suite.errors)
    assert suite.skipped == sum(isinstance(each, Skipped) for case in cases for each in case.result)
    return suite


def outcomes(result: Result) -> dict[str, str]:
    """Return whether the case passed, or the kind and message of its outcome."""
    return {case.name: outcome(case) for case in read(to_junit(result))}


def outcome(case: TestCase) -> str:
    return "; ".join(f"{type(each).__name__}: {each.message}" for each in case.result) or "passed"


def test_each_property_and_witness_is_a_case() -> None:
    """All actions are one case."""
    assert outcomes(check(Walkers(), engine="reference")) == dict.fromkeys(
        [*(each.name for each in check(Walkers()).properties), ACTIONS], "passed"
    )


def test_the_text_of_a_failure_is_the_trace() -> None:
    """Characters that XML excludes are escaped."""
    result = broken()
    case = next(case for case in read(to_junit(result)) if case.name == "silence")
    assert case.classname == "odd"
    assert outcome(case) == "Failure: violated, in 2 states"
    assert case.result[0].type == "invariant"
    assert case.result[0].text == str(result.counterexample)


def test_undecided_cases_are_skipped_beside_a_failure() -> None:
    """With the reason."""
    found = outcomes(broken())
    assert found["type_ok"] == found["understood"] == "Skipped: not decided: silence is violated, in 2 states"
    assert found[ACTIONS] == "Skipped: not decided; never taken: think"


def test_unreached_witnesses_fail() -> None:
    """A witness, and an action never taken."""
    found = outcomes(vacuous())
    assert found["silence"] == "passed"
    assert found["understood"] == "Failure: never met"
    assert found[ACTIONS] == "Failure: never taken: think"


def test_accepted_vacuous_cases_do_not_fail() -> None:
    """They are skipped."""
    found = outcomes(check(Odd(decent=True), engine="reference", accept_vacuous=["understood", "think"]))
    assert (found["understood"], found[ACTIONS]) == ("Skipped: never met", "passed")


def test_a_further_violation_says_how_to_see_its_trace() -> None:
    """Without `--continue` only one violation has a trace."""
    result = broken()
    again = replace(result, properties=tuple(replace(each, name="other") for each in result.properties[1:2]))
    case = next(case for case in read(to_junit(again)) if case.name == "other")
    assert case.result[0].text == "its trace is shown with --continue"


@rows(
    "result, fails",
    [
        (lambda: check(Clock()), False),
        (lambda: check(Clock(), max_depth=3), True),
        (lambda: check(Counters(), deadlock=True), True),
        (lambda: replace(check(Clock(), max_depth=3), verdict="interrupted"), True),
        (broken, True),
        (vacuous, True),
        (lambda: check(Odd(decent=True), properties=["silence"]), False),
        (lambda: check(Clock(), show="s.hand == 3"), False),
        (lambda: check(Clock(), show="s.hand == 33"), True),
    ],
)
def test_a_case_fails_if_the_command_does(result: Any, fails: bool) -> None:
    """CI and exit code agree."""
    found = result()
    suite = read(to_junit(found))
    assert (suite.failures + suite.errors > 0) == (found.exit_code != 0) == fails


def test_settings_are_properties_of_the_suite() -> None:
    """With the names of the JSON output."""
    suite = ElementTree.fromstring(to_junit(check(Clock(hours=5), engine="reference", max_depth=9)).encode())
    about = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert {name: about[name] for name in ("constants.hours", "bounds", "engine", "verdict", "distinct_states")} == {
        "constants.hours": "5",
        "bounds": "depth 9",
        "engine": "reference",
        "verdict": "holds",
        "distinct_states": "5",
    }


def test_a_check_without_a_result_is_an_error() -> None:
    """It is one case, with the line and the full explanation."""
    (case,) = read(unfinished_to_junit(Unfinished("odd", "an action raised\x01 in the state <x>", {})))
    assert outcome(case) == "Error: an action raised\\x01 in the state <x>"
    assert case.result[0].text == "Error: an action raised\\x01 in the state <x>"


SUITE = {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}
ALLOWED: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": (SUITE, {"properties", "testcase"}),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": ({"classname", "name", "time"}, {"failure", "error", "skipped"}),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": ({"message", "type"}, set()),
}
"""Allowed attributes and children of each written element, from the schema junit-10 of Jenkins."""


@pytest.mark.parametrize("result", [broken, vacuous, lambda: check(Clock())])
def test_the_report_conforms_to_the_schema(result: Any) -> None:
    """No other element or attribute."""
    for element in ElementTree.fromstring(to_junit(result()).encode()).iter():
        attributes, children = ALLOWED[element.tag]
        assert set(element.attrib) <= attributes
        assert {each.tag for each in element} <= children
