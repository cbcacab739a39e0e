"""A cluster in memory and Kafka's nodes: their content, also in a live ZooKeeper, and a cluster made of them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from kazoo.client import KazooClient

from spec.what_if.live_zookeeper import read_zookeeper
from statemachines import Cluster
from statemachines.cluster_tree import DEFAULTS, Details, put_znodes
from statemachines.controller.replica_leader_election import ElectionType
from statemachines.messages.errors import Errors
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.releases import RELEASES
from statemachines.znodes.codec import decode
from statemachines.znodes.fields import InvalidZnode
from statemachines.znodes.values import BrokerInfo, EndPoint
from statemachines.zookeeper.serving import ServedZooKeeper
from tests.rows import rows
from tests.statemachines.znodes.written import RELEASES as WRITTEN
from tests.statemachines.znodes.written import Written

Clients = Callable[..., KazooClient]
BESIDE = ("/config/clients/", "/config/users/", "/config/brokers/", "/latest_producer_id_block")
"""Nodes of real brokers that no cluster in memory keeps."""
REASSIGNMENT = b'{"partitions":[{"topic":"t","partition":0,"replicas":[1,1]}]}'


def healthy(release: str) -> Cluster:
    """A cluster with two topics, at rest."""
    cluster = Cluster((1, 2, 3), release)
    cluster.create_topic("t", {0: (1, 2), 1: (3, 1), **dict.fromkeys(range(2, 11), (2, 1))})
    cluster.create_topic("u", {0: (3, 1, 2)})
    cluster.create_topic("v", {0: (3,)})
    cluster.allow_unclean("u")
    cluster.settle()
    return cluster


def in_use(release: str) -> Cluster:
    """The same, with a dead broker."""
    cluster = healthy(release)
    cluster.crash(3)
    cluster.settle()
    return cluster


def led(cluster: Cluster) -> list[object]:
    """The state of each partition, without its leader epoch."""
    return [(partition, *status[:3]) for partition, status in cluster.partitions().items()]


def test_racks_are_written_to_and_read_from_registrations() -> None:
    cluster = Cluster((1, 2, 3), racks={1: "a", 2: "a", 3: "b"})
    assert json.loads(cluster.znodes()["/brokers/ids/3"])["rack"] == "b"
    again = Cluster.from_znodes(cluster.znodes())
    again.create_topic("t", partitions=2, replication_factor=2)
    assert [each.assignment.replicas for each in again.partitions().values()] == [(1, 3), (3, 2)]


@rows("release", RELEASES)
def test_a_cluster_is_rebuilt_from_its_nodes(release: str) -> None:
    """It has the same nodes, and keeps them after its controller's failover."""
    cluster = healthy(release)
    again = Cluster.from_znodes(cluster.znodes(), release)
    assert again.partitions() == cluster.partitions()
    again.settle()
    assert again.znodes() == cluster.znodes()


@rows("release", RELEASES)
def test_a_cluster_with_a_dead_broker_is_rebuilt(release: str) -> None:
    """It continues like the original; since 2.3 the failover writes some leaders in a later epoch."""
    cluster = in_use(release)
    again = Cluster.from_znodes(cluster.znodes(), release)
    assert (again.live, led(again)) == (cluster.live, led(cluster))
    for each in again, cluster:
        each.settle()
        each.restart(3)
        each.settle()
    assert led(again) == led(cluster)


@rows("release", WRITTEN)
def test_a_cluster_of_real_brokers_continues_in_memory(release: str) -> None:
    """Their nodes are written again byte for byte, and no others."""
    tree = Written.read(release).tree
    cluster = Cluster.from_znodes(tree, release)
    cluster.settle()
    nodes = cluster.znodes(Details.of(tree))
    kept = {path: data or b"" for path, data in tree.items() if not path.startswith(BESIDE)}
    assert {path: data for path, data in nodes.items() if not path.startswith(BESIDE)} == kept
    cluster.crash(2)
    cluster.settle()
    assert cluster.partition("t", 0)[1:3] == (0, (0,))


def test_pending_requests_are_done_by_the_next_controller() -> None:
    cluster = Cluster((1, 2), "2.3")
    cluster.create_topic("t", {0: (1,)})
    cluster.create_topic("gone", {0: (1,)})
    cluster.settle()
    cluster.reassign({("t", 0): (2,)})
    cluster.delete_topic("gone")
    tree = cluster.znodes()
    assert json.loads(tree["/admin/reassign_partitions"])["partitions"][0]["replicas"] == [2]
    again = Cluster.from_znodes(tree, "2.3")
    again.settle()
    assert led(again) == [(("t", 0), ReplicaAssignment((2,)), 2, (2,))]


def test_permission_for_unclean_elections_is_kept() -> None:
    cluster = Cluster((1, 2))
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    cluster.allow_unclean()
    cluster.settle()
    again = Cluster.from_znodes(cluster.znodes())
    again.settle()
    again.crash(1)
    again.restart(2)
    again.settle()
    assert again.partition("t", 0).leader == 2


@rows("release, error", [("1.0", None), ("1.1", Errors.NOT_ENOUGH_REPLICAS), ("3.9", Errors.NOT_ENOUGH_REPLICAS)])
def test_the_default_of_min_insync_replicas_is_kept(release: str, error: Errors | None) -> None:
    """A tree has defaults since 1.1 [KIP-226]."""
    cluster = Cluster((1, 2), release, min_insync_replicas=2)
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    again = Cluster.from_znodes(cluster.znodes(), release)
    again.settle()
    assert again.produce("t", 0, "m").error is error


