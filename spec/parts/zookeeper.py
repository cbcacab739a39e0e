"""ZooKeeper as a part: its variables, its servers' own actions, the properties of any ZooKeeper, and its pictures.

The rules are those of `statemachines.zookeeper.server`, over the variables below. A system declares its possible
znodes (`Znodes`), and the domain of every variable follows. It sends requests through `servers(s.zk)`, as a client
would. The part adds the servers' own actions: sessions end (`zk.expire`) and, if that fault is on, an ended session's
nodes are deleted later (`zk.delete_outliving_ephemerals`).

Left out: zxids, see `statemachines.zookeeper.counters`. Z4, that no answer overtakes an event, is about a client's
reaction to an answer, so a system states it for its clients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Annotated, Any, NamedTuple

from spec.language import (
    Domain,
    Grid,
    Look,
    Part,
    Partial,
    Queue,
    Size,
    State,
    Step,
    Tag,
    Tags,
    Total,
    Tree,
    action,
    at_most,
    either,
    every_combination,
    initial,
    integers,
    invariant,
    left_out,
    one_of,
    optional,
    part_of,
    picture,
    require,
    subset_of,
    transition_invariant,
    variable,
    view,
    where,
)
from spec.language.domains import LeftOutDomain
from statemachines.zookeeper.counters import ZooKeeperWithoutZxids
from statemachines.zookeeper.server import FIRES, Event, EventType, WatchTable
from statemachines.zookeeper.tree import Node, SessionId, ZkPath, Zxid, name_of, parent_of

# Paths at which nodes or watches may exist, as types.

DataPath = Annotated[ZkPath, "a path whose data are watched"]
ParentPath = Annotated[ZkPath, "a path whose children are watched"]
WatchedPath = Annotated[ZkPath, "a path that is watched either way"]
EphemeralPath = Annotated[ZkPath, "a path whose node a session may own"]
CountedPath = Annotated[ZkPath, "a path whose nodes are counted"]


class Session(NamedTuple):
    """A session of a client, with a number. The number is used again once nothing refers to the session."""

    client: Any
    number: int

    def __str__(self) -> str:
        return f"session-{self.client}.{self.number}"


@dataclass(frozen=True)
class Znodes:
    """Possible znodes, and their sizes. The defaults are those of a node without data.

    Args:
        paths: their paths.
        data: their possible data.
        version: how often they may be set; `left_out()` if no rule reads the version.
        owned: whether this session may own the node at this path; by default none may.
        made_by_others: another client may also create a node that sessions own, which then has no owner.
        data_watched: clients watch their existence and data.
        child_watched: clients watch their children. Otherwise no rule reads the children, unless `children` is given.
        creations: how often one may be created. The count replaces the czxid; 0: creations are not distinguished.
        children: their possible children, if rules read them.
    """

    paths: Domain[ZkPath] | ZkPath
    data: Size = (None,)
    version: Size = (0,)
    owned: Callable[[Any, ZkPath], bool] | None = None
    made_by_others: bool = False
    data_watched: bool = False
    child_watched: bool = False
    creations: int = 0
    children: Size | None = None

    @cached_property
    def domain(self) -> Domain[ZkPath]:
        """The paths as a domain."""
        return one_of(self.paths) if isinstance(self.paths, str) else self.paths


class Ensemble(State):
    """The state of ZooKeeper's servers."""

    nodes: Partial[ZkPath, Node] = variable(
        "The znodes by path. Left out: zxids, counters of children.", of=lambda self, path: self.node_at(path)
    )
    sessions: Partial[SessionId, frozenset[ZkPath]] = variable(
        "The sessions that the servers keep alive, with their ephemerals.",
        of=lambda self, session: subset_of(self.ephemerals_of(session)),
    )
    data_watches: Total[DataPath, frozenset[SessionId]] = variable(
        "The sessions that watch a node's existence and data."
    )
    child_watches: Total[ParentPath, frozenset[SessionId]] = variable("The sessions that watch a node's children.")
    events: Total[SessionId, tuple[Event, ...]] = variable(
        "Per session, the watch events on their way to its client."
    )
    zxid: Zxid = variable("The last transaction, which no rule reads.")
    disconnected: frozenset[SessionId] = variable(
        "The sessions whose clients have lost their connection. Messages to them wait.",
        of=lambda self: subset_of(self.sessions if self.disconnections else ()),
    )
    creations: Total[CountedPath, int] = variable(
        "History: how often a node was created at a path, which distinguishes one from the next.",
        of=lambda self, path: integers(0, self.layout_at[path].creations),
    )

    def serves(self, session: SessionId) -> bool:
        """Whether a session is alive and its client has a connection."""
        return session in self.sessions and session not in self.disconnected


