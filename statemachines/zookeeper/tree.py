"""The znode tree: the reads and changes of one transaction.

A znode is a value (`Node`), the tree a mapping from full paths to such values, and a transaction a layer of
changes over that mapping, which is written back as a whole or not at all. An operation changes only the layer:
guards first, then effects, and each operation sees the effects of those before it.

The counters of a node, all visible to a client in its `Stat`:

    version    +1 with each setData, identical data too; 0 again when the node is re-created
    created    +1 with each child ever created here, even if deleted since: the number in sequential names
    cversion   created + deleted children; not kept, because it is 2 * created - numChildren
    czxid, mzxid, pzxid: the transaction of its creation, of its last setData, of the last change of its children

Rules for changes of this file. Values are never changed in place: a change assigns a whole value to a
key. Zxids and `created` are only added to, copied and (in a sequential name) printed, never compared;
a parent's children are added and removed, never counted. So a specification that does not need one of
them may use a placeholder that supports only + and -.

Everything here was observed on a ZooKeeper 3.9.5 server. Left out: ACLs (so no NoAuth, no InvalidACL, and
aversion stays 0), clocks (no ctime, no mtime), containers and TTL nodes, quotas, limits of size, and the
server's own nodes under /zookeeper, so that the root is empty at first.
"""

import re
from collections.abc import Mapping, MutableMapping
from enum import Enum, IntEnum
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

K = TypeVar("K")
V = TypeVar("V")

SessionId = Annotated[Any, "a session's id"]
"""A session's id: anything that can be hashed and ordered, except None."""

ZkPath = Annotated[str, "a znode's path"]
"""A znode's full path: `/brokers/ids/0`."""

ZkVersion = Annotated[int, "a znode's version"]
"""The number of changes of a node's data since its creation."""

Zxid = Annotated[int, "a zxid"]
"""The number of a transaction; later ones have greater numbers."""

ANY_VERSION = -1
"""The expected version that every version matches. Any other negative one matches none."""


# Errors


class Code(IntEnum):
    """ZooKeeper's error codes, by its names and wire numbers (KeeperException.Code)."""

    OK = 0
    RUNTIMEINCONSISTENCY = -2
    BADARGUMENTS = -8
    NONODE = -101
    BADVERSION = -103
    NOCHILDRENFOREPHEMERALS = -108
    NODEEXISTS = -110
    NOTEMPTY = -111
    SESSIONEXPIRED = -112


class ZooKeeperError(Exception):
    """A code other than OK. Nothing has changed, but a write has spent its zxid."""

    code: ClassVar[Code]


class NoNode(ZooKeeperError):
    """The node, or the parent of a node to be created, does not exist."""

    code = Code.NONODE


class NodeExists(ZooKeeperError):
    """The node to be created exists already, whoever owns it."""

    code = Code.NODEEXISTS


class BadVersion(ZooKeeperError):
    """The node's version is not the expected one: another write came first."""

    code = Code.BADVERSION


class NotEmpty(ZooKeeperError):
    """The node to be deleted has children."""

    code = Code.NOTEMPTY


class NoChildrenForEphemerals(ZooKeeperError):
    """The parent of the node to be created is ephemeral."""

    code = Code.NOCHILDRENFOREPHEMERALS


class BadArguments(ZooKeeperError):
    """The operation does not accept this path."""

    code = Code.BADARGUMENTS


class SessionExpired(ZooKeeperError):
    """The session has ended, or never was."""

    code = Code.SESSIONEXPIRED


# Values


class Node(NamedTuple):
    """A znode. Its data may be any immutable value; a real server holds bytes or nothing."""

    data: Any = None
    version: ZkVersion = 0
    owner: SessionId | None = None
    """The session whose end deletes the node; None if it is persistent."""
    children: frozenset[str] = frozenset()
    """Names of the direct children, without the path."""
    created: int = 0
    """The number of children ever created here."""
    czxid: Zxid = 0
    mzxid: Zxid = 0
    pzxid: Zxid = 0


class Stat(NamedTuple):
    """ZooKeeper's Stat without its clocks (ctime, mtime)."""

    czxid: Zxid
    mzxid: Zxid
    pzxid: Zxid
    version: ZkVersion
    cversion: int
    aversion: int
    """Always 0: ACLs are not modelled."""
    ephemeralOwner: SessionId | None  # noqa: N815
    """The owning session; None where ZooKeeper says 0, because 0 is a valid id here."""
    dataLength: int  # noqa: N815
    """Number of bytes; 0 for None and for data that are not bytes."""
    numChildren: int  # noqa: N815


