"""A broker's controller as a process: what it is about to do, what it has been told, and what it knows.

In Kafka a `KafkaController` has its queue, its session, whether it is active and the epoch of its broker; what it
knows of the cluster is in its `ControllerContext`, which has an end of its own: a resignation resets it, and a broker
that only reads that it is no longer controller keeps it. What Kafka has on stacks stands here as well: agendas in
place of a program counter, and what one request has read for the next (`state_version`, `brokers_read`). Such a value
goes into each step of `registration` and `election`, and another comes out of it (`Answer`).
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch
from statemachines.controller.agenda import IDLE, REGISTERS, STOPPED, Agenda, ControllerStep
from statemachines.controller.design import PATHS_READ, Design, agendas, listener_agendas
from statemachines.controller.threads import ControllerEvent, Queued, Threads
from statemachines.zookeeper.tree import SessionId, ZkPath, ZkVersion

__all__ = [
    "Answer",
    "ControllerProcess",
    "Failover",
    "LiveBroker",
    "OnePartitionContext",
    "of_thread",
    "unused_fields",
    "process_values",
]


class LiveBroker(NamedTuple):
    """A broker as its controller knows it."""

    name: str
    """That of its node under /brokers/ids."""
    epoch: BrokerEpoch
    """The zxid that created this node: a broker that came again has a greater one. [KAFKA-7235]"""


class OnePartitionContext(NamedTuple):
    """What a controller knows of a cluster that has one partition: for many it is a `ControllerContext`.

    [ControllerContext: epoch, epochZkVersion, liveBrokers with liveBrokerEpochs, partitionLeadershipInfo]
    """

    epoch: ControllerEpoch = 0
    """The controller epoch: as read, until its increment is answered, see `ControllerProcess.acts_as_controller`."""
    epoch_zk_version: ZkVersion = 0
    """The version of /controller_epoch that goes with it: what fences its writes."""
    live_brokers: frozenset[Any] = frozenset()
    """The brokers that it takes for alive, by the names of their nodes; since 2.2 `LiveBroker`s."""
    partition_state_version: ZkVersion | None = None
    """The version at which it knows the partition's state."""


