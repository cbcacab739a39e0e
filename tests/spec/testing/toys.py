"""Small systems with known flaws, for random walks."""

from enum import Enum
from typing import Any

from spec.language import (
    Specification,
    State,
    Step,
    Total,
    action,
    booleans,
    bound,
    constant,
    initial,
    integers,
    invariant,
    mapping,
    require,
    sometimes,
    subset_of,
    transition_invariant,
    variable,
)


class LockState(State):
    """The states of `Lock`."""

    held: Total[int, bool] = variable("The held.", of=lambda self: mapping(range(self.clients), booleans()))
    taken: int = variable("How often it was taken.", of=lambda self: integers(0, 9))


class Lock(Specification[LockState]):
    """Clients take a lock and give it back. A client that forces it ignores the current owner."""

    clients: int = constant(3, "number of clients", at_least=1)
    forcing: bool = constant(True, "whether a client may force it")

    @action(client=lambda self: range(self.clients))
    def take(self, s: LockState, client: int) -> None:
        require(not any(s.held.values()))
        bound(s.taken < 9)
        s.held[client], s.taken = True, s.taken + 1

    @action(
        when=lambda self: self.forcing,
        victim=lambda self: range(self.clients),
        client=lambda self: range(self.clients),
    )
    def force(self, s: LockState, victim: int, client: int) -> None:
        require(s.held[victim] and not s.held[client])
        bound(s.taken < 9)
        s.held[client], s.taken = True, s.taken + 1

    @action(client=lambda self: range(self.clients))
    def give(self, s: LockState, client: int) -> None:
        require(s.held[client])
        s.held[client] = False

    @invariant(one=lambda self: range(self.clients), other=lambda self: range(self.clients))
    def exclusive(self, s: LockState, one: int, other: int) -> bool:
        """No two clients have the lock."""
        return one == other or not (s.held[one] and s.held[other])

    @sometimes
    def taken_twice(self, s: LockState) -> bool:
        return bool(s.taken == 2)


class ClockState(State):
    """The states of `Clock`."""

    hour: int = variable("The hour.", of=lambda self: integers(0, 5))


class Clock(Specification[ClockState]):
    """A clock that advances by any number of hours, and must not go back."""

    @action(hour=range(6))
    def turn(self, s: ClockState, hour: int) -> None:
        require(abs(s.hour - hour) == 1)
        s.hour = hour

    @transition_invariant(late=(4, 5))
    def never_back(self, before: ClockState, step: Step, after: ClockState, late: int) -> bool:
        """Time does not go back after a late hour."""
        return not (before.hour == late and after.hour < late and step.action == "turn")


class OverflowingState(State):
    """The states of `Overflowing`."""

    count: int = variable("The count.", of=lambda self: integers(0, 2))


class Overflowing(Specification[OverflowingState]):
    """A counter without a limit."""

    @action
    def press(self, s: OverflowingState) -> None:
        """It is pressed, whatever it shows."""
        s.count += 1


class FuseState(State):
    """The states of `Fuse`."""

    left: int = variable("The left.", of=lambda self: integers(0, 4))


class Fuse(Specification[FuseState]):
    """It burns down, and stays so."""

    @initial
    def lit(self, s: FuseState) -> None:
        s.left = 4

    @action
    def burn(self, s: FuseState) -> None:
        require(s.left)
        s.left -= 1


class DialState(State):
    """The states of `Dial`."""

    side: int = variable("The side.", of=lambda self: integers(0, 5))


class Dial(Specification[DialState]):
    """It begins on any side; the wrong side breaks its invariant at once."""

    wrong: int = constant(9, "the forbidden side")

    @initial(side=range(5))
    def thrown(self, s: DialState, side: int) -> None:
        require(side != 3)
        s.side = side

    @action
    def turn_on(self, s: DialState) -> None:
        s.side = (s.side + 1) % 5

    @invariant
    def not_the_wrong_side(self, s: DialState) -> bool:
        return bool(s.side != self.wrong)


class CombinationState(State):
    """The states of `Combination`."""

    clicks: int = variable("The clicks.", of=lambda self: integers(0, 63))