def stat_of(node: Node) -> Stat:
    """A node's stat, as a client sees it."""
    return Stat(
        czxid=node.czxid,
        mzxid=node.mzxid,
        pzxid=node.pzxid,
        version=node.version,
        # created + deleted, as deleted = created - living; only + and - (see above)
        cversion=node.created + node.created - len(node.children),
        aversion=0,
        ephemeralOwner=node.owner,
        dataLength=len(node.data) if isinstance(node.data, bytes) else 0,
        numChildren=len(node.children),
    )


class Created(NamedTuple):
    """The result of a create: the path, with its number if it is sequential, and the new node's stat."""

    path: ZkPath
    stat: Stat


class EventType(Enum):
    """How a node changed, by ZooKeeper's names and wire numbers (Watcher.Event.EventType)."""

    NodeCreated = 1
    NodeDeleted = 2
    NodeDataChanged = 3
    NodeChildrenChanged = 4


# Operations


class Create(NamedTuple):
    """Create a node below an existing parent that is not ephemeral."""

    path: ZkPath
    data: Any = None
    ephemeral: bool = False
    sequential: bool = False


class SetData(NamedTuple):
    """Replace a node's data if it has the expected version."""

    path: ZkPath
    data: Any = None
    version: ZkVersion = ANY_VERSION


class Delete(NamedTuple):
    """Delete a node that has the expected version and no children."""

    path: ZkPath
    version: ZkVersion = ANY_VERSION


class Check(NamedTuple):
    """Fail the transaction unless the node exists with the expected version. Only a multi has checks."""

    path: ZkPath
    version: ZkVersion = ANY_VERSION


Operation: TypeAlias = Create | SetData | Delete | Check
OpResult: TypeAlias = Created | Stat | None


# Paths

FORBIDDEN = r"\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff"
"""Control characters, surrogates and the private area, and everything that takes two units of UTF-16."""

WELL_FORMED = rf"/|(/(?!\.\.?(/|\Z))[^/{FORBIDDEN}]+)+"
"""The root, or names, each after a slash, none of them empty, `.` or `..`."""

TAKES = {
    "create": re.compile(r"[^\0]*/[^\0]*"),  # enough to find the parent; then
    "name": re.compile(WELL_FORMED),  # the name it is created under, its number included
    "set": re.compile(WELL_FORMED),
    "check": re.compile(WELL_FORMED),
    "delete": re.compile(r"(?!/\Z)[^\0]*/[^\0]*"),
    "exists": re.compile(r"[^\0]*"),
    "get": re.compile(r"(?s:.*)"),
    "children": re.compile(r"(?s:.*)"),
}
"""The paths that each operation accepts. Other paths that no node can have are simply not found."""


def refuse_path(operation: str, path: ZkPath) -> None:
    """Raise BadArguments for a path that the operation does not accept."""
    if TAKES[operation].fullmatch(path) is None:
        raise BadArguments(f"{operation} {path!r}: not a path for this operation")


def parent_of(path: ZkPath) -> ZkPath:
    """The parent's path; for the root and its children, the root."""
    return path.rpartition("/")[0] or "/"


def name_of(path: ZkPath) -> str:
    """A node's name among the children of its parent."""
    return path.rpartition("/")[2]


def add_nodes(nodes: MutableMapping[ZkPath, Node], data: Mapping[ZkPath, Any]) -> None:
    """Add persistent nodes to a tree, as if each had been created before zxid 1; parents come before children.

    Use it for trees with very many siblings: `create` copies the names of all siblings for each node.
    """
    names: dict[ZkPath, list[str]] = {}
    for path, value in data.items():
        nodes[path] = Node(value)
        names.setdefault(parent_of(path), []).append(name_of(path))
    for parent, added in names.items():
        above = nodes[parent]
        nodes[parent] = above._replace(children=above.children.union(added), created=above.created + len(added))


# Transactions

GONE: Any = object()


class Pending(Generic[K, V]):
    """A mapping with pending changes: reads fall through to the mapping itself, changes wait for `commit`."""

    def __init__(self, base: MutableMapping[K, V]) -> None:
        self.base = base
        self.changes: dict[K, V] = {}

    def __contains__(self, key: K) -> bool:
        if key in self.changes:
            return self.changes[key] is not GONE
        return key in self.base

    def __getitem__(self, key: K) -> V:
        if key not in self.changes:
            return self.base[key]
        if self.changes[key] is GONE:
            raise KeyError(key)
        return self.changes[key]

    def __setitem__(self, key: K, value: V) -> None:
        self.changes[key] = value

    def __delitem__(self, key: K) -> None:
        self.changes[key] = GONE

    def commit(self) -> None:
        """Write the changes to the mapping."""
        for key, value in self.changes.items():
            if value is not GONE:
                self.base[key] = value
            elif key in self.base:  # else it was created and deleted within the transaction
                del self.base[key]


