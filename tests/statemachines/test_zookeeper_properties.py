"""What holds in every history: random requests of three sessions, looked at step by step."""

from collections import Counter
from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from statemachines.znode import parent_of
from statemachines.zookeeper import (
    Check,
    Code,
    Create,
    Created,
    Delete,
    InMemoryState,
    Multi,
    Operation,
    Request,
    Result,
    SetData,
    Stat,
    ZooKeeper,
    ZooKeeperError,
)
from tests.statemachines.test_zookeeper import all_but_zxid

SESSIONS = (1, 2, 3)

sessions = st.sampled_from(SESSIONS)
paths = st.sampled_from(["/a", "/a", "/a/x", "/a/x", "/b", "/b/x", "/a/x/z"])
versions = st.sampled_from([-1, -1, -1, 0, 1, 2])
data = st.sampled_from([None, b"", b"x"])
kinds = st.sampled_from(["exists", "get", "children"])
sequential = st.builds(Create, st.sampled_from(["/a/s-", "/b/"]), data, st.booleans(), st.just(True))
writes: st.SearchStrategy[Create | SetData | Delete] = st.one_of(
    st.builds(Create, paths, data, st.booleans()),
    st.builds(Create, paths, data),
    sequential,
    st.builds(SetData, paths, data, versions),
    st.builds(Delete, paths, versions),
)
operations: st.SearchStrategy[Operation] = st.one_of(writes, st.builds(Check, paths, versions))
multis = st.builds(Multi, st.lists(operations, max_size=3).map(tuple))
requests: st.SearchStrategy[Request] = st.one_of(writes, writes, multis)

happened: Counter[str] = Counter()
"""What the histories were made of: a property of nothing is worth nothing."""


