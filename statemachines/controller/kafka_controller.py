"""KafkaController: the controller of one broker, from startup to shutdown, with everything that Kafka's does.

It joins two parts. `ElectingController` registers the broker, is elected and resigns. `ControllerEventProcessor`
processes events while the broker is controller, over one `ControllerContext`. This module has the queue of events,
and the transitions between the parts: an elected broker fails over; a broker whose write is refused reads which
broker is controller; a broker whose event or failover goes wrong triggers another election.

    controller = kafka_controller(1, zookeeper, send, release="3.9")
    controller.startup()
    while controller.has_work:
        controller.advance()

Each `advance` is one step: a request to ZooKeeper, or a batch of them, with everything that Kafka does until the next
one. Other processes may act between any two steps.

    a step of                                  is made by
    its startup, its session, its election     a method of `ElectingController` (see `ControllerStep`)
    a failover, an event                       a batch of `EventWaiting`

The systems `controller-election` and `controller` explore the same election over the work of one partition
(`one_partition`); `partitions`, `reassignment` and `topic-deletion` explore the same event processor
with an election of one step.

[KafkaController.scala, ControllerEventManager.scala, 0.11 to 3.9]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from election.ids import BrokerId
from statemachines.controller.alter_partition import AlterPartitionResponse
from statemachines.controller.calls import Call, EventFailure, EventWaiting, call
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.controller_process import Answer, ControllerProcess, of_thread
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    MAYBE_RESIGN,
    NO_BROKER,
    Design,
    Threads,
)
from statemachines.controller.election import ElectingController
from statemachines.controller.event_driver import BrokerChannels
from statemachines.controller.event_processor import ControllerEventProcessor, RegisteredHandlers, event_processor
from statemachines.controller.metrics import ControllerStats
from statemachines.controller.rebalance_timer import RebalanceTimer
from statemachines.controller.state_change import EventDone, FailedStateChange, log_failed_state_change
from statemachines.controller.threads import CHECKS, WATCH_EVENTS, Agenda, ControllerEvent, ControllerStep, Queued
from statemachines.controller.zk_requests import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES
from statemachines.zookeeper.server import ZooKeeper
from statemachines.zookeeper.tree import Code, SessionId, ZkVersion

QueuedEvent: TypeAlias = Queued | Call
"""An event of the election, or one for the active controller: the call of its handler."""
FAILOVER: Final = Agenda((ControllerStep.FailOver, ControllerStep.Started))
_Its = ControllerEventProcessor
ENDS_DELETIONS: Final = frozenset({EventFailure.NoTopic, EventFailure.NoReplicaState})
"""The failures of a failover during deletions."""
BROKER_CHANGES: Final = frozenset({ControllerEvent.BrokerChange, ControllerEvent.BrokerChangeListener})


class KafkaController(ElectingController):
    """The controller of one broker.

    Args:
        design: the behaviour of its release in election and notification.
        zookeeper: the servers, or a client of them.
        broker: its id.
        events: the processor of events while it is controller. This controller replaces its `put`, `handlers` and
            `rebalance_timer`.
        ask: sends a batch of requests; by default to the servers.
        answer: called with an event and the reply to its caller, or None if there is none. An event with a reply
            before its end is passed again, with None, at its end.
        auto_leader_rebalance: whether, as controller, it checks by itself whether preferred replicas lead
            [auto.leader.rebalance.enable].
        now: returns the time, in milliseconds.
    """

    def __init__(
        self,
        design: Design,
        zookeeper: ZooKeeper,
        broker: BrokerId,
        events: ControllerEventProcessor,
        ask: Callable[[Sequence[ZkRequest]], Sequence[ZkResponse]] | None = None,
        answer: Callable[[Call, Any], object] = lambda event, answer: None,
        auto_leader_rebalance: bool = True,
        now: Callable[[], int] = lambda: 0,
    ) -> None:
        increments = tuple(
            do for do in design.failover if do in (ControllerStep.ReadEpoch, ControllerStep.IncrementEpoch)
        )
        super().__init__(design.but(failover=Agenda((*increments, *FAILOVER))), zookeeper, broker)
        self.events = events
        self.context: ControllerContext = events.context
        self.handlers = RegisteredHandlers(self.context, design.threads)
        self.rebalance_timer = RebalanceTimer(auto_leader_rebalance, repeats=design.threads is Threads.lock)
        events.handlers, events.put, events.rebalance_timer = self.handlers, self.put, self.rebalance_timer
        self.queue: deque[QueuedEvent] = deque()
        """Its events, oldest first."""
        self.posted: deque[QueuedEvent] = deque()
        """Events of ZkEventThread that it has not put into the queue yet, in 0.11 and 1.0."""
        self.me = ControllerProcess()
        """Its pending steps, and its own state."""
        self.processing: EventWaiting | None = None
        """The event, or the failover, that waits for ZooKeeper."""
        self.active_controller_id: BrokerId = NO_BROKER
        """The controller, by its last knowledge. [activeControllerId]"""
        self.event: Call | None = None
        """The event being processed."""
        self._now, self._begun = now, 0
        self.stats = ControllerStats(now)
        """Its meters since the start of its broker's process."""
        events.partition_state_machine.mark_unclean = self._mark_unclean
        self._answered = self._shuts_down = self._is_to_resign = False
        self._ask, self._answer = self._ask_servers if ask is None else ask, answer
        self._sessions = 0

    # Queries.

    @property
    def active(self) -> bool:
        """Whether it considers itself controller. [isActive]"""
        return self.me.is_running and self.is_active(self.me)

    @property
    def has_work(self) -> bool:
        """Whether it can take a step by itself; a process that is not running cannot."""
        if not self.me.is_running or self._is_closed:
            return False
        if self.processing is not None or self.me.agenda or self.me.listener_agenda or self.posted or self.queue:
            return True
        return self.has_lost_session or bool(self.zookeeper.state.events[self.me.session])

    @property
    def is_running(self) -> bool:
        """Whether it has been started, and has neither died nor been shut down. [isRunning, 0.10]"""
        return self.me.is_running and not self._shuts_down

    @property
    def _is_closed(self) -> bool:
        """Whether its thread has ended. Until 0.10.2 it has none; ZkEventThread ends with the session."""
        return self._shuts_down and not self.is_busy and self.design.threads is not Threads.lock

    @property
    def is_busy(self) -> bool:
        """Whether it is in the middle of a task, so that it takes no event from the queue."""
        return self.processing is not None or bool(self.me.agenda)

    @property
    def has_lost_session(self) -> bool:
        """Whether its session has ended."""
        session = self.me.session
        return self.me.is_running and session is not None and session not in self.zookeeper.state.sessions

    # External events.

    def startup(self) -> None:
        """Its broker's process starts."""
        self._shuts_down = False
        me = self.start()
        self._post(me, *me.queue, *me.posted)
        self.me = me._replace(queue=(), posted=())

    def crash(self) -> None:
        """Its broker's process dies and loses its state; its session lives until the servers end it."""
        self._is_to_resign = False
        self._forget()
        self.events.forget_all()
        self.stats = ControllerStats(self._now)
        self.me = self.stop(self.me)

    def shutdown(self) -> None:
        """Its broker stops in order: drop queued events, finish the current one, and then resign.

        Its session lives until the broker closes it. Until then /controller names this broker, if it was controller.
        Until 0.10.2 it may even be elected in that time: its listeners still run, but it does not fail over.
        [KafkaController.shutdown, ControllerEventManager.close]
        """
        self._shuts_down = self._is_to_resign = True
        if self.design.threads is not Threads.lock:
            self._drop_queue()
        self._resign_if_done()

    def _drop_queue(self) -> None:
        """Drop the queued events. [clearAndPut, preempt]"""
        dropped = [event for event in self.queue if isinstance(event, Call)]
        self.queue.clear()
        self.posted.clear()
        design, unanswered = self.events.design, {_Its.process_alter_partition.__name__}
        if not design.answer_dropped_reassignments:
            unanswered.add(_Its.process_api_partition_reassignment.__name__)
        for event in dropped if design.answer_dropped_events else ():
            if event.method not in unanswered:
                self._refuse(event)

    def _resign_if_done(self) -> None:
        if self._is_to_resign and not self.is_busy:
            self._is_to_resign = False
            self.events.on_controller_resignation()

    def put(self, event: QueuedEvent) -> None:
        """Put an event into the queue. [eventManager.put]"""
        self.queue.append(event)

    def rebalance(self) -> None:
        """The scheduled check whether preferred replicas lead is due; it is an event like any other.

        Raises:
            ValueError: no check is scheduled: it is not controller, or is configured not to check.
        """
        self.rebalance_timer.fire()
        self.put(call(self.events.process_auto_preferred_replica_leader_election))

    def deliver_watch_events(self) -> None:
        """Turn watch events into events of the controller."""
        self.deliver(self.me)

    def advance(self) -> None:
        """Take the next step, if there is one: a request to ZooKeeper, a batch of them, or the next event."""
        if self.me.is_running and not self._is_closed:
            self._go_on(self.me)
            self._resign_if_done()

    def _go_on(self, me: ControllerProcess) -> None:
        if self.has_lost_session and self._begins_another_at_once:
            self.me = self.renew(me, self._new_session())
        elif self.processing is not None:
            self._go_on_with(self.processing)
        elif me.listener_agenda:
            self._take(self.step(me.listener_agenda[0])(me))
        elif me.about_to(ControllerStep.Connect):
            self.me = self.connect(me, self._new_session())
        elif self._shuts_down and me.about_to(ControllerStep.ReadEpoch):
            self.me = me.with_steps()  # "Controller has been shut down, aborting startup/failover"
        elif me.about_to(ControllerStep.FailOver):
            self._begin(Call(_Its.on_controller_failover.__name__))
        elif me.agenda:
            self._take(self.step(me.agenda[0])(me))
        elif self.has_lost_session:
            self.me = self.expire(me)
        else:
            self.deliver_watch_events()
            if self.posted:
                self._listen_for(self.posted.popleft())
            elif self.queue:
                self._turn_to(self.queue.popleft())

    # Events.

    def hear(self, me: ControllerProcess, listens: bool) -> ControllerProcess:
        """Deliver the session's watch events to the client, which queues those that have a handler."""
        if me.session is None:
            return me
        for path in self.handlers.watched_paths() if self.handlers.are_listeners else ():
            self.zookeeper.exists(me.session, path, watch=True)
        while (watch_event := self.zookeeper.take(me.session)) is not None:
            event = self.handlers.event_of(watch_event)
            if watch_event.path == CONTROLLER or (watch_event.path == BROKER_IDS and event is not None):
                me = self._post(me, Queued(WATCH_EVENTS[self.design.threads][watch_event.type]))
            elif event is not None:
                self._of_listeners.append(event)
        return me

    @property
    def _of_listeners(self) -> deque[Any]:
        """The events that watch events become: in 0.11 and 1.0 ZkEventThread has yet to read for them."""
        return self.posted if self.design.threads is Threads.queue else self.queue

    def _listen_for(self, event: QueuedEvent) -> None:
        """ZkEventThread reads what has changed, and puts the event into the queue; none if a node is gone."""
        if isinstance(event, Queued):
            self._take(self.listen(self.me._replace(posted=(event,))))
            return
        (response,) = self._ask((self.handlers.read_for(event),))
        if response.code is Code.OK:
            self.queue.append(event if self._reads_anew(event) else event._replace(arguments=(response.data,)))

    def _reads_anew(self, event: Call) -> bool:
        """Whether the handler of an event reads, though ZkEventThread has read."""
        reassigns = event.method == _Its.process_zk_partition_reassignment.__name__
        return bool(event.arguments) or (reassigns and not self.events.design.carry_reassignment)

    def _post(self, me: ControllerProcess, *events: Queued) -> ControllerProcess:
        self._of_listeners.extend(events)
        return me

    def _take(self, answer: Answer) -> None:
        """Adopt the outcome of a step of its thread, or of ZkEventThread."""
        self.queue.extend(answer.controller.queue)
        self.me = answer.controller._replace(queue=())

    def _turn_to(self, event: QueuedEvent) -> None:
        if isinstance(event, Queued) and event.event in BROKER_CHANGES:
            event = Call(_Its.process_broker_change.__name__)
        if isinstance(event, Queued):
            self._take(self.handle(self.me._replace(queue=(event,))))
        elif self.active:
            self._begin(event)
        else:
            self._refuse(event)

    def _mark_unclean(self) -> None:
        self.stats.unclean_leader_election_rate.mark()

    def _refuse(self, event: Call) -> None:
        """Reply to the caller of an event that the broker is not controller."""
        match event.method:
            case _Its.process_broker_change.__name__:
                self.stats.leader_election_timer.mark()
            case _Its.process_controlled_shutdown.__name__:
                self._answer(event, EventFailure.ControllerMoved)
            case _Its.process_replica_leader_election.__name__ if event.arguments:
                asked: Iterable[TopicPartition] = event.arguments[0]
                self._answer(event, tuple((partition, Errors.NOT_CONTROLLER) for partition in asked))
            case _Its.process_api_partition_reassignment.__name__:
                self._answer(event, ())
            case _Its.process_alter_partition.__name__:
                self._answer(event, AlterPartitionResponse(Errors.NOT_CONTROLLER))
        self._answer(event, None)

    # Processing.

    def _begin(self, event: Call) -> None:
        self.event, self._answered, self._begun = event, False, self._now()
        self._went_on(self.events.process(event))

    def _go_on_with(self, processing: EventWaiting) -> None:
        requests = self.events.requests(processing.awaits)
        assert self.event is not None
        of = self.event.method
        responses = self._ask([self.handlers.watched(each, of) for each in requests]) if requests else ()
        self._went_on(self.events.answered(processing, responses))

    def _went_on(self, step: EventWaiting | EventDone) -> None:
        assert self.event is not None
        if step.answer is not None and not self._answered:
            self._answered = True
            self._answer(self.event, step.answer)
        if isinstance(step, EventWaiting):
            self.processing = step
            return
        event, self.processing, self.event = self.event, None, None
        assert event is not None
        self._answer(event, None)
        if event.method == _Its.process_broker_change.__name__:
            self.stats.leader_election_timer.mark(self._now() - self._begun)
        if event.method == _Its.process_auto_preferred_replica_leader_election.__name__:
            self.rebalance_timer.schedule()
        if self.me.about_to(ControllerStep.FailOver):
            self._failed_over(step)
        else:
            self._processed(step)

    def _processed(self, processed: EventDone) -> None:
        """An event is complete. [process]"""
        moved = processed.failure is EventFailure.ControllerMoved
        if processed.must_reelect:
            self._fail(MAYBE_RESIGN if moved else ())
        elif moved:
            self.me = self.me.with_steps(*MAYBE_RESIGN)

    def _failed_over(self, processed: EventDone) -> None:
        """A failover is complete, or has failed. [elect]"""
        failure = processed.failure
        if self.design.threads is Threads.lock and failure in ENDS_DELETIONS:
            failure = None  # they end a thread of their own, after the failover
        if processed.must_reelect or failure not in (None, EventFailure.ControllerMoved):
            self._fail(())
        elif failure is not None:
            self.me = self.me.with_steps(*MAYBE_RESIGN)
        else:
            self.rebalance_timer.start()
            self.me = self.me.with_steps()._replace(failover_done=True)

    def _fail(self, then: Sequence[ControllerStep]) -> None:
        """Trigger another election, and then take these steps. [triggerControllerMove]"""
        me = self.fail(self.me).controller
        self.me = me.with_steps(*me.agenda, *then)

    def _ask_servers(self, requests: Sequence[ZkRequest]) -> Sequence[ZkResponse]:
        """Send a batch; the watch events so far are delivered before the responses."""
        responses = retry_requests_until_connected(self.zookeeper, self.me.session, requests)
        self.deliver_watch_events()
        return responses

    # Election and resignation, with the state that `ElectingController` does not know.

    follows_failover = True

    def has_channels(self, me: ControllerProcess) -> bool:
        """Whether its failover has already opened channels to the brokers."""
        return self.events.has_channels

    def resign(self, me: ControllerProcess) -> ControllerProcess:
        """It forgets all its knowledge as controller. [onControllerResignation]"""
        self.events.on_controller_resignation()
        return super().resign(me)

    def lose_office(self, me: ControllerProcess) -> ControllerProcess:
        """It no longer considers itself controller; its known epoch is still that of its context."""
        state = self.context.state
        return super().lose_office(me).with_context(epoch=state.epoch, epoch_zk_version=state.epoch_zk_version)

    def expire(self, me: ControllerProcess) -> ControllerProcess:
        """Its session has ended: it resigns, and drops queued events."""
        self._drop_queue()
        self._forget()
        self.events.on_controller_resignation()
        return super().expire(me)

    def _forget(self) -> None:
        self.queue.clear()
        self.posted.clear()
        self.processing = self.event = None
        self.active_controller_id = NO_BROKER

    def _controller_id(self, me: ControllerProcess) -> BrokerId | None:
        owner = super()._controller_id(me)
        self.active_controller_id = NO_BROKER if owner is None else owner
        return owner

    def _controller_named(self, me: ControllerProcess, controller: BrokerId | None) -> ControllerProcess:
        assert controller is not None
        self.active_controller_id = controller
        return super()._controller_named(me, controller)

    def _in_office(self, me: ControllerProcess) -> ControllerProcess:
        self.active_controller_id = self.broker
        return super()._in_office(me)

    def _failover_goes_through(self, me: ControllerProcess, said: str) -> Answer:
        state = self.context.state
        state.epoch, state.epoch_zk_version = me.context.epoch, me.context.epoch_zk_version
        return super()._failover_goes_through(me, said)

    def _fencing_version(self, me: ControllerProcess) -> ZkVersion:
        return self.context.state.epoch_zk_version

    def _to_move(self, me: ControllerProcess, *then: ControllerStep) -> ControllerProcess:
        self.active_controller_id = NO_BROKER
        return super()._to_move(me, *then)

    # Its session.

    def _new_session(self) -> SessionId:
        self._sessions += 1
        return f"{self.broker}.{self._sessions}"

    @property
    def _begins_another_at_once(self) -> bool:
        """Whether its client opens another session at once, and repeats the current request there.

        Until 1.0, except for the check of a created node's owner, which first fails. [ZkClient.processStateChanged]
        """
        fails_first = any(of_thread(self.design, check, self.me).about_to(check) for check in CHECKS)
        return self.design.threads is not Threads.barrier and not fails_first


