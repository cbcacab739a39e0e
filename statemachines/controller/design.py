"""How a controller is elected and notified, release by release (`Design`), and its sequences of requests.

Each task of a broker is a row of requests, which it makes in order if nothing intervenes: `STARTUP`, `EXPIRED`,
`ELECTION`, the reactions to events (`threads`), a failover (`failover_stages`). The rest of a row is the agenda of a
`controller_process`. The steps are in `registration` and `election`: every reply either continues the row, or
replaces it. Other processes may act between any two requests: that is where the bugs live.

An ephemeral node, /controller, elects a controller. A counter, /controller_epoch, fences an old one. Kafka has tied
the two together in three ways (`Election`):

    multi         2.1 and later   one transaction creates the node and increments the epoch  [KAFKA-6082]
    cas_checked   1.1 to 2.0      first the node, then a compare-and-set of the epoch; if that fails, the failover
                                  fails, and /controller is deleted, whichever broker owns it by now  [KAFKA-5642]
    cas_swallowed 0.10 to 1.0     the same, but the failure is caught and logged, and the failover continues
                                  with the epoch that was read, the previous controller's
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from election.ids import BrokerId, ControllerEpoch
from statemachines.changes.elections import Election, ElectionChanges, Threads
from statemachines.controller.failover_stages import failover, steps_of
from statemachines.controller.threads import (
    CREATES,
    HANDLING,
    IDLE,
    LEADER_AND_ISR,
    MAYBE_RESIGN,
    NO_REQUESTS,
    REGISTERS,
    STOPPED,
    Agenda,
    ControllerEvent,
    ControllerStep,
)
from statemachines.zookeeper.tree import ZkPath

__all__ = [
    "BROKER_IDS",
    "CONTROLLER",
    "CONTROLLER_EPOCH",
    "ELECTION",
    "EXPIRED",
    "IDLE",
    "INCREMENT",
    "LEADER_AND_ISR",
    "MAYBE_RESIGN",
    "NO_BROKER",
    "PARTITION_STATE",
    "PATHS_READ",
    "STARTUP",
    "STOPPED",
    "Agenda",
    "Design",
    "ControllerStep",
    "Election",
    "PartitionStateEpoch",
    "Threads",
    "accepts_controller_epoch",
    "agendas",
    "failover_of",
    "is_repeated",
    "least_failover",
    "listener_agendas",
    "registration",
    "requests_of",
]

CONTROLLER: Final = "/controller"
"""Ephemeral; its data is the id of the broker that is controller. [ZkData.scala]"""
CONTROLLER_EPOCH: Final = "/controller_epoch"
"""Persistent; its data is the controller epoch, its version the fencing token. [ZkData.scala]"""
BROKER_IDS: Final = "/brokers/ids"
"""Each running broker has an ephemeral child here, named by its id. [ZkData.scala]"""
PARTITION_STATE: Final = "/brokers/topics/t/partitions/0/state"
"""Persistent; its data is a `PartitionStateEpoch`. One partition's state represents all of them. [ZkData.scala]"""

NO_BROKER: Final = -1
"""The id of no broker."""


def registration(broker: BrokerId) -> ZkPath:
    """The path of a broker's own node."""
    return f"{BROKER_IDS}/{broker}"


PATHS_READ: Final = {
    ControllerEvent.Startup: (CONTROLLER,),
    ControllerEvent.ControllerChange: (CONTROLLER,),
    ControllerEvent.Reelect: (CONTROLLER,),
    ControllerEvent.LeaderChangeListener: (CONTROLLER,),
    ControllerEvent.SessionExpirationListener: (CONTROLLER,),
    ControllerEvent.BrokerChange: (BROKER_IDS,),
    ControllerEvent.BrokerChangeListener: (BROKER_IDS,),
}
"""The nodes that are read, and watched again, when an event is handled."""


# Rows of requests.

STARTUP: Final = {
    Threads.barrier: Agenda(
        (ControllerStep.Connect, ControllerStep.RegisterBroker, ControllerStep.WatchController, ControllerStep.Elect)
    ),
    **dict.fromkeys(
        (Threads.lock, Threads.queue),
        Agenda((ControllerStep.Connect, ControllerStep.WatchController, ControllerStep.Elect)),
    ),
}
"""A process starts. Until 1.0 the broker registers after its controller has started. [KafkaServer.startup]"""
EXPIRED: Final = Agenda((ControllerStep.Connect, ControllerStep.RegisterBroker, *MAYBE_RESIGN, ControllerStep.Elect))
"""Its session has ended, and it has resigned. [RegisterBrokerAndReelect, 1.1]"""


ELECTION: Final = {
    Election.multi: Agenda((ControllerStep.ReadEpoch, ControllerStep.RegisterController)),
    Election.cas_checked: Agenda((ControllerStep.CreateController,)),
    Election.cas_swallowed: Agenda((ControllerStep.CreateController,)),
}
"""The steps of a broker that finds no controller; its failover follows. [elect]"""
INCREMENT: Final = Agenda((ControllerStep.ReadEpoch, ControllerStep.IncrementEpoch))
"""The start of a failover that is not part of the multi. [readControllerEpochFromZooKeeper, until 2.0]"""