@dataclass(frozen=True)
class ZooKeeperPart(Part[Ensemble]):
    """ZooKeeper's servers, for as many clients as there are sessions.

    Args:
        sessions: every possible session: each a `Session`, or another value that the system chooses.
        znodes: every possible znode, with its sizes; the root if its children are watched.
        max_events: how many events can be on their way to a client.
        expiries: the servers end sessions.
        reconnects: clients may lose their connection. A watched path may have another node when they are back.
        disconnections: clients lose it for a while, not just for a moment.
        ephemerals_outlive_sessions: a fault of the servers: they delete an ended session's nodes later.
            [ZOOKEEPER-2985]
        one_write: no step of the system writes a node twice; otherwise Z2 cannot be checked.
        set_with: for a node that is created in one transaction with the write of another node: that other node.
        implementation: the servers.
    """

    lane = "ZooKeeper"

    sessions: Domain[SessionId]
    znodes: Collection[Znodes]
    max_events: int
    expiries: bool = True
    reconnects: bool = True
    disconnections: bool = False
    ephemerals_outlive_sessions: bool = False
    one_write: bool = True
    set_with: Mapping[ZkPath, ZkPath] = field(default_factory=dict)
    implementation: type[ZooKeeperWithoutZxids] = ZooKeeperWithoutZxids

    def sizes(self) -> Mapping[Any, Size]:
        """Paths of possible znodes, and events that are watched and can happen."""
        data_watched = [each.domain for each in self.layout if each.data_watched]
        child_watched = [each.domain for each in self.layout if each.child_watched]
        watched = either(*dict.fromkeys([*data_watched, *child_watched]))
        changes = self.reconnects or any(each.data_watched and each.version != (0,) for each in self.layout)
        happens = {EventType.NodeDataChanged: changes, EventType.NodeChildrenChanged: bool(child_watched)}
        return {
            SessionId: self.sessions,
            ZkPath: either(*(each.domain for each in self.layout)),
            DataPath: either(*data_watched),
            ParentPath: either(*child_watched),
            WatchedPath: watched,
            EphemeralPath: either(*(each.domain for each in self.layout if each.owned)),
            CountedPath: either(*(each.domain for each in self.layout if each.creations)),
            Event.path: watched,
            Event.type: [each for each in EventType if happens.get(each, True)],
            Zxid: left_out(),
            Node.created: left_out(),
            tuple[Event, ...]: at_most(self.max_events),
        }

    # Sizes.

    @cached_property
    def layout(self) -> Collection[Znodes]:
        """Every possible znode, the root among them."""
        return self.znodes if any("/" in each.domain for each in self.znodes) else (Znodes("/"), *self.znodes)

    @cached_property
    def layout_at(self) -> Mapping[ZkPath, Znodes]:
        """The possible znode at each path."""
        return {path: each for each in self.layout for path in each.domain}

    def owns(self, session: SessionId, path: ZkPath) -> bool:
        """Whether a session can own the node at a path."""
        owned = self.layout_at[path].owned
        return owned is not None and owned(session, path)

    def node_at(self, path: ZkPath) -> Domain[Node]:
        """Every possible node at a path."""
        its, paths = self.layout_at[path], self.domain_of(ZkPath)
        owners = [each for each in self.sessions if self.owns(each, path)]
        owner: Size = part_of(self.sessions, *owners) if owners else (None,)
        owner = optional(owner) if owners and its.made_by_others else owner
        czxid = integers(0, its.creations) if its.creations else left_out()
        below = part_of(paths, *(other for other in paths if parent_of(other) == path != other))
        children = (
            subset_of(every_combination(name_of, path=below)) if its.child_watched or not below.size else left_out()
        )
        return self.domain_of(
            Node, data=its.data, version=its.version, owner=owner, children=its.children or children, czxid=czxid
        )

    def counts_writes(self, path: ZkPath) -> bool:
        """Whether the version of a node is kept."""
        return not isinstance(self.layout_at[path].version, LeftOutDomain)

    def sessions_of(self, client: Any) -> Domain[Session]:
        """Every `Session` that a client may have."""
        return part_of(self.sessions, *(each for each in self.sessions if each.client == client))

    def ephemerals_of(self, session: SessionId) -> Domain[ZkPath]:
        """Every node that a session may own."""
        paths = self.domain_of(ZkPath)
        return part_of(paths, *(path for path in paths if self.owns(session, path)))

    @cached_property
    def deletion_watches(self) -> Mapping[ZkPath, Collection[tuple[WatchTable, ZkPath]]]:
        """For each path, the watches that report the deletion of its node."""
        watched = {"data_watches": self.domain_of(DataPath), "child_watches": self.domain_of(ParentPath)}
        gone = FIRES[EventType.NodeDeleted]
        return {
            path: [(table, node(path)) for table, node, _ in gone if node(path) in watched[table]]
            for path in self.domain_of(ZkPath)
        }

    @cached_property
    def max_own_events(self) -> int:
        """How many events the end of a session can cause for that session itself."""
        ephemerals = [self.ephemerals_of(session) for session in self.sessions]
        return max(len({place for path in owned for _, place in self.deletion_watches[path]}) for owned in ephemerals)

    def deletion_orders(self, owned: Iterable[ZkPath]) -> list[tuple[ZkPath, ...]]:
        """Orders in which ephemeral nodes may be deleted; unwatched ones first, since their order is invisible."""
        watched = sorted(path for path in owned if self.deletion_watches[path])
        untold = [path for path in owned if path not in watched]
        return [(*untold, *order) for order in permutations(watched)]

    # Clients' requests, and the servers' own actions.

    def servers(self, s: Ensemble) -> ZooKeeperWithoutZxids:
        """The servers, over this state, for clients' requests."""
        return self.implementation(s, self.ephemerals_outlive_sessions, s.creations)

    @initial
    def set_up(self, s: Ensemble) -> None:
        """The root exists."""
        s.nodes["/"] = Node()

    def refers_to(self, s: Ensemble, session: SessionId) -> bool:
        """Whether the servers know a session, even only by a node that it left. Then it cannot be a new one."""
        left = self.ephemerals_of(session) if self.ephemerals_outlive_sessions else ()
        return session in s.sessions or any(path in s.nodes and s.nodes[path].owner == session for path in left)

    def free_session(self, s: Ensemble, client: Any, left: Session | None = None) -> Session:
        """The `Session` that a client opens next: its first one that the servers do not know, except `left`."""
        own = [each for each in self.sessions if each.client == client and each != left]
        free: list[Session] = [each for each in own if not self.refers_to(s, each)]
        require(free)
        return free[0]

    def lose_connection(self, s: Ensemble, session: SessionId) -> None:
        """A client has lost its connection; without `disconnections` it is back at once."""
        if self.disconnections:
            s.disconnected |= {session}
        else:
            self.servers(s).come_back(session)

    def reconnect(self, s: Ensemble, session: SessionId) -> None:
        """A disconnected client is back, and receives the events that it missed."""
        require(session in s.disconnected)
        s.disconnected -= {session}
        self.servers(s).come_back(session)

    @action(
        seen=lambda self: range(self.max_own_events + 1),
        order=lambda self: range(max(len(self.deletion_orders(self.ephemerals_of(each))) for each in self.sessions)),
        when=lambda self: self.expiries,
    )
    def expire(self, s: Ensemble, session: SessionId, seen: int, order: int) -> None:
        """The servers end a session, delete its nodes in any order, and notify clients that watch them.

        The owner itself may still receive `seen` events, if it watches and its connection is open.
        """
        require(session in s.sessions)
        servers, away, orders = self.servers(s), session in s.disconnected, self.deletion_orders(s.sessions[session])
        require(order < len(orders))
        if seen:
            require(not away and not self.ephemerals_outlive_sessions)
            tells = {tell for path in orders[0] for tell in self.deletion_watches[path]}
            require(seen <= len({place for table, place in tells if table in servers.armed(session, place)}))
        servers.expire(session, orders[order], seen=seen)
        if away:
            servers.disconnect(session)
            s.disconnected -= {session}

    @action(when=lambda self: self.ephemerals_outlive_sessions)
    def delete_outliving_ephemerals(self, s: Ensemble, path: EphemeralPath) -> None:
        """The servers delete a node of an ended session."""
        require(path in s.nodes and s.nodes[path].owner not in s.sessions)
        self.servers(s).delete(None, path)

    # Properties of any ZooKeeper.

    @invariant(when=lambda self: not self.ephemerals_outlive_sessions)
    def ephemeral_owned(self, s: Ensemble) -> bool:
        """Z1: the owner of an ephemeral node is a live session."""
        return all(node.owner is None or node.owner in s.sessions for node in s.nodes.values())

    @transition_invariant(when=lambda self: self.one_write)
    def version_step(self, before: Ensemble, step: Step, after: Ensemble, path: ZkPath) -> bool:
        """Z2: a change of a node's data raises its version by one; a new node starts at 0."""
        old, new = before.nodes.get(path), after.nodes.get(path)
        if new is None or not self.counts_writes(path):
            return True
        if old is None:
            return new.version == 0
        if new.version == old.version:
            return not (new.data != old.data and new.owner == old.owner)
        return new.version == old.version + 1

    @transition_invariant(when=lambda self: self.set_with)
    def multi_atomic(self, before: Ensemble, step: Step, after: Ensemble) -> bool:
        """Z3: all operations of a multi take effect, or none does: a node is created only with the other's change."""
        return all(
            (path in after.nodes and after.nodes[path] != before.nodes.get(path))
            == (after.nodes[other] != before.nodes[other])
            for path, other in self.set_with.items()
        )

    @transition_invariant
    def one_shot(self, before: Ensemble, step: Step, after: Ensemble, session: SessionId, path: WatchedPath) -> bool:
        """Z5: an armed watch fires once and is gone; an unarmed watch does not fire."""
        where(after.events[session])
        old, new = ([event.path for event in s.events[session]].count(path) for s in (before, after))
        armed, still = (self.servers(s).armed(session, path) for s in (before, after))
        return new <= old or new - old <= len(armed - still)

    # Views: a state in sentences, for the reader of a trace.

    @view(when=lambda self: self.disconnections)
    def cut_off(self, s: Ensemble, session: SessionId) -> str:
        """A disconnected client."""
        return f"the client of {session} has no connection to ZooKeeper" if session in s.disconnected else ""

    @view(when=lambda self: self.ephemerals_outlive_sessions)
    def left_behind(self, s: Ensemble, path: ZkPath) -> str:
        """A node whose session has ended."""
        where(path in s.nodes and s.nodes[path].owner not in (None, *s.sessions))
        return f"{path} was left by {s.nodes[path].owner}, which has ended"

    # Pictures.

    @picture
    def tree(self, s: Ensemble) -> Tree:
        """The znodes: data, version, and the session that owns an ephemeral node."""
        return Tree({path: _held(node, s.sessions, self.counts_writes(path)) for path, node in s.nodes.items()})

    @picture
    def clients(self, s: Ensemble) -> Grid | None:
        """The sessions, with their watches and the watch events on their way."""
        where(s.sessions)

        def named(session: SessionId) -> Tag:
            gone = session in s.disconnected
            return Tag(session, Look.faint if gone else Look.plain, "its client has no connection" if gone else "")

        def watched(session: SessionId) -> Tags:
            children = map("children of {}".format, _watched(session, s.child_watches))
            return Tags([*_watched(session, s.data_watches), *children])

        return Grid(
            ("session", "watches", "events on their way"),
            [
                (named(each), watched(each), Queue(f"{event.type.name} {event.path}" for event in s.events[each]))
                for each in s.sessions
            ],
        )


def _held(node: Node, sessions: Collection[SessionId], has_version: bool) -> Tags | str:
    tags = [] if node.data is None else [node.data]
    if has_version and node.version:
        tags.append(Tag(f"version {node.version}", Look.faint))
    if node.owner in sessions:
        tags.append(Tag(f"of {node.owner}", Look.faint, "ephemeral: it ends with its session"))
    elif node.owner is not None:
        tags.append(Tag(f"of {node.owner}", Look.wrong, "its session has ended"))
    return Tags(tags) if tags else ""


def _watched(session: SessionId, watches: Mapping[ZkPath, Collection[SessionId]]) -> list[ZkPath]:
    return [path for path, watching in watches.items() if session in watching]
