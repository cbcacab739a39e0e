"""What a broker is about to do: a row of requests to ZooKeeper, in order.

Between two of them anything may happen elsewhere, so a row is as fine as what there is to be seen of it.
"""

import re
from enum import Enum
from typing import Final

__all__ = [
    "CHECKS",
    "CREATES",
    "IDLE",
    "METHODS",
    "NO_REQUESTS",
    "REGISTERS",
    "STOPPED",
    "WRITES",
    "Agenda",
    "ControllerStep",
]


class ControllerStep(Enum):
    """A request to ZooKeeper, or what a process does in place of one."""

    Start = "be started"
    Connect = "open a session"
    RegisterBroker = "create /brokers/ids/<id>"
    CheckRegistration = "get /brokers/ids/<id>: whose is it?"
    DeleteRegistration = "delete /brokers/ids/<id>, left by a session that has ended"
    WatchController = "exists /controller, with a watch"
    MaybeResign = "get /controller: is this broker still the controller?"
    GetControllerId = "get /controller: does it name this broker? then its new session changes nothing"
    Elect = "get /controller: is there a controller already?"
    CreateController = "create /controller"
    ReadEpoch = "get /controller_epoch"
    RegisterController = "create /controller and increment /controller_epoch, in one multi"
    CheckController = "get /controller: was it this broker's multi that created it?"
    CheckEpoch = "get /controller_epoch: was it this broker's multi that incremented it?"
    IncrementEpoch = "set /controller_epoch, if it is still at the version that was read"
    WatchBrokers = "children of /brokers/ids, with a watch: from now on changes are heard of"
    ReadBrokers = "children of /brokers/ids, with a watch since 1.1: who is alive?"
    ReadStates = "get the state of every partition"
    ReadPartitionState = "get the state of a partition, to elect its leader"
    UpdateLeaderAndIsr = "set the state of a partition, if it is still at the version that was read"
    DeletePreferredElection = "delete /admin/preferred_replica_election, if /controller_epoch has not changed"
    FailOver = "onControllerFailover, call by call"
    Started = "nothing more: the failover is done"
    Serve = "nothing more: the broker is up"
    MoveController = "get /controller: triggerControllerMove begins"
    DeleteController = "delete /controller: triggerControllerMove ends"

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class Agenda(tuple[ControllerStep, ...]):
    """What a broker is about to do, in this order, unless an answer changes it."""

    __slots__ = ()

    def __str__(self) -> str:
        if not self:
            return "Idle"
        return self[0].name + (", ..." if len(self) > 1 else "")

    __repr__ = __str__


STOPPED: Final = Agenda((ControllerStep.Start,))
"""The process is not running."""
IDLE: Final = Agenda()
"""It waits for an event."""

WRITES: Final = frozenset(
    {
        *(ControllerStep.RegisterBroker, ControllerStep.DeleteRegistration),
        *(
            ControllerStep.CreateController,
            ControllerStep.RegisterController,
            ControllerStep.IncrementEpoch,
            ControllerStep.DeleteController,
        ),
        ControllerStep.UpdateLeaderAndIsr,
    }
)
"""The requests that change something: the answer to one may be lost after it had its effect."""
NO_REQUESTS: Final = frozenset(
    {
        ControllerStep.Start,
        ControllerStep.Connect,
        ControllerStep.FailOver,
        ControllerStep.Started,
        ControllerStep.Serve,
    }
)
"""What a process does that asks ZooKeeper for nothing: no step makes it."""
CREATES: Final = frozenset({ControllerStep.CreateController, ControllerStep.CheckController})
REGISTERS: Final = frozenset({ControllerStep.RegisterBroker, ControllerStep.CheckRegistration})
"""What is not repeated in another session, until 1.0: to create an ephemeral, and to look whose it is. The second is
what ZkEventThread does, where that is another thread than the controller's. [ZKCheckedEphemeral; KafkaHealthcheck]"""
CHECKS: Final = frozenset({ControllerStep.CheckController, ControllerStep.CheckRegistration})
"""Of these, what follows a create that was sent: it has a session to stay with."""
METHODS: Final = {do: re.sub("(?<!^)([A-Z])", r"_\1", do.name).lower() for do in ControllerStep}
"""The name of the method that does it: `register_broker` for `RegisterBroker`."""