class Transaction:
    """Operations of one zxid, all kept or none: nothing is written before `commit`.

    A failed operation raises; the transaction must then be dropped.
    """

    def __init__(
        self, nodes: MutableMapping[ZkPath, Node], sessions: MutableMapping[SessionId, frozenset[ZkPath]], zxid: Zxid
    ) -> None:
        self.nodes = Pending(nodes)
        self.sessions = Pending(sessions)
        self.zxid = zxid
        self.changes: list[tuple[EventType, ZkPath]] = []
        """The changes of nodes, in the order of the operations, for watches."""

    def apply(self, session: SessionId | None, operation: Operation) -> OpResult:
        """The operation's result; raises its error."""
        match operation:
            case Create():
                return self.create(session, *operation)
            case SetData():
                return self.set(*operation)
            case Delete():
                self.delete(*operation)
            case Check():
                self.check(*operation)
        return None

    def create(
        self, session: SessionId | None, path: ZkPath, data: Any, ephemeral: bool, sequential: bool
    ) -> Created:
        """Guards in the server's order: path, parent, name, presence, ephemeral parent."""
        refuse_path("create", path)
        above = parent_of(path)
        parent = self.find("create", path, above)
        if sequential:
            path = self.numbered(path, parent)
        refuse_path("name", path)
        if path in self.nodes:
            raise NodeExists(f"create {path}: it exists already")
        if parent.owner is not None:
            raise NoChildrenForEphemerals(f"create {path}: {above} is ephemeral, of session {parent.owner!r}")
        node = Node(data, owner=session if ephemeral else None, czxid=self.zxid, mzxid=self.zxid, pzxid=self.zxid)
        self.nodes[path] = node
        self.adopt(above, path)
        if ephemeral:
            self.sessions[session] |= {path}
        self.changes.append((EventType.NodeCreated, path))
        return Created(path, stat_of(node))

    def set(self, path: ZkPath, data: Any, version: ZkVersion) -> Stat:
        """The version grows even if the data stay the same."""
        refuse_path("set", path)
        node = self.find_version("set", path, version)
        changed = node._replace(data=data, version=node.version + 1, mzxid=self.zxid)
        self.nodes[path] = changed
        self.changes.append((EventType.NodeDataChanged, path))
        return stat_of(changed)

    def delete(self, path: ZkPath, version: ZkVersion = ANY_VERSION) -> None:
        """Guards in the server's order: path, presence, version, children."""
        refuse_path("delete", path)
        node = self.find_version("delete", path, version)
        if node.children:
            raise NotEmpty(f"delete {path}: it has children, {', '.join(sorted(node.children))}")
        del self.nodes[path]
        self.orphan(parent_of(path), path)
        if node.owner is not None and node.owner in self.sessions:
            self.sessions[node.owner] -= {path}
        self.changes.append((EventType.NodeDeleted, path))

    def check(self, path: ZkPath, version: ZkVersion) -> None:
        """A guard without an effect."""
        refuse_path("check", path)
        self.find_version("check", path, version)

    def commit(self) -> None:
        """Write the changes."""
        self.nodes.commit()
        self.sessions.commit()

    # parts of operations

    def find(self, operation: str, path: ZkPath, wanted: ZkPath) -> Node:
        """The node that an operation on `path` needs: this one itself, or its parent."""
        if wanted not in self.nodes:
            missing = "no such node" if wanted == path else f"its parent {wanted} does not exist"
            raise NoNode(f"{operation} {path}: {missing}")
        return self.nodes[wanted]

    def find_version(self, operation: str, path: ZkPath, version: ZkVersion) -> Node:
        """The node, if it has the expected version."""
        node = self.find(operation, path, path)
        if version != ANY_VERSION and node.version != version:
            raise BadVersion(f"{operation} {path}: expected version {version}, it is at {node.version}")
        return node

    def numbered(self, path: ZkPath, parent: Node) -> ZkPath:
        """A sequential node's name ends in the number of children created here before it, of any name."""
        return f"{path}{parent.created:010d}"

    def adopt(self, above: ZkPath, path: ZkPath) -> None:
        """A child has been created. Only the parent's pzxid and counters of children change."""
        parent = self.nodes[above]
        name = name_of(path)
        self.nodes[above] = parent._replace(
            children=parent.children | {name}, created=parent.created + 1, pzxid=self.zxid
        )

    def orphan(self, above: ZkPath, path: ZkPath) -> None:
        """A child has been deleted. Its number in sequential names is not used again."""
        parent = self.nodes[above]
        name = name_of(path)
        self.nodes[above] = parent._replace(children=parent.children - {name}, pzxid=self.zxid)
