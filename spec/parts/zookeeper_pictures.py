"""How a ZooKeeper is drawn: its znodes as a tree, its sessions as a grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from spec.language import Grid, Look, Queue, Tag, Tags, Tree
from statemachines.znode import Node, SessionId, ZkPath

if TYPE_CHECKING:
    from spec.parts.zookeeper import Ensemble

__all__ = ["sessions_drawn", "znodes_drawn"]


def znodes_drawn(s: Ensemble, counts_writes: Callable[[ZkPath], bool]) -> Tree:
    """What each znode holds, how often it was set, and whose it is if it ends with a session.

    Args:
        s: the servers.
        counts_writes: whether the version of the node at a path is kept.
    """
    return Tree({path: _held(s, node, counts_writes(path)) for path, node in s.nodes.items()})


def _held(s: Ensemble, node: Node, has_version: bool) -> Tags | str:
    told = [] if node.data is None else [node.data]
    if has_version and node.version:
        told.append(Tag(f"version {node.version}", Look.faint))
    if node.owner in s.sessions:
        told.append(Tag(f"of {node.owner}", Look.faint, "ephemeral: it ends with its session"))
    elif node.owner is not None:
        told.append(Tag(f"of {node.owner}", Look.wrong, "its session has ended"))
    return Tags(told) if told else ""


def sessions_drawn(s: Ensemble) -> Grid:
    """What each session watches, and which watch events are on their way to its client."""
    return Grid(
        ("session", "watches", "events on their way"),
        [
            (
                _session(s, each),
                _watches(s, each),
                Queue(f"{event.type.name} {event.path}" for event in s.events[each]),
            )
            for each in s.sessions
        ],
    )


def _session(s: Ensemble, session: SessionId) -> Tag:
    away = session in s.away
    return Tag(session, Look.faint if away else Look.plain, "its client has no connection" if away else "")


def _watches(s: Ensemble, session: SessionId) -> Tags:
    data = [path for path, watching in s.data_watches.items() if session in watching]
    children = [f"children of {path}" for path, watching in s.child_watches.items() if session in watching]
    return Tags([*data, *children])
