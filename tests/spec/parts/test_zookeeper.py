"""ZooKeeper as a part: a system may have two, each with its own znodes, sessions and faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest

from spec.checking import check
from spec.language import (
    Size,
    Specification,
    SpecificationError,
    State,
    action,
    constant,
    initial,
    interchangeable,
    invariant,
    one_of,
    part,
    require,
    sometimes,
    variable,
)
from spec.language.domains import LeftOutDomain
from spec.parts.zookeeper import Ensemble, Znodes, ZooKeeperPart
from statemachines.zookeeper.tree import Node, SessionId, ZkPath

Client = Annotated[int, "a client"]

LOCK = "/lock"
COPY = "/copy"


def by_any(session: SessionId, path: ZkPath) -> bool:
    """A node that any session may own."""
    return True


class Migration(State):
    """Two ensembles: clients move from one to the other."""

    old: Ensemble
    new: Ensemble
    done: bool = variable("Whether the new ensemble's work is done.")


class Migrations(Specification[Migration]):
    """A client holds a lock in the old ensemble, and then in the new one; it has a session with each."""

    clients: int = constant(2, "Clients.", at_least=1, at_most=3)
    outliving: bool = constant(False, "An ended session's nodes in the new ensemble are deleted later.")

    def sizes(self) -> Mapping[Any, Size]:
        """The number of clients."""
        return {Client: interchangeable("client", range(self.clients))}

    @part
    def old(self) -> ZooKeeperPart:
        """Its lock is watched."""
        return ZooKeeperPart(
            sessions=self.domain_of(Client),
            znodes=[Znodes("/"), Znodes(LOCK, data=self.domain_of(Client), owned=by_any, data_watched=True)],
            max_events=2,
        )

    @part
    def new(self) -> ZooKeeperPart:
        """It has another lock, which no client watches; the lock's data counts its holders."""
        return ZooKeeperPart(
            sessions=self.domain_of(Client),
            znodes=[Znodes("/", child_watched=True), Znodes(COPY, owned=by_any, creations=2)],
            max_events=2,
            ephemerals_outlive_sessions=self.outliving,
        )

    @action
    def connect(self, s: Migration, client: Client) -> None:
        """A client opens a session with both."""
        require(not self.old.refers_to(s.old, client) and not self.new.refers_to(s.new, client))
        self.old.servers(s.old).connect(client)
        self.new.servers(s.new).connect(client)

    @action
    def lock(self, s: Migration, client: Client) -> None:
        """It takes the lock if it is free, and watches it otherwise: one request in each step."""
        require(client in s.old.sessions and not s.old.events[client])
        servers = self.old.servers(s.old)
        if LOCK in s.old.nodes:
            servers.exists(client, LOCK, watch=True)
        else:
            servers.create(client, LOCK, client, ephemeral=True)

    @action
    def hear(self, s: Migration, client: Client) -> None:
        """It receives a notification of the lock."""
        require(self.old.servers(s.old).take(client))

    @action
    def move(self, s: Migration, client: Client) -> None:
        """The lock's holder takes the new lock as well."""
        require(LOCK in s.old.nodes and s.old.nodes[LOCK].owner == client and client in s.new.sessions)
        require(COPY not in s.new.nodes and s.new.creations[COPY] < 2)
        self.new.servers(s.new).create(client, COPY, ephemeral=True)
        s.done = True

    @invariant
    def one_number(self, s: Migration) -> bool:
        """The new lock has the number of its holder."""
        return COPY not in s.new.nodes or s.new.nodes[COPY].czxid == s.new.creations[COPY]

    @sometimes
    def held_by_two(self, s: Migration) -> bool:
        """One client holds the old lock while another still has the new one, because its session there lives on."""
        if LOCK not in s.old.nodes or COPY not in s.new.nodes:
            return False
        holder: Client | None = s.old.nodes[LOCK].owner
        return holder != s.new.nodes[COPY].owner


