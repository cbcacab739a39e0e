"""A broker's controller as a process: its pending steps, its events, and its knowledge.

In Kafka a `KafkaController` has its queue, its session, whether it is active and the epoch of its broker. Its
knowledge of the cluster is in its `ControllerContext`, whose lifetime differs: a resignation resets it, but a broker
that merely reads that it is no longer controller keeps it. What Kafka keeps on stacks is here as well: agendas
instead of a program counter, and the values that one request reads for the next (`state_version`, `brokers_read`).
Each step of `registration` and `election` takes such a value and returns another (`Answer`).
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch
from statemachines.changes.elections import Threads
from statemachines.controller.design import PATHS_READ, Design, agendas, listener_agendas
from statemachines.controller.threads import (
    IDLE,
    REGISTERS,
    STOPPED,
    Agenda,
    ControllerEvent,
    ControllerStep,
    Queued,
)
from statemachines.zookeeper.tree import SessionId, ZkPath, ZkVersion


class LiveBroker(NamedTuple):
    """A broker as its controller knows it."""

    name: str
    """The name of its node under /brokers/ids."""
    epoch: BrokerEpoch
    """The zxid that created this node; greater after each restart. [KAFKA-7235]"""


class OnePartitionContext(NamedTuple):
    """A controller's knowledge of a cluster with one partition; for more partitions, it is a `ControllerContext`.

    [ControllerContext: epoch, epochZkVersion, liveBrokers with liveBrokerEpochs, partitionLeadershipInfo]
    """

    epoch: ControllerEpoch = 0
    """The controller epoch: as read, until the reply to its increment (see `acts_as_controller`)."""
    epoch_zk_version: ZkVersion = 0
    """The version of /controller_epoch for this epoch, which fences its writes."""
    live_brokers: frozenset[Any] = frozenset()
    """The brokers that it considers alive, by the names of their nodes; since 2.2 `LiveBroker`s."""
    partition_state_version: ZkVersion | None = None
    """The version of the partition's state that it knows."""


class ControllerProcess(NamedTuple):
    """The KafkaController of one broker. When it is not active, most fields have their initial values."""

    agenda: Agenda = STOPPED
    session: SessionId | None = None
    """The ZooKeeper session that it believes it has; the servers may have ended it."""
    active: bool = False
    """By its last knowledge, /controller names this broker. [isActive since 0.11; amILeader, 0.10]"""
    context: OnePartitionContext = OnePartitionContext()
    """Its knowledge as controller."""
    state_version: ZkVersion = 0
    """The version of the partition's state when read, until the reply to its write."""
    queue: tuple[Queued, ...] = ()
    """Its events, oldest first; it handles one when it is idle."""
    listener_agenda: Agenda = IDLE
    """The pending steps of ZkEventThread, if that is a separate thread. [0.11, 1.0]"""
    posted: tuple[Queued, ...] = ()
    """Events of ZkEventThread that it has not put into the queue yet."""
    registration: SessionId | None = None
    """The session in which it last registered. [currentZooKeeperSessionId, 2.2]"""
    broker_epoch: BrokerEpoch = 0
    """The zxid that created its registration, which its requests carry. [2.2]"""
    handlers_registered: bool = False
    """The handlers of a controller are registered; without them, their events are dropped."""
    failover_done: bool = False
    """The failover of its term is done."""
    brokers_read: frozenset[Any] = frozenset()
    """The brokers read by a BrokerChange, until its context has them all; then empty. [2.2]"""

    @property
    def epoch(self) -> ControllerEpoch:
        """The epoch of its context. [KafkaController.epoch]"""
        return self.context.epoch

    @property
    def acts_as_controller(self) -> bool:
        """Whether it acts as controller under its epoch: the reply to its increment has arrived.

        In 0.10 it may do so without considering itself controller, as long as it has its channels.
        """
        if self.epoch == 0 or ControllerStep.IncrementEpoch in self.agenda:
            return False
        return self.active or (self.context.partition_state_version is not None and not self.in_elect)

    @property
    def is_running(self) -> bool:
        """Whether its process is running, or starting."""
        return self.agenda != STOPPED

    def about_to(self, do: ControllerStep) -> bool:
        """Whether this is its next step."""
        return len(self.agenda) > 0 and self.agenda[0] == do

    def next_step(self) -> "ControllerProcess":
        """It continues with the remaining steps."""
        return self._replace(agenda=Agenda(self.agenda[1:]))

    def with_steps(self, *doing: ControllerStep) -> "ControllerProcess":
        """It replaces the remaining steps with these."""
        return self._replace(agenda=Agenda(doing))

    def with_context(self, **changes: Any) -> "ControllerProcess":
        """It updates these fields of its context."""
        return self._replace(context=self.context._replace(**changes))

    def resigned(self) -> "ControllerProcess":
        """onControllerResignation: it forgets all its knowledge as controller."""
        return ControllerProcess(
            self.agenda,
            self.session,
            queue=self.queue,
            listener_agenda=self.listener_agenda,
            posted=self.posted,
            registration=self.registration,
            broker_epoch=self.broker_epoch,
        )

    def not_controller(self) -> "ControllerProcess":
        """It no longer considers itself controller, but keeps its context.

        Only the epoch is dropped here, since it is read again before use.
        """
        return self._replace(active=False, state_version=0).with_context(epoch=0, epoch_zk_version=0)

    def as_zk_event_thread(self) -> "ControllerProcess":
        """The process as ZkEventThread sees it, with the agendas of the two threads swapped."""
        return self._replace(agenda=self.listener_agenda, listener_agenda=self.agenda)

    @property
    def takes_isr_notification(self) -> bool:
        """Whether a leader's notification becomes an event: a handler is registered, and none is queued."""
        return self.handlers_registered and all(
            each.event is not ControllerEvent.IsrChangeNotification for each in self.queue
        )

    @property
    def is_idle(self) -> bool:
        """Neither of its threads has steps or events."""
        return self.agenda == IDLE and self.listener_agenda == IDLE and not self.queue and not self.posted

    @property
    def paths_to_read(self) -> frozenset[ZkPath]:
        """The nodes that it will read, and watch again, when it handles its events."""
        return frozenset(path for each in (*self.queue, *self.posted) for path in PATHS_READ.get(each.event, ()))

    @property
    def in_elect(self) -> bool:
        """It is in its election or its failover, where an error moves the controller."""
        return len(self.agenda) > 0 and self.agenda[-1] is ControllerStep.Started

    @property
    def in_failover(self) -> bool:
        """It considers itself controller, and its failover is not complete."""
        return self.active and self.in_elect

    @property
    def has_context(self) -> bool:
        """Whether it still has state from a term as controller."""
        return (
            self.handlers_registered
            or self.failover_done
            or bool(self.context.live_brokers)
            or self.context.partition_state_version is not None
        )


