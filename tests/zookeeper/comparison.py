"""Take steps on a real server and on the class, and compare the clients' observations.

A case has a node of its own on the server, below which everything happens, clients with sessions of their own, and
an onlooker that the class does not know. The class begins at the server's zxid and opens sessions under the server's
ids, so both sides' frames are compared unchanged.

When the zxid has moved, every other client is pinged. The server answers after it has sent all events, so no wait
is needed, and nothing arrives late.

Where a server has a choice, the class receives the server's choice, and objects if it is not allowed:

    the order in which a session's end deletes nodes     the onlooker watches them all
    how many of its own events an expired client gets    the client receives them, and then the end
    how many pending requests take effect                the server's zxid: each takes one
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, TypeAlias

from spec.testing import Mismatch
from statemachines.zookeeper.frames import Children, Close, Exists, Get, Ping, Request, SetWatches, Sync
from statemachines.zookeeper.server import (
    Code,
    Create,
    Delete,
    Event,
    Multi,
    SessionExpired,
    SetData,
    ZooKeeper,
    ZooKeeperError,
)
from statemachines.zookeeper.server import Write as Write
from tests.zookeeper.server import WalkedServer
from tests.zookeeper.watching import Client
from tests.zookeeper.wire import Connection, Frames, Reply

CLIENTS = range(3)
AT_FIRST = ("", "/a", "/a/c")
"""The initial nodes of a case."""

REFUSED: Frames = (Reply(0, Code.SESSIONEXPIRED),)
"""The reply to a client that returns to an ended session; it has not even a zxid."""


# Events besides requests


class Expire(NamedTuple):
    """The server ends a client's session, connected or not. A disconnected client is not informed."""


class Cut(NamedTuple):
    """The server ends a client's connection."""


class Return(NamedTuple):
    """A disconnected client returns; to a new session if its old one has ended."""


class Drop(NamedTuple):
    """A client loses its connection while it sends requests: after so many, and half of the next.

    Without a number the server ends the connection, at a time when some of them may have reached it.
    """

    requests: tuple[Write, ...]
    whole: int | None = None


Step: TypeAlias = Request | Expire | Cut | Drop | Return


class Tally:
    """How often each thing has happened."""

    def __init__(self) -> None:
        self.steps = Counter[str]()
        """Steps by name and outcome."""
        self.events = Counter[str]()
        """Events by type, and whether they arrived at once or on the client's return."""
        self.choices = Counter[str]()
        """The server's choices, where it has one."""
        self.mismatches: list[Mismatch] = []

    def note(self, step: str, frames: Frames) -> None:
        """Count a step, and the events for its client."""
        replies = [frame for frame in frames if isinstance(frame, Reply)]
        self.steps[f"{step} {outcome(replies[-1]).name if replies else Code.OK.name}"] += 1
        self.hear(frames, "on return" if step == "SetWatches" else "at once")

    def met(self) -> set[str]:
        """Everything that has happened."""
        return {*self.steps, *self.events, *+self.choices}

    def hear(self, frames: Frames, when: str) -> None:
        """Count a client's events."""
        self.events.update(f"{frame.type.name} {when}" for frame in frames if isinstance(frame, Event))


def outcome(reply: Reply) -> Code:
    """The code of an answer; for a multi, that of the failed operation."""
    results = reply.result if type(reply.result) is tuple else ()
    return next((each for each in results if isinstance(each, Code) and each is not Code.OK), reply.code)


# Frames from the class


def inbox(zk: ZooKeeper, session: int) -> Iterator[Event]:
    """The events that wait for a session, taken out of its inbox."""
    while event := zk.take(session):
        yield event


def answer(zk: ZooKeeper, session: int | None, request: Request) -> Any:
    """The class's answer."""
    match request:
        case Create(path, data, ephemeral, sequential):
            return zk.create(session, path, data, ephemeral=ephemeral, sequential=sequential)
        case SetData():
            return zk.set(session, *request)
        case Delete():
            return zk.delete(session, *request)
        case Multi():
            return zk.multi(session, *request)
        case Exists(path, watch):
            return zk.exists(session, path, watch)
        case Get(path, watch):
            return zk.get(session, path, watch)
        case Children(path, watch):
            return zk.children(session, path, watch)
        case SetWatches(seen, data, exist, child):
            return zk.set_watches(session, seen, data, exist, child)
    raise TypeError(f"the class knows no {request}")


