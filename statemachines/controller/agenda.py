"""The pending requests of a broker to ZooKeeper, in order.

Other processes may act between any two requests, so each observable request is a step.
"""

import re
from enum import Enum
from typing import Final


class ControllerStep(Enum):
    """A request to ZooKeeper, or another action of a process."""

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
    """The pending steps of a broker, in this order unless a reply changes it."""

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
"""The requests that change data: the reply may be lost after they had their effect."""
NO_REQUESTS: Final = frozenset(
    {
        ControllerStep.Start,
        ControllerStep.Connect,
        ControllerStep.FailOver,
        ControllerStep.Started,
        ControllerStep.Serve,
    }
)
"""The steps without a request to ZooKeeper; they are no actions of their own."""
CREATES: Final = frozenset({ControllerStep.CreateController, ControllerStep.CheckController})
REGISTERS: Final = frozenset({ControllerStep.RegisterBroker, ControllerStep.CheckRegistration})
"""The requests that are not repeated in another session, until 1.0: to create an ephemeral node, and to read its
owner. The second runs in ZkEventThread, if that is not the controller's thread. [ZKCheckedEphemeral;
KafkaHealthcheck]"""
CHECKS: Final = frozenset({ControllerStep.CheckController, ControllerStep.CheckRegistration})
"""Of these, the ones that follow a sent create: they stay in its session."""
METHODS: Final = {do: re.sub("(?<!^)([A-Z])", r"_\1", do.name).lower() for do in ControllerStep}
"""The name of each step's method: `register_broker` for `RegisterBroker`."""
