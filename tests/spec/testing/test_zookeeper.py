"""The in-memory ZooKeeper compared with a specification of its clients' knowledge.

The specification takes the point of view of two clients and three paths, and uses other terms than the class. It has
no tree, no transaction and no stat, only the existing paths, their owners, the number of writes, and a letter box for
each client. A list of reasons decides refusals: the first that applies.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, settings

from spec.language import (
    Partial,
    Specification,
    State,
    Step,
    Total,
    action,
    booleans,
    bound,
    integers,
    mapping,
    one_of,
    optional,
    partial_mapping,
    require,
    sequence_of,
    sometimes,
    subset_of,
    variable,
)
from spec.testing import Mismatch, against
from statemachines.zookeeper.server import FIRES, EventType, Stat, ZooKeeper, ZooKeeperError
from tests.spec.testing.running import failure_of

CLIENTS = (1, 2)
PATHS = ("/a", "/a/b", "/e")
OVER = {"/a/b": "/a"}
"""The parent path, unless that is the root."""

LETTERS = tuple(f"{path} {what}" for path in PATHS for what in ("created", "changed", "deleted"))
WHAT_HAPPENED = {
    EventType.NodeCreated: "created",
    EventType.NodeDataChanged: "changed",
    EventType.NodeDeleted: "deleted",
}

DONE = "done"
ANSWERS = (DONE, "SessionExpired", "NoNode", "NodeExists", "NoChildrenForEphemerals", "BadVersion", "NotEmpty")


class ClientsState(State):
    """The states of `Clients`."""

    connected: Total[Any, bool] = variable(
        "The clients with a session.", of=lambda self: mapping(CLIENTS, booleans())
    )
    keeper: Partial[Any, Any] = variable(
        "The existing paths, each with the client whose session owns it, or None for a persistent one.",
        of=lambda self: partial_mapping(PATHS, optional(CLIENTS)),
    )
    writer: Total[Any, Any] = variable(
        "The last writer of each path.", of=lambda self: mapping(PATHS, optional(CLIENTS))
    )
    rewritten: Total[Any, int] = variable(
        "The number of writes since its creation.", of=lambda self: mapping(PATHS, integers(0, 2))
    )
    curious: Total[Any, frozenset[Any]] = variable(
        "The clients with a watch on each path, existing or not.",
        of=lambda self: mapping(PATHS, subset_of(CLIENTS)),
    )
    letters: Total[Any, tuple[Any, ...]] = variable(
        "Each client's unread letters, oldest first.", of=lambda self: mapping(CLIENTS, sequence_of(LETTERS, 3))
    )
    answer: str = variable("The answer to the last request.", of=lambda self: one_of(*ANSWERS))


class Clients(Specification[ClientsState]):
    """The possible knowledge of two clients of a ZooKeeper about three paths.

    Left out: sequential nodes, watches of children, several operations in one, lost connections. Data are the number
    of their writer.
    """

    name = "clients-of-zookeeper"

    # sessions

    @action(client=CLIENTS)
    def connect(self, s: ClientsState, client: int) -> None:
        require(not s.connected[client])
        s.connected[client] = True
        s.letters[client] = ()
        s.answer = DONE

    @action(client=CLIENTS)
    def close(self, s: ClientsState, client: int) -> None:
        """The client closes its session, and still receives letters about its own deleted nodes."""
        self.leave(s, client)

    @action(client=CLIENTS)
    def expire(self, s: ClientsState, client: int) -> None:
        """The client's session expires, and it receives no further letters."""
        before = s.letters[client]
        self.leave(s, client)
        s.letters[client] = before

    def leave(self, s: ClientsState, client: int) -> None:
        require(s.connected[client])
        for path in PATHS:
            if s.keeper.get(path) == client:
                self.vanish(s, path)
        for path in PATHS:
            s.curious[path] -= {client}
        s.connected[client] = False
        s.answer = DONE

    # requests

    @action(client=CLIENTS, path=PATHS, ephemeral=booleans())
    def create(self, s: ClientsState, client: int, path: str, ephemeral: bool) -> None:
        over = OVER.get(path)
        s.answer = first_of(
            {
                "SessionExpired": not s.connected[client],
                "NoNode": over is not None and over not in s.keeper,
                "NodeExists": path in s.keeper,
                "NoChildrenForEphemerals": s.keeper.get(over) is not None,
            }
        )
        if s.answer == DONE:
            s.keeper[path] = client if ephemeral else None
            s.writer[path] = client
            self.write_letters(s, path, "created")

    @action(client=CLIENTS, path=PATHS, version=(-1, 0, 1, 2))
    def set(self, s: ClientsState, client: int, path: str, version: int) -> None:
        s.answer = first_of(
            {
                "SessionExpired": not s.connected[client],
                "NoNode": path not in s.keeper,
                "BadVersion": version not in (-1, s.rewritten[path]),
            }
        )
        if s.answer == DONE:
            bound(s.rewritten[path] < 2)
            s.rewritten[path] += 1
            s.writer[path] = client
            self.write_letters(s, path, "changed")

    @action(client=CLIENTS, path=PATHS, version=(-1, 0, 1))
    def delete(self, s: ClientsState, client: int, path: str, version: int) -> None:
        s.answer = first_of(
            {
                "SessionExpired": not s.connected[client],
                "NoNode": path not in s.keeper,
                "BadVersion": version not in (-1, s.rewritten[path]),
                "NotEmpty": any(under in s.keeper for under, over in OVER.items() if over == path),
            }
        )
        if s.answer == DONE:
            self.vanish(s, path)

    @action(client=CLIENTS, path=PATHS)
    def get(self, s: ClientsState, client: int, path: str) -> None:
        """With a watch, which a failed read does not set."""
        s.answer = first_of({"SessionExpired": not s.connected[client], "NoNode": path not in s.keeper})
        if s.answer == DONE:
            s.curious[path] |= {client}

    @action(client=CLIENTS, path=PATHS)
    def exists(self, s: ClientsState, client: int, path: str) -> None:
        """With a watch, even on a missing path."""
        s.answer = first_of({"SessionExpired": not s.connected[client]})
        if s.answer == DONE:
            s.curious[path] |= {client}

    @action(client=CLIENTS)
    def take(self, s: ClientsState, client: int) -> None:
        """The client reads its oldest letter."""
        require(s.letters[client])
        s.letters[client] = s.letters[client][1:]
        s.answer = DONE

    # helpers for requests

    def vanish(self, s: ClientsState, path: str) -> None:
        del s.keeper[path]
        s.writer[path] = None
        s.rewritten[path] = 0
        self.write_letters(s, path, "deleted")

    def write_letters(self, s: ClientsState, path: str, what: str) -> None:
        for client in s.curious[path]:
            bound(len(s.letters[client]) < 3)
            s.letters[client] += (f"{path} {what}",)
        s.curious[path] = frozenset()

    @sometimes
    def a_client_hears_what_another_took_along(self, before: ClientsState, step: Step, after: ClientsState) -> bool:
        other = next(client for client in CLIENTS if client != step.parameters["client"])
        return step.action == "expire" and len(after.letters[other]) > len(before.letters[other])


