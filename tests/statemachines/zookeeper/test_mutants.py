"""Servers with one mistake each, and the scenario that detects each of them.

A battery of short scenarios passes on the class as it is. Each mutant breaks one rule on purpose, and the
scenario beside it must fail: a rule that no scenario depends on is not tested.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from statemachines.zookeeper import server as zookeeper
from statemachines.zookeeper import tree as znode
from statemachines.zookeeper.server import (
    FIRES,
    Check,
    Code,
    Create,
    Created,
    Delete,
    Event,
    EventType,
    Node,
    Operation,
    OpResult,
    SessionId,
    SetData,
    Stat,
    Write,
    ZooKeeper,
    ZooKeeperError,
)
from statemachines.zookeeper.tree import Transaction
from tests.mutants import mutant_tests
from tests.statemachines.zookeeper.test_server import C, W, code_of, inbox, stat
from tests.statemachines.zookeeper.test_server import server as server_of_kind

Kind = type[ZooKeeper]

CREATED, DELETED = EventType.NodeCreated, EventType.NodeDeleted
DATA, CHILDREN = EventType.NodeDataChanged, EventType.NodeChildrenChanged


# The battery


def counts_children(kind: Kind) -> None:
    """The cversion counts created and deleted children."""
    zk = server_of_kind("/a", "/a/b", kind=kind)
    zk.delete(C, "/a/b")
    assert stat(zk, "/a").cversion == 2


def numbers_children(kind: Kind) -> None:
    """Sequence numbers count all children ever created, deleted or not."""
    zk = server_of_kind("/a", "/a/b", "/a/c", kind=kind)
    zk.delete(C, "/a/b")
    assert zk.create(C, "/a/s", sequential=True).path == "/a/s0000000002"


def updates_mzxid_and_pzxid(kind: Kind) -> None:
    """A set changes mzxid; a child's creation or deletion changes pzxid."""
    zk = server_of_kind("/a", kind=kind)
    start = zk.state.zxid
    zk.set(C, "/a", b"x")
    zk.create(C, "/a/b")
    assert (stat(zk, "/a").mzxid, stat(zk, "/a").pzxid) == (start + 1, start + 2)
    zk.delete(C, "/a/b")
    assert (stat(zk, "/a").mzxid, stat(zk, "/a").pzxid) == (start + 1, start + 3)


def counts_versions(kind: Kind) -> None:
    """A version grows by one with each set, even of identical data, and is compared; a new node starts at 0."""
    zk = server_of_kind("/a", kind=kind)
    assert zk.set(C, "/a", b"x", 0).version == 1
    assert zk.set(C, "/a", b"x", 1).version == 2
    assert code_of(lambda: zk.set(C, "/a", b"y", 1)) is Code.BADVERSION
    assert code_of(lambda: zk.delete(C, "/a", 0)) is Code.BADVERSION
    zk.delete(C, "/a", 2)
    zk.create(C, "/a")
    assert stat(zk, "/a").version == 0


def spends_zxids(kind: Kind) -> None:
    """Each write, failed or not, takes a zxid; a read or a reconnection takes none."""
    zk = server_of_kind("/a", kind=kind)
    start = zk.state.zxid
    code_of(lambda: zk.create(C, "/a"))
    code_of(lambda: zk.set(C, "/n", b""))
    code_of(lambda: zk.delete(C, "/a", 9))
    zk.multi(C, [Check("/n")])
    zk.exists(C, "/a")
    zk.set_watches(C, start, ["/a"])
    assert zk.state.zxid == start + 4


def tells_creation(kind: Kind) -> None:
    """An exists watch on a missing node fires at its creation, before the parent's watch."""
    zk = server_of_kind(kind=kind)
    zk.exists(W, "/a", watch=True)
    zk.children(W, "/", watch=True)
    zk.create(C, "/a")
    assert inbox(zk) == [(CREATED, "/a"), (CHILDREN, "/")]


def tells_deletion_once(kind: Kind) -> None:
    """A session with data and child watches on a node gets one deletion event."""
    zk = server_of_kind("/a", kind=kind)
    zk.get(W, "/a", watch=True)
    zk.children(W, "/a", watch=True)
    zk.delete(C, "/a")
    assert inbox(zk) == [(DELETED, "/a")]


