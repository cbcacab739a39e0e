"""The transition table: which state may follow which, declared for the library `transitions`.

A `Row` is a transition as the library declares it: a source, a dest, and the trigger of that dest, which is
`to_<State>`. It also has Kafka's cause and the releases that had the row.

A `Table` holds the rows of every release; `Table.at` picks a release, and without it a table answers for
the newest. Nothing else in the project decides whether a transition is legal: the machine that runs, the
pictures and the tests all read these rows.

Three rules make a table trustworthy, and the constructor refuses violations:

- unique: no two rows claim the same pair, whatever their releases;
- total: every pair of states is a row or a refusal; there is no third answer;
- closed: a row's states belong to the table's own enumeration.

Two machines are made from a table. The controller's is private and has no callbacks: `Table.become`
triggers it on a model whose state is the controller's own, and `Table.allows` asks a relation that is
made once from its transitions. `Table.machine` makes a new one for a person's own model, with whatever
callbacks, conditions and queues the library offers. Neither has the library's automatic transitions,
by which every state would be reachable from every other.

What a transition does to ZooKeeper or to a broker is not part of its table.
"""

import dataclasses
import enum
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from transitions import Machine, MachineError

from statemachines.releases import Release, since_when


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
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._value_ < other._value_


S = TypeVar("S", bound=TableState)


class HasState(Protocol[S]):
    """A model of the library: anything with a state that can be read and assigned."""

    state: S


@dataclass(frozen=True)
class Row(Generic[S]):
    """One legal transition, and the releases that had it: from `since` on, until `before` exclusive.

    Raises ValueError if no release could lie in that range.
    """

    source: S
    dest: S
    cause: str = ""
    """Its cause, in a few words: events by Kafka's names."""
    since: Release | None = None
    before: Release | None = None

    def __post_init__(self) -> None:
        if self.since is not None and self.before is not None and not self.since < self.before:
            raise ValueError(f"{self.source} -> {self.dest}: no release is {self.releases}")

    @property
    def trigger(self) -> str:
        """The library's event that takes it. Rows of one dest share it; their sources tell them apart."""
        return trigger(self.dest)

    @property
    def releases(self) -> str:
        """The range in words, such as `2.3+`; empty for a row of all releases."""
        since = f"{since_when(self.since.exact)}+" if self.since else ""
        before = f"before {since_when(self.before.exact)}" if self.before else ""
        return ", ".join(filter(None, (since, before)))

    def in_force(self, release: Release | None) -> bool:
        """Whether that release had the row; None stands for the newest."""
        if release is None:
            return self.before is None
        return (self.since is None or self.since <= release) and (self.before is None or release < self.before)


@dataclass(frozen=True)
class Table(Generic[S]):
    """The legal transitions of one kind of object, such as a partition.

    `rows` are those of every release; all questions are answered for `release`, None being the newest.
    `initial` is the state of an object before it is known, and its enumeration gives the states.
    Raises ValueError for two rows of one pair, TypeError for a state of another enumeration.
    """

    name: str
    initial: S
    rows: tuple[Row[S], ...]
    release: Release | None = None

    def __post_init__(self) -> None:
        seen = set()
        for row in self.rows:
            for state in (row.source, row.dest):
                if state not in self.states:
                    raise TypeError(f"{self.name}: {state!r} is no {self.initial.__class__.__name__}")
            if (row.source, row.dest) in seen:
                raise ValueError(f"{self.name}: two rows claim {row.source} -> {row.dest}")
            seen.add((row.source, row.dest))

    def __str__(self) -> str:
        return f"{self.name} of {self.release}" if self.release else self.name

    def at(self, release: str | Release) -> "Table[S]":
        """The same table in that release. Raises ValueError for an unknown release."""
        return dataclasses.replace(self, release=release if isinstance(release, Release) else Release(release))

    @cached_property
    def states(self) -> tuple[S, ...]:
        """All states, in the order of their declaration."""
        return tuple(self.initial.__class__)

    @cached_property
    def in_force(self) -> tuple[Row[S], ...]:
        """The rows of the release, as declared."""
        return tuple(row for row in self.rows if row.in_force(self.release))

    @property
    def transitions(self) -> list[list[Any]]:
        """The rows in force in the library's form: `Machine(transitions=table.transitions, ...)`."""
        return [[row.trigger, row.source, row.dest] for row in self.in_force]

    def allows(self, source: S, dest: S) -> bool:
        """Whether an object in `source` may become `dest`."""
        return dest in self._relation[source]

    def targets(self, source: S) -> tuple[S, ...]:
        """The states that may follow `source`, in order."""
        return self._relation[source]

    def become(self, model: HasState[S], dest: S) -> None:
        """Trigger the transition of a model to `dest`, on the controller's machine: its state is read, then assigned.

        Raises:
            IllegalTransition: no row leads there from its state; the model has not changed.
        """
        source, event = model.state, self._machine.events.get(trigger(dest))
        try:
            if event is None:  # no row at all leads to this state
                raise MachineError(f"There is no event {trigger(dest)}.")
            event.trigger(model)
        except MachineError:
            if self.allows(source, dest):  # the error comes from the model's own machine
                raise
            raise IllegalTransition(str(self), source, dest, self.targets(source)) from None

    def machine(self, model: Any = Machine.self_literal, machine: type[Machine] = Machine, **options: Any) -> Machine:
        """A new machine of the library, with one trigger `to_<State>` for each target in force.

        >>> from statemachines.tables.partition import PARTITION
        >>> partition = PARTITION.machine(after_state_change=lambda: print("changed"))
        >>> partition.to_NewPartition() and partition.state
        changed
        <PartitionState.NewPartition: 0>

        Args:
            model: the model, or a list of several. By default the machine is its own model; with `None` it has none
                yet (`Machine.add_model`).
            machine: the library's class, such as `transitions.extensions.GraphMachine`.
            options: arguments of that class: callbacks, `queued`, `send_event`, another `initial`, ...
        """
        declared = {"initial": self.initial, "auto_transitions": False, "name": self.name}
        return machine(model, states=list(self.states), transitions=self.transitions, **{**declared, **options})

    @cached_property
    def _machine(self) -> Machine:
        # One machine serves all partitions of all controllers: creating one takes as long as eight triggers, and
        # a machine that registers its models would keep each of them alive.
        return self.machine(None)

    @cached_property
    def _relation(self) -> dict[S, tuple[S, ...]]:
        relation = {}
        for source in self.states:
            names = {each.dest for each in self._machine.get_transitions(source=source)}
            relation[source] = tuple(sorted(state for state in self.states if state.name in names))
        return relation


class IllegalTransition(Exception):
    """A transition that the table refuses; the model is still in `source`.

    `table` says whose table and, unless it is the newest, which release; `allowed` are the states that
    could have followed. Kafka logs this as an invalid state change and continues with the other
    partitions [PartitionStateMachine.scala, 3.9].
    """

    def __init__(self, table: str, source: TableState, dest: TableState, allowed: tuple[TableState, ...]) -> None:
        super().__init__(table, source, dest, allowed)
        self.table = table
        self.source = source
        self.dest = dest
        self.allowed = allowed

    def __str__(self) -> str:
        allowed = ", ".join(map(str, self.allowed)) or "nothing"
        return f"{self.table}: {self.source} cannot become {self.dest}; it may become {allowed}"


def trigger(dest: TableState) -> str:
    """The name of the event that leads to a state.

    >>> from statemachines.tables.partition import OnlinePartition
    >>> trigger(OnlinePartition)
    'to_OnlinePartition'
    """
    return f"to_{dest}"
