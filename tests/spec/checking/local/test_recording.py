"""A recorded evaluation has every slot it depends on, and gives the result of plain values."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import pytest

from spec.checking.local import recording
from spec.checking.local.lazy import Copy, lazy_record
from spec.checking.local.outcomes import CLOSED, ENABLED, FAILED, FOUND, LEFT, USUAL
from spec.checking.local.recording import Recorded, Recorder
from spec.checking.model import EvaluationFailed, Model, OpaqueRuleFound
from spec.language import (
    Domain,
    Part,
    Specification,
    State,
    Step,
    Total,
    action,
    bound,
    integers,
    invariant,
    left_out,
    mapping,
    optional,
    part,
    record,
    require,
    sequence_of,
    sometimes,
    subset_of,
    transition_invariant,
    variable,
)
from tests.rows import rows

T = TypeVar("T")


class Entry(NamedTuple):
    """An entry of a log, with methods of every kind."""

    epoch: int = 0
    leader: int | None = None
    isr: frozenset[int] = frozenset()

    @property
    def led(self) -> bool:
        """Whether it has a leader."""
        return self.leader is not None

    @classmethod
    def of(cls, epoch: int) -> Entry:
        """An entry without a leader."""
        return cls(epoch)

    @staticmethod
    def next_to(epoch: int) -> int:
        """The next epoch."""
        return epoch + 1

    def _is_at(self, epoch: int) -> bool:
        return self.epoch == epoch

    def later(self) -> Entry:
        """The same entry at the next epoch."""
        return self._replace(epoch=self.next_to(self.epoch)) if not self._is_at(3) else self.of(0)

    def __str__(self) -> str:
        return f"epoch {self.epoch}"


class LogsState(State):
    """The state of `Logs`."""

    entry: Total[str, Entry] = variable(
        "The entry.",
        of=lambda self: mapping(
            "ab", record(Entry, epoch=integers(0, 3), leader=optional(range(3)), isr=subset_of(range(3)))
        ),
    )
    queue: tuple[Entry, ...] = variable(
        "The queue.",
        of=lambda self: sequence_of(
            record(Entry, epoch=integers(0, 3), leader=optional(range(3)), isr=subset_of(range(3))), 2
        ),
    )
    number: int = variable("The number.", of=lambda self: integers(0, 3))
    ignored: Any = variable("The ignored.", of=lambda self: left_out())


class Logs(Specification[LogsState]):
    """A state with values of every kind, and actions that a test fills in."""

    @action(n=range(3))
    def act(self, s: LogsState, n: int) -> object:
        """The action of a test."""
        return self.do(s, n)

    do = staticmethod(lambda s, n: None)

    @invariant
    def judge(self, s: LogsState) -> bool:
        return self.judged(s)

    judged = staticmethod(lambda s: True)

    @transition_invariant
    def judge_step(self, before: LogsState, step: Step, after: LogsState) -> bool:
        return self.judged_step(before, step, after)

    judged_step = staticmethod(lambda before, step, after: True)


START: dict[str, Any] = {
    "entry[a]": Entry(1, None, frozenset({0, 2})),
    "entry[b]": Entry(2, 1, frozenset({1})),
    "queue": (Entry(3, 2, frozenset({0})),),
    "number": 2,
}


class NamedSlots(NamedTuple):
    """A recorded evaluation, with slots by name."""

    outcome: int
    reads: list[str]
    writes: dict[str, Any]


class Recording:
    """A recorder, with states to evaluate on."""

    def __init__(self, **members: Callable[..., Any]):
        cls = type("Recording", (Logs,), {name: staticmethod(member) for name, member in members.items()})
        self.model = Model(cls())
        self.recorder = Recorder(self.model)
        places = [place.name for place in self.model.layout.slots]
        self.names = [*places, *(f"before {name}" for name in places), "step", "instance"]

    def registers(self, state: dict[str, Any], before: dict[str, Any] | None = None, step: int = -1) -> list[int]:
        """Registers with a state, the one before, and the instance of `act` between them."""
        words = []
        for values in (state, before or state):
            packed = self.model.layout.pack(
                tuple(
                    values.get(cell.name, first)
                    for cell, first in zip(self.model.layout.cells, self.model.layout.first(), strict=True)
                )
            )
            words += [packed >> 64 * n & (1 << 64) - 1 for n in reversed(range(self.model.layout.words))]
        return [*words, self.recorder.no_step if step < 0 else step << 16]

    def with_names(self, found: Recorded) -> NamedSlots:
        return NamedSlots(
            found.outcome,
            [self.names[slot] for slot, _ in found.reads],
            {
                self.names[slot]: self.names[code.slot] if isinstance(code, Copy) else code
                for slot, code in found.writes.items()
            },
        )

    def act(self, n: int = 0, /, **changes: Any) -> NamedSlots:
        return self.with_names(self.recorder.action(0, n, self.registers(START | changes)))

    def judge(self, **changes: Any) -> NamedSlots:
        instance = self.model.properties[1].instances[0]
        return self.with_names(self.recorder.of_state(instance, False, self.registers(START | changes)))

    def judge_step(self, step: int = -1, **changes: Any) -> NamedSlots:
        instance = self.model.properties[2].instances[0]
        return self.with_names(self.recorder.of_step(instance, False, self.registers(START | changes, START, step)))


def acting(do: Callable[[LogsState, int], Any], **changes: Any) -> NamedSlots:
    """The record of one evaluation of this action."""
    return Recording(do=do).act(**changes)


# Reads and writes.


def test_reads_are_recorded_in_order() -> None:
    """Each slot once, up to the one that decides."""

    def do(s: LogsState, n: int) -> None:
        require(s.entry["b"].epoch == 2 and s.number == 2 and s.entry["b"].epoch == 2 and s.entry["a"].leader == 1)

    assert acting(do) == (USUAL, ["entry[b].epoch", "number", "entry[a].leader"], {})


def test_unread_values_are_copied() -> None:
    """A record copied elsewhere is not read. A field that was already read is written as a value."""

    def do(s: LogsState, n: int) -> None:
        require(s.entry["a"].epoch == 1)
        s.entry["b"] = s.entry["a"]._replace(leader=2)

    writes = {"entry[b].epoch": 1, "entry[b].leader": 3} | {
        f"entry[b].isr{{{n}}}": f"entry[a].isr{{{n}}}" for n in (2, 1, 0)
    }
    assert acting(do) == (ENABLED, ["entry[a].epoch"], writes)


def test_an_integer_is_read_only_when_it_is_used() -> None:
    """While it is only stored elsewhere or compared with itself, it is copied."""

    def do(s: LogsState, n: int) -> None:
        epoch = s.entry["a"].epoch
        require(epoch == s.entry["a"].epoch and isinstance(epoch, int))
        s.entry["b"] = Entry(epoch)
        s.ignored = s.entry["b"].epoch
        require(s.number < 3)

    slots = acting(do)
    assert slots.reads == ["number"]
    assert slots.writes["entry[b].epoch"] == "entry[a].epoch"


def test_appending_to_a_queue_reads_its_length() -> None:
    """It reads no element."""

    def do(s: LogsState, n: int) -> None:
        s.queue += (s.entry["b"],)

    assert acting(do).reads == ["queue.length"]
    assert acting(do).writes["queue[1].epoch"] == "entry[b].epoch"
    assert acting(do, queue=()).writes["queue[0].epoch"] == "entry[b].epoch"


def test_taking_the_head_shifts_the_queue() -> None:
    """The slots after the last element are reset to the first value."""

    def do(s: LogsState, n: int) -> None:
        s.queue = s.queue[1:]

    slots = acting(do, queue=(Entry(1), Entry(2)))
    assert slots.reads == ["queue.length"]
    assert slots.writes["queue[0].epoch"] == "queue[1].epoch"
    assert (slots.writes["queue.length"], slots.writes["queue[1].epoch"]) == (1, 0)


def test_unchanged_slots_are_not_written() -> None:
    """Assigning the same value writes nothing, whether it is a copy or known."""

    def do(s: LogsState, n: int) -> None:
        s.entry["a"] = s.entry["a"]
        s.number = s.number + 0
        s.queue = s.queue
        s.entry["b"] = s.entry["b"]._replace(isr=s.entry["b"].isr)

    assert acting(do) == (ENABLED, ["number"], {})


def test_an_element_is_added_to_a_set_unread() -> None:
    """Only its own slot is written."""

    def do(s: LogsState, n: int) -> None:
        s.entry["a"] = s.entry["a"]._replace(isr=s.entry["a"].isr | {1})

    assert acting(do) == (ENABLED, [], {"entry[a].isr{1}": 1})


def test_a_value_read_before_an_assignment_stays() -> None:
    """Two entries that change places, and one that was read before."""

    def do(s: LogsState, n: int) -> None:
        old = s.entry["a"]
        s.entry["a"], s.entry["b"] = s.entry["b"], old
        s.number = s.entry["b"].epoch + old.epoch

    slots = acting(do)
    assert (slots.outcome, slots.reads) == (ENABLED, ["entry[a].epoch"])
    assert (slots.writes["entry[a].epoch"], slots.writes["entry[b].epoch"]) == ("entry[b].epoch", 1)
    assert "number" not in slots.writes or slots.writes["number"] == 2


# Outcomes.


def leave(s: Any, n: int) -> None:
    s.entry["a"] = s.entry["a"]._replace(epoch=4)


def leave_and_answer(s: Any, n: int) -> int:
    leave(s, n)
    return 1


def leave_and_list(s: Any, n: int) -> None:
    s.number = 9
    s.queue = []


def list_and_leave(s: Any, n: int) -> None:
    s.queue = []
    s.number = 9


OUTCOMES: dict[str, tuple[Callable[[Any, int], Any], int]] = {
    "disabled": (lambda s, n: require(s.number == 1), USUAL),
    "closed": (lambda s, n: bound(s.number == 1), CLOSED),
    "a domain left": (leave, LEFT),
    "an unknown key": (lambda s, n: s.entry.__setitem__("c", 1), LEFT),
    "an answer": (lambda s, n: 0, FAILED),
    "an answer, and a domain left": (leave_and_answer, LEFT),
    "an unknown variable": (lambda s, n: s.nobody, FAILED),
    "a division": (lambda s, n: 1 // (s.number - 2), FAILED),
    "a list": (lambda s, n: setattr(s, "queue", [Entry()]), FAILED),
    "a list in a record": (lambda s, n: s.entry.__setitem__("a", s.entry["a"]._replace(epoch=[])), FAILED),
    "a set": (lambda s, n: s.entry.__setitem__("a", s.entry["a"]._replace(isr={1})), FAILED),
    "a list that is left out": (lambda s, n: setattr(s, "ignored", [1]), FAILED),
    "a left-out value is read": (lambda s, n: require(s.ignored), FAILED),
    "something that is left out": (lambda s, n: setattr(s, "ignored", s.queue), ENABLED),
    "a wrong field": (lambda s, n: s.entry["a"]._replace(epoc=1) and None, FAILED),
    "a field assigned to": (lambda s, n: setattr(s.entry["a"], "epoch", 1), FAILED),
    "an equal tuple": (lambda s, n: s.entry.__setitem__("a", (1, None, frozenset())), LEFT),
    "a bool": (lambda s, n: setattr(s, "number", True), LEFT),
    "a variable and a list": (leave_and_list, LEFT),
    "a list and a variable": (list_and_leave, FAILED),
}


@rows("name", [*OUTCOMES])
def test_outcomes_equal_those_of_plain_values(name: str) -> None:
    """The model has the same outcome."""
    do, expected = OUTCOMES[name]
    recording = Recording(do=do)
    assert recording.act().outcome == expected
    state = tuple(
        START.get(cell.name, first)
        for cell, first in zip(recording.model.layout.cells, recording.model.layout.first(), strict=True)
    )
    if expected == FAILED:
        with pytest.raises(EvaluationFailed):
            recording.model.expand(state)
    else:
        expansion = recording.model.expand(state)
        assert (len(expansion.steps) == 3) == (expected in (ENABLED, LEFT))
        assert all((step.after is None) == (expected == LEFT) for step in expansion.steps)
        assert bool(expansion.bounded) == (expected == CLOSED)


def test_properties_answer_as_on_plain_values() -> None:
    """It holds, is broken, or does something forbidden."""
    assert Recording(judged=lambda s: s.number == 2).judge() == (USUAL, ["number"], {})
    assert Recording(judged=lambda s: s.number == 1).judge() == (FOUND, ["number"], {})
    for wrong in (lambda s: 1, lambda s: s.queue, lambda s: require(False), lambda s: setattr(s, "number", 1)):
        assert Recording(judged=wrong).judge().outcome == FAILED


# Steps.


def matched(step: Any) -> bool:
    match step:
        case Step("act", {"n": n}):
            return bool(n == 1)
    return False


STEPS: dict[str, Callable[[Any], Any]] = {
    "its action": lambda step: step.action == "act",
    "its parameters": lambda step: step.parameters == {"n": 1},
    "one parameter": lambda step: step.parameters["n"] == 1,
    "both": lambda step: tuple(step) == ("act", {"n": 1}),
    "unpacked": lambda step: [action for action, parameters in [step]] == ["act"],
    "in words": lambda step: str(step) == f"{step}" == "act(n=1)",
    "as it is written": lambda step: repr(step) == "Step(action='act', parameters={'n': 1})",
    "another one": lambda step: step == Step("act", {"n": 1}) and Step("act", {"n": 1}) == step,
    "its class": lambda step: isinstance(step, Step) and isinstance(step, tuple) and step.__class__ is Step,
    "its first part": lambda step: step[0] == "act" and step[1:] == ({"n": 1},),
    "a pattern": lambda step: matched(step),
}


@rows("name", [*STEPS])
def test_every_form_of_reading_a_step_works(name: str) -> None:
    """By name, by place, unpacked, or matched."""
    asked = STEPS[name]
    recording = Recording(judged_step=lambda before, step, after: asked(step))
    assert recording.judge_step(1).outcome == USUAL
    assert recording.judge_step(2).outcome == (USUAL if name in {"its action", "unpacked", "its class"} else FOUND)
    assert set(recording.judge_step(1).reads) <= {"step", "instance"}


def test_without_a_step_a_property_that_reads_it_counts_as_found() -> None:
    """A property that does not read it answers for every step."""
    recording = Recording(judged_step=lambda before, step, after: after.number != 2 or step.action == "act")
    assert recording.judge_step() == (FOUND, ["number", "step"], {})
    assert recording.judge_step(number=1) == (USUAL, ["number"], {})
    assert recording.judge_step(0) == (USUAL, ["number", "step"], {})


def test_a_missing_step_cannot_be_swallowed() -> None:
    """Even if the property catches everything."""

    def judged(before: LogsState, step: Step, after: LogsState) -> bool:
        try:
            return step.action != ""
        except BaseException:
            return True

    assert Recording(judged_step=judged).judge_step().outcome == FOUND


def test_before_and_after_are_distinguished() -> None:
    """Even if they are compared as a whole."""
    recording = Recording(judged_step=lambda before, step, after: before.entry["b"] == after.entry["b"])
    assert recording.judge_step(0).outcome == USUAL
    assert recording.judge_step(0, **{"entry[b]": Entry(2, 2)}) == (
        FOUND,
        ["before entry[b].epoch", "entry[b].epoch", "before entry[b].leader", "entry[b].leader"],
        {},
    )


def test_reads_of_one_state() -> None:
    """Slots of both states are merged. The result is None if they differ, or if the step is read."""
    recorder = Recording().recorder
    n = recorder.n_slots
    assert recorder.of_one_state([(1, 2), (n + 1, 2), (n + 3, 0)]) == {1: 2, 3: 0}
    assert recorder.of_one_state([(1, 2), (n + 1, 1)]) is None
    assert recorder.of_one_state([(2 * n, 0)]) is None


# Records with behaviour of their own.


def test_methods_of_a_record_work() -> None:
    """Properties, class methods, static ones, private ones; they read only the slots they need."""

    def do(s: LogsState, n: int) -> None:
        entry = s.entry["a"]
        require(
            not entry.led and entry._is_at(1) and str(entry) == "epoch 1" and entry.of(2) == (2, None, frozenset())
        )
        cls = entry.__class__
        require(cls(3) == Entry(3) and cls.of(1) == Entry(1) and Entry.later(entry).epoch == 2)
        s.entry["b"] = entry.later()

    slots = acting(do)
    assert (slots.outcome, slots.reads) == (ENABLED, ["entry[a].leader", "entry[a].epoch"])
    assert (slots.writes["entry[b].epoch"], slots.writes["entry[b].isr{0}"]) == (2, "entry[a].isr{0}")


ONLY_TUPLES: dict[str, Callable[[Any], Any]] = {
    "super": lambda entry: super(Entry, entry).__add__((1,)) == (1, None, frozenset({0, 2}), 1),
    "a method of tuple": lambda entry: tuple.__len__(entry) == 3,
    "json": lambda entry: json.dumps(entry._replace(isr=None)) == "[1, null, null]",
    "formatting": lambda entry: "%s %s %s" % entry == "1 None {0, 2}",  # noqa: UP031
    "startswith": lambda entry: "abc".startswith(("a", *map(str, entry))),
    "copy of a set": lambda entry: entry.isr.copy() == {0, 2},
    "hash": lambda entry: hash(entry) == hash((1, None, frozenset({0, 2}))),
}


@rows("name", [*ONLY_TUPLES])
def test_opaque_operations_use_plain_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole cell is read then, even if inspecting the code finds nothing. Earlier reads come first."""
    monkeypatch.setattr(recording, "opaque", lambda model: {})
    asked = ONLY_TUPLES[name]

    def do(s: LogsState, n: int) -> None:
        require(s.entry["a"].epoch == 1 and s.number == 2 and asked(s.entry["a"]))

    slots = acting(do)
    assert slots.outcome == ENABLED
    assert slots.reads[:2] == ["entry[a].epoch", "number"]
    assert set(slots.reads[2:]) <= {f"entry[a].{part}" for part in ("leader", "isr{0}", "isr{1}", "isr{2}")}