def tells_each_change_once(kind: Kind) -> None:
    """A fired watch is gone, even within a multi."""
    zk = server_of_kind("/a", kind=kind)
    zk.get(W, "/a", watch=True)
    zk.multi(C, [SetData("/a"), SetData("/a")])
    zk.set(C, "/a", b"x")
    assert inbox(zk) == [(DATA, "/a")]


def tells_before_it_answers(kind: Kind) -> None:
    """The event is in the inbox when the write returns."""
    zk = server_of_kind("/a", kind=kind)
    zk.get(W, "/a", watch=True)
    zk.set(C, "/a", b"x")
    assert inbox(zk) == [(DATA, "/a")]


def leaves_no_watch_after_a_failed_read(kind: Kind) -> None:
    """Neither get nor children on a missing node sets a watch."""
    zk = server_of_kind(kind=kind)
    code_of(lambda: zk.get(W, "/a", watch=True))
    code_of(lambda: zk.children(W, "/a", watch=True))
    zk.create(C, "/a")
    zk.delete(C, "/a")
    assert inbox(zk) == []


def keeps_all_or_nothing(kind: Kind) -> None:
    """A failed multi changes nothing, fires no watch, and reports the failed operation."""
    zk = server_of_kind("/a", kind=kind)
    zk.exists(W, "/n", watch=True)
    failed = zk.multi(C, [Create("/n", ephemeral=True), Create("/a"), Delete("/a")])
    assert failed == (Code.OK, Code.NODEEXISTS, Code.RUNTIMEINCONSISTENCY)
    assert zk.exists(C, "/n") is None
    assert zk.state.sessions[C] == frozenset()
    assert inbox(zk) == []


def sees_earlier_operations_of_a_multi(kind: Kind) -> None:
    """Each operation of a multi sees the earlier ones."""
    zk = server_of_kind("/a", kind=kind)
    assert Code.NONODE not in zk.multi(C, [Create("/n"), Create("/n/m"), SetData("/n/m", b"", 0)])


def ends_sessions(kind: Kind) -> None:
    """The end of a session removes its ephemerals and watches, and takes one zxid."""
    zk = server_of_kind("/a", kind=kind)
    for path in ("/1", "/2"):
        zk.create(W, path, ephemeral=True)
        zk.exists(C, path, watch=True)
    zk.exists(W, "/a", watch=True)
    start = zk.state.zxid
    zk.expire(W)
    assert zk.state.zxid == start + 1
    assert inbox(zk, C) == [(DELETED, "/1"), (DELETED, "/2")]
    assert zk.children(C, "/")[0] == {"a"}
    zk.set(C, "/a", b"")
    assert inbox(zk, W) == []


def ends_sessions_with_their_own_events(kind: Kind) -> None:
    """A closing session receives the events of its own ephemerals; an expired one receives as many as allowed."""
    for seen, heard in ((None, 2), (0, 0), (1, 1)):
        zk = server_of_kind(kind=kind)
        for path in ("/1", "/2"):
            zk.create(W, path, ephemeral=True)
            zk.exists(W, path, watch=True)
        if seen is None:
            zk.close(W)
        else:
            zk.expire(W, seen=seen)
        assert inbox(zk, W) == [(DELETED, "/1"), (DELETED, "/2")][:heard]


def guards_ephemerals(kind: Kind) -> None:
    """An ephemeral has no children, keeps its owner, and blocks its path while the owner lives."""
    zk = server_of_kind(kind=kind)
    zk.create(W, "/e", ephemeral=True)
    zk.set(C, "/e", b"x")
    assert stat(zk, "/e").ephemeralOwner == W
    assert code_of(lambda: zk.create(W, "/e/k")) is Code.NOCHILDRENFOREPHEMERALS
    assert code_of(lambda: zk.create(C, "/e", ephemeral=True)) is Code.NODEEXISTS


def guards_parents(kind: Kind) -> None:
    """A node needs its parent, and is deleted only when empty; a wrong version is the first error."""
    zk = server_of_kind("/a", "/a/b", kind=kind)
    assert code_of(lambda: zk.create(C, "/n/m")) is Code.NONODE
    assert code_of(lambda: zk.delete(C, "/a")) is Code.NOTEMPTY
    assert code_of(lambda: zk.delete(C, "/a", 9)) is Code.BADVERSION