def first_of(reasons: Mapping[str, bool]) -> str:
    """Return the first reason that applies."""
    return next((reason for reason, applies in reasons.items() if applies), DONE)


# Mapping between the two


def do(zk: ZooKeeper, step: Step) -> str:
    """Take a step on a ZooKeeper, and return the word for its outcome."""
    arguments: dict[str, Any] = dict(step.parameters)
    client = arguments.pop("client")
    if step.action == "set":
        arguments["data"] = client
    if step.action == "create":
        arguments["data"] = client
    if step.action in {"get", "exists"}:
        arguments["watch"] = True
    try:
        getattr(zk, step.action)(client, **arguments)
    except ZooKeeperError as refusal:
        return type(refusal).__name__
    return DONE


class Seen(NamedTuple):
    """The observable part of a node."""

    keeper: int | None
    writer: int | None
    rewritten: int
    children: int


def nodes_of(zk: ZooKeeper) -> Iterator[tuple[str, Seen]]:
    """Return the existing nodes, as an observer reads them."""
    for path in PATHS:
        if zk.exists(None, path):
            data, stat = zk.get(None, path)
            yield path, Seen(stat.ephemeralOwner, data, stat.version, stat.numChildren)


def see(zk: ZooKeeper, answer: str | None) -> Mapping[str, object]:
    """Return the observation of a ZooKeeper, without watches: these are visible only when they fire."""
    letters = {
        client: tuple(f"{event.path} {WHAT_HAPPENED[event.type]}" for event in zk.state.events[client])
        for client in CLIENTS
    }
    return {"answer": answer or DONE, "node": dict(nodes_of(zk)), "letters": letters}