def exchange(zk: ZooKeeper, session: int, request: Request) -> Frames:
    """The events and the answer, as they would appear on the wire."""
    code, result = Code.OK, None
    try:
        result = answer(zk, session, request)
    except SessionExpired:
        return REFUSED
    except ZooKeeperError as error:
        code = error.code
    return (*inbox(zk, session), Reply(zk.state.zxid, code, result))


class Heard(NamedTuple):
    """The frames that a client receives."""

    server: Frames
    ours: Frames


class Case:
    """A server and the class, side by side."""

    def __init__(
        self,
        server: WalkedServer,
        kind: type[ZooKeeper],
        tally: Tally,
        client: Callable[[WalkedServer], Client] = Client,
    ) -> None:
        self.server, self.tally = server, tally
        self.clients = [client(server) for _ in CLIENTS]
        self.onlooker = Connection(server.address, server.patience)
        self.root = f"/{self.onlooker.session:x}"
        self.zk = kind()
        try:
            self._begin()
        except BaseException:
            self.hang_up()
            raise

    def _begin(self) -> None:
        self.zk.state.zxid = self.last_zxid = self.zxid()
        self.onlooker.ask(*(Create(self.root + path) for path in AT_FIRST))
        for path in AT_FIRST:
            self.zk.create(None, self.root + path)

    # steps

    def go(self, number: int, step: Step) -> None:
        """A client takes a step, or something happens to it; raise Mismatch unless both sides send every client the
        same.

        If this client cannot take the step, another does; if none can, it returns first.
        """
        able = [each for each in CLIENTS if self._can(each, step)]
        if not able:
            self._return(number)
        elif number not in able:
            number = able[0]
        match step:
            case Close():
                self._close(number)
            case Expire():
                self._expire(number)
            case Cut():
                self._cut(number)
            case Drop():
                self._drop(number, step)
            case Return():
                self._return(number)
            case _:
                client = self.clients[number]
                self._compare(step, number, client.ask(step), exchange(self.zk, client.session, step))

    def _can(self, number: int, step: Step) -> bool:
        client = self.clients[number]
        if isinstance(step, Expire):
            return client.session in self.zk.state.sessions
        return isinstance(step, Return) == (client.connection is None)

    def _close(self, number: int) -> None:
        client = self.clients[number]
        self._watch_over(client.session)
        heard = client.close()
        with self._agreement(Close(), number):
            self.zk.close(client.session, self._deleted())
        self._compare(Close(), number, heard, (*inbox(self.zk, client.session), self._ready()))
        client.forget()

    def _expire(self, number: int) -> None:
        client = self.clients[number]
        self.tally.choices[f"expired while {'connected' if client.connection else 'away'}"] += 1
        self._watch_over(client.session)
        self.server.expire(client.session)
        heard = client.lose() if client.connection else ()
        with self._agreement(Expire(), number):
            self.zk.expire(client.session, self._deleted(), seen=len(heard))
        self._compare(Expire(), number, heard, tuple(inbox(self.zk, client.session)))

    def _cut(self, number: int) -> None:
        client = self.clients[number]
        self.server.cut(client.session)
        heard = client.lose()
        self.zk.disconnect(client.session)
        self._compare(Cut(), number, heard, tuple(inbox(self.zk, client.session)))

    def _drop(self, number: int, step: Drop) -> None:
        client = self.clients[number]
        client.break_off(step.requests, step.whole)
        served = self.zxid() - self.zk.state.zxid
        with self._agreement(step, number):
            self.zk.drop(client.session, step.requests, served)
        self._compare(step, number, (), tuple(inbox(self.zk, client.session)))
        how_many = "all" if served == len(step.requests) else "some" if served else "none"
        self.tally.choices[f"served {how_many} of the pending requests"] += bool(step.requests)
        self.look()

    def _return(self, number: int) -> None:
        client = self.clients[number]
        if client.connection is None and client.session:
            session, request = client.session, client.armed()
            try:
                heard = client.come_back()
            except SessionExpired:
                heard = REFUSED
            self._compare(request, number, heard, exchange(self.zk, session, request))
        if client.connection is None:
            client.connect()
            self.zk.connect(client.session)
            self._compare("Connect", number, (), ())

    # comparison

    def _compare(self, step: Step | str, number: int, server: Frames, ours: Frames) -> None:
        name = step if isinstance(step, str) else type(step).__name__
        self.tally.note(name, server)
        heard = {number: Heard(server, self.clients[number].shown(ours))}
        if self.zk.state.zxid != self.last_zxid:
            self.last_zxid = self.zk.state.zxid
            heard |= self._heard_by_others(number)
        differing = {each: what for each, what in heard.items() if what.server != what.ours}
        if differing:
            lines = [f"client {number}, {step}: the class and the server disagree"]
            for each, what in differing.items():
                lines += [f"    client {each} receives from the server {in_words(what.server)}"]
                lines += [f"    client {each} receives from the class {in_words(what.ours)}"]
            self._fail(lines)

    def _heard_by_others(self, number: int) -> dict[int, Heard]:
        others = {each: self.clients[each] for each in CLIENTS if each != number and self.clients[each].connection}
        for client in others.values():
            client.send(Ping())
        heard: dict[int, Heard] = {}
        for each, client in others.items():
            ours: Frames = (*inbox(self.zk, client.session), self._ready())
            heard[each] = Heard(client.hear(Ping()), client.shown(ours))
            self.tally.hear(heard[each].server, "at once")
        return heard

    def look(self) -> None:
        """Raise Mismatch unless all nodes are equal."""
        requests = [kind(path) for path in self._nodes() for kind in (Get, Children)]
        for request, (reply,) in zip(requests, self.onlooker.ask(*requests), strict=True):
            ours = Reply(self.zk.state.zxid, Code.OK, answer(self.zk, None, request))
            if reply != ours:
                self._fail([f"onlooker, {request}: the server has {reply}", f"    and the class has {ours}"])

    @contextmanager
    def _agreement(self, step: Step, number: int) -> Iterator[None]:
        """Raise Mismatch if the class objects to the server's choice."""
        try:
            yield
        except ValueError as objection:
            self._fail([f"client {number}, {step}: the class objects to the server's choice: {objection}"])

    def _fail(self, lines: Sequence[str]) -> NoReturn:
        mismatch = Mismatch("\n".join(lines).replace(self.root, ""))
        self.tally.mismatches.append(mismatch)
        raise mismatch

    def _ready(self) -> Reply:
        """The answer to a ping, or to a client's close."""
        return Reply(self.zk.state.zxid, Code.OK)

    # the onlooker

    def zxid(self) -> int:
        """The zxid of the server's last transaction."""
        [[reply]] = self.onlooker.ask(Sync("/"))
        return reply.zxid

    def _watch_over(self, session: int) -> None:
        """Watch the nodes that will be deleted with a session."""
        self.onlooker.ask(*(Exists(path, watch=True) for path in self.zk.state.sessions[session]))

    def _deleted(self) -> list[str]:
        """The deleted nodes, in the order of deletion."""
        [[*events, _]] = self.onlooker.ask(Sync("/"))
        self.tally.choices["deleted several in some order"] += len(events) > 1
        return [event.path for event in events if isinstance(event, Event)]

    def _nodes(self) -> list[str]:
        """The paths of all nodes in the class, each before its children."""
        return sorted(path for path in self.zk.state.nodes if path != "/")

    def end(self) -> None:
        """End all sessions and delete all nodes."""
        for client in self.clients:
            client.hang_up()
            if client.session:
                self.server.expire(client.session)
        self.onlooker.ask(*map(Delete, reversed(self._nodes())), Close())

    def hang_up(self) -> None:
        """Close the connections, whatever is left on the server."""
        self.onlooker.hang_up()
        for client in self.clients:
            client.hang_up()


def in_words(frames: Frames) -> str:
    """The frames in order, as text."""
    return ", then ".join(map(str, frames)) or "nothing"
