"""What can happen next in a cluster, as values that print as lines; see `cluster` for what each of them is.

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
    """The controller on a broker goes on."""

    broker: BrokerId
    event: str

    def __str__(self) -> str:
        return f"the controller on broker {self.broker} goes on: {self.event}"


class AdvanceShutdown(NamedTuple):
    """A broker that stops goes on."""

    broker: BrokerId
    due: str

    def __str__(self) -> str:
        return f"broker {self.broker} shuts down: {self.due}"


class CatchUp(NamedTuple):
    """A follower catches up with its leader, which is to take it into the ISR."""

    replica: PartitionAndReplica
    leader: BrokerId

    def __str__(self) -> str:
        return f"{self.replica} catches up with broker {self.leader}"


class ChangeIsr(NamedTuple):
    """A leader asks for ISRs, or tells of them."""

    leader: BrokerId

    def __str__(self) -> str:
        return f"broker {self.leader} tells the controller of ISRs"


Step: TypeAlias = TakeRequest | AdvanceController | AdvanceShutdown | CatchUp | ChangeIsr
"""What can happen next."""
