"""Pictures of a ZooKeeper: its znodes as a tree, its sessions as a grid."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from spec.language import Grid, Look, Queue, Tag, Tags, Tree
from statemachines.zookeeper.server import Event
from statemachines.zookeeper.tree import Node, SessionId, ZkPath

Watches = Mapping[ZkPath, Collection[SessionId]]
"""The sessions that watch each path."""


def draw_znodes(
    nodes: Mapping[ZkPath, Node], sessions: Collection[SessionId], counts_writes: Callable[[ZkPath], bool]
) -> Tree:
    """Each znode's data, its version, and the session that owns an ephemeral node.

    Args:
        nodes: the nodes, by path.
        sessions: the live sessions.
        counts_writes: whether the version of the node at a path is kept.
    """
    return Tree({path: _held(node, sessions, counts_writes(path)) for path, node in nodes.items()})


def _held(node: Node, sessions: Collection[SessionId], has_version: bool) -> Tags | str:
    tags = [] if node.data is None else [node.data]
    if has_version and node.version:
        tags.append(Tag(f"version {node.version}", Look.faint))
    if node.owner in sessions:
        tags.append(Tag(f"of {node.owner}", Look.faint, "ephemeral: it ends with its session"))
    elif node.owner is not None:
        tags.append(Tag(f"of {node.owner}", Look.wrong, "its session has ended"))
    return Tags(tags) if tags else ""


def draw_sessions(
    sessions: Collection[SessionId],
    away: Collection[SessionId],
    data_watches: Watches,
    child_watches: Watches,
    events: Mapping[SessionId, Collection[Event]],
) -> Grid:
    """The sessions, with their watches and the watch events on their way.

    Args:
        sessions: the live sessions.
        away: the sessions whose clients have no connection.
        data_watches: the watches of nodes and their data.
        child_watches: the watches of nodes' children.
        events: the events on their way, by session, in their order.
    """
    return Grid(
        ("session", "watches", "events on their way"),
        [
            (
                _session(each, each in away),
                Tags([*_watched(each, data_watches), *map("children of {}".format, _watched(each, child_watches))]),
                Queue(f"{event.type.name} {event.path}" for event in events[each]),
            )
            for each in sessions
        ],
    )


def _session(session: SessionId, away: bool) -> Tag:
    return Tag(session, Look.faint if away else Look.plain, "its client has no connection" if away else "")


def _watched(session: SessionId, watches: Watches) -> list[ZkPath]:
    return [path for path, watching in watches.items() if session in watching]
