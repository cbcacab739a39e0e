"""Traces as ITF: they read back equal, another reader opens them, and errors name the place."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import itf_py  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.atlas.loading import system_named
from spec.checking import Replay, Trace, check
from spec.checking.traces.itf import RecordedTrace, encoded
from spec.checking.traces.validate import validate
from spec.language import UsageError
from spec.language.domains import LEFT_OUT
from spec.systems import SYSTEMS
from tests.spec.checking.toys import Bank, Jugs
from tests.spec.checking.traces.test_replay import Lift

Document = dict[str, Any]


class Colour(Enum):
    """Of a lamp."""

    RED = 1


class Lamp(NamedTuple):
    """A record."""

    colour: Colour
    watts: Any = LEFT_OUT


def counterexample(specification: Any, **asked: Any) -> Trace:
    """The counterexample of the reference engine."""
    found = check(specification, engine="reference", **asked).counterexample
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("value", "expression"),
    [
        (3, {"#bigint": "3"}),
        (-(10**30), {"#bigint": "-1" + "0" * 30}),
        (True, True),
        ("a", "a"),
        (None, {"#tup": []}),
        ((), []),
        ((1, "a"), [{"#bigint": "1"}, "a"]),
        (frozenset({2, 1}), {"#set": [{"#bigint": "1"}, {"#bigint": "2"}]}),
        (Colour.RED, "RED"),
        (Lamp(Colour.RED), {"tag": "Lamp", "value": {"colour": "RED"}}),
        ({2: True, 1: None}, {"#map": [[{"#bigint": "1"}, {"#tup": []}], [{"#bigint": "2"}, True]]}),
        (LEFT_OUT, {"#unserializable": "?"}),
    ],
    ids=str,
)
def test_values_are_expressions(value: Any, expression: Any) -> None:
    """Each value has one form. Unordered values are sorted."""
    assert encoded(value) == expression


@pytest.mark.parametrize("specification", [Jugs(), Bank(rich=3)], ids=["jugs", "bank"])
def test_a_file_is_read_back(specification: Any, tmp_path: Path) -> None:
    """Written again, the file is equal to the byte."""
    recorded = RecordedTrace.of(specification, counterexample(specification))
    recorded.write(tmp_path / "a.itf.json")
    again = RecordedTrace.read(tmp_path / "a.itf.json")
    assert again == recorded
    again.write(tmp_path / "b.itf.json")
    assert (tmp_path / "a.itf.json").read_bytes() == (tmp_path / "b.itf.json").read_bytes()


def test_a_state_has_all_variables_and_the_step_that_led_to_it() -> None:
    """The jugs' trace has seven states, beginning with `init`."""
    document = RecordedTrace.of(Jugs(), counterexample(Jugs())).to_json()
    assert document["vars"] == ["small", "large", "mbt::actionTaken", "mbt::nondetPicks"]
    first, second, *rest = document["states"]
    nothing = {"#bigint": "0"}
    assert first == {
        "#meta": {"index": 0}, "small": nothing, "large": nothing, "mbt::actionTaken": "init", "mbt::nondetPicks": {}
    }  # fmt: skip
    assert (second["mbt::actionTaken"], second["large"]) == ("fill_large", {"#bigint": "5"})
    assert rest[-1]["large"] == {"#bigint": "4"}
    assert document["#meta"]["kafkaspec"] == {"system": "jugs", "settings": {}, "property": "not_four"}


def test_a_value_outside_its_domain_is_kept() -> None:
    """If a trace ends by leaving a domain, its last state has the value."""
    lift = Lift(floors=1, busy=9)
    last = RecordedTrace.of(lift, counterexample(lift, properties=["type_ok"])).states[-1]
    assert last.variables == {"floor": {"#bigint": "2"}}


@pytest.mark.parametrize("system", SYSTEMS)
def test_itf_py_reads_the_same_values(system: str) -> None:
    """For a run of each system."""
    cls = system_named(system)
    newest = list(cls.releases)[-1:]
    specification = cls.of_release(*newest) if newest else cls.of()
    replay = Replay(specification)
    while replay.enabled and replay.number < 7:
        replay.do(replay.enabled[0])
    document = RecordedTrace.along(replay).to_json()
    opened = itf_py.trace_from_json(json.loads(json.dumps(document)))
    assert [state.values["mbt::actionTaken"] for state in opened.states[1:]] == [each.action for each in replay.steps]
    assert set(opened.states[-1].values) == set(document["vars"])