def forgets_with_the_connection(kind: Kind) -> None:
    """A lost connection removes watches and events, but not the session and its ephemerals."""
    zk = server_of_kind("/a", "/b", kind=kind)
    zk.create(W, "/e", ephemeral=True)
    zk.get(W, "/a", watch=True)
    zk.get(W, "/b", watch=True)
    zk.set(C, "/a", b"")
    zk.disconnect(W)
    zk.set(C, "/b", b"")
    assert inbox(zk) == []
    assert stat(zk, "/e").ephemeralOwner == W


def reports_missed_changes(kind: Kind) -> None:
    """After a delete and create, a returning data watch gets a data change; an exist watch gets nothing over both."""
    zk = server_of_kind("/a", "/c", kind=kind)
    seen = zk.state.zxid
    for operation in (Delete("/a"), Create("/a"), Create("/b"), Delete("/b")):
        zk.multi(C, [operation])
    zk.set_watches(W, seen, data=["/a", "/c"], exist=["/b"], child=["/n"])
    zk.create(C, "/b")
    assert inbox(zk) == [(DATA, "/a"), (DELETED, "/n"), (CREATED, "/b")]


def drops_a_suffix(kind: Kind) -> None:
    """Of the requests in flight, a prefix takes effect, and none of their events arrives."""
    zk = server_of_kind("/a", kind=kind)
    zk.get(W, "/a", watch=True)
    zk.drop(W, [SetData("/a", 1), SetData("/a", 2), SetData("/a", 3)], 2)
    assert zk.get(C, "/a")[0] == 2
    assert inbox(zk) == []


def forgets_what_was_deleted(kind: Kind) -> None:
    """A deleted ephemeral belongs to no session: another's node at its path outlives the old owner."""
    zk = server_of_kind(kind=kind)
    zk.create(W, "/e", ephemeral=True)
    zk.delete(C, "/e")
    zk.create(C, "/e")
    zk.expire(W)
    assert zk.exists(C, "/e") is not None


# The mutants. First those with a wrong tree.


class CountsChildrenCreatedOnly(ZooKeeper):
    """The cversion does not count deletions (see `mutate`)."""


class NumbersByCversion(ZooKeeper):
    """Sequence numbers come from the cversion."""

    class transaction(Transaction):  # noqa: N801
        def numbered(self, path: str, parent: Node) -> str:
            return f"{path}{znode.stat_of(parent).cversion:010d}"


class NumbersTheLiving(ZooKeeper):
    """Sequence numbers count the existing children."""

    class transaction(Transaction):  # noqa: N801
        def numbered(self, path: str, parent: Node) -> str:
            return f"{path}{len(parent.children):010d}"


class DeletesUnderAnOldDate(ZooKeeper):
    """A child's deletion does not change pzxid."""

    class transaction(Transaction):  # noqa: N801
        def orphan(self, above: str, path: str) -> None:
            before = self.nodes[above].pzxid
            super().orphan(above, path)
            self.nodes[above] = self.nodes[above]._replace(pzxid=before)


class RemembersVersions(ZooKeeper):
    """A node created again continues at its old version."""

    class transaction(Transaction):  # noqa: N801
        graves: dict[str, int] = {}

        def delete(self, path: str, version: int = -1) -> None:
            before = self.nodes[path].version if path in self.nodes else 0
            super().delete(path, version)
            self.graves[path] = before

        def create(self, session: SessionId | None, path: str, *how: Any) -> Created:
            created = super().create(session, path, *how)
            node = self.nodes[created.path]
            self.nodes[created.path] = node._replace(version=self.graves.pop(created.path, 0))
            return created


class IgnoresIdenticalData(ZooKeeper):
    """A set of identical data is not a change."""

    class transaction(Transaction):  # noqa: N801
        def set(self, path: str, data: Any, version: int) -> Stat:
            if path in self.nodes and self.nodes[path].data == data:
                return znode.stat_of(self.find_version("set", path, version))
            return super().set(path, data, version)


class TakesAnyVersion(ZooKeeper):
    """Expected versions are not compared."""

    class transaction(Transaction):  # noqa: N801
        def find_version(self, operation: str, path: str, version: int) -> Node:
            return super().find_version(operation, path, -1)


