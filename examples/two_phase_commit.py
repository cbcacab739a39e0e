"""Two-phase commit: a transaction manager decides, and resource managers obey.

A resource manager reports that it is prepared. Once all have, the transaction manager may decide to commit; until
then it may abort. Sent messages are never removed, so a message may arrive late, twice or never. Left out: the
request to prepare; the report of a resource manager that aborts (the transaction manager may abort without a reason
anyway); crashes.

TwoPhase of Jim Gray and Leslie Lamport, Consensus on Transaction Commit (2006), as TLC counts it: 288 distinct
states with three resource managers, 1,146 generated, depth 11, and 50,816 distinct states with six
[tlaplus/Examples, specifications/transaction_commit/TwoPhase.tla].
"""

from typing import Annotated, Any, Literal, NamedTuple

from spec.language import (
    Size,
    Specification,
    State,
    Total,
    action,
    constant,
    interchangeable,
    invariant,
    require,
    sometimes,
    variable,
)

ResourceManager = Annotated[int, "a resource manager"]
Stage = Literal["working", "prepared", "committed", "aborted"]
Decision = Literal["commit", "abort"]


class Prepared(NamedTuple):
    """The message of a resource manager that it is prepared."""

    manager: ResourceManager


class Transaction(State):
    """The progress of a transaction, and the messages sent."""

    stage: Total[ResourceManager, Stage] = variable("The stage of each resource manager.")
    decision: Decision | None = variable("The decision of the transaction manager, if any.")
    prepared: frozenset[ResourceManager] = variable("Those that the transaction manager knows are prepared.")
    messages: frozenset[Prepared | Decision] = variable("All messages ever sent.")


class TwoPhaseCommit(Specification[Transaction]):
    """Resource managers reach one decision through a transaction manager."""

    leaves_out = "the request to prepare, the message of one that aborts, crashes"

    managers: int = constant(3, "Resource managers that take part.", at_least=1)

    def sizes(self) -> dict[Any, Size]:
        """Resource managers are interchangeable."""
        return {ResourceManager: interchangeable("resource manager", range(self.managers))}

    @action
    def prepare(self, s: Transaction, manager: ResourceManager) -> None:
        """A resource manager has done its work, and reports that it can commit."""
        require(s.stage[manager] == "working")
        s.stage[manager] = "prepared"
        s.messages |= {Prepared(manager)}

    @action
    def choose_to_abort(self, s: Transaction, manager: ResourceManager) -> None:
        """A resource manager that is not prepared aborts, and reports nothing."""
        require(s.stage[manager] == "working")
        s.stage[manager] = "aborted"

    @action(actor="transaction manager")
    def receive_prepared(self, s: Transaction, manager: ResourceManager) -> None:
        """The transaction manager, still undecided, learns that a resource manager is prepared."""
        require(s.decision is None and Prepared(manager) in s.messages)
        s.prepared |= {manager}

    @action(actor="transaction manager")
    def decide(self, s: Transaction, decision: Decision) -> None:
        """The transaction manager decides: commit, if it knows that all are prepared, or abort, for any reason."""
        require(s.decision is None)
        require(decision == "abort" or len(s.prepared) == self.managers)
        s.decision = decision
        s.messages |= {decision}

    @action
    def obey(self, s: Transaction, manager: ResourceManager, decision: Decision) -> None:
        """A resource manager learns of the decision, and obeys."""
        require(decision in s.messages)
        s.stage[manager] = "committed" if decision == "commit" else "aborted"

    @invariant
    def consistent(self, s: Transaction) -> bool:
        """No resource manager has committed what another has aborted."""
        return not {"committed", "aborted"} <= set(s.stage.values())

    @sometimes
    def all_commit(self, s: Transaction) -> bool:
        """All have committed."""
        return set(s.stage.values()) == {"committed"}

    @sometimes
    def aborted_though_all_are_prepared(self, s: Transaction) -> bool:
        """The transaction manager has aborted while all are prepared; it may not know that they are."""
        return s.decision == "abort" and set(s.stage.values()) == {"prepared"}
