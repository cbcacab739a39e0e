"""A report as JUnit XML for CI servers: a test case for each property and witness, and one for all actions.

A case fails or is an error exactly if the command exits with a code other than 0. A property that was not decided
because another one broke first is skipped; one that was not decided because of a bound or an interruption is an
error.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple
from xml.etree import ElementTree

from spec.checking.result import Result, versions
from spec.checking.values.text import show
from spec.language.errors import escaped, escaped_lines
from spec.reports.content import Unfinished, bounds, decided

ACTIONS: Final = "every action is taken"
"""The name of the case for all actions, which no property can have."""


class JUnitCase(NamedTuple):
    """A test case."""

    name: str
    outcome: Literal["", "failure", "error", "skipped"] = ""
    """The outcome; empty if the case passes."""
    message: str = ""
    text: str = ""
    kind: str = ""
    """The kind of the property: invariant, ..."""


def to_junit(result: Result) -> str:
    """The result as JUnit XML."""
    about = {
        **({"release": result.release} if result.release is not None else {}),
        **{f"constants.{name}": show(value) for name, value in result.constants.items()},
        **{f"switches.{name}": show(value) for name, value in result.switches.items()},
        "leaves_out": result.leaves_out,
        "bounds": bounds(result),
        "engine": result.engine,
        **{f"versions.{name}": version for name, version in versions(result.engine).items()},
        "verdict": result.verdict,
        "distinct_states": str(result.distinct_states),
        "generated_states": str(result.generated_states),
        "depth": str(result.depth),
    }
    return _suite(result.system, [*_properties(result), _actions(result)], result.seconds, about)


def unfinished_to_junit(unfinished: Unfinished) -> str:
    """A check without a result as JUnit XML."""
    way = [] if unfinished.trace is None else ["", f"{unfinished.heading}:", "", str(unfinished.trace)]
    text = "\n".join([f"Error: {unfinished.message}", *way])
    return _suite(unfinished.system, [JUnitCase("check", "error", unfinished.message, text, "error")], 0.0, {})


def _properties(result: Result) -> Iterator[JUnitCase]:
    traces = {each.broken: str(each) for each in result.counterexamples}
    missing = "its trace is shown with --continue"
    for each in result.properties:
        if each.verdict == "violated":
            message = "; known: ".join([decided(each), *(str(it) for it in result.known if it.property == each.name)])
            yield JUnitCase(each.name, "failure", message, traces.get(each.name, missing), each.kind)
        elif each.verdict == "unwitnessed":
            outcome: Literal["skipped", "failure"] = "skipped" if each.name in result.accept_vacuous else "failure"
            yield JUnitCase(each.name, outcome, decided(each), result.documentation.get(each.name, ""), each.kind)
        elif each.verdict == "undecided":
            yield JUnitCase(each.name, _undecided(result), f"not decided: {result.headline}", "", each.kind)
        else:
            yield JUnitCase(each.name)


def _actions(result: Result) -> JUnitCase:
    """Dead actions count after a complete search for all properties, except accepted ones."""
    dead = [name for name in result.never_taken if name not in result.accept_vacuous]
    if not dead:
        return JUnitCase(ACTIONS)
    never = f"never taken: {', '.join(dead)}"
    if result.verdict == "vacuous" and result.wants_every_action:
        return JUnitCase(ACTIONS, "failure", never, never, "coverage")
    return JUnitCase(ACTIONS, "skipped", f"not decided; {never}")


def _undecided(result: Result) -> Literal["error", "skipped"]:
    return "error" if result.verdict in {"bounded", "interrupted"} else "skipped"


def _suite(system: str, cases: list[JUnitCase], seconds: float, about: dict[str, str]) -> str:
    of_all = {"tests": str(len(cases)), "failures": _count(cases, "failure"), "errors": _count(cases, "error")}
    took = {"time": f"{seconds:.3f}"}
    root = ElementTree.Element("testsuites", {"name": "kafkaspec", **of_all, **took})
    more = {"skipped": _count(cases, "skipped"), **took, "timestamp": datetime.now(UTC).isoformat(timespec="seconds")}
    suite = ElementTree.SubElement(root, "testsuite", {"name": escaped(system), **of_all, **more})
    if about:
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in about.items():
            ElementTree.SubElement(properties, "property", {"name": escaped(name), "value": escaped(value)})
    for each in cases:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": escaped(system), "name": escaped(each.name), "time": "0.000"}
        )
        if each.outcome:
            said = {"message": escaped(each.message), **({"type": each.kind} if each.kind else {})}
            ElementTree.SubElement(case, each.outcome, said).text = escaped_lines(each.text) or None
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _count(cases: list[JUnitCase], outcome: str) -> str:
    return str(sum(each.outcome == outcome for each in cases))
