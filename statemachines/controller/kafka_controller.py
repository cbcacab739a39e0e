"""KafkaController: the controller of one broker, from its start to its end, all that Kafka's does.

It joins two parts. How a broker registers, is elected and resigns is `ElectingController`'s. What it does with
events while it is controller is `ControllerEventProcessor`'s, over one `ControllerContext`. Between them stand here
the queue of events, and what leads from one part to the other: a broker that is elected fails over; one whose write
is refused asks who is controller; one whose event or failover goes wrong has another elected.

    controller = kafka_controller(1, zookeeper, send, release="3.9")
    controller.startup()
    while controller.has_work:
        controller.advance()

Each `advance` is one step: a request to ZooKeeper, or a batch of them, with all that Kafka does until the next one.
So between two steps of it anything may happen elsewhere.

    a step of                            made by
    its start, its session, its office   a method of `ElectingController`, see `ControllerStep`
    a failover, an event                 a batch of `EventWaiting`

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
from statemachines.controller.agenda import CHECKS, Agenda, ControllerStep
from statemachines.controller.alter_partition import AlterPartitionResponse
from statemachines.controller.calls import Call, EventFailure, EventWaiting, call
from statemachines.controller.change_handlers import RegisteredHandlers
from statemachines.controller.context import ControllerContext
from statemachines.controller.control_design import ControlDesign, control_design_of
from statemachines.controller.controller_process import Answer, ControllerProcess, of_thread
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    MAYBE_RESIGN,
    NO_BROKER,
    Design,
    Threads,
    design_of,
)
from statemachines.controller.election import ElectingController
from statemachines.controller.event_driver import BrokerChannels
from statemachines.controller.event_processor import ControllerEventProcessor, event_processor
from statemachines.controller.kafka_zk_client import ZkRequest, ZkResponse, retry_requests_until_connected
from statemachines.controller.metrics import ControllerStats
from statemachines.controller.rebalance_timer import RebalanceTimer
from statemachines.controller.state_change import EventDone, FailedStateChange, log_failed_state_change
from statemachines.controller.threads import WATCH_EVENTS, ControllerEvent, Queued
from statemachines.messages.control_requests import ControlRequest
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES
from statemachines.zookeeper.server import ZooKeeper
from statemachines.zookeeper.tree import SessionId, ZkVersion

__all__ = ["KafkaController", "QueuedEvent", "kafka_controller"]

QueuedEvent: TypeAlias = Queued | Call
"""An event about who is controller, or one for who is: the call of its handler."""
FAILOVER: Final = Agenda((ControllerStep.FailOver, ControllerStep.Started))
_Its = ControllerEventProcessor
ENDS_DELETIONS: Final = frozenset({EventFailure.NoTopic, EventFailure.NoReplicaState})
"""What a failover fails by when deletions go on."""
BROKER_CHANGES: Final = frozenset({ControllerEvent.BrokerChange, ControllerEvent.BrokerChangeListener})


class KafkaController(ElectingController):
    """The controller of one broker.

    Args:
        design: how it is elected and told, that of its release.
        zookeeper: the servers, or what asks them.
        broker: its id.
        events: what it does while it is controller. Its `put`, `handlers` and `rebalance_timer` are this
            controller's from now on.
        ask: makes a batch of requests. The default asks the servers.
        answer: called with an event and what is answered to who asked for it, or None if that is nothing. An event
            that is answered before it is over is so once more, with None, when it is.
        auto_leader_rebalance: whether it looks by itself, while it is controller, whether preferred replicas lead
            [auto.leader.rebalance.enable].
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
    ) -> None:
        increments = tuple(
            do for do in design.failover if do in (ControllerStep.ReadEpoch, ControllerStep.IncrementEpoch)
        )
        super().__init__(design._replace(failover=Agenda((*increments, *FAILOVER))), zookeeper, broker)
        self.events = events
        self.context: ControllerContext = events.context
        self.handlers = RegisteredHandlers(self.context, design.threads)
        self.rebalance_timer = RebalanceTimer(auto_leader_rebalance, repeats=design.threads is Threads.lock)
        events.handlers, events.put, events.rebalance_timer = self.handlers, self.put, self.rebalance_timer
        self.queue: deque[QueuedEvent] = deque()
        """What it has been told, oldest first."""
        self.posted: deque[Queued] = deque()
        """What ZkEventThread has been told, and has not put into the queue yet, in 0.11 and 1.0."""
        self.me = ControllerProcess()
        """What it is about to do, and what of its life it knows."""
        self.processing: EventWaiting | None = None
        """The event that waits for ZooKeeper, or the failover that does."""
        self.active_controller_id: BrokerId = NO_BROKER
        """The broker that is controller, the last it knew. [activeControllerId]"""
        self.event: Call | None = None
        """That event."""
        self.stats = ControllerStats()
        """What it has counted since its broker's process began."""
        events.partition_state_machine.mark_unclean = self._mark_unclean
        self._answered = self._shuts_down = self._is_to_resign = False
        self._ask, self._answer = self._ask_servers if ask is None else ask, answer
        self._sessions = 0

    # What is to be seen of it.

    @property
    def active(self) -> bool:
        """Whether it takes itself for the controller. [isActive]"""
        return self.me.is_running and self.is_active(self.me)

    @property
    def has_work(self) -> bool:
        """Whether there is something that it does by itself; a process that is not running does nothing."""
        if not self.me.is_running or self._is_closed:
            return False
        if self.processing is not None or self.me.agenda or self.me.listener_agenda or self.posted or self.queue:
            return True
        return self.has_lost_session or bool(self.zookeeper.state.events[self.me.session])

    @property
    def is_running(self) -> bool:
        """Whether it has been started, and neither died nor been shut down. [isRunning, 0.10]"""
        return self.me.is_running and not self._shuts_down

    @property
    def _is_closed(self) -> bool:
        """Whether its thread has ended. Until 0.10.2 it has none of its own; ZkEventThread ends with the session."""
        return self._shuts_down and not self.is_busy and self.design.threads is not Threads.lock

    @property
    def is_busy(self) -> bool:
        """Whether it is in the midst of something, so that no event is taken from the queue."""
        return self.processing is not None or bool(self.me.agenda)

    @property
    def has_lost_session(self) -> bool:
        """Whether its session has ended."""
        session = self.me.session
        return self.me.is_running and session is not None and session not in self.zookeeper.state.sessions

    # What is done to it.

    def startup(self) -> None:
        """Its broker's process is started."""
        self._shuts_down = False
        me = self.start()
        self._post(me, *me.queue, *me.posted)
        self.me = me._replace(queue=(), posted=())

    def crash(self) -> None:
        """Its broker's process dies, with all that it knew; its session lives until the servers end it."""
        self._is_to_resign = False
        self._forget()
        self.events.forget_all()
        self.stats = ControllerStats()
        self.me = self.stop(self.me)

    def shutdown(self) -> None:
        """Its broker stops in order: what waits is dropped, what is under way is done, and then it resigns.

        Its session lives until the broker closes it. As long as that lasts, /controller names this broker, if it was
        controller. Until 0.10.2 it may even be elected then: its listeners are called as before, but it does not fail
        over. [KafkaController.shutdown, ControllerEventManager.close]
        """
        self._shuts_down = self._is_to_resign = True
        if self.design.threads is not Threads.lock:
            self._drop_queue()
        self._resign_if_done()

    def _drop_queue(self) -> None:
        """What waits will not be processed. [clearAndPut, preempt]"""
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
        """Put an event into its queue. [eventManager.put]"""
        self.queue.append(event)

    def rebalance(self) -> None:
        """The time has come at which it looks whether preferred replicas lead: an event, like any other.

        Raises:
            ValueError: it is not going to look, as it is not controller, or is configured not to.
        """
        self.rebalance_timer.fire()
        self.put(call(self.events.process_auto_preferred_replica_leader_election))

    def deliver_watch_events(self) -> None:
        """What its watches have told becomes events."""
        self.deliver(self.me)

    def advance(self) -> None:
        """Do the next step, if there is one: a request to ZooKeeper, a batch of them, or to turn to an event."""
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
                self._take(self.listen(self.me._replace(posted=(self.posted.popleft(),))))
            elif self.queue:
                self._turn_to(self.queue.popleft())

    # Events.

    def hear(self, me: ControllerProcess, listens: bool) -> ControllerProcess:
        """The events in the session's inbox reach the client, which queues those that there is a handler for."""
        if me.session is None:
            return me
        for path in () if self.design.threads is Threads.barrier else self.handlers.watched_paths():
            self.zookeeper.exists(me.session, path, watch=True)
        while (watch_event := self.zookeeper.take(me.session)) is not None:
            event = self.handlers.event_of(watch_event)
            if watch_event.path == CONTROLLER or (watch_event.path == BROKER_IDS and event is not None):
                me = self._post(me, Queued(WATCH_EVENTS[self.design.threads][watch_event.type]))
            elif event is not None:
                self.queue.append(event)
        return me

    def _post(self, me: ControllerProcess, *events: Queued) -> ControllerProcess:
        (self.posted if self.design.threads is Threads.queue else self.queue).extend(events)
        return me

    def _take(self, answer: Answer) -> None:
        """Its thread, or ZkEventThread, has made a step."""
        self.queue.extend(answer.controller.queue)
        self.me = answer.controller._replace(queue=())

    def _turn_to(self, event: QueuedEvent) -> None:
        if isinstance(event, Queued) and event.event in BROKER_CHANGES:
            event = Call(_Its.process_broker_change.__name__)
            self.stats.leader_election_timer += 1
        if isinstance(event, Queued):
            self._take(self.handle(self.me._replace(queue=(event,))))
        elif self.active:
            self._begin(event)
        else:
            self._refuse(event)

    def _mark_unclean(self) -> None:
        self.stats.unclean_leader_election_rate += 1

    def _refuse(self, event: Call) -> None:
        """Who asks one that is not controller is told so."""
        match event.method:
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

    # The work.

    def _begin(self, event: Call) -> None:
        self.event, self._answered = event, False
        self._went_on(self.events.process(event))

    def _go_on_with(self, processing: EventWaiting) -> None:
        requests = self.events.requests(processing)
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
        if event.method == _Its.process_auto_preferred_replica_leader_election.__name__:
            self.rebalance_timer.schedule()
        if self.me.about_to(ControllerStep.FailOver):
            self._failed_over(step)
        else:
            self._processed(step)

    def _processed(self, processed: EventDone) -> None:
        """An event is over. [process]"""
        moved = processed.failure is EventFailure.ControllerMoved
        if processed.must_reelect:
            self._fail(MAYBE_RESIGN if moved else ())
        elif moved:
            self.me = self.me.with_steps(*MAYBE_RESIGN)

    def _failed_over(self, processed: EventDone) -> None:
        """A failover is over, or has failed. [elect]"""
        failure = processed.failure
        if self.design.threads is Threads.lock and failure in ENDS_DELETIONS:
            failure = None  # which end a thread of their own, when the failover is over
        if processed.must_reelect or failure not in (None, EventFailure.ControllerMoved):
            self._fail(())
        elif failure is not None:
            self.me = self.me.with_steps(*MAYBE_RESIGN)
        else:
            self.rebalance_timer.start()
            self.me = self.me.with_steps()._replace(failover_done=True)

    def _fail(self, then: Sequence[ControllerStep]) -> None:
        """It has another controller elected, and does this after it. [triggerControllerMove]"""
        me = self.fail(self.me).controller
        self.me = me.with_steps(*me.agenda, *then)

    def _ask_servers(self, requests: Sequence[ZkRequest]) -> Sequence[ZkResponse]:
        """A batch is answered, and what watches have told by then is heard of before the answers are."""
        responses = retry_requests_until_connected(self.zookeeper, self.me.session, requests)
        self.deliver_watch_events()
        return responses

    # Its office, as far as more goes with it than `ElectingController` knows of.

    follows_failover = True

    def has_channels(self, me: ControllerProcess) -> bool:
        """Whether its failover has come to where it opens channels to the brokers."""
        return self.events.has_channels

    def resign(self, me: ControllerProcess) -> ControllerProcess:
        """It forgets all that it knew as controller. [onControllerResignation]"""
        self.events.on_controller_resignation()
        return super().resign(me)

    def lose_office(self, me: ControllerProcess) -> ControllerProcess:
        """It takes itself for controller no longer; the epoch that it knows is still that of its context."""
        state = self.context.state
        return super().lose_office(me).with_context(epoch=state.epoch, epoch_zk_version=state.epoch_zk_version)

    def expire(self, me: ControllerProcess) -> ControllerProcess:
        """Its session has ended: it resigns, and forgets what waits."""
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
        """Whether its client begins another session whatever is under way, and what is asked is repeated there.

        Until 1.0, but for what looks after a create whose it is, which fails first. [ZkClient.processStateChanged]
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
    """The controller of a broker over dicts, as a release has it.

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
        send: what becomes of a request to a broker.
        release: that of the controller.
        channels: what is told which brokers there are.
        answer: called with an event, and what is answered to who asked for it, see `KafkaController`.
        log: called with each change of a state that failed, see `event_processor`.
        controller: the class, for one that differs in some point.
        ask: makes a batch of requests of a failover, or of an event; see `KafkaController`.

    Raises:
        ValueError: it is no release.
    """
    design: ControlDesign = control_design_of(release)
    events = event_processor(broker, send, design=design, channels=channels, log=log)
    return controller(design_of(release), zookeeper, broker, events, ask, answer)
