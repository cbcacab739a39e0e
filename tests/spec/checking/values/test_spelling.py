"""Different values are written differently in every format, and read back, even if they print alike by themselves."""

from __future__ import annotations

import json
from enum import Enum, Flag
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.checking import Replay, Trace, check
from spec.checking.model import Model
from spec.checking.traces.explain import explain
from spec.checking.traces.itf import RecordedTrace
from spec.checking.traces.tabular import columns
from spec.checking.traces.validate import validate
from spec.checking.values.literals import literal
from spec.checking.values.step_patterns import matching_steps, parameters_in
from spec.checking.values.text import change_text, encoded, jsonable, show
from spec.explorer import model_of_system
from spec.language import (
    ABSENT,
    Domain,
    Partial,
    Specification,
    SpecificationError,
    State,
    Step,
    Total,
    action,
    either,
    integers,
    invariant,
    one_of,
    optional,
    possibly_empty,
    record,
    require,
    sequence_of,
    subset_of,
    tuple_of,
    variable,
)
from spec.language.identity import is_same_value
from spec.reports.sequence_diagram import mermaid
from spec.reports.state_graph import dot, state_graph
from tests.spec.checking.test_equal_values import Level, Word


class Door(Enum):
    """Of a house."""

    OPEN = 1
    SHUT = 2


class Valve(Enum):
    """Of a pipe."""

    OPEN = 1
    SHUT = 2


class Said(Enum):
    """An enumeration whose members are named like other values."""

    none = 1
    true = 2
    absent = 3


class May(Flag):
    """A flag: several members, or none, are one value."""

    READ = 1
    WRITE = 2


class House:
    """The namespace of another `Door`."""

    class Door(Enum):
        """An enumeration with the same name."""

        OPEN = 1


class Ask(NamedTuple):
    """A message."""

    number: Any


class Vote(NamedTuple):
    """Another record with the same fields."""

    number: Any


class Named(NamedTuple):
    """A record that prints without its field."""

    number: Any

    def __str__(self) -> str:
        return "named"


Value = Annotated[Any, "a value"]
Key = Annotated[Any, "a key"]


class Held(State):
    """One value, and a mapping with such keys."""

    v: Value = variable("What is held.", of=lambda self: type(self).domain)
    m: Partial[Key, bool] = variable("By key.")


class Holds(Specification[Held]):
    """Any value of the domain `type(self).domain` can be assigned."""

    domain: ClassVar[Domain[Any]] = integers(0, 1)
    keys: ClassVar[Domain[Any]] = integers(0, 1)

    def sizes(self) -> Any:
        """Keys of all kinds."""
        return {Key: type(self).keys}

    @action(x=lambda self: type(self).domain)
    def put(self, s: Held, x: Any) -> None:
        """A value."""
        s.v = x

    @action(k=lambda self: type(self).keys)
    def note(self, s: Held, k: Any) -> None:
        """A key."""
        s.m[k] = True


def holding(domain: Domain[Any], keys: Domain[Any] | None = None) -> Holds:
    """The specification with values of this domain."""
    cls: type[Holds] = type("Holds", (Holds,), {"domain": domain, "keys": keys or integers(0, 1)})
    return cls()


TEXTS = st.one_of(
    st.text(max_size=3),
    st.sampled_from(
        ["none", "true", "OPEN", "Door.OPEN", '"none"', "1", "1.5", "a, b", "()", "", "a\nb", "'", "absent"]
    ),
)
SINGLE = st.one_of(
    TEXTS,
    st.sampled_from([*Door, *Valve, *Said, *Level, *Word, House.Door.OPEN, May.READ, May(0), May(3)]),
    st.sampled_from([None, True, False, 1.5, float("inf"), b"a", b"1", -(2**80)]),
    st.integers(),
)
VALUE = st.recursive(
    SINGLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(tuple),
        st.frozensets(inner, max_size=2),
        inner.map(Ask),
        inner.map(Vote),
        inner.map(Named),
    ),
    max_leaves=4,
)


def listed(values: list[Any]) -> Domain[Any] | None:
    """The domain of these values, or None if two of them are equal."""
    try:
        return one_of(*values)
    except SpecificationError:
        return None


LISTED = st.lists(VALUE, min_size=1, max_size=5).map(listed).filter(lambda each: each is not None)


def _made(inner: st.SearchStrategy[Domain[Any]]) -> st.SearchStrategy[Domain[Any]]:
    return st.one_of(
        inner.filter(lambda each: None not in each).map(optional),
        inner.filter(lambda each: each.size < 5).map(subset_of),
        inner.filter(lambda each: each.size < 9).map(lambda each: sequence_of(each, 2)),
        st.tuples(inner, inner)
        .filter(lambda each: each[0].size * each[1].size < 200)
        .map(lambda each: tuple_of(*each)),
        inner.map(lambda each: record(Ask, number=each)),
        inner.map(lambda each: possibly_empty(tuple_of(each))),
    )


DOMAIN: st.SearchStrategy[Any] = st.recursive(
    st.one_of(LISTED, st.just(integers(-1, 1))), _made, max_leaves=3
).filter(lambda each: each.size <= 500)


