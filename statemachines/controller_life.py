"""What leads to what in a controller's life, found by driving its steps through every situation there is.

The rows say what a broker means to do, the steps what an answer makes of it. So the way from one agenda to another
stands nowhere as data, and here it is not written down a second time: `moves` takes the steps themselves, one broker
and a ZooKeeper in memory, and follows every way that they can go. Between any two requests of the broker

    another broker     is elected, increments the epoch, or comes and goes
    an operator        deletes /controller
    whoever may        writes the partition's state, a newer controller or its leader
    the servers        end the broker's session, and what it owned goes, or is left for a while [ZOOKEEPER-2985]
    the connection     is lost with the answer to a write
    the process        dies, and is started again
    its watches        tell what they can tell, at any time: what they told may have waited long

A situation is what the broker knows and the few facts of ZooKeeper that its requests meet. Numbers in it mean nothing
but which is the greater, and whether by one; so there are not many, and they are all visited. What may have changed
for anybody at any time, a partition's state or who is alive, is no part of it: a request that reads it meets every
case. Left out: a client that begins anew although its session lives [KAFKA-13461].
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from statemachines.agenda import IDLE, STOPPED, Agenda, Do
from statemachines.controller import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    NOBODY,
    Controller,
    Design,
    Election,
    LeaderIsrAndControllerEpoch,
    Threads,
    design_of,
)
from statemachines.controller_event import Queued
from statemachines.kafka_controller import Answer, KafkaController
from statemachines.zookeeper import Event, EventType, InMemoryState, Node, ZooKeeper

__all__ = ["At", "Move", "moves"]


class At(NamedTuple):
    """Where a thread of a broker is: what it is about to do, or whether it waits as the controller or not."""

    doing: Agenda
    active: bool = False
    """Of a thread that waits: the broker takes itself for the controller."""
    beside: bool = False
    """It is ZkEventThread, beside the controller's thread."""


class Move(NamedTuple):
    """What leads from one place to another."""

    source: At
    said: str
    """The answer to the request, what is handled, or nothing."""
    target: At


THIS, ANOTHER = 1, 2  # brokers' ids
NOW, BEFORE, THEIRS = "its session", "an older session", "another's session"
TOLD: Final = (
    Event(EventType.NodeCreated, CONTROLLER),
    Event(EventType.NodeDeleted, CONTROLLER),
    Event(EventType.NodeChildrenChanged, BROKER_IDS),
)
"""What its watches can tell."""


class Situation(NamedTuple):
    """What the broker knows, and what its requests meet."""

    me: Controller = Controller()
    controller: str | None = None
    """Whose session created /controller."""
    registration: str | None = None
    """In which of its sessions its own node was created."""
    epoch: int = 0
    """The controller epoch, and its node's version."""
    live: bool = True
    """Its session, if it has one, has not ended."""


def moves(design: Design, controller: type[KafkaController] = KafkaController) -> dict[Move, None]:
    """Every move that there is, in the order in which they were found."""
    life = _Life(design, controller)
    todo, seen = [Situation()], {Situation(): None}
    while todo:
        told = len(life.told)
        for now in todo:  # which grows
            for after in map(life.simplest, (*life.broker(now), *life.elsewhere(now))):
                if after not in seen:
                    seen[after] = None
                    todo.append(after)
        late = told < len(life.told)  # what was told at last may be handled where all else was seen
        todo = [now for now in seen if now.me.doing == IDLE] if late else []
    return life.moves


@cache
def moves_of(release: str) -> tuple[Move, ...]:
    """Every move of a release's controller. It takes a second or two, once.

    Raises:
        UnknownRelease: it is no release.
    """
    return tuple(moves(design_of(release)))