class LooksAtChildrenFirst(ZooKeeper):
    """A delete checks for children before it compares versions."""

    class transaction(Transaction):  # noqa: N801
        def delete(self, path: str, version: int = -1) -> None:
            if path in self.nodes and self.nodes[path].children:
                version = -1
            super().delete(path, version)


class HandsOverEphemerals(ZooKeeper):
    """A session that sets an ephemeral becomes its owner."""

    def set(self, session: SessionId | None, path: str, data: Any, version: int = -1) -> Stat:
        stat = super().set(session, path, data, version)
        self.state.nodes[path] = self.state.nodes[path]._replace(owner=session)
        return stat


class RemembersDeletedEphemerals(ZooKeeper):
    """A session still owns ephemerals that were deleted before its end."""

    class transaction(Transaction):  # noqa: N801
        def delete(self, path: str, version: int = -1) -> None:
            owner = self.nodes[path].owner if path in self.nodes else None
            super().delete(path, version)
            if owner is not None:
                self.sessions[owner] |= {path}


class KeepsWhatWasDone(ZooKeeper):
    """A failed multi keeps the operations before the failed one."""

    class transaction(Transaction):  # noqa: N801
        def apply(self, session: SessionId | None, operation: Operation) -> OpResult:
            result = super().apply(session, operation)
            self.commit()
            return result


class LooksAtTheOldTree(ZooKeeper):
    """The operations of a multi do not see each other."""

    def multi(self, session: SessionId | None, operations: Any) -> tuple[OpResult | Code, ...]:
        operations = tuple(operations)
        for operation in operations:
            fresh = self.transaction(self.state.nodes, self.state.sessions, self.state.zxid + 1)
            try:
                fresh.apply(session, operation)
            except ZooKeeperError as error:
                self._next_zxid()
                return (error.code,) * len(operations)
        return super().multi(session, operations)


# Mutants with wrong zxids, watches and events.


class FailsForFree(ZooKeeper):
    """A failed write takes no zxid."""

    def set(self, session: SessionId | None, path: str, data: Any, version: int = -1) -> Stat:
        try:
            return super().set(session, path, data, version)
        except ZooKeeperError:
            self.state.zxid -= 1
            raise


class TellsTwice(ZooKeeper):
    """A session with both watches on a node gets its deletion twice."""

    def _fired(self, transaction: Transaction) -> Iterator[tuple[SessionId, Event]]:
        for change, path in transaction.changes:
            for table, node, type_ in FIRES[change]:
                for session in self._disarm(table, node(path)):
                    yield session, Event(type_, node(path), transaction.zxid)


class TellsOnce(ZooKeeper):
    """The parent's watch does not fire if the node's own has."""

    def _fired(self, transaction: Transaction) -> Iterator[tuple[SessionId, Event]]:
        notified = set()
        for session, event in super()._fired(transaction):
            if session not in notified:
                notified.add(session)
                yield session, event


class TellsTheParentFirst(ZooKeeper):
    """The parent's event comes before the node's."""

    def _fired(self, transaction: Transaction) -> Iterator[tuple[SessionId, Event]]:
        yield from sorted(super()._fired(transaction), key=lambda notified: notified[1].type is not CHILDREN)


class GoesOnTelling(ZooKeeper):
    """A watch is not one-shot."""

    def _disarm(self, table: zookeeper.WatchTable, path: str) -> list[SessionId]:
        watchers = super()._disarm(table, path)
        for session in watchers:
            self._arm(table, path, session)
        return watchers


class ArmsBeforeItLooks(ZooKeeper):
    """A get of a missing node leaves its watch."""

    def get(self, session: SessionId | None, path: str, watch: bool = False) -> tuple[Any, Stat]:
        if watch:
            self._arm("data_watches", path, session)
        return super().get(session, path, watch)


class WatchesOnlyWhatIsThere(ZooKeeper):
    """An exists sets no watch on a missing node."""

    def exists(self, session: SessionId | None, path: str, watch: bool = False) -> Stat | None:
        return super().exists(session, path, watch and path in self.state.nodes)


class AnswersBeforeItTells(ZooKeeper):
    """Events only arrive with the next request."""

    def __init__(self) -> None:
        super().__init__()
        self.late: list[tuple[SessionId, Event]] = []

    def _deliver(self, session: SessionId, event: Event) -> None:
        self.late.append((session, event))

    def _require(self, request: str, session: SessionId | None, owner: bool = False) -> None:
        super()._require(request, session, owner)
        while self.late:
            super()._deliver(*self.late.pop(0))


