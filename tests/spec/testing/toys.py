"""Small systems with known flaws, to be walked through."""

from enum import Enum
from typing import Any

from spec.language import (
    Domain,
    MappingDomain,
    Specification,
    State,
    Step,
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


class Lock(Specification):
    """Clients take a lock and give it back. Whoever forces it does not look who has it."""

    clients: int = constant(3, "how many there are", at_least=1)
    forcing: bool = constant(True, "whether a client may force it")

    @variable
    def held(self) -> MappingDomain:
        return mapping(range(self.clients), booleans())

    @variable
    def taken(self) -> Domain[int]:
        """How often it was taken."""
        return integers(0, 9)

    @action(client=lambda self: range(self.clients))
    def take(self, s: State, client: int) -> None:
        require(not any(s.held.values()))
        bound(s.taken < 9)
        s.held[client], s.taken = True, s.taken + 1

    @action(
        when=lambda self: self.forcing,
        victim=lambda self: range(self.clients),
        client=lambda self: range(self.clients),
    )
    def force(self, s: State, victim: int, client: int) -> None:
        require(s.held[victim] and not s.held[client])
        bound(s.taken < 9)
        s.held[client], s.taken = True, s.taken + 1

    @action(client=lambda self: range(self.clients))
    def give(self, s: State, client: int) -> None:
        require(s.held[client])
        s.held[client] = False

    @invariant(one=lambda self: range(self.clients), other=lambda self: range(self.clients))
    def exclusive(self, s: State, one: int, other: int) -> bool:
        """No two clients have the lock."""
        return one == other or not (s.held[one] and s.held[other])

    @sometimes
    def taken_twice(self, s: State) -> bool:
        return bool(s.taken == 2)


class Clock(Specification):
    """A clock that goes in any steps, and must not go back."""

    @variable
    def hour(self) -> Domain[int]:
        return integers(0, 5)

    @action(hour=range(6))
    def turn(self, s: State, hour: int) -> None:
        require(abs(s.hour - hour) == 1)
        s.hour = hour

    @transition_invariant(late=(4, 5))
    def never_back(self, before: State, step: Step, after: State, late: int) -> bool:
        """Late hours are not left for earlier ones."""
        return not (before.hour == late and after.hour < late and step.action == "turn")


class Overflowing(Specification):
    """A counter that does not know where to stop."""

    @variable
    def count(self) -> Domain[int]:
        return integers(0, 2)

    @action
    def press(self, s: State) -> None:
        """Somebody presses it, whatever it shows."""
        s.count += 1


class Fuse(Specification):
    """It burns down, and that is that."""

    @variable
    def left(self) -> Domain[int]:
        return integers(0, 4)

    @initial
    def lit(self, s: State) -> None:
        s.left = 4

    @action
    def burn(self, s: State) -> None:
        require(s.left)
        s.left -= 1


class Dial(Specification):
    """It begins on any side, and the wrong one is wrong at once."""

    wrong: int = constant(9, "the side that must not be")

    @variable
    def side(self) -> Domain[int]:
        return integers(0, 5)

    @initial(side=range(5))
    def thrown(self, s: State, side: int) -> None:
        require(side != 3)
        s.side = side

    @action
    def turn_on(self, s: State) -> None:
        s.side = (s.side + 1) % 5

    @invariant
    def not_the_wrong_side(self, s: State) -> bool:
        return bool(s.side != self.wrong)


class Combination(Specification):
    """Of all combinations of three wheels exactly one is enabled in each state."""

    @variable
    def clicks(self) -> Domain[int]:
        return integers(0, 63)

    @action(zone=range(4), middle=range(4), area=range(4))
    def turn(self, s: State, zone: int, middle: int, area: int) -> None:
        require((zone * 16 + middle * 4 + area) == s.clicks)
        s.clicks = (s.clicks + 5) % 64


class PingPong(Specification):
    """Two actions, of which one is enabled at a time."""

    @variable
    def mine(self) -> Domain[bool]:
        return booleans()

    @action
    def ping(self, s: State) -> None:
        require(not s.mine)
        s.mine = True

    @action
    def pong(self, s: State) -> None:
        require(s.mine)
        s.mine = False


class Climb(Specification):
    """Forty steps up, each of which is as likely to be a fall to the ground."""

    @variable
    def height(self) -> Domain[int]:
        return integers(0, 40)

    @action
    def step_up(self, s: State) -> None:
        require(s.height < 40)
        s.height += 1

    @action
    def fall(self, s: State) -> None:
        s.height = 0

    @invariant
    def never_on_top(self, s: State) -> bool:
        return bool(s.height < 40)


class Colour(Enum):
    """Values that are printed by their names."""

    RED = 1
    BLUE = 2


class Names(Specification):
    """Actions that are called as Hypothesis calls things of its own; parameters of every kind."""

    @variable
    def seen(self) -> Domain[frozenset[str]]:
        return subset_of(("teardown", "rules", "paint"))

    @action
    def teardown(self, s: State) -> None:
        s.seen |= {"teardown"}

    @action
    def rules(self, s: State) -> None:
        s.seen |= {"rules"}

    @action(colour=Colour, where=subset_of((1, 2)))
    def paint(self, s: State, colour: Colour, where: Any) -> None:
        require(len(s.seen) == 2 and colour is Colour.BLUE and not where)
        s.seen |= {"paint"}

    @invariant
    def not_all(self, s: State) -> bool:
        return len(s.seen) < 3


class Wheels(Specification):
    """Wheels that are turned, exchanged and reset nine times in all; one position is wrong."""

    @variable
    def wheel(self) -> MappingDomain:
        return mapping(range(3), integers(0, 4))

    @variable
    def turns(self) -> Domain[int]:
        return integers(0, 9)

    def turn(self, s: State) -> None:
        bound(s.turns < 9)
        s.turns += 1

    @action(wheel=range(3))
    def up(self, s: State, wheel: int) -> None:
        require(s.wheel[wheel] < 4)
        s.wheel[wheel] += 1
        self.turn(s)

    @action(one=range(3), other=range(3))
    def exchange(self, s: State, one: int, other: int) -> None:
        require(one < other and s.wheel[one] != s.wheel[other])
        s.wheel[one], s.wheel[other] = s.wheel[other], s.wheel[one]
        self.turn(s)

    @action(wheel=range(3))
    def reset(self, s: State, wheel: int) -> None:
        require(s.wheel[wheel] > 1)
        s.wheel[wheel] = 0
        self.turn(s)

    @invariant
    def not_that_position(self, s: State) -> bool:
        return tuple(s.wheel.values()) != (3, 0, 2)
