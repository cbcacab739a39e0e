"""An anomaly is explored with and without its fix, and the outcome is compared with the record."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest

from spec.atlas import anomalies as module
from spec.atlas.anomalies import NEVER_SHIPPED, SIDES, Anomaly, anomalies, anomaly_named, known_in, read
from spec.atlas.loading import system_named, under
from spec.by_release import RELEASES
from spec.checking import Result, check
from spec.checking.result import KnownViolation
from spec.language import SpecificationError, UsageError
from spec.reports import to_html, to_junit, to_markdown
from statemachines.changes import CHANGES
from statemachines.releases import EXACT
from tests.rows import rows
from tests.spec.atlas.test_instances import EVERY as SIZES
from tests.spec.atlas.test_instances import SMALL

TWO_SECONDS = {
    *("B1", "B6", "B10", "B11", "B14", "B16", "B21", "B22a", "B25", "B26", "B44", "B45", "B46", "B47", "B51"),
    *("G1", "G2", "K1a", "K7", "K8"),
}
"""Small anomalies that nevertheless take longer than the others."""
EVERY_RELEASE = [release for releases in EXACT.values() for release in releases]
BEFORE_ALL = "0.8.2"
"""A release older than the first release here."""
ATLAS = """
[[anomaly]]
id = "T1"
ticket = "KIP-1"
sentence = "More are in than fit in."
system = "tests.spec.toys:Turnstile"
constants = { people = 5 }
switch = "kind"
off = "rope"
on = "arm"
property = "never_crowded"
length = 4
fixed_in = "2.0"
size = "small"

[[anomaly]]
id = "T20"
ticket = "KAFKA-20"
sentence = "A lock is missing."
system = "tests.spec.toys:Turnstile"
release = "3.9.0"
switch = "lock"
property = "never_crowded"
length = 4
size = "small"
"""
"""Two rows over a toy: one with two forms; the other is open, and only a variant has its switch."""

FORMS, OPEN = read(ATLAS)
BY_FORM = "As recorded: never_crowded is violated, in 4 states, with kind = rope; holds, with kind = arm"


# Reading.


def test_omitted_fields_of_a_row_have_defaults() -> None:
    """Defaults: a switch is off and on, the release is the newest, and there are no constants."""
    assert (OPEN.off, OPEN.on, OPEN.constants, OPEN.fixed_in) == (False, True, {}, None)
    assert (FORMS.off, FORMS.on, FORMS.constants, FORMS.fixed_in) == ("rope", "arm", {"people": 5}, "2.0")
    assert (FORMS.release, OPEN.release) == (None, "3.9.0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ATLAS + "fixd_in = '2.0'", r"anomaly T20: .* unexpected keyword argument 'fixd_in'"),
        ("[[anomaly]]\nticket = 'KIP-1'", r"anomaly 1: .* missing .* 'id', 'sentence', .*"),
        (ATLAS + "\n[[anomalies]]\nid = 'T3'", r"anomalies: the atlas has only rows, each below \[\[anomaly\]\]"),
    ],
)
def test_an_unknown_field_is_refused(text: str, message: str) -> None:
    """A missing field and a part that is no row are also refused; nothing is silently ignored."""
    with pytest.raises(SpecificationError, match=f"^{message}$"):
        read(text)


def test_an_anomaly_is_found_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown id is refused with a list of the known ones."""
    monkeypatch.setattr(module, "anomalies", lambda: read(ATLAS))
    assert anomaly_named("T20") == OPEN
    with pytest.raises(UsageError, match=r"^no anomaly is called T2; there are T1, T20$"):
        anomaly_named("T2")


def test_the_sides_differ_in_the_switch() -> None:
    """Both sides have the constants of the row; the switch may belong to a variant only."""
    off, on = (OPEN.specification(side).valuation for side in SIDES)
    assert (off["lock"], on["lock"]) == (False, True)
    assert off | {"lock": True} == on
    assert [FORMS.specification(side).valuation["people"] for side in SIDES] == [5, 5]


# Outcomes.


