"""Toy systems whose answers are known by hand or by a formula."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from spec.language import (
    Partial,
    Specification,
    State,
    Step,
    Total,
    action,
    bound,
    constant,
    initial,
    integers,
    invariant,
    mapping,
    one_of,
    partial_mapping,
    record,
    require,
    say,
    sometimes,
    subset_of,
    transition_invariant,
    variable,
)


class ClockState(State):
    """The state of `Clock`."""

    hand: int = variable("The hand.", of=lambda self: integers(0, self.hours - 1))


class Clock(Specification[ClockState]):
    """A clock with one hand: n states, n deep, n + 1 generated."""

    hours: int = constant(12, "how many there are", at_least=1)

    @action
    def tick(self, s: ClockState) -> None:
        """An hour goes by."""
        s.hand = (s.hand + 1) % self.hours


class CountersState(State):
    """The state of `Counters`."""

    count: Total[int, int] = variable(
        "The count.", of=lambda self: mapping(range(self.counters), integers(0, self.top))
    )


class Counters(Specification[CountersState]):
    """n counters that each count to the top, one step at a time: (top + 1)**n states, n * top + 1 deep."""

    counters: int = constant(3, "how many there are", at_least=1)
    top: int = constant(2, "where they stop", at_least=1)
    at_most: int = constant(1000, "the sum that must not be exceeded")
    closed_at: int = constant(1000, "the sum at which the search is bounded")

    @action(counter=lambda self: range(self.counters))
    def up(self, s: CountersState, counter: int) -> None:
        """One counts."""
        require(s.count[counter] < self.top)
        bound(sum(s.count.values()) < self.closed_at)
        s.count[counter] += 1

    @invariant
    def not_too_many(self, s: CountersState) -> bool:
        """The sum is within its limit."""
        return bool(sum(s.count.values()) <= self.at_most)


class JugsState(State):
    """The state of `Jugs`."""

    small: int = variable("The small.", of=lambda self: integers(0, 3))
    large: int = variable("The large.", of=lambda self: integers(0, 5))


class Jugs(Specification[JugsState]):
    """The two jugs of 3 and 5 litres; 4 litres take six steps, and there are 16 states."""

    @action
    def fill_small(self, s: JugsState) -> None:
        s.small = 3

    @action
    def fill_large(self, s: JugsState) -> None:
        s.large = 5

    @action
    def empty_small(self, s: JugsState) -> None:
        s.small = 0

    @action
    def empty_large(self, s: JugsState) -> None:
        s.large = 0

    @action
    def small_to_large(self, s: JugsState) -> None:
        poured = min(s.small, 5 - s.large)
        s.small, s.large = s.small - poured, s.large + poured

    @action
    def large_to_small(self, s: JugsState) -> None:
        poured = min(s.large, 3 - s.small)
        s.small, s.large = s.small + poured, s.large - poured

    @invariant
    def not_four(self, s: JugsState) -> bool:
        """There are never four litres in the large jug."""
        return bool(s.large != 4)


class PhilosophersState(State):
    """The state of `Philosophers`."""

    doing: Total[int, str] = variable(
        "The doing.", of=lambda self: mapping(range(self.philosophers), one_of("thinks", "waits", "eats"))
    )


class Philosophers(Specification[PhilosophersState]):
    """Each takes its left fork, then its right one: the Pell-Lucas number of n states, and one deadlock."""

    philosophers: int = constant(3, "how many there are", at_least=2)

    def free(self, s: PhilosophersState, fork: int) -> bool:
        """Fork n lies between philosopher n - 1, who takes it second, and philosopher n, who takes it first."""
        left = (fork - 1) % self.philosophers
        return bool(s.doing[fork] == "thinks" and s.doing[left] != "eats")

    @action(who=lambda self: range(self.philosophers))
    def take_left(self, s: PhilosophersState, who: int) -> None:
        require(s.doing[who] == "thinks" and self.free(s, who))
        s.doing[who] = "waits"

    @action(who=lambda self: range(self.philosophers))
    def take_right(self, s: PhilosophersState, who: int) -> None:
        require(s.doing[who] == "waits" and self.free(s, (who + 1) % self.philosophers))
        s.doing[who] = "eats"

    @action(who=lambda self: range(self.philosophers))
    def think(self, s: PhilosophersState, who: int) -> None:
        require(s.doing[who] == "eats")
        s.doing[who] = "thinks"

    @invariant(fork=lambda self: range(self.philosophers))
    def no_fork_is_shared(self, s: PhilosophersState, fork: int) -> bool:
        """A fork is in one hand."""
        left = (fork - 1) % self.philosophers
        return not (s.doing[left] == "eats" and s.doing[fork] != "thinks")


class RingState(State):
    """The state of `Ring`."""

    value: Total[int, int] = variable(
        "The value.", of=lambda self: mapping(range(self.machines), integers(0, self.values - 1))
    )


class Ring(Specification[RingState]):
    """Dijkstra's ring of machines with k values, started in every state: k**n states, all of depth 1."""

    machines: int = constant(3, "how many there are", at_least=2)
    values: int = constant(3, "how many values each has", at_least=2)

    @initial(n=lambda self: range(self.values**self.machines))
    def anywhere(self, s: RingState, n: int) -> None:
        """Any state at all."""
        for machine in range(self.machines):
            n, s.value[machine] = divmod(n, self.values)

    def privileged(self, s: RingState, machine: int) -> bool:
        """Whether the machine has the token."""
        same = s.value[machine] == s.value[(machine - 1) % self.machines]
        return bool(same if machine == 0 else not same)

    @action
    def first_moves(self, s: RingState) -> None:
        require(self.privileged(s, 0))
        s.value[0] = (s.value[0] + 1) % self.values

    @action(machine=lambda self: range(1, self.machines))
    def other_moves(self, s: RingState, machine: int) -> None:
        require(self.privileged(s, machine))
        s.value[machine] = s.value[machine - 1]

    @invariant
    def somebody_has_the_token(self, s: RingState) -> bool:
        """The token is never lost."""
        return any(self.privileged(s, machine) for machine in range(self.machines))

    @transition_invariant
    def tokens_do_not_multiply(self, before: RingState, step: Step, after: RingState) -> bool:
        """The number of tokens never grows."""
        return self.tokens(after) <= self.tokens(before)

    def tokens(self, s: RingState) -> int:
        """The number of machines that have a token."""
        return sum(self.privileged(s, machine) for machine in range(self.machines))


