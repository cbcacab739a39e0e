"""ZooKeeper's own client, in Java, talks to our server in memory."""

from contextlib import closing
from typing import Any

from statemachines.zookeeper.frames import SetWatches
from statemachines.zookeeper.serving import ServedZooKeeper
from tests.zookeeper.server import Server


def test_zookeepers_own_client(server: Server) -> None:
    """It returns to its session, and sets its watches again, which kazoo does not do."""
    java: Any = server.java.org.apache.zookeeper
    open_acl, persistent = java.ZooDefs.Ids.OPEN_ACL_UNSAFE, java.CreateMode.PERSISTENT
    with (
        ServedZooKeeper() as served,
        closing(java.ZooKeeper(served.hosts, 10_000, java.server.DumbWatcher())) as client,
    ):
        assert client.create("/a", b"x", open_acl, persistent) == "/a"
        stat = java.data.Stat()
        assert client.getData("/a", True, stat) == b"x"
        assert list(client.getChildren("/", True)) == ["a", "zookeeper"]
        assert client.exists("/b", True) is None
        session = client.getSessionId()
        served.cut(session)
        served.wait_until(lambda: isinstance(served.requests(session)[-1], SetWatches))
        assert served.requests(session)[-1] == SetWatches(2, ("/a",), ("/b",), ("/",))
        assert client.setData("/a", b"y", stat.getVersion()).getVersion() == 1
        assert client.getSessionId() == session
        together = server.java.java.util.ArrayList()
        together.add(java.Op.check("/a", 1))
        together.add(java.Op.delete("/a", 1))
        assert client.multi(together).size() == 2
    assert served.sessions() == []