class _Life:
    """One broker in its surroundings."""

    def __init__(self, design: Design, controller: type[KafkaController]) -> None:
        self.design, self.its = design, controller
        self.moves: dict[Move, None] = {}
        self.told: dict[tuple[Queued, bool], None] = {}
        """All that may wait to be handled, and whether by ZkEventThread."""
        self.steps = {do: getattr(controller, _snake(do), None) for do in Do}

    # What the broker does.

    def broker(self, now: Situation) -> Iterator[Situation]:
        """What becomes of a situation by what the broker does itself."""
        me = now.me
        if me.listening != IDLE:  # the other thread waits for it: they have nothing to do with each other
            yield from self._requests(now, beside=True)
        elif me.doing == STOPPED:
            yield self._moved(now, self._on(now).start(), "the process is started")
        elif me.about_to(Do.Connect):
            yield self._connected(now)
        elif me.doing == IDLE:
            yield from self._waiting(now)
        else:
            yield from self._requests(now)
        if self.design.threads is not Threads.barrier and me.session is not None and not now.live:
            older = _older(now)
            yield older._replace(me=self._on(older).renew(older.me, NOW), live=True)
        if me.doing != STOPPED:
            yield _older(now)._replace(me=self._on(now).stop(me), live=True)

    def _connected(self, now: Situation) -> Situation:
        older = _older(now)
        after = self._on(older._replace(live=False)).connect(older.me, NOW)
        return self._moved(now, after, "", older._replace(live=True))

    def _waiting(self, now: Situation) -> Iterator[Situation]:
        for event, beside in tuple(self.told):
            if not beside:
                yield self._answered(now._replace(me=now.me._replace(queue=(event,))), self.its.handle)
            elif now.me.listening == IDLE and now.live:
                yield self._answered(now._replace(me=now.me._replace(posted=(event,))), self.its.listen, beside=True)
        if not now.live and self.design.threads is Threads.barrier:
            yield self._moved(now, self._on(now).expire(now.me), "Expire")

    def _requests(self, now: Situation, beside: bool = False) -> Iterator[Situation]:
        """The next request: answered, served without an answer, or, in a failover, failing."""
        me = now.me.beside() if beside else now.me
        step = self.steps[me.doing[0]]
        yield self._answered(now, step, beside)
        match me.doing[0]:
            case Do.ReadBrokers:
                known = self._on(now).read_brokers(me).controller.live if now.live else frozenset()
                yield self._answered(now._replace(me=me._replace(live=known | {str(ANOTHER)})), step)
                yield self._answered(now._replace(me=me._replace(live=known)), step)
            case Do.ReadPartitionState:
                yield self._answered(now, step, writer=me.epoch + 1)
            case Do.UpdateLeaderAndIsr:
                yield self._answered(now, step, version=1)
        if now.live:
            servers = self._servers(now)
            try:
                done = self.its(self.design, servers, THIS).lose_reply(me)
            except ValueError:  # it writes nothing
                done = False
            if done:
                yield _read(now, servers)
        if me.active and me.in_elect:
            yield self._moved(now, self._on(now).fail(me).controller, "another error", beside=beside)
        if me.about_to(Do.ReadPartitionState):
            yield self._moved(now, self._on(now).let_be(me), "its leader is alive", beside=beside)

    def _answered(
        self, now: Situation, step: Any, beside: bool = False, writer: int = 0, version: int = 0
    ) -> Situation:
        servers = self._servers(now, writer, version)
        me = now.me
        turned = beside and step is not self.its.listen
        answer: Answer = step(self.its(self.design, servers, THIS), me.beside() if turned else me)
        after = answer.controller
        if turned and after.session is not None:
            after = after.beside()
        return self._moved(now, after, _general(answer.said), _read(now, servers), beside)

    def _moved(
        self, now: Situation, after: Controller, said: str, where: Situation | None = None, beside: bool = False
    ) -> Situation:
        """It moves on, which is noted."""
        there = now if where is None else where
        self.moves[Move(_at(now.me, beside), said, _at(after, beside))] = None
        if after.session is None and now.me.session is not None:
            there = _older(there)._replace(live=True)
        return there._replace(me=after)

    # What happens elsewhere.

    def elsewhere(self, now: Situation) -> Iterator[Situation]:
        """What becomes of a situation by what others do."""
        atomic = self.design.epoch_update is Election.multi
        if now.controller is None:
            yield now._replace(controller=THEIRS, epoch=now.epoch + atomic)
        else:
            yield now._replace(controller=None)
        if not atomic:
            yield now._replace(epoch=now.epoch + 1)
        if now.registration is not None and (now.registration != NOW or not now.live):
            yield now._replace(registration=None)
        if now.me.session is None:
            return
        if now.live:
            yield now._replace(live=False)
            yield now._replace(
                live=False,
                controller=None if now.controller == NOW else now.controller,
                registration=None if now.registration == NOW else now.registration,
            )
            if now.me.doing == IDLE:
                yield from self._told(now)

    def _told(self, now: Situation) -> Iterator[Situation]:
        """Its watches tell something, or the leader of a partition does."""
        for event in TOLD:
            servers = self._servers(now)
            servers.state.events[NOW] = (event,)
            yield now._replace(me=self.its(self.design, servers, THIS).deliver(now.me))
        if now.me.listens:
            yield now._replace(me=self._on(now).isr_changes(now.me))

    # ZooKeeper.

    def simplest(self, now: Situation) -> Situation:
        """The simplest situation that is no different to a broker.

        Of numbers it keeps their order, and steps of one. What waits is taken out, as it may wait for long.
        """
        me = now.me
        self.told |= dict.fromkeys(
            [(queued, False) for queued in me.queue] + [(queued, True) for queued in me.posted]
        )
        small, last = {0: 0}, 0
        for number in sorted({me.epoch, me.epoch_zk_version, now.epoch} - {0}):
            small[number] = small[last] + min(number - last, 2)
            last = number
        known = me._replace(
            epoch=small[me.epoch],
            epoch_zk_version=small[me.epoch_zk_version],
            state_version=0,
            queue=(),
            posted=(),
            broker_epoch=0,
            started=False,
            live=frozenset(),
            cached=None if me.cached is None else 0,
        )
        return now._replace(me=known, epoch=small[now.epoch])

    def _on(self, now: Situation) -> KafkaController:
        return self.its(self.design, self._servers(now), THIS)

    def _servers(self, now: Situation, writer: int = 0, version: int = 0) -> ZooKeeper:
        """A ZooKeeper in which it is so."""
        names = {str(THIS)} if now.registration is not None else set()
        nodes = {
            "/": Node(),
            BROKER_IDS: Node(children=frozenset(names)),
            CONTROLLER_EPOCH: Node(data=now.epoch, version=now.epoch),
            self.design.state: Node(data=LeaderIsrAndControllerEpoch(writer), version=version),
        }
        owned: dict[str, set[str]] = {NOW: set(), BEFORE: set(), THEIRS: set()}
        if now.controller is not None:
            data = ANOTHER if now.controller == THEIRS else THIS
            nodes[CONTROLLER] = Node(data=data, owner=now.controller)
            owned[now.controller].add(CONTROLLER)
        if now.registration is not None:
            nodes[f"{BROKER_IDS}/{THIS}"] = Node(owner=now.registration)
            owned[now.registration].add(f"{BROKER_IDS}/{THIS}")
        if now.me.session is None or not now.live:
            del owned[NOW]
        return ZooKeeper(InMemoryState(nodes, {session: frozenset(paths) for session, paths in owned.items()}))


