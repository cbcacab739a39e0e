"""How a broker's process opens a session, registers in it, and hears of events: until it ends, and then anew.

The steps are `RegisteringBroker`'s, one request to ZooKeeper each. A step gets what the broker knows
(`ControllerProcess`), and gives what it knows then. How it is elected is `ElectingController`'s, in `election`.

What happens where an answer does not let the row go on:

    RegisterBroker     NODEEXISTS        it looks whose registration is there
    CheckRegistration  its own           it is registered
                       an older one's    deleted, and it registers again, since 2.2
                       another's         a start fails; who has had a session before lives on, unregistered
                       NONODE            it registers again; since 2.2 that is an error
    any                SESSIONEXPIRED    it resigns, and begins anew with another session, but for a process that
                                         registers for the first time, which ends; until 1.0 the request is repeated
                                         in another session, and only creates fail

[KafkaServer.startup, KafkaHealthcheck, 0.10 to 1.0; KafkaZkClient.registerBroker, 1.1; ZkClient 0.10]

Left out: that until 1.0 the main thread registers the broker, beside ZkEventThread (here that does it, before
anything else).
"""

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeAlias, TypeVar

from election.ids import BrokerId
from statemachines.controller.agenda import METHODS, REGISTERS, Agenda, ControllerStep
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
from statemachines.controller.threads import HEALTHCHECK, NEW_SESSION, WATCH_EVENTS, ControllerEvent, Queued
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

__all__ = ["EventEnds", "Refused", "RegisteringBroker", "Request", "request"]


class EventEnds(Exception):
    """What has been read cannot be made sense of, which Kafka does not catch before the event is over."""


class Refused(NamedTuple):
    """An operation that failed."""

    operation: Operation
    code: Code

    @property
    def epoch_is_gone(self) -> bool:
        """/controller_epoch is not there, to be checked or incremented: that is no sign of another controller."""
        return self.operation.path == CONTROLLER_EPOCH and self.code is Code.NONODE


C = TypeVar("C", bound="RegisteringBroker")
Request: TypeAlias = Callable[[C, ControllerProcess], Answer]