class Design(ElectionChanges):
    """The behaviour of a release, where releases differ. A field that is a change is a switch of the specifications.

    Args:
        release: by default the newest, but with the failover of one partition, and without `looks_again`.

    Raises:
        UnknownRelease: there is no such release.
    """

    failover: Agenda
    """The requests of a controller that has been elected. If they end with `ControllerStep.Started`, `elect` catches
    their errors."""
    state: ZkPath
    """The path of the partition's state that a controller writes."""
    looks_again: bool
    """A broker whose request was refused checks whether its own lost reply caused that. In every release it does."""

    def __init__(self, release: str | None = None) -> None:
        steps = LEADER_AND_ISR if release is None else steps_of(failover(release))
        super().__init__(release, failover=steps, state=PARTITION_STATE, looks_again=release is not None)


def failover_of(design: Design) -> Agenda:
    """The failover requests that fit a design's election and threads: those of 2.1, of 1.1, or of 1.0."""
    older = "1.1" if design.threads is Threads.barrier else "1.0"
    return steps_of(failover("2.1" if design.epoch_update is Election.multi else older))


def least_failover(design: Design) -> Agenda:
    """The minimal failover: it obtains its epoch, if it has none yet, and writes one partition's state."""
    increment = () if design.epoch_update is Election.multi else INCREMENT
    return Agenda((*increment, *LEADER_AND_ISR))


def agendas(design: Design, events: Iterable[ControllerEvent] = ControllerEvent) -> tuple[Agenda, ...]:
    """Every possible agenda of a controller's thread: each row, and the rest of it after each request.

    Args:
        design: the design of its release.
        events: the events that it may have to handle.
    """
    rows: list[Iterable[ControllerStep]] = [STOPPED, STARTUP[design.threads], MAYBE_RESIGN]
    rows.append((*ELECTION[design.epoch_update], *design.failover))
    handling = HANDLING[design.threads]
    handled = [
        handling[event]
        for event in events
        if event in handling and ControllerStep.RegisterBroker not in handling[event]
    ]
    rows += [
        row[1:] if row[0] is ControllerStep.GetControllerId and not design.skip_if_self else row for row in handled
    ]
    if design.threads is Threads.barrier:
        rows.append(EXPIRED)
    if design.threads is not Threads.queue:
        rows += _registrations(design)
    if design.epoch_update is Election.multi and ControllerStep.Started in design.failover:
        rows.append((ControllerStep.MoveController,))
    if design.epoch_update is Election.cas_checked or ControllerStep.Started in design.failover:
        rows.append((ControllerStep.DeleteController,))
    if design.looks_again:
        checks = (
            (ControllerStep.CheckController, ControllerStep.CheckEpoch)
            if design.epoch_update is Election.multi
            else (ControllerStep.CheckController,)
        )
        rows.append((*checks, *design.failover))
    return _suffixes(rows)


def listener_agendas(design: Design) -> tuple[Agenda, ...]:
    """Every possible agenda of ZkEventThread, if that is a separate thread."""
    return _suffixes([IDLE, *_registrations(design)] if design.threads is Threads.queue else [IDLE])


def _registrations(design: Design) -> list[Iterable[ControllerStep]]:
    """The registrations of a broker, at startup or in a new session, with checks of an existing node."""
    if design.threads is Threads.barrier:
        rows = [STARTUP[design.threads][1:], EXPIRED[1:]]
    else:
        handling = HANDLING[design.threads]
        rows = [handling[ControllerEvent.Healthcheck], handling[ControllerEvent.SessionExpireListener]]
    found: list[Iterable[ControllerStep]] = list(rows)
    if design.looks_again:
        found += [(ControllerStep.CheckRegistration, *row[1:]) for row in rows]
    if design.ephemeral_owner_check:
        found += [(ControllerStep.DeleteRegistration, *row) for row in rows]
    return found


def _suffixes(rows: Iterable[Iterable[ControllerStep]]) -> tuple[Agenda, ...]:
    whole = [tuple(row) for row in rows]
    return tuple(dict.fromkeys(Agenda(row[at:]) for row in whole for at in range(len(row) + 1)))


def is_repeated(design: Design, do: ControllerStep) -> bool:
    """Whether a request whose session has ended is repeated in the next one. [ZkClient, until 1.0]"""
    return design.threads is not Threads.barrier and do not in CREATES | REGISTERS


def requests_of(design: Design, events: Iterable[ControllerEvent]) -> list[ControllerStep]:
    """The requests of brokers: those on the agendas of their threads, in the order of `ControllerStep`."""
    made = {do for agenda in (*agendas(design, events), *listener_agendas(design)) for do in agenda}
    return [do for do in ControllerStep if do in made - NO_REQUESTS]


def accepts_controller_epoch(known: ControllerEpoch, epoch: ControllerEpoch) -> bool:
    """Whether a broker that has seen one controller epoch accepts a request of another. The same epoch is accepted.

    [ReplicaManager.becomeLeaderOrFollower, stopReplicas, maybeUpdateMetadataCache, 0.10 to 3.9]
    """
    return epoch >= known


class PartitionStateEpoch(NamedTuple):
    """The data of .../partitions/<p>/state that fencing needs; `zk_data.TopicPartitionState` has all of it."""

    controller_epoch: ControllerEpoch = 0
    """The epoch of the last writer."""