class Combination(Specification[CombinationState]):
    """In each state exactly one combination of three wheels is enabled."""

    @action(zone=range(4), middle=range(4), area=range(4))
    def turn(self, s: CombinationState, zone: int, middle: int, area: int) -> None:
        require((zone * 16 + middle * 4 + area) == s.clicks)
        s.clicks = (s.clicks + 5) % 64


class PingPongState(State):
    """The states of `PingPong`."""

    mine: bool = variable("The mine.", of=lambda self: booleans())


class PingPong(Specification[PingPongState]):
    """Two actions, with one enabled at a time."""

    @action
    def ping(self, s: PingPongState) -> None:
        require(not s.mine)
        s.mine = True

    @action
    def pong(self, s: PingPongState) -> None:
        require(s.mine)
        s.mine = False


class ClimbState(State):
    """The states of `Climb`."""

    height: int = variable("The height.", of=lambda self: integers(0, 40))


class Climb(Specification[ClimbState]):
    """Forty steps up; each is as likely to be a fall to the ground."""

    @action
    def step_up(self, s: ClimbState) -> None:
        require(s.height < 40)
        s.height += 1

    @action
    def fall(self, s: ClimbState) -> None:
        s.height = 0

    @invariant
    def never_on_top(self, s: ClimbState) -> bool:
        return bool(s.height < 40)


class Colour(Enum):
    """Values that print as their names."""

    RED = 1
    BLUE = 2


class NamesState(State):
    """The states of `Names`."""

    seen: frozenset[str] = variable("The seen.", of=lambda self: subset_of(("teardown", "rules", "paint")))


class Names(Specification[NamesState]):
    """Actions with names that Hypothesis uses itself; parameters of every kind."""

    @action
    def teardown(self, s: NamesState) -> None:
        s.seen |= {"teardown"}

    @action
    def rules(self, s: NamesState) -> None:
        s.seen |= {"rules"}

    @action(colour=Colour, where=subset_of((1, 2)))
    def paint(self, s: NamesState, colour: Colour, where: Any) -> None:
        require(len(s.seen) == 2 and colour is Colour.BLUE and not where)
        s.seen |= {"paint"}

    @invariant
    def not_all(self, s: NamesState) -> bool:
        return len(s.seen) < 3


class WheelsState(State):
    """The states of `Wheels`."""

    wheel: Total[int, int] = variable("The wheel.", of=lambda self: mapping(range(3), integers(0, 4)))
    turns: int = variable("The turns.", of=lambda self: integers(0, 9))


class Wheels(Specification[WheelsState]):
    """Wheels that are turned, exchanged and reset nine times in all; one position is wrong."""

    def turn(self, s: WheelsState) -> None:
        bound(s.turns < 9)
        s.turns += 1

    @action(wheel=range(3))
    def up(self, s: WheelsState, wheel: int) -> None:
        require(s.wheel[wheel] < 4)
        s.wheel[wheel] += 1
        self.turn(s)

    @action(one=range(3), other=range(3))
    def exchange(self, s: WheelsState, one: int, other: int) -> None:
        require(one < other and s.wheel[one] != s.wheel[other])
        s.wheel[one], s.wheel[other] = s.wheel[other], s.wheel[one]
        self.turn(s)

    @action(wheel=range(3))
    def reset(self, s: WheelsState, wheel: int) -> None:
        require(s.wheel[wheel] > 1)
        s.wheel[wheel] = 0
        self.turn(s)

    @invariant
    def not_that_position(self, s: WheelsState) -> bool:
        return tuple(s.wheel.values()) != (3, 0, 2)


class RoomState(State):
    """The states of `Crowd`."""

    inside: frozenset[int] = variable("The people inside.", of=lambda self: subset_of(range(20)))


class Crowd(Specification[RoomState]):
    """Twenty people enter and leave a room; six are too many. That is beyond a look-ahead."""

    @action(person=range(20))
    def enter(self, s: RoomState, person: int) -> None:
        require(person not in s.inside)
        s.inside |= {person}

    @action(person=range(20))
    def leave(self, s: RoomState, person: int) -> None:
        require(person in s.inside)
        s.inside -= {person}

    @invariant
    def not_crowded(self, s: RoomState) -> bool:
        return len(s.inside) < 6