def test_each_ensemble_has_its_own_arguments() -> None:
    """Variables, actions and properties of both stand side by side."""
    system = Migrations()
    assert [name for name in system.variables if name.startswith("old.")] == [
        f"old.{name}"
        for name in (
            "nodes",
            "sessions",
            "data_watches",
            "child_watches",
            "events",
            "zxid",
            "disconnected",
            "creations",
        )
    ]
    assert "new.creations" in system.variables
    assert {"old.expire", "new.expire"} <= {each.name for each in system.actions}
    assert {"old.one_shot", "new.one_shot"} <= {each.name for each in system.properties}


def test_a_fault_belongs_to_one_ensemble() -> None:
    """The new ensemble's nodes outlive their sessions and are deleted later; the old one's do not."""
    system = Migrations(outliving=True)
    assert "new.delete_outliving_ephemerals" in {each.name for each in system.actions}
    assert "old.delete_outliving_ephemerals" not in {each.name for each in system.actions}
    judged = {each.name for each in system.properties}
    assert "old.ephemeral_owned" in judged
    assert "new.ephemeral_owned" not in judged


@pytest.mark.parametrize("outliving", [False, True])
def test_engines_agree(outliving: bool) -> None:
    """With symmetry, too; and every property holds."""
    plain = check(Migrations(outliving=outliving), engine="reference")
    assert plain.verdict == "holds"
    assert {each.verdict for each in plain.properties} == {"holds", "witnessed"}
    compiled = check(Migrations(outliving=outliving), engine="local")
    assert (compiled.distinct_states, compiled.generated_states) == (plain.distinct_states, plain.generated_states)
    halved = check(Migrations(outliving=outliving), engine="local", symmetry=True)
    assert plain.distinct_states / 2 <= halved.distinct_states < plain.distinct_states


def test_a_session_ends_in_one_of_them() -> None:
    """Its events name the ensemble, and the other ensemble is unchanged."""

    class StillThere(Migrations):
        @invariant
        def never_gone(self, s: Migration) -> bool:
            """A client with a session in the new ensemble has one in the old."""
            return {*s.new.sessions} <= {*s.old.sessions}

    counterexample = check(StillThere(), properties=["never_gone"]).counterexample
    assert counterexample is not None
    last = counterexample.steps[-1]
    assert last.step.action == "old.expire"
    assert {name.split(".")[0] for name in last.changes} == {"old"}


class Watched(State):
    """One ensemble."""

    zk: Ensemble


A, B = "a", "b"
MINE = ("/x", "/y")


class Watching(Specification[Watched]):
    """A session that owns two nodes, and one that watches both, ends or loses its connection."""

    disconnections: bool = constant(False, "The watching client loses its connection.")

    @part
    def zk(self) -> ZooKeeperPart:
        """Two sessions, and two nodes of the first."""
        return ZooKeeperPart(
            sessions=one_of(A, B),
            znodes=[Znodes("/"), Znodes(one_of(*MINE), owned=lambda session, path: session == A, data_watched=True)],
            max_events=2,
            disconnections=self.disconnections,
        )

    @initial
    def all_is_there(self, s: Watched) -> None:
        """Both nodes, watched by both sessions."""
        servers = self.zk.servers(s.zk)
        for session in (A, B):
            servers.connect(session)
        for path in MINE:
            servers.create(A, path, ephemeral=True)
            for session in (A, B):
                servers.exists(session, path, watch=True)

    @action(when=lambda self: self.disconnections)
    def lose(self, s: Watched) -> None:
        """The watching client loses its connection."""
        require(B in s.zk.sessions and B not in s.zk.disconnected)
        self.zk.lose_connection(s.zk, B)

    @action(when=lambda self: self.disconnections)
    def back(self, s: Watched) -> None:
        """It reconnects."""
        self.zk.reconnect(s.zk, B)

    def is_queued(self, s: Watched, session: str, *paths: str) -> bool:
        """Whether a client's queue has the deletions of these nodes, in this order."""
        return tuple(event.path for event in s.zk.events[session]) == paths

    @sometimes
    def in_order(self, s: Watched) -> bool:
        """The first node is deleted first."""
        return self.is_queued(s, B, *MINE)

    @sometimes
    def the_other_way_round(self, s: Watched) -> bool:
        """The second node is deleted first."""
        return self.is_queued(s, B, *reversed(MINE))

    @sometimes
    def hears_all_of_its_own_end(self, s: Watched) -> bool:
        """The owner receives both deletions before its connection is cut."""
        return A not in s.zk.sessions and self.is_queued(s, A, *MINE)

    @sometimes
    def hears_half_of_it(self, s: Watched) -> bool:
        """It receives one."""
        return A not in s.zk.sessions and self.is_queued(s, A, MINE[1])


