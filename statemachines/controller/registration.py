"""How a broker's process opens a session, registers in it, and receives events, until the session ends.

The steps are methods of `RegisteringBroker`, with one request to ZooKeeper each. A step takes the broker's state
(`ControllerProcess`), and returns the new one. `ElectingController`, in `election`, is elected.

When a reply does not let the row continue:

    RegisterBroker     NODEEXISTS        it checks whose registration it is
    CheckRegistration  its own           it is registered
                       an older one's    deleted, and it registers again, since 2.2
                       another's         a first start fails; a broker with an earlier session continues, unregistered
                       NONODE            it registers again; since 2.2 that is an error
    any                SESSIONEXPIRED    it resigns, and starts again with another session; but a process that
                                         registers for the first time ends. Until 1.0 the request is repeated in
                                         another session, and only creates fail

[KafkaServer.startup, KafkaHealthcheck, 0.10 to 1.0; KafkaZkClient.registerBroker, 1.1; ZkClient 0.10]

Left out: until 1.0 the main thread registers the broker, beside ZkEventThread (here that thread does it, before all
else).
"""

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeAlias, TypeVar

from election.ids import BrokerId
from statemachines.controller.controller_process import Answer, ControllerProcess, of_thread
from statemachines.controller.design import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    EXPIRED,
    STARTUP,
    Design,
    Threads,
    registration,
)
from statemachines.controller.threads import (
    HEALTHCHECK,
    METHODS,
    NEW_SESSION,
    REGISTERS,
    WATCH_EVENTS,
    Agenda,
    ControllerEvent,
    ControllerStep,
    Queued,
)
from statemachines.zookeeper.server import (
    Code,
    Create,
    Created,
    Delete,
    NoNode,
    Operation,
    SessionExpired,
    SessionId,
    Stat,
    ZooKeeper,
)


class EventEnds(Exception):
    """Invalid data has been read; Kafka's exception ends the event."""


class Refused(NamedTuple):
    """A failed operation."""

    operation: Operation
    code: Code

    @property
    def epoch_is_gone(self) -> bool:
        """/controller_epoch does not exist and cannot be checked or incremented; no sign of another controller."""
        return self.operation.path == CONTROLLER_EPOCH and self.code is Code.NONODE


C = TypeVar("C", bound="RegisteringBroker")
Request: TypeAlias = Callable[[C, ControllerProcess], Answer]


def request(do: ControllerStep) -> Callable[[Request[C]], Request[C]]:
    """The step that makes this request; it must be the method of its name (`METHODS`).

    For every step: events are delivered before the reply, so that they meet the handlers of that time; and the step
    notices the end of its session.
    """

    def made_by(step: Request[C]) -> Request[C]:
        @wraps(step)
        def with_session(self: C, me: ControllerProcess) -> Answer:
            try:
                answer = step(self, me)
            except EventEnds as why:
                answer = Answer(me.with_steps(), f"{why}: an exception, which ends the event")
            except SessionExpired:
                return self.session_expired(me)
            return answer._replace(controller=self.hear(answer.controller, listens=me.handlers_registered))

        if step.__name__ != METHODS[do]:
            raise TypeError(f"{step.__name__} makes the request {do}: its name must be {METHODS[do]}")
        return with_session

    return made_by