def expected(s: Any) -> Mapping[str, object]:
    """Return the expected observation."""
    nodes = {
        path: Seen(
            keeper, s.writer[path], s.rewritten[path], sum(under in s.keeper for under in OVER if OVER[under] == path)
        )
        for path, keeper in s.keeper.items()
    }
    return {"answer": s.answer, "node": nodes, "letters": s.letters}


TestZooKeeperBesideItsClients = against(Clients(), ZooKeeper, do=do, see=see, expected=expected).TestCase
TestZooKeeperBesideItsClients.settings = settings(max_examples=5)


# Detectable flaws


class KeepsEphemerals(ZooKeeper):
    """The end of a session deletes none of its nodes."""

    def expire(self, session: Any, *args: Any, **kwargs: Any) -> None:
        self.state.sessions[session] = frozenset()
        super().expire(session, *args, **kwargs)


class IgnoresVersions(ZooKeeper):
    """It writes over any version."""

    def set(self, session: Any, path: str, data: Any, version: int = -1) -> Stat:
        return super().set(session, path, data)


class ForgetsToWait(ZooKeeper):
    """It sets no watch on a missing path."""

    def exists(self, session: Any, path: str, watch: bool = False) -> Stat | None:
        return super().exists(session, path, watch=watch and path in self.state.nodes)


class WatchesFailures(ZooKeeper):
    """It sets a watch although the read failed."""

    def get(self, session: Any, path: str, watch: bool = False) -> tuple[Any, Stat]:
        if watch:
            super().exists(session, path, watch=True)
        return super().get(session, path, watch)


class RemembersDeadWatchers(ZooKeeper):
    """A client with a closed session still receives events."""

    def close(self, session: Any, *args: Any, **kwargs: Any) -> None:
        watched = [path for path, watchers in self.state.data_watches.items() if session in watchers]
        super().close(session, *args, **kwargs)
        for path in watched:
            if path in self.state.nodes:
                self.state.data_watches[path] |= {session}


@pytest.mark.long  # scenarios always test all mutants of `zookeeper/test_mutants.py`, and a real server some
@pytest.mark.parametrize(
    "flawed", [KeepsEphemerals, IgnoresVersions, ForgetsToWait, WatchesFailures, RemembersDeadWatchers]
)
def test_a_flawed_zookeeper_is_detected(flawed: type[ZooKeeper]) -> None:
    """Each flaw shows."""
    failure = failure_of(against(Clients(), flawed, do=do, see=see, expected=expected), phases=[Phase.generate])
    assert isinstance(failure.error, Mismatch)


@pytest.mark.long
def test_a_silent_zookeeper_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change without a notification leaves a letter box empty."""
    monkeypatch.setitem(FIRES, EventType.NodeDataChanged, ())
    beside = against(Clients(), ZooKeeper, do=do, see=see, expected=expected)
    failure = failure_of(beside, phases=[Phase.generate])
    assert "changed',)" in str(failure.error)
    assert failure.steps[-1].startswith("set(")


@pytest.mark.long
def test_a_flaw_is_shown_in_few_steps() -> None:
    """A client connects, reads a missing path with a watch, and receives an event at its creation."""
    failure = failure_of(against(Clients(), WatchesFailures, do=do, see=see, expected=expected))
    assert len(failure.steps) <= 5
    assert failure.steps[-1].startswith("create(")