def test_both_sides_are_explored() -> None:
    """Only the property is checked; the result has its counterexample, and the figures of the side that holds."""
    outcome = FORMS.explore()
    off, on = outcome.results["off"], outcome.results["on"]
    assert (off.verdict, on.verdict) == ("violated", "holds")
    assert off.counterexample is not None
    assert (off.counterexample.broken, off.counterexample.length) == ("never_crowded", 4)
    assert [each.name for each in on.properties] == ["type_ok", "never_crowded"]
    assert (outcome.as_recorded, outcome.exit_code, outcome.conclusion()) == (True, 0, BY_FORM)


def test_the_results_name_the_release() -> None:
    """The release is given in full, or omitted."""
    assert [result.release for result in OPEN.explore().results.values()] == ["3.9", "3.9"]
    assert [result.release for result in FORMS.explore().results.values()] == [None, None]


def test_options_reach_the_check() -> None:
    """Each side is checked as by `check`, one after the other."""
    asked: list[dict[str, Any]] = []

    def ask(specification: Any, **options: Any) -> Result:
        asked.append(options)
        return check(specification, **options)

    sides = OPEN.sides(ask, engine="reference", max_depth=9)
    assert next(sides)[0] == "off"
    assert len(asked) == 1
    assert next(sides)[0] == "on"
    assert asked == 2 * [{"properties": ["never_crowded"], "release": "3.9", "engine": "reference", "max_depth": 9}]


def walkers(switch: str, judged: str, length: int) -> Anomaly:
    """Return a row over another toy."""
    return replace(
        OPEN, system="tests.spec.toys:Walkers", release=None, switch=switch, property=judged, length=length
    )


RECORDED = "Recorded: never_crowded is violated, in 4 states; found"
OTHERWISE: list[tuple[str, Anomaly, dict[str, Any], list[str]]] = [
    (
        "a shorter trace",
        replace(OPEN, length=5),
        {},
        [
            "Not as recorded, with lock = false. Recorded: never_crowded is violated, in 5 states; "
            "found: never_crowded is violated, in 4 states"
        ],
    ),
    (
        "a longer trace",
        replace(OPEN, constants={"room": 3}),
        {},
        [f"Not as recorded, with lock = false. {RECORDED}: never_crowded is violated, in 5 states"],
    ),
    (
        "both sides hold",
        replace(OPEN, constants={"patience": 0}),
        {},
        [f"Not as recorded, with lock = false. {RECORDED}: holds"],
    ),
    (
        "a fix that does not help",
        replace(FORMS, on="rope"),
        {},
        ["Not as recorded, with kind = rope. Recorded: holds; found: never_crowded is violated, in 4 states"],
    ),
    (
        "the sides are mistaken for each other",
        replace(OPEN, off=True, on=False),
        {},
        [
            f"Not as recorded, with lock = true. {RECORDED}: holds",
            "Not as recorded, with lock = false. Recorded: holds; found: never_crowded is violated, in 4 states",
        ],
    ),
    (
        "a domain is left",
        walkers("fenced", "on_the_line", 5),
        {},
        [
            "Not as recorded, with fenced = false. Recorded: on_the_line is violated, in 5 states; "
            "found: type_ok is violated, in 5 states"
        ],
    ),
    (
        "a deadlock",
        walkers("back", "deadlock", 10),
        {},
        [
            "Not as recorded, with back = false. Recorded: deadlock is violated, in 10 states; "
            "found: deadlock, in 10 states"
        ],
    ),
    (
        "a witness, which does not break",
        replace(OPEN, property="squeezed"),
        {},
        [
            "Not as recorded, with lock = false. Recorded: squeezed is violated, in 4 states; found: holds",
            "Not as recorded, with lock = true. Recorded: holds; found: vacuous: squeezed is never witnessed",
        ],
    ),
    (
        "one side differs, and a bound stops the other",
        replace(OPEN, length=5),
        {"max_depth": 4},
        [
            "Not as recorded, with lock = false. Recorded: never_crowded is violated, in 5 states; "
            "found: never_crowded is violated, in 4 states",
            "Undecided, with lock = true. Recorded: holds; found: bounded: the bound on depth was reached",
        ],
    ),
]


