"""Toy specifications with known small results, one for each event that an engine may meet."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple

import pytest

from spec.language import (
    Specification,
    State,
    Step,
    Total,
    action,
    bound,
    constant,
    initial,
    integers,
    interned,
    invariant,
    mapping,
    require,
    sometimes,
    subset_of,
    switch,
    transition_invariant,
    variable,
)


class JugsState(State):
    """The states of `Jugs`."""

    jug: Total[str, int] = variable(
        "The litres in each.",
        of=lambda self: mapping(("small", "large"), lambda which: integers(0, getattr(self, which))),
    )


class Jugs(Specification[JugsState]):
    """Two jugs without a scale, of 3 and 5 litres; the task is to measure 4 litres."""

    small: int = constant(3, "capacity of the small one in litres", at_least=1)
    large: int = constant(5, "capacity of the large one in litres", at_least=1)

    @action(which=("small", "large"))
    def fill(self, s: JugsState, which: str) -> None:
        """Fill one, full or not."""
        s.jug[which] = getattr(self, which)

    @action(which=("small", "large"))
    def empty(self, s: JugsState, which: str) -> None:
        """Pour one out."""
        require(s.jug[which])
        s.jug[which] = 0

    @action(source=("small", "large"))
    def pour(self, s: JugsState, source: str) -> None:
        """Pour one into the other, until that is full."""
        other = "large" if source == "small" else "small"
        poured = min(s.jug[source], getattr(self, other) - s.jug[other])
        require(poured)
        s.jug[source] -= poured
        s.jug[other] += poured

    @invariant
    def never_four(self, s: JugsState) -> bool:
        """There are never 4 litres in the large one; this must break."""
        return bool(s.jug["large"] != 4)

    @sometimes
    def both_full(self, s: JugsState) -> bool:
        """Both can be full."""
        return bool(s.jug == {"small": self.small, "large": self.large})


class WalkersState(State):
    """The states of `Walkers`."""

    at: Total[int, int] = variable(
        "The place of each walker.", of=lambda self: mapping(range(self.walkers), integers(0, self.length - 1))
    )


class Walkers(Specification[WalkersState]):
    """Walkers on a line who take steps, or change places. Many paths lead to each state."""

    walkers: int = constant(3, "number of walkers", at_least=2)
    length: int = constant(4, "number of places", at_least=2)
    starts: int = constant(1, "number of initial states", at_least=1)
    far: int = constant(1000, "the sum of places that must not be reached")
    apart: int = constant(1000, "the distance at which walkers must not change places")
    bounded: int = constant(1000, "the sum of places at which the search stops")
    back: bool = switch(True, "they can go back")
    fenced: bool = switch(True, "there is a fence at the end of the line")

    @initial(start=lambda self: range(self.starts))
    def begin(self, s: WalkersState, start: int) -> None:
        """All are at the first place, except the last walker."""
        s.at[self.walkers - 1] = start

    @action(walker=lambda self: range(self.walkers))
    def forward(self, s: WalkersState, walker: int) -> None:
        """One goes on."""
        require(s.at[walker] < self.length - 1 or not self.fenced)
        bound(sum(s.at.values()) < self.bounded)
        s.at[walker] += 1

    @action(walker=lambda self: range(self.walkers), when=lambda self: self.back)
    def backward(self, s: WalkersState, walker: int) -> None:
        """One goes back."""
        require(s.at[walker] > 0)
        s.at[walker] -= 1

    @action(walker=lambda self: range(self.walkers - 1))
    def change(self, s: WalkersState, walker: int) -> None:
        """One changes places with the next; at the same place, this step changes nothing, and is left out."""
        require(s.at[walker] != s.at[walker + 1])
        s.at[walker], s.at[walker + 1] = s.at[walker + 1], s.at[walker]

    @invariant
    def not_too_far(self, s: WalkersState) -> bool:
        """Together they have not gone too far."""
        return bool(sum(s.at.values()) < self.far)

    @invariant(walker=lambda self: range(self.walkers))
    def on_the_line(self, s: WalkersState, walker: int) -> bool:
        """None of them has left the line."""
        return bool(0 <= s.at[walker] < self.length)

    @transition_invariant
    def change_when_near(self, before: WalkersState, step: Step, after: WalkersState) -> bool:
        """Only neighbours change places."""
        if step.action != "change":
            return True
        walker = step.parameters["walker"]
        return bool(abs(before.at[walker] - before.at[walker + 1]) < self.apart)

    @sometimes
    def all_at_the_end(self, s: WalkersState) -> bool:
        """All of them can get there."""
        return all(place == self.length - 1 for place in s.at.values())

    @sometimes
    def last_step_of_the_first(self, before: WalkersState, step: Step, after: WalkersState) -> bool:
        """The first can take the last step, while the second is not at the start."""
        return bool(after.at[0] == self.length - 1 and before.at[0] < self.length - 1 and after.at[1] > 0)


class OneWay(Walkers, back=False):
    """They get stuck at the end of the line, and deadlock is checked."""

    deadlock = True

    change = None  # type: ignore[assignment]


class OffTheLine(Walkers, fenced=False):
    """Without the fence, a step leaves the domain."""


class TurnstileState(State):
    """The states of `Turnstile`."""

    inside: int = variable("How many are in the room.", of=lambda self: integers(0, self.room + 1))
    home: int = variable("How many have gone home.", of=lambda self: integers(0, self.people))


class Turnstile(Specification[TurnstileState]):
    """People enter a room through a rope or an arm, which may know when it is full, and go home from there."""

    releases = {
        "0.11": {"kind": "rope"},
        "1.1": {"kind": "rope"},
        "2.0": {"kind": "arm", "lock": True},
        "3.9": {"kind": "arm", "lock": True},
    }

    room: int = constant(2, "how many fit in", at_least=1)
    people: int = constant(4, "how many there are", at_least=1)
    kind: str = switch("arm", "the barrier", among=["rope", "arm"])

    @action
    def enter(self, s: TurnstileState) -> None:
        """One more goes in, or squeezes in."""
        require(s.inside <= self.room and s.inside + s.home < self.people)
        s.inside += 1

    @action
    def leave(self, s: TurnstileState) -> None:
        """One goes home."""
        require(s.inside)
        s.inside -= 1
        s.home += 1

    @invariant
    def never_crowded(self, s: TurnstileState) -> bool:
        """The room has space for all people in it."""
        return bool(s.inside <= self.room)

    @sometimes
    def squeezed(self, s: TurnstileState) -> bool:
        """More are in than fit in."""
        return bool(s.inside > self.room)


class Rope(Turnstile, kind="rope"):
    """A rope knows nothing."""


class Arm(Turnstile, kind="arm"):
    """An arm has a lock, a constant that a rope lacks."""

    lock: bool = switch(True, "it locks when the room is full")
    patience: int = constant(1, "how many more it lets in without a lock", at_least=0, at_most=1)

    def enter(self, s: TurnstileState) -> None:
        """One more goes in, unless it is locked."""
        require(s.inside < self.room + (0 if self.lock else self.patience))
        super().enter(s)


class Jammed(Arm):
    """Never selected as a variant, since it fixes nothing more; its constant and one value are its own."""

    force: bool = switch(False, "it is kicked")


class JammedAgain(Arm, kind="arm"):
    """Never selected either."""


class CountdownState(State):
    """The states of `Countdown`."""

    number: int = variable("The number.", of=lambda self: integers(0, self.top))
    twice: int = variable(
        "The phase between numbers, which makes many states.", of=lambda self: integers(0, self.top)
    )


class Countdown(Specification[CountdownState]):
    """Each step goes down by one, two or three; a subclass defines the event at one number."""

    top: int = constant(6, "where it starts", at_least=1)
    fatal: int = constant(2, "the number of the event")
    driver: int = constant(0, "the process that is spared")
    flag: str = constant("", "a file that exists after the event")

    @initial
    def begin(self, s: CountdownState) -> None:
        """At the top."""
        s.number = self.top

    @action(by=(1, 2, 3))
    def down(self, s: CountdownState, by: int) -> None:
        """Go down."""
        require(s.number >= by)
        s.number -= by

    @action
    def aside(self, s: CountdownState) -> None:
        """Do something else."""
        require(s.twice < self.top)
        s.twice += 1


class RaisingAction(Countdown):
    """An action divides by zero, first in the state with the lowest code of those where it does."""

    @action
    def divide(self, s: CountdownState) -> None:
        """It raises, so its guard is never evaluated."""
        require(1 // (s.number - self.fatal) > 100)


class RaisingProperty(Countdown):
    """An invariant divides by zero."""

    @invariant
    def divisible(self, s: CountdownState) -> bool:
        """The quotient is small."""
        return bool(1 // (s.number - self.fatal) <= 1)


class Talking(Countdown):
    """An action prints where it is evaluated."""

    @action
    def talk(self, s: CountdownState) -> None:
        """It is not enabled."""
        if s.number == self.fatal:
            print("in the driver" if sys.modules["os"].getpid() == self.driver else "in a worker")
        require(False)


class WrongStart(Countdown):
    """The initial state is outside its domain."""

    @initial
    def begin(self, s: CountdownState) -> None:
        """Above the top."""
        s.number = self.top + 1


def misbehaving(do: Callable[..., None], *given: Any) -> None:
    """Call a function as no rule may: where it is not seen that a rule calls it."""
    thread = sys.modules["threading"].Thread(target=do, args=given)
    thread.start()
    thread.join()


def happens_first(specification: Countdown) -> bool:
    """Whether this process is not the driver, and the event has not happened before."""
    system = sys.modules["os"]
    if system.getpid() == specification.driver or sys.modules["os.path"].exists(specification.flag):
        return False
    with open(specification.flag, "w"):
        return True


def die_once(specification: Countdown) -> None:
    """Kill this process, unless it is the driver or the event has already happened."""
    if happens_first(specification):
        sys.modules["os"].kill(sys.modules["os"].getpid(), signal.SIGKILL)


def interrupt_once(specification: Countdown) -> None:
    """Send Ctrl-C to the driver and wait, unless this is the driver or the event has already happened."""
    if happens_first(specification):
        sys.modules["os"].kill(specification.driver, signal.SIGINT)
        sys.modules["signal"].pause()


def report(port: int) -> None:
    """Report the process id, and wait to be killed while someone listens."""
    with suppress(ConnectionError), sys.modules["socket"].create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(str(sys.modules["os"].getpid()).encode())
        connection.recv(1)  # returns when the listener closes


class DeadlyAction(Countdown):
    """A worker that expands a certain state is killed."""

    @action(by=(1, 2, 3))
    def down(self, s: CountdownState, by: int) -> None:
        """Go down, if it lives."""
        require(s.number >= by)
        if s.number == self.fatal:
            misbehaving(die_once, self)
        s.number -= by


class DeadlyProperty(Countdown):
    """A worker that checks a certain state is killed, with some of its files written."""

    @invariant
    def lives(self, s: CountdownState) -> bool:
        """It checks the state, if it lives."""
        if s.number == self.fatal:
            misbehaving(die_once, self)
        return True


class Announcing(Walkers):
    """A worker that expands certain states reports its process id, and waits to be killed while someone listens."""

    driver: int = constant(0, "the process that is spared")
    port: int = constant(0, "the listener's port on this machine")

    @action
    def announce(self, s: WalkersState) -> None:
        """It is not enabled."""
        if sum(s.at.values()) == self.length and sys.modules["os"].getpid() != self.driver:
            misbehaving(report, self.port)
        require(False)


class Interrupting(Countdown):
    """A worker sends Ctrl-C to the driver, and does not end itself."""

    @action
    def interrupt(self, s: CountdownState) -> None:
        """It is not enabled."""
        if s.number == self.fatal:
            misbehaving(interrupt_once, self)
        require(False)


class RetryingState(State):
    """The states of `Retrying`."""

    progress: Total[int, int] = variable(
        "State of each request: 0 waiting, 1 sent, 2 answered.",
        of=lambda self: mapping(range(self.requests), integers(0, 2)),
    )
    done: bool = variable("No further request is sent.")


class Retrying(Specification[RetryingState]):
    """Requests are sent repeatedly, which changes nothing: most steps are self-loops."""

    deadlock = True

    requests: int = constant(2, "number of requests", at_least=2)
    once: bool = switch(False, "the first request must not be sent again; this must break")

    @action(request=lambda self: range(self.requests))
    def send(self, s: RetryingState, request: int) -> None:
        """Send a request, or send it again, answered or not."""
        require(not s.done)
        s.progress[request] = max(s.progress[request], 1)

    @action(request=lambda self: range(self.requests))
    def repeat(self, s: RetryingState, request: int) -> None:
        """Send a request again: it never leads to another state."""
        require(s.progress[request] == 1)
        s.progress[request] = 1

    @action(request=lambda self: range(self.requests))
    def answer(self, s: RetryingState, request: int) -> None:
        """A request is answered."""
        require(s.progress[request] == 1)
        s.progress[request] = 2

    @action
    def end(self, s: RetryingState) -> None:
        """All are answered; then there is a deadlock."""
        require(not s.done and all(each == 2 for each in s.progress.values()))
        s.done = True

    @transition_invariant(when=lambda self: self.once)
    def first_is_sent_once(self, before: RetryingState, step: Step, after: RetryingState) -> bool:
        """It breaks only in a step that changes nothing."""
        return not (step.action == "send" and step.parameters["request"] == 0 and before.progress[0] == 2)

    @sometimes
    def sent_in_vain(self, before: RetryingState, step: Step, after: RetryingState) -> bool:
        """A request can be sent again; the only witness is a step that changes nothing."""
        return bool(step.action == "repeat" and before.progress[1] == 2)


class Town:
    """Where errands lead."""

    class Place(Enum):
        """A class within a class."""

        BANK = 1
        SHOP = 2


class Errand(NamedTuple):
    """Something to do, and with whom."""

    place: Town.Place
    people: frozenset[str]


class ErrandsState(State):
    """The states of `Errands`."""

    agenda: tuple[Errand, ...] = variable("The errands to do, the next one first.", of=lambda self: interned(()))
    done: int = variable("How many were done.", of=lambda self: integers(0, 6))


class Errands(Specification[ErrandsState]):
    """A list of errands that nobody declares; an errand at the bank leads to another in the shop."""

    longest: int = constant(3, "the longest list", at_least=1)

    @action(place=tuple(Town.Place), people=lambda self: subset_of(("ann", "bob")))
    def remember(self, s: ErrandsState, place: Town.Place, people: frozenset[str]) -> None:
        """Another errand is the last one."""
        require(len(s.agenda) < self.longest and len(people) > s.done % 2)
        s.agenda = (*s.agenda, Errand(place, people))

    @action
    def do(self, s: ErrandsState) -> None:
        """Do the next errand."""
        require(s.agenda and s.done < 6)
        first, *others = s.agenda
        s.done += 1
        again = (first._replace(place=Town.Place.SHOP),) if first.place == Town.Place.BANK else ()
        s.agenda = (*again, *others)

    @invariant
    def not_always_together(self, s: ErrandsState) -> bool:
        """It breaks with three errands."""
        return [len(each.people) for each in s.agenda] != [2, 2, 2]

    @transition_invariant
    def no_two_banks(self, before: ErrandsState, step: Step, after: ErrandsState) -> bool:
        """It breaks after two errands."""
        return after.done < 2 or [each.place for each in after.agenda[:2]] != [Town.Place.BANK] * 2

    @sometimes
    def first_with_both(self, s: ErrandsState) -> bool:
        """The people iterate in the order of their names."""
        return bool(s.done == 3 and s.agenda and [*s.agenda[0].people] == ["ann", "bob"])


TOYS: Mapping[str, Specification] = {
    "jugs": Jugs(),
    "walkers": Walkers(),
    "several starts": Walkers(starts=3),
    "an invariant broken": Walkers(starts=2, far=7),
    "a transition invariant broken": Walkers(apart=3),
    "several broken": Walkers(far=4, apart=3),
    "a bound": Walkers(bounded=5),
    "a bound that is no deadlock": OneWay(bounded=5),
    "a deadlock": OneWay(length=3),
    "a domain left": OffTheLine(),
    "countdown": Countdown(),
    "steps that change nothing": Retrying(),
    "a step that changes nothing breaks it": Retrying(once=True),
    "interned values": Errands(),
}
"""The toys by the events in them."""
TO_THE_END: dict[str, Any] = {"keep_going": True}
BOUNDS: list[dict[str, Any]] = [{}, TO_THE_END, {"max_depth": 4}, {"max_states": 20}]
BOUNDED = [
    pytest.param(
        toy,
        bounds,
        id=f"{toy}, {bounds}",
        marks=() if toy == "several broken" or bounds == TO_THE_END else pytest.mark.long,
    )
    for toy in TOYS
    for bounds in BOUNDS
]
"""Each toy, complete, and one of them with all bounds, the one with most events; `make long` has all of them."""