class Ordered(NamedTuple):
    """A record with its own comparison."""

    left: int
    right: int

    def __lt__(self, other: tuple[Any, ...]) -> bool:
        return bool(self.right < other[1])


class Shy(NamedTuple):
    """A record with a field that a subclass hides."""

    left: int
    right: int


class Hiding(Shy):
    """It does."""

    @property
    def left(self) -> int:
        return 7


class Remembering(Shy):
    """A record with a cached property."""

    @cached_property
    def total(self) -> int:
        """Both."""
        return self.left + self.right


class Of(NamedTuple, Generic[T]):
    """A generic record."""

    left: T
    right: T
    count: int = 0  # type: ignore[assignment]


class Counted(NamedTuple):
    """A record whose fields have the names of methods of tuples."""

    index: int  # type: ignore[assignment]
    count: int  # type: ignore[assignment]


@pytest.mark.parametrize("cls", [Ordered, Hiding])
def test_a_record_with_its_own_comparison_or_access_is_read_whole(cls: Any) -> None:
    """Its methods run on plain values."""
    assert lazy_record(cls) is None


@rows("cls", [Entry, Shy, Remembering, Of, Counted, Step])
def test_other_records_are_lazy(cls: Any) -> None:
    """To any observer they are instances of their class, and tuples."""
    lazy = lazy_record(cls)
    assert lazy is not None
    made = object.__new__(lazy)
    assert isinstance(made, cls)
    assert isinstance(made, tuple)
    assert made.__class__ is cls


