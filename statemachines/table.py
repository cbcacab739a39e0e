"""The transition table: which state may follow which, as literal rows.

A `Table` is a value. It holds the rows of every release, each row a source, a target and the
releases it was in force; `Table.at` picks a release, and without it a table answers for the newest.
Nothing else in the project decides whether a transition is legal: the guard that runs, the pictures
and the tests all read these rows.

Three rules make a table trustworthy, and the constructor refuses what breaks them:

- unique: no two rows claim the same pair, whatever their releases;
- total: every pair of states is a row or a refusal, there is no third answer;
- closed: a row's states belong to the table's own enumeration.

`Life` is the part that moves. The library `transitions` guards it: each row becomes a trigger called
`to_<State>` in a `Machine` without automatic transitions (with them every state would be reachable
from every other), and `Life.become` puts a typed method and a teaching error in front of it.
What a transition does to ZooKeeper or to a broker is not a matter of tables and is not here.
"""

import dataclasses
import enum
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from transitions import Machine, MachineError

from statemachines.releases import Release

__all__ = ["IllegalTransition", "Life", "Row", "TableState", "Table", "trigger"]


class TableState(enum.Enum):
    """A state under Kafka's own name; its value is Kafka's own code.

    Equal only to itself, so that code 1 of one machine is never taken for code 1 of another. It sorts
    and hashes by code, so that sets of states come in the same order in every process.
    """

    _value_: int

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return self._value_

    def __lt__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._value_ < other._value_


S = TypeVar("S", bound=TableState)


@dataclass(frozen=True)
class Row(Generic[S]):
    """One legal transition, and the releases that had it: from `since` on, until `before` exclusive.

    Raises ValueError if no release could lie in that range.
    """

    source: S
    target: S
    cause: str = ""
    """What asks for it, in a few words: events by Kafka's names for them."""
    since: Release | None = None
    before: Release | None = None

    def __post_init__(self) -> None:
        if self.since is not None and self.before is not None and not self.since < self.before:
            raise ValueError(f"{self.source} -> {self.target}: no release is {self.releases}")

    @property
    def releases(self) -> str:
        """The range in words, such as `2.3+`; empty for a row of all releases."""
        since = f"{self.since}+" if self.since else ""
        before = f"before {self.before}" if self.before else ""
        return ", ".join(filter(None, (since, before)))

    def in_force(self, release: Release | None) -> bool:
        """Whether that release had the row; None stands for the newest."""
        if release is None:
            return self.before is None
        return (self.since is None or self.since <= release) and (self.before is None or release < self.before)


@dataclass(frozen=True)
class Table(Generic[S]):
    """The legal transitions of one kind of thing, such as a partition.

    `rows` are those of every release; all questions are answered for `release`, None being the newest.
    `initial` is the state of a thing before it is heard of, and its enumeration gives the states.
    Raises ValueError for two rows of one pair, TypeError for a state of another enumeration.
    """

    name: str
    initial: S
    rows: tuple[Row[S], ...]
    release: Release | None = None

    def __post_init__(self) -> None:
        seen = set()
        for row in self.rows:
            for state in (row.source, row.target):
                if state not in self.states:
                    raise TypeError(f"{self.name}: {state!r} is no {type(self.initial).__name__}")
            if (row.source, row.target) in seen:
                raise ValueError(f"{self.name}: two rows claim {row.source} -> {row.target}")
            seen.add((row.source, row.target))

    def __str__(self) -> str:
        return f"{self.name} of {self.release}" if self.release else self.name

    def at(self, release: str | Release) -> "Table[S]":
        """The same table as that release had it. Raises ValueError for what is none."""
        return dataclasses.replace(self, release=release if isinstance(release, Release) else Release(release))

    @cached_property
    def states(self) -> tuple[S, ...]:
        """All states, in the order of their declaration."""
        return tuple(type(self.initial))

    @cached_property
    def in_force(self) -> tuple[Row[S], ...]:
        """The rows that the release had, as they were declared."""
        return tuple(row for row in self.rows if row.in_force(self.release))

    def allows(self, source: S, target: S) -> bool:
        """Whether a thing in `source` may become `target`."""
        return target in self._targets[source]

    def targets(self, source: S) -> tuple[S, ...]:
        """The states that may follow `source`, in order."""
        return self._targets[source]

    def machine(self, model: Any = Machine.self_literal) -> Machine:
        """A new `transitions.Machine` with one trigger `to_<State>` for each row in force.

        Without a model the machine is its own: `machine.to_OnlinePartition()`, `machine.state`.
        With `None` it has none yet; see `Machine.add_model`.
        """
        return self._machine(model, attribute="state")

    def begin(self, state: S | None = None) -> "Life[S]":
        """A life that starts in `state`, or in the initial one.

        A controller that takes over does not replay the past: it puts partitions and replicas
        straight into the states it finds them in, and only then lets the table rule.
        """
        return Life(self, self.initial if state is None else state)

    @cached_property
    def _targets(self) -> dict[S, tuple[S, ...]]:
        return {
            state: tuple(sorted(row.target for row in self.in_force if row.source is state)) for state in self.states
        }

    @cached_property
    def _guard(self) -> Machine:
        # One machine serves all lives of a table: making one takes as long as eight transitions, and a
        # machine that registers its models would keep every life alive.
        return self._machine(model=None, attribute="_state")

    def _machine(self, model: Any, attribute: str) -> Machine:
        return Machine(
            model=model,
            states=list(self.states),
            initial=self.initial,
            transitions=[
                {"trigger": trigger(row.target), "source": row.source, "dest": row.target} for row in self.in_force
            ],
            auto_transitions=False,
            model_attribute=attribute,
        )


class IllegalTransition(Exception):
    """A transition that the table refuses; the machine is still in `source`.

    `table` says whose table and, unless it is the newest, which release; `allowed` are the states that
    could have followed. Kafka logs the like as an invalid state change and goes on with the other
    partitions [PartitionStateMachine.scala, 3.9].
    """

    def __init__(self, table: str, source: TableState, target: TableState, allowed: tuple[TableState, ...]) -> None:
        super().__init__(table, source, target, allowed)
        self.table = table
        self.source = source
        self.target = target
        self.allowed = allowed

    def __str__(self) -> str:
        allowed = ", ".join(map(str, self.allowed)) or "nothing"
        return f"{self.table}: {self.source} cannot become {self.target}; it may become {allowed}"


class Life(Generic[S]):
    """One walk through a table: the state something is in, and the one way to change it."""

    __slots__ = ("_state", "table")

    def __init__(self, table: Table[S], state: S) -> None:
        self.table = table
        self._state = state

    @property
    def state(self) -> S:
        """Where the walk stands."""
        return self._state

    def become(self, target: S) -> None:
        """Move to `target`. Raises IllegalTransition, and changes nothing, if no row leads there."""
        try:
            self.table._guard.events[trigger(target)].trigger(self)
        except (KeyError, MachineError):
            # KeyError: the library has no event for a state that no row at all leads to
            raise IllegalTransition(str(self.table), self._state, target, self.table.targets(self._state)) from None

    def __repr__(self) -> str:
        return f"<{self.table}: {self._state}>"


def trigger(target: TableState) -> str:
    """The name that the library knows a row by. The source tells rows of one target apart."""
    return f"to_{target}"
