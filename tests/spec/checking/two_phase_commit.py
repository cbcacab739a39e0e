"""Two-phase commit, after the TLA+ example `transaction_commit/TwoPhase` [Gray and Lamport, Consensus on Transaction
Commit, 2006], with resource managers that are interchangeable.

Messages are never taken back: one that was sent may be received at any time, or never.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from spec.language import (
    Domain,
    Specification,
    State,
    Total,
    action,
    constant,
    either,
    every,
    interchangeable,
    invariant,
    mapping,
    one_of,
    require,
    sometimes,
    subset_of,
    variable,
)


class ResourceManager(Enum):
    """What one of them is about."""

    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Manager(Enum):
    """What the transaction manager is about."""

    INIT = "init"
    DONE = "done"


class Prepared(NamedTuple):
    """The message of a resource manager that it is prepared."""

    manager: int


COMMIT, ABORT = "commit", "abort"
"""The messages of the transaction manager."""


def each_manager(self: Any) -> Domain[int]:
    """The resource managers."""
    return interchangeable("resource manager", range(self.managers))


class TwoPhaseCommitState(State):
    """Of `TwoPhaseCommit`."""

    state: Total[Any, Any] = variable(
        "The state.", of=lambda self: mapping(each_manager(self), one_of(*ResourceManager))
    )
    transaction: Manager = variable("The transaction.", of=lambda self: one_of(*Manager))
    prepared: frozenset[int] = variable(
        "Of whom the transaction manager knows that they are.", of=lambda self: subset_of(each_manager(self))
    )
    messages: Any = variable(
        "The messages.",
        of=lambda self: subset_of(either((COMMIT, ABORT), every(Prepared, manager=each_manager(self)))),
    )


class TwoPhaseCommit(Specification[TwoPhaseCommitState]):
    """One transaction."""

    managers: int = constant(3, "resource managers", at_least=1)

    @action(manager=each_manager)
    def receive_prepared(self, s: TwoPhaseCommitState, manager: int) -> None:
        """By the transaction manager."""
        require(s.transaction is Manager.INIT and Prepared(manager) in s.messages)
        s.prepared |= {manager}

    @action
    def commit(self, s: TwoPhaseCommitState) -> None:
        """All are prepared."""
        require(s.transaction is Manager.INIT and len(s.prepared) == self.managers)
        s.transaction = Manager.DONE
        s.messages |= {COMMIT}

    @action
    def abort(self, s: TwoPhaseCommitState) -> None:
        """It may give up as long as it has not committed."""
        require(s.transaction is Manager.INIT)
        s.transaction = Manager.DONE
        s.messages |= {ABORT}

    @action(manager=each_manager)
    def prepare(self, s: TwoPhaseCommitState, manager: int) -> None:
        """And say so."""
        require(s.state[manager] is ResourceManager.WORKING)
        s.state[manager] = ResourceManager.PREPARED
        s.messages |= {Prepared(manager)}

    @action(manager=each_manager)
    def choose_to_abort(self, s: TwoPhaseCommitState, manager: int) -> None:
        """And say nothing."""
        require(s.state[manager] is ResourceManager.WORKING)
        s.state[manager] = ResourceManager.ABORTED

    @action(manager=each_manager)
    def receive_commit(self, s: TwoPhaseCommitState, manager: int) -> None:
        """And do so."""
        require(COMMIT in s.messages)
        s.state[manager] = ResourceManager.COMMITTED

    @action(manager=each_manager)
    def receive_abort(self, s: TwoPhaseCommitState, manager: int) -> None:
        """And do so."""
        require(ABORT in s.messages)
        s.state[manager] = ResourceManager.ABORTED

    @invariant
    def consistent(self, s: TwoPhaseCommitState) -> bool:
        """Never has one committed and another aborted."""
        return not {ResourceManager.COMMITTED, ResourceManager.ABORTED} <= set(s.state.values())

    @sometimes
    def all_commit(self, s: TwoPhaseCommitState) -> bool:
        """The transaction can succeed."""
        return all(state is ResourceManager.COMMITTED for state in s.state.values())
