"""A cluster read from a real ZooKeeper."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient

from spec.language.errors import EnvironmentFailed, UsageError
from spec.what_if import live_zookeeper
from spec.what_if.events import Crash
from spec.what_if.known_cluster import complete
from spec.what_if.prediction import what_if
from spec.what_if.reading import read_cluster
from statemachines.cluster_history import Elected
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from tests.zookeeper.conftest import java, server  # noqa: F401 - fixtures
from tests.zookeeper.server import Server

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
STATE = {"controller_epoch": 3, "leader": 1, "version": 1, "leader_epoch": 7, "isr": [1, 2]}
NO_ASSIGNMENTS: list[object] = [{"0": [1, 1]}, {"0": []}, {"0": [-1]}, {"0": "12"}, {"zero": [1]}, {"00": [1]}, [1]]
NO_STATES: tuple[dict[str, object], ...] = ({"leader": 1.5}, {"leader": -2}, {"isr": [1, 1]}, {"isr": None})
NODES = {
    "/brokers/ids/1": {},
    "/brokers/ids/2": {},
    "/controller": {"version": 2, "brokerid": 2, "timestamp": "0"},
    "/controller_epoch": 5,
    "/brokers/topics/t": {
        "version": 3,
        "topic_id": "WVpYoyNfSzuGAGeB6V0jUQ",
        "partitions": {"0": [1, 2, 3], "1": [2, 4, 1]},
        "adding_replicas": {"1": [4]},
        "removing_replicas": {},
    },
    "/brokers/topics/t/partitions/0/state": STATE,
    "/config/topics/t": {
        "version": 1,
        "config": {"min.insync.replicas": "2", "unclean.leader.election.enable": "TRUE"},
    },
}
REASSIGN = "/admin/reassign_partitions"
OF_ALL_BROKERS = {"version": 1, "config": {"min.insync.replicas": "3", "unclean.leader.election.enable": "False"}}


@pytest.fixture
def chroot(server: Server, request: pytest.FixtureRequest) -> Iterator[tuple[Any, str]]:  # noqa: F811
    """A client below a node of its own, and the address of the cluster there."""
    host, port = server.address
    place = f"/{request.node.name.replace('/', '')}"
    client = KazooClient(f"{host}:{port}")
    client.start()
    client.ensure_path(place)
    client.chroot = place
    try:
        yield client, f"zookeeper://{host}:{port}{place}"
    finally:
        client.stop()
        client.close()


def lay_out(client: Any, changed: dict[str, object] | None = None) -> None:
    for path, data in {**NODES, **(changed or {})}.items():
        written = data if isinstance(data, bytes) else json.dumps(data).encode()
        client.ensure_path(path)
        client.set(path, written)


def tree(client: Any, path: str = "/") -> dict[str, Any]:
    """Return every node, with the values that show whether it was touched."""
    _, stat = client.get(path)
    below = [f"{path.rstrip('/')}/{child}" for child in client.get_children(path)]
    found = {path: (stat.mzxid, stat.pzxid)}
    for each in below:
        found |= tree(client, each)
    return found


def test_a_cluster_is_read_and_nothing_written(chroot: tuple[Any, str]) -> None:
    client, source = chroot
    lay_out(client)
    before = tree(client)
    described = read_cluster(source)
    assert tree(client) == before
    assert described.partitions[T0][:4] == (ReplicaAssignment((1, 2, 3)), 1, (1, 2), 7)
    assert described.partitions[T1][:3] == (ReplicaAssignment((2, 4, 1), (4,)), None, ())
    assert described.live == frozenset({1, 2})
    assert described.controller == 2
    assert described.min_isr == {"t": 2}
    assert described.unclean == {"t": True}
    assert described.controller_epoch == 5
    assert described.default_min_isr is described.default_unclean is None
    cluster = complete(described)
    assert cluster.assumed_of("0.10.2") == ()
    assert what_if(cluster, Crash(1)).changes[0].after.leader == 2
    assert Elected(1, 6) in what_if(cluster, Crash(2)).steps[0]


def test_pending_administrator_requests_are_read(chroot: tuple[Any, str]) -> None:
    client, source = chroot
    lay_out(client)
    described = read_cluster(source)
    assert (described.deletion_queued, described.reassigning) == (frozenset(), {})
    gone = {"topic": "gone", "partition": 0, "replicas": [1]}
    moves = {"version": 1, "partitions": [{"topic": "t", "partition": 1, "replicas": [4, 2]}, gone]}
    lay_out(client, {"/admin/delete_topics/t": b"", "/admin/delete_topics/gone": b"", REASSIGN: moves})
    described = read_cluster(source)
    assert described.deletion_queued == {"t"}
    assert described.reassigning == {T1: (4, 2)}


def test_cluster_wide_configuration_is_read(chroot: tuple[Any, str]) -> None:
    client, source = chroot
    lay_out(client, {"/config/brokers/<default>": OF_ALL_BROKERS, "/config/topics/t": {"version": 1, "config": {}}})
    cluster = complete(read_cluster(source))
    assert cluster.min_isr == {"t": 3}
    assert cluster.default_unclean is False
    assert cluster.assumed_of("0.10.2") == ()
    assert complete(read_cluster(source), min_isr=1).min_isr == {"t": 1}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"/brokers/topics/t": b"not JSON"}, "/brokers/topics/t: it is no JSON"),
        ({"/brokers/topics/t": [1]}, "/brokers/topics/t: it is a list; it takes an object"),
        ({"/brokers/topics/t": {"version": 1}}, "/brokers/topics/t: it assigns no partition"),
        *(({"/brokers/topics/t": {"partitions": said}}, "/brokers/topics/t: ") for said in NO_ASSIGNMENTS),
        ({REASSIGN: {"partitions": [{"topic": "t"}]}}, f"{REASSIGN}: partitions[0] has no partition"),
        (
            {REASSIGN: {"partitions": [{"topic": "t", "partition": 0, "replicas": []}]}},
            f"{REASSIGN}: replicas of t-0: there are none",
        ),
        *(({"/brokers/topics/t/partitions/0/state": STATE | said}, "0/state: ") for said in NO_STATES),
        (
            {"/brokers/topics/t/partitions/0/state": STATE | {"isr": [1, 9]}},
            "0/state: broker 9 is in its ISR, but its replicas are 1, 2, 3",
        ),
        *(
            ({"/config/topics/t": {"config": {"min.insync.replicas": said}}}, "t: min.insync.replicas is no number")
            for said in ("two", "\N{SUPERSCRIPT TWO}", "1" * 5_000)
        ),
        (
            {"/config/topics/t": {"config": {"unclean.leader.election.enable": "maybe"}}},
            "t: unclean.leader.election.enable is neither true nor false",
        ),
        ({"/config/brokers/<default>": {"config": 1}}, "/config/brokers/<default>: config is 1; it takes an object"),
        ({"/controller_epoch": -1}, "/controller_epoch: this is no controller epoch"),
        ({"/controller": {"brokerid": [2]}}, "/controller: brokerid is a list; it takes an integer"),
        ({"/brokers/ids/1\u202e": {}}, "/brokers/ids/1\u202e: this is no broker id"),
    ],
)
def test_a_foreign_node_is_refused_with_its_path(
    chroot: tuple[Any, str], changed: dict[str, object], says: str
) -> None:
    client, source = chroot
    lay_out(client, changed)
    with pytest.raises(UsageError) as refused:
        read_cluster(source)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("further", ["", "/nowhere"])
def test_a_zookeeper_of_another_or_the_wrong_chroot(chroot: tuple[Any, str], further: str) -> None:
    with pytest.raises(UsageError, match="there is no /brokers/topics; does the cluster have a chroot"):
        read_cluster(chroot[1] + further)


@pytest.fixture
def refusing() -> Iterator[str]:
    """A host and port without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def test_an_unreachable_server_is_reported(
    refusing: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says so; kazoo's log of each attempt is suppressed. A silent host may still answer."""
    monkeypatch.setattr(live_zookeeper, "PATIENCE", 0.2)
    no_answer = pytest.raises(EnvironmentFailed, match="no server answers")
    with socket.create_server(("127.0.0.1", 0)) as silent, no_answer:
        read_cluster(f"zookeeper://{refusing},127.0.0.1:{silent.getsockname()[1]}")
    assert not [each for each in caplog.records if each.name.startswith("kazoo")]


def test_a_refused_connection_is_reported_at_once(refusing: str) -> None:
    """If every host of the list refuses, each with its reason."""
    with pytest.raises(EnvironmentFailed) as failed:
        read_cluster(f"zookeeper://{refusing},no.invalid:1/kafka")
    assert f"no server listens ({refusing}: Connection refused; no.invalid:1: " in str(failed.value)


@pytest.mark.parametrize(
    "hosts", ["", "/kafka", "[::1:2181", "a,,b", "a:0", "a:99999", "a:b", "a b:2181", "http://a:1"]
)
def test_invalid_hosts_are_refused(hosts: str) -> None:
    with pytest.raises(UsageError, match=r"is no host; zookeeper:// takes HOST:PORT,HOST:PORT/CHROOT"):
        read_cluster(f"zookeeper://{hosts}")


def test_a_missing_kazoo_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kazoo", None)
    with pytest.raises(UsageError, match=r"pip install '\.\[zookeeper\]'"):
        read_cluster("zookeeper://nowhere:2181")