class History(RuleBasedStateMachine):
    """A server, and what an observer remembers of it: when nodes were created, which children came and went."""

    def __init__(self) -> None:
        super().__init__()
        self.zk = ZooKeeper()
        self.births: dict[str, int] = {}
        self.come: Counter[str] = Counter()
        self.gone: Counter[str] = Counter()

    @property
    def state(self) -> InMemoryState:
        assert isinstance(self.zk.state, InMemoryState)
        return self.zk.state

    def live(self, session: int) -> int:
        """The session or, if it has ended, another one; a new one if there is none."""
        if not self.state.sessions:
            self.connect(session)
        return session if session in self.state.sessions else min(self.state.sessions)

    def entries(self, session: int) -> int:
        """How many watches the session has."""
        tables = (self.state.data_watches, self.state.child_watches)
        return sum(session in watchers for table in tables for watchers in table.values())

    def step(self, request: Callable[[], object], spends: int) -> bool:
        """Serve a request; say whether it succeeded. Check what each step keeps to."""
        before, zxid = all_but_zxid(self.zk), self.state.zxid
        try:
            answer = request()
            succeeded = not (isinstance(answer, tuple) and any(isinstance(each, Code) for each in answer))
        except ZooKeeperError:
            succeeded = False
        happened["succeeded" if succeeded else "failed"] += 1
        assert self.state.zxid == zxid + spends
        if not succeeded:
            assert all_but_zxid(self.zk) == before, "a failed operation changes nothing but the zxid"
        self.remember(before)
        return succeeded

    def remember(self, before: InMemoryState) -> None:
        """Compare the nodes with those before the step."""
        for path, node in self.state.nodes.items():
            old = before.nodes.get(path)
            if old is None or old.czxid != node.czxid:
                assert node.czxid > self.births.get(path, -1), "whatever is created again is younger"
                assert node.czxid == self.state.zxid
                self.births[path] = node.czxid
            else:
                assert node.version >= old.version
                assert (node.mzxid == self.state.zxid) or node[:2] == old[:2], "no change without its zxid"
                assert node.owner == old.owner

    def heard(self, before: InMemoryState, session: int) -> int:
        """How many events the session has got since."""
        return len(self.state.events[session]) - len(before.events[session])

    @initialize()
    def begin(self) -> None:
        """Every history begins with live sessions and some nodes: most random requests fail otherwise."""
        for session in SESSIONS:
            self.step(lambda session=session: self.zk.connect(session), spends=1)  # type: ignore[misc]
        for path in ("/a", "/b", "/a/x"):
            self.write(1, Create(path))

    @precondition(lambda self: len(self.state.sessions) < len(SESSIONS))
    @rule(session=sessions)
    def connect(self, session: int) -> None:
        if session not in self.state.sessions:
            self.step(lambda: self.zk.connect(session), spends=1)

    @rule(session=sessions, kind=kinds, path=paths, watch=st.sampled_from([True, True, False]))
    def read(self, session: int, kind: str, path: str, watch: bool) -> None:
        session = self.live(session)
        before = all_but_zxid(self.zk)
        self.step(lambda: getattr(self.zk, kind)(session, path, watch), spends=0)
        assert self.state.nodes == before.nodes, "reads change no node"
        assert (
            self.entries(session)
            <= sum(session in w for t in (before.data_watches, before.child_watches) for w in t.values()) + watch
        )

    @rule(session=sessions, request=requests)
    def write_more(self, session: int, request: Request) -> None:
        """Writes are the half of it."""
        self.write(session, request)

    @rule(session=sessions, request=requests)
    def write(self, session: int, request: Request) -> None:
        session = self.live(session)
        before = all_but_zxid(self.zk)
        armed = {each: self.entries(each) for each in SESSIONS}
        succeeded = self.step(lambda: self.serve(session, request), spends=1)
        for each in SESSIONS:
            fired, heard = armed[each] - self.entries(each), self.heard(before, each)
            assert 0 <= heard <= fired, "each event costs a watch"
            assert heard or not fired, "each watch that is gone was told of"
            happened["events"] += heard
        if succeeded and isinstance(request, SetData):
            old, new = before.nodes[request.path], self.state.nodes[request.path]
            assert new.version == old.version + 1
        if succeeded and isinstance(request, Multi) and len(request.operations) > 1:
            happened["multis"] += 1

    def serve(self, session: int, request: Request) -> tuple[Result | Code, ...]:
        """Send the request; look at the shape of the answer; count the children that come and go."""
        operations: tuple[Operation, ...] = (request,) if not isinstance(request, Multi) else request.operations
        results: tuple[Result | Code, ...] = (None,)
        match request:
            case Create(path, data, ephemeral, sequential):
                create = self.zk.create
                results = (create(session, path, data, ephemeral=ephemeral, sequential=sequential),)
            case SetData(path, data, version):
                results = (self.zk.set(session, path, data, version),)
            case Delete(path, version):
                self.zk.delete(session, path, version)
            case Multi(operations):
                results = self.zk.multi(session, operations)
        failed = [place for place, each in enumerate(results) if isinstance(each, Code) and each is not Code.OK]
        if failed:
            assert set(results[: failed[0]]) <= {Code.OK}
            assert set(results[failed[0] + 1 :]) <= {Code.RUNTIMEINCONSISTENCY}
            return results
        for operation, result in zip(operations, results, strict=True):
            if isinstance(result, Created):
                self.come[parent_of(result.path)] += 1
                self.come[result.path] = self.gone[result.path] = 0
            elif isinstance(operation, Delete):
                self.gone[parent_of(operation.path)] += 1
        return results

    @rule(session=sessions, end=st.sampled_from(["close", "expire"]), seen=st.integers(0, 2))
    @precondition(lambda self: self.state.zxid % 4 == 0)  # else nobody lives long enough to own much
    def end(self, session: int, end: str, seen: int) -> None:
        session = self.live(session)
        before = all_but_zxid(self.zk)
        owned = before.sessions[session]
        for path in owned:
            self.gone[parent_of(path)] += 1
        self.step(lambda: self.zk.close(session) if end == "close" else self.zk.expire(session, seen=seen), spends=1)
        assert set(before.nodes) - set(self.state.nodes) == owned
        assert session not in self.state.sessions
        assert self.entries(session) == 0
        if end == "expire":
            assert self.heard(before, session) <= seen
        happened["ephemerals ended"] += len(owned)

    @precondition(lambda self: self.state.zxid % 4 == 1)
    @rule(session=sessions)
    def lose_connection(self, session: int) -> None:
        before = all_but_zxid(self.zk)
        self.step(lambda: self.zk.disconnect(session), spends=0)
        assert (self.state.nodes, self.state.sessions) == (before.nodes, before.sessions)
        assert self.entries(session) == 0
        assert self.zk.take(session) is None

    @precondition(lambda self: any(self.state.events.values()))
    @rule(session=sessions)
    def take(self, session: int) -> None:
        self.step(lambda: self.zk.take(session), spends=0)

    @invariant()
    def ephemerals_have_live_owners(self) -> None:
        """Z1: every ephemeral's owner is live, and a session's ephemerals are just those it owns."""
        owned = {(node.owner, path) for path, node in self.state.nodes.items() if node.owner is not None}
        assert owned == {(session, path) for session, paths in self.state.sessions.items() for path in paths}

    @invariant()
    def it_is_a_tree(self) -> None:
        """Every node but the root is in its parent's children, no other is, and ephemerals are leaves."""
        children: dict[str, set[str]] = {path: set() for path in self.state.nodes}
        for path in self.state.nodes:
            if path != "/":
                children[parent_of(path)].add(path.rpartition("/")[2])
        for path, node in self.state.nodes.items():
            assert node.children == children[path]
            assert node.owner is None or not node.children

    @invariant()
    def stats_count_what_happened(self) -> None:
        """The cversion is the number of children come and gone, numChildren their difference."""
        for path in self.state.nodes:
            found = self.zk.exists(None, path)
            assert isinstance(found, Stat)
            assert found.cversion == self.come[path] + self.gone[path]
            assert found.numChildren == self.come[path] - self.gone[path]
            assert found.czxid <= min(found.mzxid, found.pzxid)
            assert max(found.mzxid, found.pzxid) <= self.state.zxid

    @invariant()
    def events_are_in_order(self) -> None:
        """An inbox never goes back in zxids."""
        for inbox in self.state.events.values():
            zxids = [event.zxid for event in inbox]
            assert zxids == sorted(zxids)

    @invariant()
    def only_the_living_watch(self) -> None:
        """No entry belongs to an ended session."""
        for table in (self.state.data_watches, self.state.child_watches):
            for watchers in table.values():
                assert watchers <= set(self.state.sessions)


def test_every_history_keeps_the_rules() -> None:
    """Z1, Z2, Z5, Z6, all or nothing, and stats hold throughout; and the histories were worth looking at."""
    happened.clear()
    run_state_machine_as_test(History, settings=settings(max_examples=80, stateful_step_count=40, deadline=None))
    for what in ("succeeded", "failed", "events", "multis", "ephemerals ended"):
        assert happened[what], happened