class ControllerProcess(NamedTuple):
    """The KafkaController of one broker. Of a broker that is not active, most is put back to where it begins."""

    agenda: Agenda = STOPPED
    session: SessionId | None = None
    """The ZooKeeper session that it believes it has; the servers may have ended it."""
    active: bool = False
    """The last it knew, /controller named this broker. [isActive since 0.11; amILeader, 0.10]"""
    context: OnePartitionContext = OnePartitionContext()
    """What it knows as controller."""
    state_version: ZkVersion = 0
    """The version at which it read the partition's state, until its write is answered."""
    queue: tuple[Queued, ...] = ()
    """What it has been told, oldest first; it handles it when it is idle."""
    listener_agenda: Agenda = IDLE
    """What ZkEventThread is about to do, where that is another thread. [0.11, 1.0]"""
    posted: tuple[Queued, ...] = ()
    """What ZkEventThread has been told, and has not put into the queue yet."""
    registration: SessionId | None = None
    """The session in which it last registered. [currentZooKeeperSessionId, 2.2]"""
    broker_epoch: BrokerEpoch = 0
    """The zxid that created its registration, which its requests carry. [2.2]"""
    handlers_registered: bool = False
    """Its handlers of a controller are registered; what others hear of is dropped."""
    failover_done: bool = False
    """The failover of its term is done."""
    brokers_read: frozenset[Any] = frozenset()
    """The brokers that a BrokerChange has read, until its context has them all; empty if it has. [2.2]"""

    @property
    def epoch(self) -> ControllerEpoch:
        """That of its context. [KafkaController.epoch]"""
        return self.context.epoch

    @property
    def acts_as_controller(self) -> bool:
        """Whether it acts as controller under its epoch: its increment has been answered.

        In 0.10 it may do so without taking itself for the controller, as long as it has its channels.
        """
        if self.epoch == 0 or ControllerStep.IncrementEpoch in self.agenda:
            return False
        return self.active or (self.context.partition_state_version is not None and not self.in_elect)

    @property
    def is_running(self) -> bool:
        """Whether its process is up, or coming up."""
        return self.agenda != STOPPED

    def about_to(self, do: ControllerStep) -> bool:
        """Whether this is what it does next."""
        return len(self.agenda) > 0 and self.agenda[0] is do

    def next_step(self) -> "ControllerProcess":
        """It goes on with what is left to do."""
        return self._replace(agenda=Agenda(self.agenda[1:]))

    def with_steps(self, *doing: ControllerStep) -> "ControllerProcess":
        """It turns to this instead of what was left to do."""
        return self._replace(agenda=Agenda(doing))

    def with_context(self, **changes: Any) -> "ControllerProcess":
        """From now on it knows this, in these fields of its context."""
        return self._replace(context=self.context._replace(**changes))

    def resigned(self) -> "ControllerProcess":
        """onControllerResignation: all that it knew as controller is gone."""
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
        """It takes itself for controller no longer, and that is all: its context stays.

        Of that the epoch goes here, since it is read again before it is used.
        """
        return self._replace(active=False, state_version=0).with_context(epoch=0, epoch_zk_version=0)

    def as_zk_event_thread(self) -> "ControllerProcess":
        """As ZkEventThread sees it: what the one thread is about to do is what the other is."""
        return self._replace(agenda=self.listener_agenda, listener_agenda=self.agenda)

    @property
    def takes_isr_notification(self) -> bool:
        """Whether a leader's notification would be an event: it listens, and none waits in its queue."""
        return self.handlers_registered and all(
            each.event is not ControllerEvent.IsrChangeNotification for each in self.queue
        )

    @property
    def is_idle(self) -> bool:
        """Neither of its threads is about to do anything, and nothing waits for them."""
        return self.agenda == IDLE and self.listener_agenda == IDLE and not self.queue and not self.posted

    @property
    def paths_to_read(self) -> frozenset[ZkPath]:
        """What it reads, and watches again, when it handles what waits."""
        return frozenset(path for each in (*self.queue, *self.posted) for path in PATHS_READ.get(each.event, ()))

    @property
    def in_elect(self) -> bool:
        """It is in its election or its failover, and an error there moves the controller."""
        return len(self.agenda) > 0 and self.agenda[-1] is ControllerStep.Started

    @property
    def in_failover(self) -> bool:
        """It takes itself for controller, and is not done with what that begins with."""
        return self.active and self.in_elect

    @property
    def has_context(self) -> bool:
        """Whether anything is left of a term as controller."""
        return (
            self.handlers_registered
            or self.failover_done
            or bool(self.context.live_brokers)
            or self.context.partition_state_version is not None
        )


class Failover(NamedTuple):
    """A failover that went through: the broker that became controller, and the epoch it ran under."""

    broker: BrokerId
    epoch: ControllerEpoch


class Answer(NamedTuple):
    """What a request came to."""

    controller: ControllerProcess
    description: str
    """What ZooKeeper answered, and what Kafka makes of it."""
    failover: Failover | None = None
    """That has its epoch, and goes on."""
    sends_requests: bool = False
    """Requests with its epoch go out to the brokers: UpdateMetadata, LeaderAndIsr."""


def of_thread(design: Design, do: ControllerStep, me: ControllerProcess) -> ControllerProcess:
    """What the thread knows that makes this request: in 0.11 and 1.0, ZkEventThread registers the broker."""
    return me.as_zk_event_thread() if design.threads is Threads.queue and do in REGISTERS else me


def process_values(design: Design, events: Collection[ControllerEvent]) -> Mapping[Any, Collection[Any]]:
    """What stands in those fields of a process, its context and what waits there that follow from its design.

    Args:
        design: that of its release.
        events: what it may have to handle.
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
    """The fields of a process, and of its context, that stay as they begin: nothing in this design needs them."""
    if design.threads is not Threads.queue:
        yield from ("listener_agenda", "posted")
    if not design.ephemeral_owner_check:
        yield "registration"
    if not design.broker_epoch:
        yield from ("broker_epoch", "brokers_read")
    if ControllerStep.ReadBrokers not in design.failover:
        yield from ("handlers_registered", "failover_done", "live_brokers", "partition_state_version")
