"""Possible next steps of a cluster, as values that print as lines; `cluster` explains each.

>>> print(TakeRequest(1, 2, "LeaderAndIsr"))
broker 2 takes LeaderAndIsr of controller 1
"""

from typing import NamedTuple, TypeAlias

from election.ids import BrokerId
from statemachines.messages.topic_partition import PartitionAndReplica

__all__ = ["CatchUp", "ChangeIsr", "AdvanceController", "AdvanceShutdown", "Step", "TakeRequest"]


class TakeRequest(NamedTuple):
    """A broker takes the next request of a controller."""

    controller: BrokerId
    broker: BrokerId
    request: str

    def __str__(self) -> str:
        return f"broker {self.broker} takes {self.request} of controller {self.controller}"


class AdvanceController(NamedTuple):
    """The controller on a broker takes its next step."""

    broker: BrokerId
    event: str

    def __str__(self) -> str:
        return f"the controller on broker {self.broker} goes on: {self.event}"


class AdvanceShutdown(NamedTuple):
    """A broker that is shutting down takes its next step."""

    broker: BrokerId
    due: str

    def __str__(self) -> str:
        return f"broker {self.broker} shuts down: {self.due}"


class CatchUp(NamedTuple):
    """A follower catches up with its leader, which should add it to the ISR."""

    replica: PartitionAndReplica
    leader: BrokerId

    def __str__(self) -> str:
        return f"{self.replica} catches up with broker {self.leader}"


class ChangeIsr(NamedTuple):
    """A leader asks the controller for ISRs, or notifies it of them."""

    leader: BrokerId

    def __str__(self) -> str:
        return f"broker {self.leader} reports ISRs to the controller"


Step: TypeAlias = TakeRequest | AdvanceController | AdvanceShutdown | CatchUp | ChangeIsr
"""A possible next step."""