@rows("row, options, lines", {name: row for name, *row in OTHERWISE})
def test_a_difference_from_the_record_is_reported(row: Anomaly, options: dict[str, Any], lines: list[str]) -> None:
    """Each side that differs has one line: the recorded outcome and the actual one."""
    outcome = row.explore(**options)
    assert outcome.conclusion().splitlines() == lines
    assert (outcome.as_recorded, outcome.exit_code) == (False, 12)


@pytest.mark.parametrize(
    ("depth", "undecided"), [(3, ["lock = false", "lock = true"]), (4, ["lock = true"])], ids=["both", "one"]
)
def test_a_bound_leaves_a_side_undecided(depth: int, undecided: list[str]) -> None:
    """A trace of the recorded length counts as recorded; a side stopped by a bound is undecided."""
    outcome = OPEN.explore(max_depth=depth)
    reported = [line.partition(".")[0] for line in outcome.conclusion().splitlines()]
    assert reported == [f"Undecided, with {setting}" for setting in undecided]
    assert (outcome.as_recorded, outcome.exit_code) == (None, 20)


@pytest.mark.parametrize("last", SIDES)
def test_after_an_interrupt_nothing_is_started(last: str) -> None:
    """The results up to the interrupt are kept."""
    asked: list[str] = []

    def ask(specification: Any, **options: Any) -> Result:
        asked.append(SIDES[len(asked)])
        result = check(specification, **options)
        return replace(result, verdict="interrupted", counterexamples=()) if asked[-1] == last else result

    outcome = OPEN.explore(ask)
    assert list(outcome.results) == asked
    assert asked[-1] == last
    assert (outcome.as_recorded, outcome.exit_code) == (None, 130)
    assert outcome.to_json()["on"] is None or last == "on"


def test_json_is_as_promised() -> None:
    """The object has the row, whether it is as recorded, and the `check` results of both sides, in this order."""
    found = json.loads(json.dumps(FORMS.explore().to_json()))
    assert list(found) == ["anomaly", "as_recorded", "off", "on"]
    assert found["anomaly"] == {
        "id": "T1",
        "ticket": "KIP-1",
        "sentence": "More are in than fit in.",
        "system": "tests.spec.toys:Turnstile",
        "release": None,
        "constants": {"people": 5},
        "switch": "kind",
        "off": "rope",
        "on": "arm",
        "property": "never_crowded",
        "length": 4,
        "since": None,
        "fixed_in": "2.0",
        "size": "small",
        "seen_on_controllers": [],
        "seen_on_brokers": [],
    }
    assert found["as_recorded"] is True
    assert found["off"]["counterexample"]["length"] == 4
    assert found["on"]["verdict"] == "holds"


# Known anomalies in results.


def test_a_counterexample_is_known_by_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text, JSON and reports name the anomaly, the releases that have it, and the option that prevents it."""
    monkeypatch.setattr(module, "anomalies", lambda: (FORMS, replace(OPEN, since="2.1")))
    found = check(FORMS.specification("off"))
    result = replace(found, known=known_in(found))
    assert result.known == (KnownViolation("never_crowded", "T1", "KIP-1", "gone since 2.0", "--set kind=arm"),)
    assert "\n  known: T1, gone since 2.0; --set kind=arm\n" in str(result)
    assert result.to_json()["known"] == [vars(each) for each in result.known]
    for report in (to_html(result), to_markdown(result)):
        assert "Known: never_crowded is T1 (KIP-1), gone since 2.0; --set kind=arm." in report
    assert "known: T1, gone since 2.0" in to_junit(result)
    found = check(OPEN.specification("off"))
    assert [str(each) for each in known_in(found)] == ["T20, open since 2.1; --with lock"]


def test_a_violation_with_the_fix_is_not_the_anomaly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A violation with the switch on, of another property, or of another system is not the anomaly."""
    monkeypatch.setattr(module, "anomalies", lambda: (FORMS,))
    found = check(FORMS.specification("off"))
    assert found.counterexample is not None
    monkeypatch.setattr(module, "anomalies", lambda: (replace(FORMS, on="rope"),))
    assert known_in(found) == ()
    monkeypatch.setattr(module, "anomalies", lambda: (replace(FORMS, off="arm", on="rope"),))
    assert known_in(found) == ()
    monkeypatch.setattr(module, "anomalies", lambda: (FORMS,))
    for other in (replace(found, system="else"), replace(found, constants={**found.constants, "people": 1})):
        assert known_in(other) == ()
    assert known_in(replace(found, counterexamples=(replace(found.counterexample, broken="type_ok"),))) == ()