@rows("written, unclean", [("yes", True), ("", True), (" FALSE", False)])
def test_an_invalid_default_does_not_count(written: str, unclean: bool) -> None:
    """Brokers ignore it [KAFKA-10803]."""
    defaults = json.dumps({"version": 1, "config": {"unclean.leader.election.enable": written}}).encode()
    tree = {**healthy("3.9").znodes(), DEFAULTS: defaults}
    assert (DEFAULTS in Cluster.from_znodes(tree, unclean=True).znodes()) is unclean


def test_given_details_are_written() -> None:
    cluster = Cluster((1,))
    cluster.create_topic("t", {0: (1,)})
    cluster.allow_unclean("t")
    cluster.settle()
    plain = cluster.znodes()
    assert plain == cluster.znodes()
    assert decode("/brokers/ids/1", plain["/brokers/ids/1"]).endpoints == (EndPoint(host="broker-1"),)
    info = BrokerInfo((EndPoint("SSL", "h", 1, "SSL"),), timestamp=5)
    said = cluster.znodes(Details({1: info}, {"t": "A" * 22}, {"t": {"retention.ms": "1"}}, "B" * 22, 7))
    changed = {path: decode(path, data) for path, data in said.items() if plain[path] != data}
    assert changed.keys() == {"/brokers/ids/1", "/brokers/topics/t", "/cluster/id", "/config/topics/t", "/controller"}
    assert changed["/brokers/ids/1"][:-1] == info[:-1]
    assert changed["/config/topics/t"] == {"retention.ms": "1", "unclean.leader.election.enable": "true"}
    assert Details.of(said).topic_ids == {"t": "A" * 22}


@pytest.mark.parametrize("chroot", ["", "/a/kafka"])
def test_a_tree_in_a_zookeeper_is_read_as_kafkas(
    zookeeper_in_memory: ServedZooKeeper, zookeeper_client: Clients, chroot: str
) -> None:
    client, cluster = zookeeper_client(), in_use("3.9")
    put_znodes(client, cluster.znodes(), chroot)
    described = read_zookeeper(zookeeper_in_memory.hosts + chroot)
    assert {each: (its.leader, its.isr, its.leader_epoch) for each, its in described.partitions.items()} == {
        each: (its.leader, its.isr, its.leader_epoch) for each, its in cluster.partitions().items()
    }
    assert (described.live, described.controller, described.controller_epoch) == (frozenset({1, 2}), 1, 1)
    assert described.unclean == {"u": True}


@pytest.mark.parametrize("options", [{}, {"ephemeral": False}], ids=str)
def test_ephemeral_nodes_of_a_session(
    zookeeper_in_memory: ServedZooKeeper, zookeeper_client: Clients, options: dict[str, bool]
) -> None:
    put_znodes(zookeeper_client(), in_use("3.9").znodes(), "/kafka", **options)
    owned = {path for path, node in zookeeper_in_memory.tree().items() if node.owner is not None}
    sessions = {"/kafka/controller", "/kafka/brokers/ids/1", "/kafka/brokers/ids/2"}
    assert owned == (set() if options else sessions)


def test_existing_nodes_are_overwritten(zookeeper_in_memory: ServedZooKeeper, zookeeper_client: Clients) -> None:
    client, cluster = zookeeper_client(), in_use("3.9")
    put_znodes(client, cluster.znodes())
    cluster.elect([("t", 0)], ElectionType.PREFERRED)
    cluster.crash(1)
    cluster.settle()
    put_znodes(client, cluster.znodes())
    tree = zookeeper_in_memory.tree()
    assert {path: tree[path].data for path in cluster.znodes()} == cluster.znodes()


@rows(
    "changed, says",
    [
        ({"/controller": b"{}"}, "/controller: it has no brokerid"),
        ({"/brokers/topics/t": b'{"partitions":{"0":[1,1]}}'}, "replicas of 0: broker 1 occurs twice"),
        ({"/brokers/topics/t": b'{"partitions":{"0":[-1]}}'}, "replicas of 0: -1 is no broker id"),
        ({"/admin/reassign_partitions": REASSIGNMENT}, "replicas of t-0: broker 1 occurs twice"),
    ],
)
def test_invalid_trees_are_refused(changed: dict[str, bytes], says: str) -> None:
    with pytest.raises(InvalidZnode, match=says):
        Cluster.from_znodes({**in_use("3.9").znodes(), **changed})


def test_ignored_nodes_are_reported() -> None:
    """Nodes that are not Kafka's, and nodes about missing topics."""
    tree = in_use("1.0").znodes()
    state = tree["/brokers/topics/t/partitions/0/state"]
    of_none = {"/admin/delete_topics/x": b"", "/brokers/topics/x/partitions/0/state": state}
    more = Cluster.from_znodes({**tree, **of_none, "/zookeeper/quota": b"x"}, "1.0")
    more.settle()
    assert led(more) == led(in_use("1.0"))


def test_a_sparse_tree_is_read() -> None:
    """No broker is known, or no controller, or no parents."""
    assert Cluster.from_znodes({}).live == frozenset()
    registration = in_use("3.9").znodes()["/brokers/ids/1"]
    tree = {"/brokers/ids/1": registration, "/brokers/topics/t": b'{"partitions":{"0":[1]}}'}
    cluster = Cluster.from_znodes(tree)
    cluster.settle()
    assert led(cluster) == [(("t", 0), ReplicaAssignment((1,)), 1, (1,))]


@pytest.mark.parametrize("chroot", ["kafka", "kafka/a"])
def test_an_invalid_chroot_is_refused(zookeeper_client: Clients, chroot: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        put_znodes(zookeeper_client(), {}, chroot)