def test_a_session_ends_in_every_way() -> None:
    """Its nodes are deleted in each order, and its client receives none, some or all of the notifications."""
    result = check(Watching(), engine="reference")
    assert result.verdict == "holds"
    witnessed = {each.name for each in result.properties if each.verdict == "witnessed"}
    assert witnessed == {"in_order", "the_other_way_round", "hears_all_of_its_own_end", "hears_half_of_it"}


def test_a_disconnected_client_is_notified_after_reconnecting() -> None:
    """No notification is lost, and a trace says that its client has no connection."""

    class NeverNotified(Watching):
        @invariant
        def nothing_to_hear(self, s: Watched) -> bool:
            """A reconnected client has no waiting notification."""
            return B in s.zk.disconnected or not self.is_queued(s, B, *MINE)

    away = check(NeverNotified(disconnections=True), engine="reference", keep_going=True)
    assert away.counterexample is not None
    assert check(Watching(disconnections=True), engine="reference").verdict == "holds"

    class NeverAway(Watching):
        @invariant
        def there(self, s: Watched) -> bool:
            """The client is connected."""
            return B not in s.zk.disconnected

    lost = check(NeverAway(disconnections=True), engine="reference", properties=["there"]).counterexample
    assert lost is not None
    assert lost.steps[-1].views == ("the client of b has no connection to ZooKeeper",)


def test_a_trace_names_nodes_that_outlive_their_session() -> None:
    """Until they are deleted."""

    class AllGone(Migrations):
        @invariant
        def none_is_left(self, s: Migration) -> bool:
            """The new lock belongs to a living session."""
            return COPY not in s.new.nodes or s.new.nodes[COPY].owner in s.new.sessions

    left = check(AllGone(outliving=True), properties=["none_is_left"]).counterexample
    assert left is not None
    assert "/copy was left by 0, which has ended" in left.steps[-1].views or (
        "/copy was left by 1, which has ended" in left.steps[-1].views
    )


# Domains follow from the declared znodes.


def domains(**options: Any) -> dict[str, Any]:
    """Return the domains of a ZooKeeper with two sessions, by variable."""
    sessions = one_of("a", "b")
    return {name: domain for name, (_, domain) in ZooKeeperPart(sessions, max_events=1, **options).variables.items()}


def test_a_nodes_domain_is_that_of_its_path() -> None:
    """Its owners are the declared ones; values that no rule reads are left out."""
    ephemeral = Znodes("/e", owned=lambda session, path: session == "a")
    found = domains(znodes=[Znodes("/", child_watched=True), Znodes("/x", data=["y"], version=range(3)), ephemeral])
    nodes = found["nodes"].cells
    assert Node(data="y", version=2) in {each._replace(**left_out(each)) for each in nodes["/x"].domain}
    assert {each.owner for each in nodes["/e"].domain} == {"a"}
    assert {each.owner for each in nodes["/x"].domain} == {None}
    assert {name: len([*each.domain]) for name, each in found["sessions"].cells.items()} == {"a": 2, "b": 1}
    assert [*found["child_watches"].cells] == ["/"]
    assert [*found["data_watches"].cells] == []