def kafka_controller(
    broker: BrokerId,
    zookeeper: ZooKeeper,
    send: Callable[[BrokerId, ControlRequest], object],
    release: str = RELEASES[-1],
    channels: BrokerChannels | None = None,
    answer: Callable[[Call, Any], object] = lambda event, answer: None,
    log: Callable[[FailedStateChange], object] | None = log_failed_state_change,
    controller: type[KafkaController] = KafkaController,
    ask: Callable[[Sequence[ZkRequest]], Sequence[ZkResponse]] | None = None,
) -> KafkaController:
    """The controller of a broker over dicts, as in a release.

    >>> from statemachines.messages.zk_data import PERSISTENT_PATHS
    >>> zookeeper = ZooKeeper()
    >>> for path in PERSISTENT_PATHS:
    ...     _ = zookeeper.create(None, path)
    >>> controller = kafka_controller(1, zookeeper, lambda broker, request: None)
    >>> controller.startup()
    >>> while controller.has_work:
    ...     controller.advance()
    >>> controller.active, controller.context.state.epoch, zookeeper.get(None, "/controller")[0]
    (True, 1, 1)

    Args:
        broker: its id.
        zookeeper: the servers.
        send: sends a request to a broker.
        release: the release of the controller.
        channels: the channels to brokers.
        answer: called with an event and the reply to its caller (see `KafkaController`).
        log: called with each failed change of a state (see `event_processor`).
        controller: the class, for a variant.
        ask: sends a batch of requests of a failover, or of an event (see `KafkaController`).

    Raises:
        ValueError: there is no such release.
    """
    design: ControlDesign = ControlDesign(release)
    events = event_processor(broker, send, design=design, channels=channels, log=log)
    return controller(Design(release), zookeeper, broker, events, ask, answer)