BROKEN: dict[str, tuple[Callable[[Document], Any], str]] = {
    "no states": (lambda d: d.pop("states"), "states is missing"),
    "no first state": (lambda d: d.update(states=[]), "states is not a list with a first state, but []"),
    "states are no list": (lambda d: d.update(states={}), "states is not a list, but {}"),
    "a state is no object": (lambda d: d["states"].append(3), "states[7] is not an object, but 3"),
    "no meta": (lambda d: d.pop("#meta"), "#meta is missing"),
    "another tool's": (lambda d: d["#meta"].pop("kafkaspec"), "#meta.kafkaspec is missing"),
    "no system": (lambda d: d["#meta"]["kafkaspec"].pop("system"), "#meta.kafkaspec.system is missing"),
    "a system that is no text": (
        lambda d: d["#meta"]["kafkaspec"].update(system=3),
        "#meta.kafkaspec.system is not a text, but 3",
    ),
    "settings that are no texts": (
        lambda d: d["#meta"]["kafkaspec"].update(settings={"top": 3}),
        "#meta.kafkaspec.settings.top is not a text, but 3",
    ),
    "vars that are no texts": (lambda d: d.update(vars=[[]]), "vars[0] is not a text, but []"),
    "no vars": (lambda d: d.pop("vars"), "vars is missing"),
    "a trace without an end": (
        lambda d: d.update(loop=3),
        "the document has a loop; only a finite trace can be followed",
    ),
    "a variable too many": (
        lambda d: d["states"][2].update(larger=True),
        "states[2] has 'larger', which is not in vars",
    ),
    "a variable is missing": (lambda d: d["states"][2].pop("large"), "states[2] has no large, which is in vars"),
    "no action": (lambda d: d["states"][1].pop("mbt::actionTaken"), "states[1].mbt::actionTaken is missing"),
    "no picks": (lambda d: d["states"][1].pop("mbt::nondetPicks"), "states[1].mbt::nondetPicks is missing"),
    "picks that are no object": (
        lambda d: d["states"][1].update({"mbt::nondetPicks": []}),
        "states[1].mbt::nondetPicks is not an object, but []",
    ),
    "a plain number": (
        lambda d: d["states"][1].update(large=5),
        'states[1].large is not an expression of ITF, such as {"#bigint": "3"}, but 5',
    ),
    "no digits": (
        lambda d: d["states"][1].update(large={"#bigint": "five"}),
        'states[1].large.#bigint is not a text of digits, but "five"',
    ),
    "a set that is no list": (
        lambda d: d["states"][1].update(large={"#set": 5}),
        "states[1].large.#set is not a list, but 5",
    ),
    "a member twice": (
        lambda d: d["states"][1].update(large={"#set": ["a", "b", "a"]}),
        'states[1].large has "a" twice',
    ),
    "an entry that is no pair": (
        lambda d: d["states"][1].update(large={"#map": [["a", "b"], ["c"]]}),
        'states[1].large.#map[1] is not a list of a key and its value, but ["c"]',
    ),
    "a key twice": (
        lambda d: d["states"][1].update(large={"#map": [["a", "b"], ["a", "c"]]}),
        'states[1].large has "a" twice',
    ),
    "a variant without a value": (
        lambda d: d["states"][1].update(large={"tag": "Lamp"}),
        'states[1].large is not a variant, {"tag": "Leader", "value": {...}}, but {"tag": "Lamp"}',
    ),
    "an integer in another way": (
        lambda d: d["states"][1].update(large={"#bigint": "05"}),
        'states[1].large.#bigint is not a text of digits, but "05"',
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_malformed_parts_are_refused_with_their_place(broken: str, tmp_path: Path) -> None:
    """In one line."""
    spoil, said = BROKEN[broken]
    document = RecordedTrace.of(Jugs(), counterexample(Jugs())).to_json()
    spoil(document)
    path = tmp_path / "spoilt.itf.json"
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError) as refused:
        RecordedTrace.read(path)
    assert str(refused.value) == f"{path}: {said}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON: line 1, column 1: Expecting value"),
        (b'{"states": [', "is not JSON: line 1, column 13: Expecting value"),
        (b"\xff", "is not UTF-8, at byte 0"),
        (b"[]", "the document is not an object, but []"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"vars": %s}' % (b"1" * 5_000), "has a number of more than 4,300 digits"),
    ],
    ids=["empty", "truncated", "no text", "a list", "too deep", "too long a number"],
)
def test_a_file_that_is_no_document_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    """In one line."""
    path = tmp_path / "none.itf.json"
    path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        RecordedTrace.read(path)
    assert str(refused.value).removeprefix(str(path)).lstrip(": ") == said


def test_unordered_values_are_read_in_any_order() -> None:
    """Another tool may have written them so."""
    recorded = RecordedTrace.of(Bank(rich=3), counterexample(Bank(rich=3)))
    document = json.loads(json.dumps(recorded.to_json()))
    for state in document["states"]:
        state["known"]["#set"].reverse()
        state["account"]["#map"].reverse()
    assert RecordedTrace.from_json(document) == recorded


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("9" * 5_000),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(
            st.sampled_from(["#bigint", "#set", "#map", "#tup", "tag", "value", "x"]), inside, max_size=2
        )
    ),
    max_leaves=6,
)
"""Random JSON, as a foreign file may have."""
WRITTEN = json.dumps(RecordedTrace.of(Bank(rich=3), counterexample(Bank(rich=3))).to_json())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path that is written again and again."""
    return tmp_path_factory.mktemp("odd") / "odd.itf.json"


@given(data=st.data())
def test_any_file_is_followed_or_refused_in_one_line(file: Path, data: st.DataObject) -> None:
    """In the trace, a part is replaced, repeated or removed."""
    inside: Any = json.loads(WRITTEN)
    document = inside
    while True:
        name = data.draw(st.sampled_from([*inside] if isinstance(inside, dict) else range(len(inside))))
        if not (isinstance(inside[name], dict | list) and inside[name] and data.draw(st.integers(0, 9))):
            break
        inside = inside[name]
    inside[name] = data.draw(ODD)
    if isinstance(inside, list):
        inside += data.draw(st.lists(st.sampled_from(inside), max_size=1))
    file.write_text(json.dumps(document))
    try:
        found = str(validate(RecordedTrace.read(file), Bank(rich=3)))
    except UsageError as refused:
        found = str(refused)
    assert len(found.splitlines()) == 1