class RegisteringBroker:
    """A broker's process and its session: each step takes its state and returns the new one.

    Args:
        design: the design of its release.
        zookeeper: the servers.
        broker: its id.
    """

    def __init__(self, design: Design, zookeeper: ZooKeeper, broker: BrokerId) -> None:
        self.design, self.zookeeper, self.broker = design, zookeeper, broker

    def step(self, do: ControllerStep) -> Callable[[ControllerProcess], Answer]:
        """The step of this controller that makes this request, in the thread that makes it."""
        step: Callable[[ControllerProcess], Answer] = getattr(self, METHODS[do])

        def of_its_thread(me: ControllerProcess) -> Answer:
            answer = step(of_thread(self.design, do, me))
            after = answer.controller
            if after.session is None:
                return answer
            return answer._replace(controller=of_thread(self.design, do, after))

        return of_its_thread

    # The process and its session.

    def start(self) -> ControllerProcess:
        """A process starts."""
        me = ControllerProcess(STARTUP[self.design.threads])
        match self.design.threads:
            case Threads.lock:
                return me._replace(queue=(HEALTHCHECK,))
            case Threads.queue:
                return me._replace(posted=(HEALTHCHECK,))
        return me

    def connect(self, me: ControllerProcess, session: SessionId) -> ControllerProcess:
        """Open a session, for a new process or one that lost its session."""
        self.zookeeper.connect(session)
        return me.next_step()._replace(session=session)

    def stop(self, me: ControllerProcess) -> ControllerProcess:
        """The process dies, and its connection with it; its session lives until the servers end it."""
        if me.session is not None:
            self.zookeeper.disconnect(me.session)
        return ControllerProcess()

    def expire(self, me: ControllerProcess) -> ControllerProcess:
        """The client learns that its session has ended: resign, then open another. [Expire, 1.1]

        Expire waits for the current event, whose next request fails, and the new session waits for Expire; queued
        events are dropped. So nothing can come between, and this is one step.
        """
        self.zookeeper.disconnect(me.session)
        return ControllerProcess(EXPIRED, registration=me.registration, broker_epoch=me.broker_epoch)

    def begin_anew(self, me: ControllerProcess) -> ControllerProcess:
        """Start again as if its session had ended, though it has not. [AuthFailed, 2.8.0 to 3.0.0, KAFKA-13461]"""
        again = Agenda(EXPIRED[1:])
        return ControllerProcess(again, me.session, registration=me.registration, broker_epoch=me.broker_epoch)

    def renew(self, me: ControllerProcess, session: SessionId) -> ControllerProcess:
        """The client opens another session at once, and queues an event for its listeners after the pending ones.

        All registered listeners are called, because anything may have happened; KafkaHealthcheck's is registered once
        the broker begins to register. [ZkClient.processStateChanged, until 1.0]
        """
        self.zookeeper.disconnect(me.session)
        self.zookeeper.connect(session)
        registers = HEALTHCHECK not in (*me.queue, *me.posted)
        there = {
            ControllerEvent.SessionExpireListener: registers,
            ControllerEvent.BrokerChangeListener: me.handlers_registered,
        }
        return self._post(
            me._replace(session=session), *(each for each in NEW_SESSION if there.get(each.event, True))
        )

    def session_expired(self, me: ControllerProcess) -> Answer:
        """A request finds that its session has ended.

        Until 1.0 it waits for the next session and is repeated there; a registration fails, because
        ZKCheckedEphemeral stays with its session.
        """
        if self.design.threads is Threads.barrier:
            if me.agenda[0] in REGISTERS and self._starts(me):
                return self._not_registered(me, "SESSIONEXPIRED")
            return Answer(self.expire(me), "SESSIONEXPIRED: it resigns")
        me = self.deliver(me)
        if me.agenda[0] in REGISTERS:
            return self._not_registered(me, "SESSIONEXPIRED")
        return Answer(me, "SESSIONEXPIRED: once more, in another session")

    # Events.

    def deliver(self, me: ControllerProcess) -> ControllerProcess:
        """Deliver the session's watch events to the client, which queues those that have a handler."""
        return self.hear(me, listens=me.handlers_registered)

    def hear(self, me: ControllerProcess, listens: bool) -> ControllerProcess:
        """Deliver the session's watch events to the client, with or without the handlers of a controller."""
        if me.session is None:
            return me
        while (event := self.zookeeper.take(me.session)) is not None:
            if event.path == CONTROLLER or listens:
                me = self._post(me, Queued(WATCH_EVENTS[self.design.threads][event.type]))
        return me

    def _post(self, me: ControllerProcess, *events: Queued) -> ControllerProcess:
        """Append events to the queue of the thread that receives them first."""
        if self.design.threads is Threads.queue:
            return me._replace(posted=me.posted + events)
        return me._replace(queue=me.queue + events)

    # Writes.

    def operations(self, me: ControllerProcess) -> tuple[Operation, ...]:
        """The operations of its next request, which must be a write."""
        match me.agenda[0]:
            case ControllerStep.RegisterBroker:
                return (Create(self.registration, ephemeral=True),)
            case ControllerStep.DeleteRegistration:
                return (Delete(self.registration),)
        raise ValueError(f"{me.agenda[0]} writes nothing")

    def lose_reply(self, me: ControllerProcess) -> bool:
        """Its next request is carried out, but the reply is lost with the connection, so it will repeat the request.

        Returns whether the request had an effect. Without effect it is as if it had never been sent.
        """
        return self._refused(me) is None

    def _refused(self, me: ControllerProcess) -> Refused | None:
        """The failed operation of its next request, which undid the others; None if there is none."""
        operations = self.operations(me)
        for operation, result in zip(operations, self.zookeeper.multi(me.session, operations), strict=True):
            if isinstance(result, Code) and result is not Code.OK:
                return Refused(operation, result)
        return None

    # The broker's own node.

    @property
    def registration(self) -> str:
        """The path of the broker's own node."""
        return registration(self.broker)

    @request(ControllerStep.RegisterBroker)
    def register_broker(self, me: ControllerProcess) -> Answer:
        """Create the broker's own node. [checkedEphemeralCreate, 1.1; its zxid is the broker's epoch, 2.2]"""
        (created,) = self.zookeeper.multi(me.session, self.operations(me))
        if isinstance(created, Created):
            return Answer(self._registered(me, created.stat), "registered")
        if self.design.looks_again:
            return Answer(me.with_steps(ControllerStep.CheckRegistration, *me.agenda[1:]), "NODEEXISTS: whose is it?")
        return self._not_registered(me, "NODEEXISTS: its predecessor's session lives")

    @request(ControllerStep.CheckRegistration)
    def check_registration(self, me: ControllerProcess) -> Answer:
        """Read the owner of an existing registration. [getAfterNodeExists, 1.1]

        If it does not exist by now, that is a NullPointerException since 2.2: the code that would register again
        follows a line that reads the owner of the missing node. [3.9.1: KafkaZkClient 2221]
        A persistent node has no owner, and a process that never registered has no older session: these two are
        different sessions. [currentZooKeeperSessionId, initially -1; a persistent node's owner is 0]
        """
        again = Agenda((ControllerStep.RegisterBroker, *me.agenda[1:]))
        try:
            _, stat = self.zookeeper.get(me.session, self.registration)
        except NoNode:
            if self.design.registers_again:
                return Answer(me.with_steps(*again), "NONODE: once more")
            return self._not_registered(me, "NONODE, a NullPointerException")
        if stat.ephemeralOwner == me.session:
            return Answer(self._registered(me, stat), "its own: registered")
        registered = self.design.ephemeral_owner_check and me.registration is not None
        left = registered and stat.ephemeralOwner == me.registration
        if left or (self.design.replace_registration and stat.ephemeralOwner is not None):
            whose = "an older session of its own" if left else "a session that it does not know"
            return Answer(me.with_steps(ControllerStep.DeleteRegistration, *again), f"{whose} left it")
        return self._not_registered(me, "another session's")

    @request(ControllerStep.DeleteRegistration)
    def delete_registration(self, me: ControllerProcess) -> Answer:
        """Delete the registration of its own older session, and register again. [ZOOKEEPER-2985, KAFKA-7165, 2.2]"""
        gone = self._refused(me) is not None
        return Answer(me.next_step(), "NONODE: it is gone already" if gone else "deleted")

    def _registered(self, me: ControllerProcess, stat: Stat) -> ControllerProcess:
        after = me.next_step()._replace(registration=me.session if self.design.ephemeral_owner_check else None)
        if self.design.broker_epoch:
            after = after._replace(broker_epoch=stat.czxid)
        return after.next_step() if after.about_to(ControllerStep.Serve) else after

    def _not_registered(self, me: ControllerProcess, why: str) -> Answer:
        """A first start fails; with an earlier session it continues, unregistered, and since 1.1 without election."""
        if self.design.looks_again and not self._starts(me):
            return Answer(me.with_steps(), f"{why}: the event is dropped")
        if me.session in self.zookeeper.state.sessions:
            self.zookeeper.close(me.session)
        return Answer(ControllerProcess(), f"{why}, the start fails")

    def _starts(self, me: ControllerProcess) -> bool:
        """Whether a process registers for the first time, in its main thread."""
        return ControllerStep.Serve in me.agenda or (
            self.design.threads is Threads.barrier and ControllerStep.MaybeResign not in me.agenda
        )