@given(DOMAIN, st.data())
@settings(max_examples=50, deadline=None)
def test_spellings_are_unique_and_readable(domain: Domain[Any], data: st.DataObject) -> None:
    """As text, JSON, ITF and Python, for every value that a type can hold."""
    specification = holding(domain)
    spelling = Model(specification).spelling
    values = [*domain]
    for write in (show, jsonable, encoded):
        written = [json.dumps(write(value, spelling), sort_keys=True) for value in values]
        if not (write is show and "Named" in repr(values)):  # it defines its own text
            assert len({*written}) == len(values), write
    value = data.draw(st.sampled_from(values))
    assert is_same_value(eval(literal(value), globals()), value)
    replay = Replay(specification)
    replay.do(Step("put", {"x": value}))
    document = json.loads(json.dumps(RecordedTrace.along(replay).to_json()))
    followed = validate(RecordedTrace.from_json(document), specification)
    assert followed.replay is not None, followed.left
    assert is_same_value(followed.replay.states[-1]["v"], value)
    assert is_same_value(followed.replay.steps[-1].parameters["x"], value)
    call = parameters_in(f"put(x={literal(value)})")
    assert call is not None
    (found,) = matching_steps(replay.model.actions, *call)
    assert [each.parameters["x"] for each in found.steps()] == [value]


@given(st.lists(VALUE, min_size=1, max_size=5).map(listed).filter(lambda each: each is not None))
@settings(max_examples=20, deadline=None)
def test_keys_that_print_alike_are_distinguished(keys: Domain[Any]) -> None:
    """Each has its own place in text and in JSON."""
    specification = holding(integers(0, 1), keys)
    replay = Replay(specification)
    assert len({cell.name for cell in replay.model.layout.cells}) == len(replay.model.layout.cells)
    for key in keys:
        replay.do(Step("note", {"k": key}))
    trace = replay.run
    assert all(len(step.changes) == 1 for step in trace.steps)
    assert len({place for step in trace.steps for place in step.changes}) == keys.size
    again = Trace(**{**vars(trace), "initial": trace.states[-1], "steps": ()})
    assert len(again.to_json()["initial"]["m"]) == keys.size
    assert len({line.partition(": ")[0] for line in str(again).splitlines() if " m[" in line}) == keys.size
    assert len([place for place in columns(trace) if place.startswith("m[")]) == keys.size
    for place in (place for step in trace.steps for place in step.changes):
        assert replay.value(place) is True


class Stuck(Specification[Held]):
    """It begins with None, or with the text "none"."""

    domain: ClassVar[Domain[Any]] = optional(one_of("none", "yes"))

    def sizes(self) -> Any:
        """The keys do not matter."""
        return {Key: range(1)}

    @action
    def begin(self, s: Held) -> None:
        """One of the two."""
        require(s.v is None)
        s.v = "none"


def test_the_graph_has_a_node_for_each_value() -> None:
    """In the plain graph, and in one by an expression."""
    for by in ((), ("s.v",)):
        graph = state_graph(Stuck(), by)
        assert len(graph.nodes) == 2
        assert [*graph.actions] == [(0, 1)]
        assert "s.v = none" in dot(graph)
        assert r"s.v = \"none\"" in dot(graph)


class Doors(State):
    """A door or a valve."""

    last: Door | Valve | None = variable("Which was turned.")


class Two(Specification[Doors]):
    """Either can be turned."""

    @action
    def turn(self, s: Doors, x: Door | Valve) -> None:
        """Turn one of them."""
        s.last = x

    @invariant
    def never(self, s: Doors) -> bool:
        """The valve stays shut."""
        return s.last is not Valve.OPEN


def test_members_of_two_enumerations_with_the_same_name(tmp_path: Path) -> None:
    """Each is written with its class in every output. The saved trace is followed and explained."""
    trace = check(Two(), engine="reference").counterexample
    assert trace is not None
    text = str(trace)
    assert "turn(x=Valve.OPEN)" in text
    assert "last: none -> Valve.OPEN" in text
    assert trace.to_json()["steps"][0]["changes"] == {"last": [None, "Valve.OPEN"]}
    assert columns(trace)["last"] == [None, "Valve.OPEN"]
    assert "x=Valve.OPEN" in mermaid(trace)
    RecordedTrace.of(Two(), trace).write(tmp_path / "two.itf.json")
    recorded = RecordedTrace.read(tmp_path / "two.itf.json")
    assert recorded.states[-1].variables == {"last": {"tag": "Valve", "value": "OPEN"}}
    assert not validate(recorded, Two()).left
    there = str(explain(recorded, Two(), action="turn", parameters={"x": "Door.OPEN"}))
    assert "last: Valve.OPEN -> Door.OPEN" in there
    assert there.count("can be done") == 1
    assert [each[0] for each in state_graph(Two()).nodes] == [
        "none",
        *("Door.OPEN", "Door.SHUT", "Valve.OPEN", "Valve.SHUT"),
    ]
    territory = model_of_system(Two())
    (state,) = territory.begins
    exits = [territory.enabled_step(state, step, None).parameters["x"] for step in territory.steps_of(state)]
    assert exits == ["Door.OPEN", "Door.SHUT", "Valve.OPEN", "Valve.SHUT"]


