"""The same walks through kazoo, the usual client in Python.

What kazoo hides is not compared: the order of events and answers, the zxids of events, the stat of a node that a
transaction created, and the events that a client would receive with the end of its own session. An event that fires
two watches arrives twice, and is counted once. Clients keep their connections: kazoo reconnects when it likes, then
forgets its watches, and opens a new session by itself after an expiry.
"""

from threading import Event as Signal
from typing import Any

import pytest
from hypothesis.stateful import rule
from kazoo.client import KazooClient
from kazoo.exceptions import ZookeeperError

from statemachines.zookeeper.frames import Children, Exists, Get, Ping, Request
from statemachines.zookeeper.server import (
    Check,
    Code,
    Create,
    Created,
    Delete,
    Event,
    EventType,
    Multi,
    SetData,
    Stat,
)
from tests.zookeeper.machine import CLIENT, ILL, REQUESTS, Walk, often, run_far
from tests.zookeeper.server import Server
from tests.zookeeper.watching import Client
from tests.zookeeper.wire import Frames, Reply


class Guest(Client):
    """A kazoo client."""

    connection: Any

    def connect(self) -> None:
        host, port = self.server.address
        self.connection = KazooClient(f"{host}:{port}", timeout=self.server.patience)
        self.connection.start(timeout=self.server.patience)
        self.session, self.password = self.connection.client_id
        self.events: list[Event] = []
        # A method is another object at each access, and kazoo would call each of them.
        self.listener = self.listen

    def listen(self, event: Any) -> None:
        """Kazoo calls this when a watch fires; NONE is its own event for a lost connection."""
        if event.type != "NONE":
            self.events.append(Event(TYPES[event.type], event.path))

    def send(self, request: Request) -> None:
        """Does nothing: kazoo waits for the answer."""

    def hear(self, request: Request) -> Frames:
        code, result = Code.OK, None
        try:
            result = self.answer(request)
        except ZookeeperError as error:
            code = Code(error.code)
        reply = Reply(self.connection.last_zxid, code, result)
        called = Signal()
        self.connection.handler.callback_queue.put(called.set)
        assert called.wait(self.server.patience), "kazoo does not call back"
        heard, self.events = dict.fromkeys(self.events), []
        return (*heard, reply)

    def answer(self, request: Request) -> Any:
        """Kazoo's result, as the value that the class would return."""
        kazoo, watch = self.connection, self.listener if getattr(request, "watch", False) else None
        match request:
            case Create(path, data, ephemeral, sequential):
                path, stat = kazoo.create(path, data, ephemeral=ephemeral, sequence=sequential, include_data=True)
                return Created(path, stat_of(stat))
            case SetData():
                return stat_of(kazoo.set(*request))
            case Delete():
                kazoo.delete(*request)
            case Multi(operations):
                return transaction(kazoo, operations)
            case Exists(path):
                found = kazoo.exists(path, watch=watch)
                return found and stat_of(found)
            case Get(path):
                data, stat = kazoo.get(path, watch=watch)
                return data, stat_of(stat)
            case Children(path):
                names, stat = kazoo.get_children(path, watch=watch, include_data=True)
                return frozenset(names), stat_of(stat)
            case Ping():
                kazoo.sync("/")
        return None

    def shown(self, frames: Frames) -> Frames:
        if self.connection is None:
            return ()
        return tuple(frame._replace(zxid=0) if isinstance(frame, Event) else without_stats(frame) for frame in frames)

    def close(self) -> Frames:
        self.hang_up()
        return ()

    def hang_up(self) -> None:
        if self.connection is not None:
            self.connection.stop()
            self.connection.close()
            self.connection = None


TYPES = {
    "CREATED": EventType.NodeCreated,
    "DELETED": EventType.NodeDeleted,
    "CHANGED": EventType.NodeDataChanged,
    "CHILD": EventType.NodeChildrenChanged,
}
"""Kazoo's names for events."""


def stat_of(stat: Any) -> Stat:
    """Kazoo's stat without its clocks."""
    fields = {name: getattr(stat, name) for name in Stat._fields}
    return Stat(**fields)._replace(ephemeralOwner=stat.ephemeralOwner or None)


def transaction(kazoo: Any, operations: tuple[Any, ...]) -> tuple[Any, ...]:
    """Kazoo returns errors as results, and True for an empty result."""
    together = kazoo.transaction()
    for operation in operations:
        match operation:
            case Create(path, data, ephemeral, sequential):
                together.create(path, data, ephemeral=ephemeral, sequence=sequential)
            case SetData():
                together.set_data(*operation)
            case Delete():
                together.delete(*operation)
            case Check():
                together.check(*operation)
    return tuple(map(result_of, together.commit()))


def result_of(value: Any) -> Any:
    if isinstance(value, ZookeeperError):
        return Code(value.code)
    if value is True:
        return None
    return value if isinstance(value, str) else stat_of(value)


def without_stats(reply: Reply) -> Reply:
    """A multi's answer, with only the paths of created nodes."""
    if type(reply.result) is not tuple:
        return reply
    return reply._replace(result=tuple(each.path if isinstance(each, Created) else each for each in reply.result))


def is_taken(step: Any) -> bool:
    """Kazoo normalises paths, and has no transactions without data."""
    if isinstance(step, Multi):
        return all(is_taken(each) and getattr(each, "data", b"") is not None for each in step.operations)
    return getattr(step, "path", "") not in ILL


class KazooWalk(Walk):
    """A walk of kazoo clients."""

    client = Guest

    @rule(client=CLIENT, step=often(REQUESTS).filter(is_taken))
    def go(self, client: int, step: Any) -> None:
        super().go(client, step)


ANSWERS = {
    "Create": ("OK", "NONODE", "NODEEXISTS"),
    "SetData": ("OK", "NONODE", "BADVERSION"),
    "Delete": ("OK", "NONODE", "BADVERSION", "NOTEMPTY"),
    "Multi": ("OK", "NONODE", "NODEEXISTS", "BADVERSION"),
    "Exists": ("OK",),
    "Get": ("OK", "NONODE"),
    "Children": ("OK", "NONODE"),
    "Connect": ("OK",),
    "Close": ("OK",),
}
"""Outcomes that short walks produce."""

WANTED = {f"{step} {code}" for step, codes in ANSWERS.items() for code in codes} | {
    f"{each.name} at once" for each in EventType
}


@pytest.mark.parametrize("operations", [75, pytest.param(5_000, marks=pytest.mark.long, id="long")])
def test_the_class_is_where_kazoo_says_that_the_server_is(server: Server, first_round: int, operations: int) -> None:
    """After each of so many operations."""
    tally = run_far(KazooWalk, server, first_round, operations, WANTED)
    assert tally.met() >= WANTED
    assert tally.steps.total() >= operations