def pairs(cls: Any, do: Callable[[Any], Any]) -> Specification:
    """A system with one such record."""

    def of_its_fields(self: Any) -> Domain[Any]:
        rest = {"count": integers(0, 1)} if cls is Of else {}
        return record(cls, **dict.fromkeys(cls._fields[:2], integers(0, 2)), **rest)

    class PairsState(State):
        pair: Any = variable("The pair.", of=of_its_fields)

    class Pairs(Specification[PairsState]):
        @action
        def act(self, s: PairsState) -> None:
            s.pair = do(s.pair)

    return Pairs()


SELF_WILLED: list[tuple[Any, Callable[[Any], Any]]] = [
    (Ordered, lambda pair: Ordered(int(pair < (5, 2)), 0)),
    (Hiding, lambda pair: Hiding(pair.left - 6, pair[1])),
    (Remembering, lambda pair: pair._replace(left=(pair.total, pair._replace(right=2).total)[1] % 3)),
    (Of, lambda pair: pair._replace(left=pair.right, count=pair.count)),
    (Counted, lambda pair: pair._replace(count=pair.index, index=(pair.count + 1) % 3)),
]


@pytest.mark.parametrize(("cls", "do"), SELF_WILLED, ids=[cls.__name__ for cls, _ in SELF_WILLED])
def test_records_of_any_kind_equal_plain_ones(cls: Any, do: Callable[[Any], Any]) -> None:
    """In every state."""
    model = Model(pairs(cls, do))
    recorder, layout = Recorder(model), model.layout
    for left in range(3):
        for right in range(3):
            packed = layout.pack((cls(left, right),))
            found = recorder.action(0, 0, [packed, packed, recorder.no_step])
            after = model.expand(layout.unpack(packed)).steps[0].after
            assert after is not None
            before = layout.cells[0].domain.codes(cls(left, right))
            codes = dict(enumerate(before))
            for slot, code in found.writes.items():
                codes[slot] = before[code.slot] if isinstance(code, Copy) else code
            assert tuple(codes.values()) == layout.cells[0].domain.codes(after[0])