def _read(now: Situation, servers: ZooKeeper) -> Situation:
    """The situation of these servers, after a request of the broker."""
    nodes = servers.state.nodes
    controller, own = nodes.get(CONTROLLER), nodes.get(f"{BROKER_IDS}/{THIS}")
    return now._replace(
        controller=controller and controller.owner,
        registration=own and own.owner,
        epoch=nodes[CONTROLLER_EPOCH].data,
    )


def _older(now: Situation) -> Situation:
    """What was its session is one of its older ones."""

    def older(session: Any) -> Any:
        return BEFORE if session == NOW else session

    me = now.me._replace(registration=older(now.me.registration))
    return now._replace(me=me, controller=older(now.controller), registration=older(now.registration))


def _at(me: Controller, beside: bool) -> At:
    if me.doing == STOPPED:
        return At(STOPPED)
    doing = me.listening if beside else me.doing
    return At(doing, doing == IDLE and me.active and not beside, beside)


def _snake(do: Do) -> str:
    """The name of the step that makes this request."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", do.name).lower()


def _general(said: str) -> str:
    """What was said, of any broker and of any number."""
    said = said.replace(f"broker {NOBODY}", "a ghost of this broker")
    said = said.replace(f"broker {ANOTHER}", "another broker").replace(f"({ANOTHER})", "(another broker)")
    said = said.replace(f"broker {THIS}", "this broker").replace(f"({THIS})", "(this broker)")
    return re.sub(r"it is \d+, at version \d+", "it is e, at version v", said)
