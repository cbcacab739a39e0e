"""A transaction in several databases: all of them commit it, or all abort it.

This is the requirement on a protocol, not yet a protocol. A resource manager (a database that takes part) works, is
prepared, and in the end commits or aborts, and in that step sees all the others. Left out: the messages by which it
sees them, failures, and reasons to abort.

TCommit of Jim Gray and Leslie Lamport, Consensus on Transaction Commit (2006), as TLC counts it: 34 distinct states
with three resource managers, 94 generated, depth 7 [tlaplus/Examples,
specifications/transaction_commit/TCommit.tla].
"""

from typing import Annotated, Any, Literal

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


class Transaction(State):
    """The progress of a transaction."""

    stage: Total[ResourceManager, Stage] = variable("The stage of each resource manager.")


class TransactionCommit(Specification[Transaction]):
    """Resource managers reach one decision."""

    leaves_out = "messages, failures"

    managers: int = constant(3, "Resource managers that take part.", at_least=1)

    def sizes(self) -> dict[Any, Size]:
        """Resource managers are interchangeable."""
        return {ResourceManager: interchangeable("resource manager", range(self.managers))}

    @action
    def prepare(self, s: Transaction, manager: ResourceManager) -> None:
        """A resource manager has done its work, and can commit."""
        require(s.stage[manager] == "working")
        s.stage[manager] = "prepared"

    @action
    def commit(self, s: Transaction, manager: ResourceManager) -> None:
        """A prepared resource manager commits, once all are prepared."""
        require(s.stage[manager] == "prepared")
        require(all(stage in ("prepared", "committed") for stage in s.stage.values()))
        s.stage[manager] = "committed"

    @action
    def abort(self, s: Transaction, manager: ResourceManager) -> None:
        """A resource manager that has not committed aborts, as long as no other has committed."""
        require(s.stage[manager] in ("working", "prepared"))
        require("committed" not in s.stage.values())
        s.stage[manager] = "aborted"

    @invariant
    def consistent(self, s: Transaction) -> bool:
        """No resource manager has committed what another has aborted."""
        return not {"committed", "aborted"} <= set(s.stage.values())

    @sometimes
    def all_commit(self, s: Transaction) -> bool:
        """All have committed."""
        return set(s.stage.values()) == {"committed"}

    @sometimes
    def prepared_in_vain(self, s: Transaction) -> bool:
        """One is prepared, and another has aborted."""
        return {"prepared", "aborted"} <= set(s.stage.values())