def test_children_are_kept_only_for_watched_paths() -> None:
    """By their names; elsewhere they are left out, except for a node without children."""
    found = domains(znodes=[Znodes("/"), Znodes("/x", child_watched=True), Znodes(one_of("/x/y", "/x/z"))])
    nodes = found["nodes"].cells
    names = [{*each.domain.fields["children"]} for each in (nodes["/x"], nodes["/x/y"])]
    assert names == [{frozenset(), frozenset("y"), frozenset("z"), frozenset("yz")}, {frozenset()}]
    assert isinstance(nodes["/"].domain.fields["children"], LeftOutDomain)


def test_an_undeclared_root_exists() -> None:
    """With the defaults of an undeclared node."""
    unsaid, said = (domains(znodes=rows)["nodes"].cells for rows in ([Znodes("/x")], [Znodes("/"), Znodes("/x")]))
    assert [*unsaid] == [*said] == ["/", "/x"]
    assert [*unsaid["/"].domain] == [*said["/"].domain]


@pytest.mark.parametrize(
    ("znodes", "options", "types"),
    [
        (Znodes("/x", data_watched=True), {}, {"NodeCreated", "NodeDeleted", "NodeDataChanged"}),
        (Znodes("/x", data_watched=True), {"reconnects": False}, {"NodeCreated", "NodeDeleted"}),
        (
            Znodes("/x", child_watched=True),
            {"reconnects": False},
            {"NodeCreated", "NodeDeleted", "NodeChildrenChanged"},
        ),
        (
            Znodes("/x", data_watched=True, version=range(2)),
            {"reconnects": False},
            {"NodeCreated", "NodeDeleted", "NodeDataChanged"},
        ),
    ],
)
def test_clients_receive_possible_notifications(znodes: Znodes, options: dict[str, Any], types: set[str]) -> None:
    """Data may change where a rule sets them, or where a reconnected client finds a new node; children if watched."""
    (events,) = {str(each): each for each in domains(znodes=[znodes], **options)["events"].cells.values()}.values()
    assert {event.type.name for sequence in events for event in sequence} == types


def test_watched_ephemerals_are_deleted_in_every_order() -> None:
    """The third has no watch, so it is deleted first."""
    watched = Znodes(one_of(*MINE), owned=by_any, data_watched=True)
    part = ZooKeeperPart(one_of(A), [Znodes("/"), watched, Znodes("/z", owned=by_any)], max_events=1)
    assert part.deletion_orders(["/y", "/z", "/x"]) == [("/z", "/x", "/y"), ("/z", "/y", "/x")]


def left_out(node: Node) -> dict[str, int]:
    """Return the counters that are left out, with the values of a new node."""
    return {"created": 0, "czxid": 0, "mzxid": 0, "pzxid": 0}


def test_an_undeclared_watch_is_reported() -> None:
    """The system declares its watched paths."""

    class WatchesMore(Migrations):
        @action
        def watch(self, s: Migration, client: Client) -> None:
            """It watches an undeclared path."""
            require(client in s.new.sessions)
            self.new.servers(s.new).exists(client, COPY, watch=True)

    result = check(WatchesMore(), engine="reference")
    assert (result.verdict, result.counterexample and result.counterexample.broken) == ("violated", "type_ok")
    assert "new.data_watches: '/copy' is not a key of it" in str(result)


def test_a_wrong_argument_of_a_part_is_reported() -> None:
    """In one line, with the variable and the path."""

    class Wrong(Migrations):
        @part
        def old(self) -> ZooKeeperPart:
            """Its lock has an impossible value."""
            return ZooKeeperPart(
                sessions=self.domain_of(Client),
                znodes=[Znodes("/"), Znodes(LOCK, data=3)],  # type: ignore[arg-type]
                max_events=1,
            )

    with pytest.raises(SpecificationError, match=r"^part old: variable nodes: Node.data: 3 is not a domain: give"):
        check(Wrong())