class Failover(NamedTuple):
    """A failover under way: the broker that became controller, and its epoch."""

    broker: BrokerId
    epoch: ControllerEpoch


class Answer(NamedTuple):
    """The outcome of a request."""

    controller: ControllerProcess
    description: str
    """ZooKeeper's reply, and its effect in Kafka."""
    failover: Failover | None = None
    """A failover that has its epoch, and continues."""
    sends_requests: bool = False
    """Requests with its epoch go to the brokers: UpdateMetadata, LeaderAndIsr."""


def of_thread(design: Design, do: ControllerStep, me: ControllerProcess) -> ControllerProcess:
    """The process as seen by the thread of this request: in 0.11 and 1.0, ZkEventThread registers the broker."""
    return me.as_zk_event_thread() if design.threads is Threads.queue and do in REGISTERS else me


def process_values(design: Design, events: Collection[ControllerEvent]) -> Mapping[Any, Collection[Any]]:
    """The domains of the fields of a process, its context and its events that follow from its design.

    Args:
        design: the design of its release.
        events: the events that it may have to handle.
    """
    of_told = {} if design.threads is Threads.queue else {Queued.controller: (None,)}
    needless = set(unused_fields(design))
    stays = {
        getattr(record, name): (begins,)
        for record in (ControllerProcess, OnePartitionContext)
        for name, begins in record._field_defaults.items()
        if name in needless
    }
    threads = {
        ControllerProcess.agenda: agendas(design, events),
        ControllerProcess.listener_agenda: listener_agendas(design),
    }
    return {**threads, Queued.event: events, **of_told, **stays}


def unused_fields(design: Design) -> Iterator[str]:
    """The fields of a process, and of its context, that never change, because nothing in this design needs them."""
    if design.threads is not Threads.queue:
        yield from ("listener_agenda", "posted")
    if not design.ephemeral_owner_check:
        yield "registration"
    if not design.broker_epoch:
        yield from ("broker_epoch", "brokers_read")
    if ControllerStep.ReadBrokers not in design.failover:
        yield from ("handlers_registered", "failover_done", "live_brokers", "partition_state_version")
