"""ZooKeeper over a state without zxids, so that the number of states is finite.

A server needs zxids for two things that clients see. With them it finds the changes that a disconnected client has
missed; here the events for such a client wait in its inbox, and are the changes on its return. And the czxid
distinguishes a node from its predecessor; here nodes are counted, by path, where that matters.
"""

from collections.abc import MutableMapping
from typing import Any

from statemachines.zookeeper.server import ZooKeeper, ZooKeeperState
from statemachines.zookeeper.tree import Created, EventType, Pending, SessionId, Transaction, ZkPath, Zxid, stat_of

EVER = -1
"""A zxid before all others."""


class CountingTransaction(Transaction):
    """A transaction that counts the nodes created at a path; the numbers grow as their czxids would."""

    created: Pending[ZkPath, int]

    def create(
        self, session: SessionId | None, path: ZkPath, data: Any, ephemeral: bool, sequential: bool
    ) -> Created:
        """As in the base class, except for the czxid of counted nodes."""
        answer = super().create(session, path, data, ephemeral, sequential)
        if path not in self.created:
            return answer
        self.created[path] += 1
        self.nodes[path] = self.nodes[path]._replace(czxid=self.created[path])
        return Created(path, stat_of(self.nodes[path]))

    def commit(self) -> None:
        """Commit the changes, with the counts."""
        super().commit()
        self.created.commit()


class ZooKeeperWithoutZxids(ZooKeeper):
    """ZooKeeper with a placeholder for the zxid that supports only + and -.

    Args:
        state: its state; by default a fresh one in memory.
        outliving: a fault: the end of a session deletes none of its ephemeral nodes. [ZOOKEEPER-2985]
        created: the number of nodes created at each counted path.
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
        """A client is back: set its watches again, or deliver the missed events."""
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