def request(do: ControllerStep) -> Callable[[Request[C]], Request[C]]:
    """The step that makes this request, which is the method of its name (`METHODS`).

    What holds for each: no answer overtakes an event, so that what comes with it meets the handlers that there were
    before; and a session that has ended is heard of.
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
            raise TypeError(f"{step.__name__} makes the request {do}: it is to be named {METHODS[do]}")
        return with_session

    return made_by


class RegisteringBroker:
    """A broker's process and its session: what it knows comes in, and what it knows after a step goes out.

    Args:
        design: that of its release.
        zookeeper: the servers, over whatever holds their state.
        broker: its id.
    """

    def __init__(self, design: Design, zookeeper: ZooKeeper, broker: BrokerId) -> None:
        self.design, self.zookeeper, self.broker = design, zookeeper, broker

    def step(self, do: ControllerStep) -> Callable[[ControllerProcess], Answer]:
        """The step that makes this request, as this controller makes it, and the thread whose request it is."""
        step: Callable[[ControllerProcess], Answer] = getattr(self, METHODS[do])

        def of_its_thread(me: ControllerProcess) -> Answer:
            before = of_thread(self.design, do, me)
            answer = step(before)
            after = answer.controller
            return (
                answer
                if before is me or after.session is None
                else answer._replace(controller=after.as_zk_event_thread())
            )

        return of_its_thread

    # The process and its session.

    def start(self) -> ControllerProcess:
        """A process is started."""
        me = ControllerProcess(STARTUP[self.design.threads])
        match self.design.threads:
            case Threads.lock:
                return me._replace(queue=(HEALTHCHECK,))
            case Threads.queue:
                return me._replace(posted=(HEALTHCHECK,))
        return me

    def connect(self, me: ControllerProcess, session: SessionId) -> ControllerProcess:
        """A new session, for a fresh process or one that lost its session."""
        self.zookeeper.connect(session)
        return me.next_step()._replace(session=session)

    def stop(self, me: ControllerProcess) -> ControllerProcess:
        """The process dies. Its connection goes with it; its session lives until the servers end it."""
        if me.session is not None:
            self.zookeeper.disconnect(me.session)
        return ControllerProcess()

    def expire(self, me: ControllerProcess) -> ControllerProcess:
        """The client is told that its session has ended: resign, then open another. [Expire, 1.1]

        Expire waits for the event that is being handled, whose next request fails, and the new session waits for
        Expire; what is queued goes. So nothing can come between, and it is one step.
        """
        self.zookeeper.disconnect(me.session)
        return ControllerProcess(EXPIRED, registration=me.registration, broker_epoch=me.broker_epoch)

    def begin_anew(self, me: ControllerProcess) -> ControllerProcess:
        """As if its session had ended, which it has not. [AuthFailed, 2.8.0 to 3.0.0, KAFKA-13461]"""
        again = Agenda(EXPIRED[1:])
        return ControllerProcess(again, me.session, registration=me.registration, broker_epoch=me.broker_epoch)

    def renew(self, me: ControllerProcess, session: SessionId) -> ControllerProcess:
        """The client opens another session at once, and tells its listeners behind what they have still to hear.

        Then all that there are are called, because anything may have happened: KafkaHealthcheck's is there when the
        broker begins to register. [ZkClient.processStateChanged, until 1.0]
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

        Until 1.0 it waits for the next one and is repeated there; a registration fails. [ZKCheckedEphemeral, which
        stays with its session]
        """
        if self.design.threads is Threads.barrier:
            if me.agenda[0] in REGISTERS and self._starts(me):
                return self._not_registered(me, "SESSIONEXPIRED")
            return Answer(self.expire(me), "SESSIONEXPIRED: it resigns")
        me = self.deliver(me)
        if me.agenda[0] in REGISTERS:
            return self._not_registered(me, "SESSIONEXPIRED")
        return Answer(me, "SESSIONEXPIRED: once more, in another session")

    # What it is told.

    def deliver(self, me: ControllerProcess) -> ControllerProcess:
        """The events in the session's inbox reach the client, which queues those that there is a handler for."""
        return self.hear(me, listens=me.handlers_registered)

    def hear(self, me: ControllerProcess, listens: bool) -> ControllerProcess:
        """The events in the session's inbox reach the client, which has, or has not, the handlers of a controller."""
        if me.session is None:
            return me
        while (event := self.zookeeper.take(me.session)) is not None:
            if event.path == CONTROLLER or listens:
                me = self._post(me, Queued(WATCH_EVENTS[self.design.threads][event.type]))
        return me

    def _post(self, me: ControllerProcess, *events: Queued) -> ControllerProcess:
        """Put behind what there is to handle, for the thread that is told first."""
        if self.design.threads is Threads.queue:
            return me._replace(posted=me.posted + events)
        return me._replace(queue=me.queue + events)

    # What it asks for.

    def operations(self, me: ControllerProcess) -> tuple[Operation, ...]:
        """The operations of its next request, which is one that writes."""
        match me.agenda[0]:
            case ControllerStep.RegisterBroker:
                return (Create(self.registration, ephemeral=True),)
            case ControllerStep.DeleteRegistration:
                return (Delete(self.registration),)
        raise ValueError(f"{me.agenda[0]} writes nothing")

    def lose_reply(self, me: ControllerProcess) -> bool:
        """Its next request is served, and the answer lost with the connection: it will ask again.

        Whether the request had an effect. One that had none is as if it had never been sent.
        """
        return self._refused(me) is None

    def _refused(self, me: ControllerProcess) -> Refused | None:
        """Of what it asks for, the operation that failed, and so undid the others; None if none did."""
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
        """Read whose registration it is that is there. [getAfterNodeExists, 1.1]

        If it is gone by now, that is a NullPointerException since 2.2: what would register again stands behind a line
        that asks for the owner of what is not there. [3.9.1: KafkaZkClient 2221]
        A persistent node has no owner, and a process that never registered has no older session: these two are not
        the same session. [currentZooKeeperSessionId, which begins as -1; a persistent node's owner is 0]
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
        if registered and stat.ephemeralOwner == me.registration:
            return Answer(
                me.with_steps(ControllerStep.DeleteRegistration, *again), "an older session of its own left it"
            )
        return self._not_registered(me, "another session's")

    @request(ControllerStep.DeleteRegistration)
    def delete_registration(self, me: ControllerProcess) -> Answer:
        """Delete what an older session of its own left, and register again. [ZOOKEEPER-2985, KAFKA-7165, 2.2]"""
        gone = self._refused(me) is not None
        return Answer(me.next_step(), "NONODE: it is gone already" if gone else "deleted")

    def _registered(self, me: ControllerProcess, stat: Stat) -> ControllerProcess:
        after = me.next_step()._replace(registration=me.session if self.design.ephemeral_owner_check else None)
        if self.design.broker_epoch:
            after = after._replace(broker_epoch=stat.czxid)
        return after.next_step() if after.about_to(ControllerStep.Serve) else after

    def _not_registered(self, me: ControllerProcess, why: str) -> Answer:
        """A start fails; who has had a session before lives on, unregistered, and since 1.1 does not elect."""
        if self.design.looks_again and not self._starts(me):
            return Answer(me.with_steps(), f"{why}: the event is dropped")
        if me.session in self.zookeeper.state.sessions:
            self.zookeeper.close(me.session)
        return Answer(ControllerProcess(), f"{why}, the start fails")

    def _starts(self, me: ControllerProcess) -> bool:
        """Whether a process that registers does so for the first time, in its main thread."""
        return ControllerStep.Serve in me.agenda or (
            self.design.threads is Threads.barrier and ControllerStep.MaybeResign not in me.agenda
        )