@pytest.mark.parametrize(
    ("domain", "texts"),
    [
        (one_of(*Door), ["OPEN", "SHUT"]),
        (one_of("OPEN", "x"), ["OPEN", "x"]),
        (either(one_of(*Door), one_of("OPEN")), ["Door.OPEN", "SHUT", '"OPEN"']),
        (optional(one_of(*Said)), ["none", "Said.none", "true", "absent"]),
        (either(one_of(*Door), one_of(*House.Door)), ["Door.OPEN", "SHUT", "House.Door.OPEN"]),
        (one_of(Named(Door.OPEN), Named(Door.SHUT)), ["named", "named"]),
        (one_of((Door.OPEN, 1), (Valve.OPEN, 1)), ["(Door.OPEN, 1)", "(Valve.OPEN, 1)"]),
    ],
    ids=str,
)
def test_only_ambiguous_values_are_written_in_full(domain: Domain[Any], texts: list[str]) -> None:
    """All others stay short."""
    spelling = Model(holding(domain)).spelling
    assert [show(value, spelling) for value in domain] == texts


class Slots(State):
    """A mapping whose values may be None."""

    m: Partial[Door, Literal["absent"] | None] = variable("By door.")


class Gone(Specification[Slots]):
    """A key is added with None, and removed."""

    @action
    def come(self, s: Slots) -> None:
        """Add the key, with None."""
        s.m[Door.OPEN] = None

    @action
    def go(self, s: Slots) -> None:
        """Remove the key."""
        require(Door.OPEN in s.m)
        del s.m[Door.OPEN]


def test_absent_and_none_differ_in_json() -> None:
    """In a mapping that may hold None."""
    replay = Replay(Gone())
    come = replay.do(Step("come", {}))
    go = replay.do(Step("go", {}))
    assert come.to_json()["changes"] == {"m[Door.OPEN]": ["absent", None]}
    assert go.to_json()["changes"] == {"m[Door.OPEN]": [None, "absent"]}


def test_a_change_between_values_that_print_alike_is_shown() -> None:
    """A value outside its domain may print like one in it."""
    assert change_text(Door.OPEN, Valve.OPEN) == "Door.OPEN -> Valve.OPEN"
    assert change_text((1,), (True,)) == "(1,) -> (true,)"
    assert change_text(frozenset({1}), frozenset({True})) == "{1} -> {true}"
    assert change_text(None, ABSENT) == "none -> absent"


class Keyed(State):
    """A mapping with keys of several kinds."""

    m: Total[Key, Value] = variable("By key.")


class Keys(Specification[Keyed]):
    """Keys that print alike."""

    def sizes(self) -> Any:
        """Keys of any kind."""
        return {Key: one_of(1, "1", (1,), (1, 0), "1, 0", None, "None"), Value: range(3)}

    @action
    def both(self, s: Keyed) -> None:
        """Change several keys at once."""
        s.m[1], s.m["1"], s.m[(1, 0)], s.m["1, 0"] = 1, 2, 1, 2


def test_every_change_is_shown_if_keys_print_alike() -> None:
    """Each is in the trace and in its JSON."""
    replay = Replay(Keys())
    done = replay.do(Step("both", {}))
    assert [*done.changes.values()] == [(0, 1), (0, 2), (0, 1), (0, 2)]
    assert len(done.to_json()["changes"]) == 4
    assert len(replay.run.to_json()["initial"]["m"]) == 7


class Huge(State):
    """A number with more digits than Python prints by default."""

    n: Value = variable("The number.", of=lambda self: integers(10**5000, 10**5000 + 1))


class Counts(Specification[Huge]):
    """It grows."""

    @action
    def grow(self, s: Huge, by: Value) -> None:
        """By that."""
        require(s.n == 10**5000)
        s.n = by

    def sizes(self) -> Any:
        """Large numbers, too."""
        return {Value: integers(10**5000, 10**5000 + 1)}


def test_integers_are_written_however_large(tmp_path: Path) -> None:
    """A saved trace with them is followed. ITF has their decimal digits."""
    replay = Replay(Counts())
    replay.do(replay.enabled[1])
    (step,) = replay.run.steps
    assert step.lines == [f"n: {10**5000:#x} -> {10**5000 + 1:#x}"]
    assert step.to_json()["changes"]["n"] == [f"{10**5000:#x}", f"{10**5000 + 1:#x}"]
    RecordedTrace.along(replay).write(tmp_path / "huge.itf.json")
    recorded = RecordedTrace.read(tmp_path / "huge.itf.json")
    assert recorded.states[-1].variables == {"n": {"#bigint": f"1{'0' * 4999}1"}}
    assert encoded(-(10**9000)) == {"#bigint": f"-1{'0' * 9000}"}
    assert not validate(recorded, Counts()).left
    assert len(state_graph(Counts()).nodes) == 2