# The records.

EVERY = anomalies()


def test_ids_are_unique() -> None:
    """An id means one anomaly."""
    ids = [each.id for each in EVERY]
    assert sorted(set(ids)) == sorted(ids)


@rows("row", {each.id: each for each in EVERY})
def test_a_row_names_existing_things(row: Anomaly) -> None:
    """The switch has two values, the property can break with both, and the releases are Kafka's."""
    off, on = (row.specification(side) for side in SIDES)
    assert row.off != row.on
    assert row.switch not in row.constants
    shared = off.valuation.keys() & on.valuation.keys()
    assert [name for name in shared if off.valuation[name] != on.valuation[name]] == [row.switch]
    for side in (off, on):
        assert side.constants()[row.switch].switch
        assert row.property in [each.name for each in side.properties if each.kind != "sometimes"]
    assert row.size in SIZES
    assert row.fixed_in in (None, NEVER_SHIPPED, BEFORE_ALL, *RELEASES, *EVERY_RELEASE)
    assert row.since in (None, *RELEASES) if row.fixed_in is None else row.since is None
    assert row.switch in CHANGES


@rows("row", {each.id: each for each in EVERY})
def test_the_fix_release_turns_the_switch_on(row: Anomaly) -> None:
    """If releases record the switch, the release named as fixed is the one that turns it on."""
    releases = system_named(row.system).releases
    if row.fixed_in == NEVER_SHIPPED:
        assert all(under(system_named(row.system), each, {}).valuation[row.switch] == row.on for each in releases)
    elif row.fixed_in == BEFORE_ALL:
        assert all(release[row.switch] == row.on for release in releases.values())
    elif row.fixed_in is not None and row.switch in releases[row.fixed_in]:
        first = EXACT[row.fixed_in][0] if row.fixed_in in EXACT else row.fixed_in
        before = EVERY_RELEASE[EVERY_RELEASE.index(first) - 1]
        assert releases[first][row.switch] == row.on != releases[before][row.switch]


@rows(
    "name, text",
    [
        ("B22c", "gone since 3.0.1"),
        ("K7", "gone since 3.4.1"),
        ("B11", "gone since 2.0.1"),
        ("K1b", "gone since 2.1"),
        ("B36", "gone since 0.8.2"),
        ("G1", NEVER_SHIPPED),
        ("K5", "open since 3.6"),
        ("K10", "open since 2.7"),
        ("K1", "open since 1.1"),
        ("K8", "open"),
    ],
)
def test_the_record_of_its_switch_says_since_when_and_until_when_it_exists(name: str, text: str) -> None:
    """For a proposal, the record of the change that introduced it says so."""
    assert anomaly_named(name).releases() == text


@pytest.mark.long
@pytest.mark.parametrize("name", ["B21", "K1", "K10"])
def test_the_property_holds_before_the_introducing_change(name: str) -> None:
    """Before that change the property holds, without any fix."""
    text = files("spec.atlas").joinpath("anomalies.toml").read_text(encoding="utf-8")
    [came_with] = [each["came_with"] for each in tomllib.loads(text)["anomaly"] if each["id"] == name]
    [(change, value)] = came_with.items()
    forms = [getattr(each, "name", each) for each in (CHANGES[change].before, *CHANGES[change].since.values())]
    row = anomaly_named(name)
    before = {**row.constants, row.switch: row.off, change: forms[forms.index(value) - 1]}
    subject = under(system_named(row.system), row.release, before)
    assert check(subject, properties=[row.property]).verdict == "holds"


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            each, id=each.id, marks=() if each.size in SMALL and each.id not in TWO_SECONDS else pytest.mark.long
        )
        for each in EVERY
    ],
)
def test_an_anomaly_comes_out_as_recorded(row: Anomaly) -> None:
    """The property breaks without the fix, in as many states as recorded, and holds with it."""
    outcome = row.explore()
    assert outcome.as_recorded, outcome.conclusion()
    assert row.id in [each.id for each in known_in(outcome.results["off"])]
    assert known_in(outcome.results["on"]) == ()
