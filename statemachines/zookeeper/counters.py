"""ZooKeeper over a state that keeps no zxids, as states are kept that are to be finitely many.

A server needs zxids for two things that clients see. By them it finds what a client has missed that was away; here
what is to be told to such a client waits in its inbox, and is what has changed when it comes back. And by its czxid a
node is told from the one before it; here nodes are counted, path by path, where that matters.
"""

from collections.abc import MutableMapping
from typing import Any

from statemachines.zookeeper.server import ZooKeeper, ZooKeeperState
from statemachines.zookeeper.tree import Created, EventType, Pending, SessionId, Transaction, ZkPath, Zxid, stat_of

__all__ = ["CountingTransaction", "ZooKeeperWithoutZxids"]

EVER = -1
"""A zxid before all others."""


class CountingTransaction(Transaction):
    """A transaction that counts the nodes created at a path; the numbers grow as their czxids would."""

    created: Pending[ZkPath, int]

    def create(
        self, session: SessionId | None, path: ZkPath, data: Any, ephemeral: bool, sequential: bool
    ) -> Created:
        """As ever, but for the czxid, where nodes are counted."""
        answer = super().create(session, path, data, ephemeral, sequential)
        if path not in self.created:
            return answer
        self.created[path] += 1
        self.nodes[path] = self.nodes[path]._replace(czxid=self.created[path])
        return Created(path, stat_of(self.nodes[path]))

    def commit(self) -> None:
        """Make it so, the numbers too."""
        super().commit()
        self.created.commit()


class ZooKeeperWithoutZxids(ZooKeeper):
    """ZooKeeper, where the zxid may be any placeholder that knows nothing but + and -.

    Args:
        state: what it knows; else a fresh one in memory.
        outliving: a fault: the end of a session deletes none of its ephemerals. [ZOOKEEPER-2985]
        created: how many nodes were created at each path where nodes are counted.
    """

    transaction = CountingTransaction

    def __init__(
        self,
        state: ZooKeeperState | None = None,
        outliving: bool = False,
        created: MutableMapping[ZkPath, int] | None = None,
    ) -> None:
        super().__init__(state, outliving)
        self.created = {} if created is None else created

    def come_back(self, session: SessionId) -> None:
        """A client is back, and has its watches armed again, or is told what it has missed."""
        missed, self.state.events[session] = self.state.events[session], ()
        data = [event.path for event in missed if event.type in (EventType.NodeDeleted, EventType.NodeDataChanged)]
        exist = [event.path for event in missed if event.type is EventType.NodeCreated]
        child = [event.path for event in missed if event.type is EventType.NodeChildrenChanged]
        self.set_watches(session, EVER, data, exist, child)

    def _changed(self, path: ZkPath, since: str, seen_zxid: Zxid) -> bool:
        return True

    def _begin(self, request: str, session: SessionId | None, ephemeral: bool = False) -> Transaction:
        transaction = super()._begin(request, session, ephemeral)
        if isinstance(transaction, CountingTransaction):
            transaction.created = Pending(self.created)
        return transaction