def test_a_lazy_value_kept_after_its_evaluation_does_not_change() -> None:
    """It belongs to its state, not to the one now in the registers."""
    kept: list[Any] = []

    def do(s: LogsState, n: int) -> None:
        kept.append(s.queue + (s.entry["b"],))
        require(s.number == 2)

    recording = Recording(do=do)
    recording.act()
    recording.act(0, queue=(), **{"entry[b]": Entry(0)})
    first, second = (each for each in kept if type(each) is not tuple)
    assert tuple(first) == (Entry(3, 2, frozenset({0})), Entry(2, 1, frozenset({1})))
    assert tuple(second) == (Entry(0),)


# Detection of nondeterminism and of opaque code.


def alternating() -> Callable[[LogsState, int], None]:
    """An action with a different effect every other time."""
    calls = [0]

    def do(s: LogsState, n: int) -> None:
        calls[0] += 1
        s.number = calls[0] % 2

    return do


def test_a_nondeterministic_action_is_detected() -> None:
    """Repeated with the same values, it has another effect. The error gives the state."""
    with pytest.raises(
        EvaluationFailed, match=r"^act\(n=0\): repeated with the same values, it gives another"
    ) as caught:
        acting(alternating())
    assert "number = 2" in caught.value.state


def test_an_action_with_memory_is_detected() -> None:
    """It is enabled once, and then disabled."""
    calls: list[int] = []

    def do(s: LogsState, n: int) -> None:
        calls.append(n)
        require(len(calls) == 1)

    with pytest.raises(EvaluationFailed, match="not deterministic"):
        acting(do)


