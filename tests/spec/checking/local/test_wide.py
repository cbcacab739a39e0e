"""States of many words: the engines agree on them, up to the widest that tables hold."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from spec.checking import check
from spec.checking.local import LocalEngine, learning_budget, shape
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.checking.simulation import simulate
from spec.checking.spark import SparkEngine
from spec.checking.spark.allotment import MemoryQuota
from spec.checking.spark.work import CompiledWork, PlainWork
from spec.checking.spark.worker_state import work_on
from spec.checking.states import limits
from spec.checking.states.limits import WORDS, too_large
from spec.language import (
    Domain,
    Specification,
    State,
    Step,
    Total,
    action,
    constant,
    every_combination,
    integers,
    interchangeable,
    invariant,
    mapping,
    require,
    sometimes,
    subset_of,
    transition_invariant,
    variable,
)
from tests.spec.checking.local.comparing import agreed, explored
from tests.spec.toys import TOYS
from tests.tiers import long_unless


class Message(NamedTuple):
    """A message with five fields."""

    kind: int
    source: int
    target: int
    term: int
    number: int


class GossipState(State):
    """The state of `Gossip`."""

    sent: frozenset[Message] = variable("The sent.", of=lambda self: subset_of(self.message()))
    senders: int = variable("The senders.", of=lambda self: integers(0, 2))


class Gossip(Specification[GossipState]):
    """Servers tell each other of terms, by messages that stay: one bit for each possible message."""

    kinds = constant(3, "How many kinds of messages there are.")
    servers = constant(5, "How many servers there are.")
    terms = constant(4, "The number of terms.")
    talking = constant(1, "How many servers send something.", at_most=2)

    def server(self) -> Domain[int]:
        """The servers, which send and receive."""
        return interchangeable("server", range(self.servers))

    def message(self) -> Domain[Message]:
        """Every possible message."""
        term, server = range(self.terms), self.server()
        return every_combination(
            Message, kind=range(self.kinds), source=server, target=server, term=term, number=range(4)
        )

    @action(source=server, target=server, index=range(2))
    def ask(self, s: GossipState, source: int, target: int, index: int) -> None:
        require(s.senders < self.talking and source != target)
        s.senders += 1
        s.sent |= {Message(0, source, target, 0, index)}

    @action(kind=range(2), source=server, target=server, index=range(2))
    def answer(self, s: GossipState, kind: int, source: int, target: int, index: int) -> None:
        require(Message(kind, source, target, kind, index) in s.sent)
        s.sent |= {Message(kind + 1, target, source, kind + 1, index)}

    @invariant
    def never_two_last_ones(self, s: GossipState) -> bool:
        return len([message for message in s.sent if message.kind == 2]) < 2

    @transition_invariant
    def nothing_is_lost(self, before: GossipState, step: Step, after: GossipState) -> bool:
        return bool(before.sent <= after.sent)

    @sometimes
    def answered(self, s: GossipState) -> bool:
        return any(message.kind for message in s.sent)


class BitsState(State):
    """The state of `Bits`."""

    byte: Total[int, int] = variable("The byte.", of=lambda self: mapping(range(8 * self.words), integers(0, 255)))


class Bits(Specification[BitsState]):
    """A state of the given number of words, with values at both ends."""

    words = constant(1, "Of a state.", at_least=1)

    @action(step=(1, 128))
    def raise_the_last(self, s: BitsState, step: int) -> None:
        last = 8 * self.words - 1
        require(s.byte[last] + step < 256 and s.byte[last] < 5)
        s.byte[last] += step

    @action
    def hand_over(self, s: BitsState) -> None:
        require(s.byte[8 * self.words - 1] > 2)
        s.byte[0], s.byte[8 * self.words - 1] = s.byte[8 * self.words - 1], s.byte[0]

    @invariant
    def never_full(self, s: BitsState) -> bool:
        return bool(s.byte[0] < 132)

    @transition_invariant
    def never_far_from_four(self, before: BitsState, step: Step, after: BitsState) -> bool:
        far = step.action == "raise_the_last" and step.parameters["step"] == 128
        return not (far and before.byte[8 * self.words - 1] == 4)


@pytest.mark.long
def test_a_set_of_messages_of_five_fields_is_explored() -> None:
    """It has 1,202 bits, more words than kernels are unrolled for."""
    gossip = Gossip()
    layout = Model(gossip).layout
    assert (layout.width, layout.words > shape.UNROLLED) == (1202, True)
    found = agreed(gossip, keep_going=True)
    assert (found["ended"], found["statistics"][2]) == ("complete", 121)


@pytest.mark.long
def test_orbits_of_wide_states_equal_the_reference() -> None:
    """There are at most an eighth as many as states."""
    gossip = Gossip(servers=4, terms=6)
    assert Model(gossip).layout.words > shape.UNROLLED
    found = agreed(gossip, keep_going=True, symmetry=True)
    assert found["statistics"][2] < explored(ReferenceEngine(), gossip, keep_going=True)["statistics"][2] / 8


@pytest.mark.parametrize("words", long_unless((shape.UNROLLED + 1).__eq__, [shape.UNROLLED + 1, 64, WORDS]))
def test_states_of_many_words_are_explored(words: int) -> None:
    """Up to the most that a node of a table can address."""
    bits = Bits(words=words)
    assert Model(bits).layout.words == words
    found = agreed(bits, keep_going=True)
    assert sorted(discovery[0] for discovery in found["discoveries"].values()) == [6, 7]


@pytest.mark.parametrize("toy", long_unless({"jugs", "a deadlock"}.__contains__, TOYS))
def test_the_generic_kernel_equals_the_specialised_ones(toy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On small toys, which have every event of a search."""
    monkeypatch.setattr(shape, "UNROLLED", 0)
    agreed(TOYS[toy], keep_going=True)
    agreed(TOYS[toy])


