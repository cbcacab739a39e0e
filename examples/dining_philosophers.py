"""Dining philosophers, after Chandy and Misra: forks are handed over, and a fork that was used goes to the neighbour.

Philosophers sit round a table, with a fork between any two neighbours. A philosopher hands a dirty fork to its
neighbour, and cleans it first. It eats once it holds both its forks and both are clean; eating makes them dirty, so
that the neighbours get them next. If one fork were enough, two neighbours could eat at once
(`--without both_forks`).

A philosopher looks at its forks in one step, and hands over at most one in it. Left out: requests for forks, so a
dirty fork goes even to a neighbour that is not hungry.

Mani Chandy and Jayadev Misra, The Drinking Philosophers Problem (1984), as TLC counts it: 67 distinct states with
five philosophers, 336 generated, depth 29 [tlaplus/Examples,
specifications/DiningPhilosophers/DiningPhilosophers.tla, model DiningPhilosophers.cfg].
"""

from typing import Annotated, Any, Literal, NamedTuple

from spec.language import (
    Size,
    Specification,
    State,
    Total,
    action,
    constant,
    initial,
    invariant,
    require,
    sometimes,
    switch,
    variable,
)

Philosopher = Annotated[int, "a philosopher"]
Place = Annotated[int, "the place of a fork: left of the philosopher with this number"]


class Fork(NamedTuple):
    """A fork."""

    holder: Philosopher
    clean: bool


class Table(State):
    """Philosophers and forks."""

    forks: Total[Place, Fork] = variable("The holder of each fork, and whether the fork is clean.")
    hungry: Total[Philosopher, bool] = variable("Whether each philosopher wants to eat.")
    stage: Total[Philosopher, Literal["looking", "eating", "thinking"]] = variable("What each philosopher does.")


class DiningPhilosophers(Specification[Table]):
    """Philosophers hand forks to each other."""

    leaves_out = "requests for forks"

    philosophers: int = constant(5, "Philosophers.", at_least=2)
    both_forks: bool = switch(True, "A philosopher eats only with both forks.")

    def sizes(self) -> dict[Any, Size]:
        """As many forks as philosophers."""
        return {Philosopher: range(self.philosophers), Place: range(self.philosophers)}

    def right(self, place: int) -> int:
        """The next place, or philosopher, to the right."""
        return (place + 1) % self.philosophers

    @initial
    def lay(self, s: Table) -> None:
        """Philosopher 0 holds two forks, 1 none, and each of the others its left one. All forks are dirty."""
        for place in s.forks:
            s.forks[place] = Fork(0 if place == 1 else place, clean=False)
        for philosopher in s.hungry:
            s.hungry[philosopher] = True

    @action
    def look(self, s: Table, philosopher: Philosopher) -> None:
        """A philosopher looks at its forks, hands over a dirty one, and sees whether it can eat."""
        require(s.stage[philosopher] == "looking")
        left, right = philosopher, self.right(philosopher)
        ready = [s.forks[place] == Fork(philosopher, clean=True) for place in (left, right)]
        if s.forks[left] == Fork(philosopher, clean=False):
            s.forks[left] = Fork((philosopher - 1) % self.philosophers, clean=True)
        elif s.forks[right] == Fork(philosopher, clean=False):
            s.forks[right] = Fork(right, clean=True)
        if not s.hungry[philosopher]:
            s.stage[philosopher] = "thinking"
        elif all(ready) if self.both_forks else any(ready):
            s.stage[philosopher] = "eating"

    @action
    def eat(self, s: Table, philosopher: Philosopher) -> None:
        """A philosopher has eaten: its forks are dirty."""
        require(s.stage[philosopher] == "eating")
        for place in (philosopher, self.right(philosopher)):
            s.forks[place] = s.forks[place]._replace(clean=False)
        s.hungry[philosopher], s.stage[philosopher] = False, "looking"

    @action
    def think(self, s: Table, philosopher: Philosopher) -> None:
        """A philosopher becomes hungry."""
        require(s.stage[philosopher] == "thinking")
        s.hungry[philosopher], s.stage[philosopher] = True, "looking"

    @invariant
    def neighbours_do_not_eat_together(self, s: Table, philosopher: Philosopher) -> bool:
        """A philosopher and its neighbour do not eat at the same time."""
        return not (s.stage[philosopher] == s.stage[self.right(philosopher)] == "eating")

    @sometimes
    def the_one_without_forks_eats(self, s: Table) -> bool:
        """Philosopher 1, which held no fork at first, eats."""
        return s.stage[1] == "eating"