def test_a_nondeterministic_property_is_detected() -> None:
    """The error names the property."""
    calls = list(range(99))
    with pytest.raises(EvaluationFailed, match=r"^judge: repeated with"):
        Recording(judged=lambda s: calls.pop() % 2 == 0).judge()


@pytest.mark.parametrize(
    "asked",
    [
        lambda s: type(s.entry["a"]) is Entry,
        lambda s: type(s.queue) is tuple,
        lambda s: type(s.number) is int,
        lambda s: "%s" % s.entry["a"][:1] == "1",  # noqa: UP031
    ],
    ids=["the type of a record", "the type of a sequence", "the type of an integer", "a percent sign"],
)
def test_inspecting_a_lazy_value_is_detected(asked: Callable[[Any], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """The result would differ from that on plain values, so the next recorder uses plain values."""
    monkeypatch.setattr(recording, "opaque", lambda model: {})
    recorded = Recording(do=lambda s, n: require(asked(s)))
    with pytest.raises(OpaqueRuleFound, match="act"):
        recorded.act()
    recorded.recorder = Recorder(recorded.model)
    assert recorded.act().outcome == ENABLED


def test_opaque_code_is_detected_by_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes no difference in this state, but it does for another value."""
    monkeypatch.setattr(recording, "opaque", lambda model: {})

    def hidden(s: LogsState) -> bool:
        try:
            return json.dumps(s.number) != "1"
        except TypeError:
            return True

    with pytest.raises(OpaqueRuleFound, match="judge"):
        Recording(judged=hidden).judge()


def test_an_action_that_inspects_registers_is_detected() -> None:
    """It may behave differently in states that agree in the slots it reads."""

    def do(s: LogsState, n: int) -> None:
        require(s._row.values.seen.registers[0].bit_count() % 2)

    recording = Recording(do=do)

    def look_around() -> None:
        for number in range(4):
            recording.act(number=number)

    with pytest.raises(OpaqueRuleFound, match="act"):
        look_around()


def test_a_witness_counts_as_found_when_true() -> None:
    """An invariant would count as found when false."""

    class Seeing(Logs):
        @sometimes
        def seen(self, s: LogsState) -> bool:
            return bool(s.number == 0)

    model = Model(Seeing())
    recorder = Recorder(model)
    registers = [0] * (2 * model.layout.words) + [recorder.no_step]
    assert recorder.of_state(model.properties[3].instances[0], True, registers).outcome == FOUND


class Bell(State):
    """A bell."""

    rung: bool = variable("Whether it was rung.")


class Bells(Part[Bell]):
    """A part with a bell to ring."""

    @action
    def ring(self, s: Bell) -> None:
        """Once."""
        require(not s.rung)
        s.rung = True

    @transition_invariant
    def stays_rung(self, before: Bell, step: Step, after: Bell) -> bool:
        """It does not read the step."""
        return after.rung or not before.rung

    @transition_invariant
    def by_ringing(self, before: Bell, step: Step, after: Bell) -> bool:
        """It does."""
        return before.rung == after.rung or step.action == "ring"


class Tower(State):
    """A tower with a bell in it."""

    bell: Bell


class Towers(Specification[Tower]):
    """A system with a part."""

    @part
    def bell(self) -> Bells:
        """The one."""
        return Bells()


def test_a_property_of_a_part_reads_the_step_only_if_it_uses_it() -> None:
    """Otherwise there would be a path for each action where one is enough."""
    model = Model(Towers())
    recorder = Recorder(model)
    rung = [1 << 63, 0, 0]
    of_step = {each.name: each.instances[0] for each in model.properties if each.over_steps}
    first_of_step = 2 * recorder.n_slots
    reads = {name: [slot for slot, _ in recorder.of_step(one, False, rung).reads] for name, one in of_step.items()}
    assert all(slot < first_of_step for slot in reads["bell.stays_rung"])
    assert first_of_step in reads["bell.by_ringing"]