# A system given as a table.

ACTIONS = ("a", "b")
PARAMETERS = (0, 1)


class Row(NamedTuple):
    """One step of a table: the state before, the action and its parameter, and the state after."""

    before: int
    action: str
    parameter: int
    after: int


@lru_cache(maxsize=64)
def _lookup(rows: tuple[Row, ...]) -> dict[tuple[int, str, int], int]:
    return {(row.before, row.action, row.parameter): row.after for row in rows}


class TableState(State):
    """The state of `Table`."""

    at: int = variable("The at.", of=lambda self: integers(0, self.size - 1))


class Table(Specification[TableState]):
    """States are numbers, and a table lists the steps between them. State -1 is outside the domain."""

    size: int = constant(1, "the number of states")
    starts: tuple[int, ...] = constant((0,), "the initial states")
    rows: tuple[Row, ...] = constant((), "the steps")
    bad: tuple[int, ...] = constant((), "states that break `good`")
    worse: tuple[int, ...] = constant((), "states that break `not_worse`")
    bad_rows: tuple[Row, ...] = constant((), "steps that break `good_step`")
    seen: tuple[int, ...] = constant((), "states that witness `to_be_seen`")

    @initial(start=lambda self: self.starts)
    def begin(self, s: TableState, start: int) -> None:
        s.at = start

    def follow(self, s: TableState, name: str, parameter: int) -> None:
        """Take the step in the table."""
        after = _lookup(self.rows).get((s.at, name, parameter))
        require(after is not None)
        assert after is not None
        s.at = after

    @action(p=PARAMETERS)
    def a(self, s: TableState, p: int) -> None:
        self.follow(s, "a", p)

    @action(p=PARAMETERS)
    def b(self, s: TableState, p: int) -> None:
        self.follow(s, "b", p)

    @invariant
    def good(self, s: TableState) -> bool:
        """The state is not a bad one."""
        return s.at not in self.bad

    @transition_invariant
    def good_step(self, before: TableState, step: Step, after: TableState) -> bool:
        """The step is not a bad one."""
        return Row(before.at, step.action, step.parameters["p"], after.at) not in self.bad_rows

    @invariant
    def not_worse(self, s: TableState) -> bool:
        """The state is not a worse one."""
        return s.at not in self.worse

    @sometimes
    def to_be_seen(self, s: TableState) -> bool:
        """One of the states to see is reached."""
        return s.at in self.seen


# A toy for traces to show.


class Account(NamedTuple):
    """An account's owner and money, and what was noted last."""

    owner: str
    money: int
    note: tuple[int, ...] = ()


class BankState(State):
    """The state of `Bank`."""

    account: Partial[str, Account] = variable(
        "The account.",
        of=lambda self: partial_mapping(
            ("ann", "bob"),
            record(Account, owner=("?", "ann", "bob"), money=range(4), note=((), (1,), (1, 1))),
        ),
    )
    till: int = variable("The till.", of=lambda self: integers(0, 4))
    known: frozenset[str] = variable("The known.", of=lambda self: subset_of(("zoe", "ann", "bob")))


class Bank(Specification[BankState]):
    """Accounts are opened, paid into and closed. The state has values of every kind."""

    rich: int = constant(100, "the sum that nobody should have")

    @initial
    def opened(self, s: BankState) -> None:
        s.till = 4
        s.known = frozenset({"zoe"})

    @action(who=("ann", "bob"))
    def open_account(self, s: BankState, who: str) -> None:
        require(who not in s.account)
        say("welcome")
        say("an account is opened")
        s.account[who] = Account(who, 0)
        s.known |= {who}

    @action(who=("ann", "bob"), much=(1, 2))
    def pay(self, s: BankState, who: str, much: int) -> None:
        require(who in s.account and s.account[who].money + much <= 3 and s.till >= much)
        account = s.account[who]
        s.account[who] = account._replace(money=account.money + much, note=(*account.note, 1)[:2])
        s.till -= much

    @action(who=("ann", "bob"))
    def close(self, s: BankState, who: str) -> None:
        require(who in s.account)
        s.till += s.account[who].money
        del s.account[who]

    @action
    def look(self, s: BankState) -> None:
        """Nothing changes."""

    @invariant(who=("bob", "ann"))
    def not_rich(self, s: BankState, who: str) -> bool:
        """Nobody has too much."""
        return who not in s.account or bool(s.account[who].money < self.rich)

    @transition_invariant(who=("ann", "bob"))
    def nobody_closes_with_money(self, before: BankState, step: Step, after: BankState, who: str) -> bool:
        """An account that is closed was empty."""
        return not (who in before.account and who not in after.account and before.account[who].money > 0)