# Mutants with wrong sessions and connections.


class LeavesEphemeralsBehind(ZooKeeper):
    """Ephemerals outlive their session."""

    def _end(self, request: str, session: SessionId, order: Sequence[str] | None, seen: int | None) -> None:
        self.state.sessions[session] = frozenset()
        super()._end(request, session, order, seen)


class EndsInSteps(ZooKeeper):
    """Each ephemeral of an ended session is deleted in a transaction of its own."""

    def _end(self, request: str, session: SessionId, order: Sequence[str] | None, seen: int | None) -> None:
        for path in sorted(self.state.sessions[session]):
            self.delete(None, path)
        super()._end(request, session, (), seen)


class EndsInSilence(ZooKeeper):
    """An ended session receives no event of its own ephemerals."""

    def _end(self, request: str, session: SessionId, order: Sequence[str] | None, seen: int | None) -> None:
        super()._end(request, session, order, 0)


class WatchesForTheDead(ZooKeeper):
    """Watches outlive session and connection."""

    def _forget_watches(self, session: SessionId) -> None:
        pass


class KeepsTheInbox(ZooKeeper):
    """Events still in the inbox survive the connection."""

    def disconnect(self, session: SessionId) -> None:
        self._forget_watches(session)


class RemembersTheDeletion(ZooKeeper):
    """A returning data watch gets the deletion after a delete and create."""

    def _missed(self, missed: zookeeper.Missed, path: str, seen_zxid: int) -> EventType | None:
        if path in self.state.nodes and self.state.nodes[path].czxid > seen_zxid:
            return EventType.NodeDeleted
        return super()._missed(missed, path, seen_zxid)


class FiresOnReturn(ZooKeeper):
    """Every returning watch on an existing node gets a change."""

    def _missed(self, missed: zookeeper.Missed, path: str, seen_zxid: int) -> EventType | None:
        return super()._missed(missed, path, -1)


class ServesWithHoles(ZooKeeper):
    """Of the requests in flight, the last ones take effect."""

    def drop(self, session: SessionId, requests: Sequence[Write], served: int) -> None:
        super().drop(session, requests[len(requests) - served :], served)


MUTANTS: list[tuple[Kind, Callable[[Kind], None]]] = [
    (CountsChildrenCreatedOnly, counts_children),
    (NumbersByCversion, numbers_children),
    (NumbersTheLiving, numbers_children),
    (DeletesUnderAnOldDate, updates_mzxid_and_pzxid),
    (RemembersVersions, counts_versions),
    (IgnoresIdenticalData, counts_versions),
    (TakesAnyVersion, counts_versions),
    (LooksAtChildrenFirst, guards_parents),
    (HandsOverEphemerals, guards_ephemerals),
    (RemembersDeletedEphemerals, forgets_what_was_deleted),
    (KeepsWhatWasDone, keeps_all_or_nothing),
    (LooksAtTheOldTree, sees_earlier_operations_of_a_multi),
    (FailsForFree, spends_zxids),
    (TellsTwice, tells_deletion_once),
    (TellsOnce, tells_creation),
    (TellsTheParentFirst, tells_creation),
    (GoesOnTelling, tells_each_change_once),
    (ArmsBeforeItLooks, leaves_no_watch_after_a_failed_read),
    (WatchesOnlyWhatIsThere, tells_creation),
    (AnswersBeforeItTells, tells_before_it_answers),
    (LeavesEphemeralsBehind, ends_sessions),
    (EndsInSteps, ends_sessions),
    (EndsInSilence, ends_sessions_with_their_own_events),
    (WatchesForTheDead, ends_sessions),
    (KeepsTheInbox, forgets_with_the_connection),
    (RemembersTheDeletion, reports_missed_changes),
    (FiresOnReturn, reports_missed_changes),
    (ServesWithHoles, drops_a_suffix),
]


def mutate(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply the parts of a mutant that are not methods of its class."""
    if kind is CountsChildrenCreatedOnly:
        right = znode.stat_of
        monkeypatch.setattr(zookeeper, "stat_of", lambda node: right(node)._replace(cversion=node.created))


test_the_server_passes, test_a_mutant_is_caught = mutant_tests(ZooKeeper, MUTANTS, mutate)
