"""Printed programs run unchanged, for parameters of any type."""

from __future__ import annotations

from enum import Enum, Flag
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import pytest

from spec.checking import check
from spec.checking.traces.program import program
from spec.language import Specification, State, action, constant, initial, invariant, one_of, subset_of, variable
from spec.testing import Violation, as_state_machine
from tests.spec.checking.values import test_spelling
from tests.spec.testing.running import failure_of

Odd = Annotated[Any, "a value"]


class Kind(Enum):
    """A kind of message."""

    ASK = 1
    VOTE = 2


class May(Flag):
    """Permissions."""

    READ = 1
    WRITE = 2


Names = Enum("Names", {"class": 1, "two words": 2}, module=__name__)


class Door(Enum):
    """Another module has a class of the same name."""

    OPEN = 1


class Message(NamedTuple):
    """A record whose class contains a class."""

    kind: Kind
    of: Odd


class Step(NamedTuple):
    """It has the name of a class that programs import."""

    number: int


class Sent(State):
    """The sent value, and its phase."""

    class Phase(Enum):
        """Defined inside the class of states."""

        ON = 1
        OFF = 2

    v: Odd = variable("Any value.")
    phase: Phase = variable("The phase of sending.")


VALUES: tuple[Any, ...] = (
    Kind.ASK,
    Sent.Phase.OFF,
    frozenset(),
    frozenset({Kind.VOTE}),
    May(0),
    May.READ | May.WRITE,
    float("inf"),
    float("-inf"),
    10**5000,
    Names["class"],
    Names["two words"],
    Door.OPEN,
    test_spelling.Door.SHUT,
    Message(Kind.VOTE, Sent.Phase.ON),
    Step(3),
    Fraction(1, 3),
    "a\n'\"b",
    b"\0",
    ((),),
    None,
)


class Odds(Specification[Sent]):
    """Any value may be sent, except the forbidden one."""

    meant: int = constant(0, "Which.", at_least=0)
    kinds: frozenset = constant(frozenset(), "A constant whose value a program prints.")  # type: ignore[type-arg]

    def sizes(self) -> Any:
        """The odd ones."""
        return {Odd: one_of("nothing yet", *VALUES)}

    @initial(phase=Sent.Phase)
    def begin(self, s: Sent, phase: Sent.Phase) -> None:
        """One of several initial states."""
        s.phase = phase

    @action
    def send(self, s: Sent, v: Odd) -> None:
        """It is sent."""
        s.v = v

    @action(some=lambda self: subset_of(Kind))
    def turn(self, s: Sent, some: frozenset[Kind], phase: Sent.Phase) -> None:
        """Another parameter."""
        s.phase = phase

    @invariant
    def never(self, s: Sent) -> bool:
        """The forbidden value is not sent while it is off."""
        return s.v != VALUES[self.meant] or s.phase is not Sent.Phase.OFF


class OddMachine(as_state_machine(Odds(meant=13))):  # type: ignore[misc]
    """A user's own machine, derived from a generated one."""


def runs(text: str) -> None:
    """Run a program in a namespace of its own."""
    exec(compile(text, "printed", "exec"), {"__name__": "printed"})


@pytest.mark.parametrize("meant", range(len(VALUES)))
def test_a_trace_as_a_program(meant: int) -> None:
    """It asserts the violation."""
    specification = Odds(meant=meant, kinds=frozenset({Kind.ASK}) if meant else frozenset())
    trace = check(specification, engine="reference", properties=["never"]).counterexample
    assert trace is not None
    runs(program(specification, trace))


@pytest.mark.parametrize("meant", [5, 12, 13])
def test_a_failing_machine_prints_a_program_that_fails(meant: int) -> None:
    """In the form that Hypothesis prints."""
    failure = failure_of(as_state_machine(Odds(meant=meant)))
    with pytest.raises(Violation, match="never is broken"):
        runs(printed(failure.text))


def test_a_hand_edited_program_still_fails() -> None:
    """It has the steps' classes, too."""
    failure = failure_of(OddMachine)
    with pytest.raises(Violation, match="never is broken"):
        runs(printed(failure.text))


def printed(text: str) -> str:
    """Return the program in Hypothesis's output."""
    lines = text.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith(("from ", "import ")))
    end = next(at for at, line in enumerate(lines) if line.startswith("state.teardown"))
    return "\n".join(lines[begin:end])