@pytest.mark.long
def test_spark_learns_wide_states_too() -> None:
    """With the result of the reference engine."""
    gossip = Gossip()
    assert isinstance(work_on(Model(gossip), (), MemoryQuota(1 << 30, 0)), CompiledWork)
    assert explored(SparkEngine(), gossip) == explored(ReferenceEngine(), gossip)


@pytest.mark.long
def test_spark_explores_too_wide_states_in_plain_python() -> None:
    """At any width: the sizes of such domains have more digits than Python prints by default."""
    gossip = Gossip(kinds=40)
    assert isinstance(work_on(Model(gossip), (), MemoryQuota(1 << 30, 0)), PlainWork)
    assert explored(SparkEngine(), gossip) == explored(ReferenceEngine(), gossip)


def test_walks_through_wide_states_equal_plain_walks() -> None:
    """Step for step."""
    compiled, plain = (simulate(Bits(words=20), runs=50, seed=7, plain=plain) for plain in (False, True))
    assert compiled.counterexample == plain.counterexample
    assert (compiled.tally.runs, compiled.tally.steps) == (plain.tally.runs, plain.tally.steps)


# Beyond the limits.


def test_a_state_too_wide_for_tables_is_explored_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same result, and advice that lists the widest variables with their bits."""
    monkeypatch.setattr(learning_budget, "ALLOWANCE", 0)
    gossip = Gossip(kinds=21)
    assert Model(gossip).layout.words > WORDS
    found = check(gossip, engine="local", max_depth=3)
    assert "sent takes 8,400 bits, senders takes 2 bits." in found.advice
    asked = {"max_depth": 3}
    assert explored(LocalEngine(), gossip, **asked) == explored(ReferenceEngine(), gossip, **asked)


def test_the_widest_mapping_is_counted_whole() -> None:
    """The bits of all its cells are added."""
    assert "byte takes 8,192 bits" in too_large(Model(Bits(words=WORDS + 1)))


def test_a_state_at_the_limit_is_accepted() -> None:
    """The limit is exact."""
    assert not too_large(Model(Bits(words=WORDS)))


def test_too_many_actions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a step has limited room."""
    monkeypatch.setattr(limits, "ACTIONS", 2)
    assert "2 actions" in too_large(Model(Bits()))
