"""The events of a broker, their delivery, and the reaction to each: three generations of threads.

    lock     0.10        ZkEventThread calls listeners, which do everything themselves, under one lock
    queue    0.11, 1.0   ZkEventThread reads on behalf of its listeners, and puts the result into the queue of the
                         controller's thread; it may be out of date when it is handled  [KAFKA-5028]
    barrier  1.1 on      events carry no data, which is read when they are handled; a new session waits for Expire,
                         which empties the queue  [KAFKA-5642]

With the barrier no request of a controller spans two sessions. Before, the client opened a new session at once,
queued an event of it for its listeners after the pending ones, and repeated the current request.

[SessionExpirationListener, LeaderChangeListener, KafkaHealthcheck, 0.10; ControllerEvent, 0.11 on]
"""

import re
from enum import Enum
from typing import Final, NamedTuple

from election.ids import BrokerId
from statemachines.changes.elections import Threads
from statemachines.zookeeper.tree import EventType

# Requests. Other processes may act between any two, so each observable request is a step.


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


# Events.

CONTROLLER_EVENT_THREAD: Final = "controller-event-thread"
"""The name of the thread that handles the queue, since 0.11."""


class ControllerEvent(Enum):
    """An event to handle. Until 1.0 the listener that ZkEventThread calls; since 0.11 an event of the queue."""

    Startup = "the controller starts: is there one already?"
    Healthcheck = "KafkaHealthcheck.startup: the broker registers for the first time"
    SessionExpirationListener = "there is a new session"
    SessionExpireListener = "there is a new session: the broker registers again (KafkaHealthcheck)"
    LeaderChangeListener = "/controller has changed: who is controller?"
    BrokerChangeListener = "the children of /brokers/ids have changed: who is alive?"
    ControllerChange = "/controller was created or changed"
    Reelect = "/controller was deleted; until 1.0 it may be that there is a new session"
    BrokerChange = "a broker came or went"
    IsrChangeNotification = "the leader of a partition has changed its ISR"

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class Queued(NamedTuple):
    """A queued event."""

    event: ControllerEvent
    controller: BrokerId | None = None
    """For a ControllerChange until 1.0: the id that was read before it was queued."""

    def __str__(self) -> str:
        return self.event.name if self.controller is None else f"{self.event}({self.controller})"


LISTENERS: Final = (
    ControllerEvent.Healthcheck,
    ControllerEvent.SessionExpirationListener,
    ControllerEvent.SessionExpireListener,
    ControllerEvent.BrokerChangeListener,
    ControllerEvent.LeaderChangeListener,
)
"""The events of ZkEventThread, until 1.0, that come from ZooKeeper and the process."""
HEALTHCHECK = Queued(ControllerEvent.Healthcheck)
NEW_SESSION = tuple(
    Queued(event)
    for event in (
        ControllerEvent.SessionExpirationListener,
        ControllerEvent.SessionExpireListener,
        ControllerEvent.BrokerChangeListener,
        ControllerEvent.LeaderChangeListener,
    )
)
"""The events of a new session, in order. [ZkClient.fireNewSessionEvents, fireAllEvents, until 1.0]"""
_OF_QUEUE: Final = (ControllerEvent.ControllerChange, ControllerEvent.Reelect, ControllerEvent.BrokerChange)
EVENTS: Final = {
    Threads.lock: (*LISTENERS, ControllerEvent.IsrChangeNotification),
    Threads.queue: (*_OF_QUEUE, ControllerEvent.IsrChangeNotification),
    Threads.barrier: (*_OF_QUEUE, ControllerEvent.IsrChangeNotification),
}
"""The events of the thread that does a controller's work."""

CALLED: Final = {
    EventType.NodeCreated: ControllerEvent.LeaderChangeListener,
    EventType.NodeDataChanged: ControllerEvent.LeaderChangeListener,
    EventType.NodeDeleted: ControllerEvent.LeaderChangeListener,
    EventType.NodeChildrenChanged: ControllerEvent.BrokerChangeListener,
}
WATCH_EVENTS: Final = {
    Threads.lock: CALLED,
    Threads.queue: CALLED,
    Threads.barrier: {
        EventType.NodeCreated: ControllerEvent.ControllerChange,
        EventType.NodeDataChanged: ControllerEvent.ControllerChange,
        EventType.NodeDeleted: ControllerEvent.Reelect,
        EventType.NodeChildrenChanged: ControllerEvent.BrokerChange,
    },
}
"""Watch event -> event to handle. Until 1.0 the kind of change is lost: the data read later decides."""


MAYBE_RESIGN: Final = Agenda((ControllerStep.WatchController, ControllerStep.MaybeResign))
"""[maybeResign, 1.1; LeaderChangeListener, whose ZkEvent reads before it is called, 0.10]"""
LEADER_AND_ISR: Final = Agenda((ControllerStep.ReadPartitionState, ControllerStep.UpdateLeaderAndIsr))
"""A write to the state of a partition, which represents all of a controller's work."""
BROKER_CHANGE: Final = Agenda((ControllerStep.ReadBrokers, *LEADER_AND_ISR))
"""A broker started or died."""
REGISTER: Final = Agenda((ControllerStep.RegisterBroker,))
BEGIN: Final = Agenda((ControllerStep.WatchController, ControllerStep.Elect))
"""[Startup; KafkaController.startup, 0.10]"""
ISR_CHANGE: Final = Agenda((ControllerStep.ReadStates,))
"""The cache is updated, and brokers are informed."""

HANDLING: Final = {
    Threads.lock: {
        ControllerEvent.Startup: BEGIN,
        ControllerEvent.Healthcheck: Agenda((*REGISTER, ControllerStep.Serve)),
        ControllerEvent.SessionExpirationListener: Agenda((ControllerStep.GetControllerId, ControllerStep.Elect)),
        ControllerEvent.SessionExpireListener: REGISTER,
        ControllerEvent.LeaderChangeListener: Agenda((*MAYBE_RESIGN, ControllerStep.Elect)),
        ControllerEvent.BrokerChangeListener: BROKER_CHANGE,
        ControllerEvent.IsrChangeNotification: ISR_CHANGE,
    },
    Threads.queue: {
        ControllerEvent.Startup: BEGIN,
        ControllerEvent.Healthcheck: Agenda((*REGISTER, ControllerStep.Serve)),
        ControllerEvent.SessionExpireListener: REGISTER,
        ControllerEvent.Reelect: Agenda((ControllerStep.MaybeResign, ControllerStep.Elect)),
        ControllerEvent.BrokerChange: BROKER_CHANGE,
        ControllerEvent.IsrChangeNotification: ISR_CHANGE,
    },
    Threads.barrier: {
        ControllerEvent.Startup: BEGIN,
        ControllerEvent.ControllerChange: MAYBE_RESIGN,
        ControllerEvent.Reelect: Agenda((*MAYBE_RESIGN, ControllerStep.Elect)),
        ControllerEvent.BrokerChange: BROKER_CHANGE,
        ControllerEvent.IsrChangeNotification: ISR_CHANGE,
    },
}
"""Event -> the requests that handle it. Events that are not listed need none."""
