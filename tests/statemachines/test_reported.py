"""Public reports about Kafka, each repeated on a `Cluster`, in releases with the symptom and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from statemachines import Cluster
from statemachines.changes.administration import AdminDesign
from statemachines.cluster import NotReached
from statemachines.cluster_history import Failed
from statemachines.cluster_steps import AdvanceController, ChangeIsr, TakeRequest
from statemachines.controller.design import CONTROLLER
from statemachines.controller.replica_leader_election import ElectionType
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import (
    DELETE_TOPICS,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TopicConfig,
    delete_topics_topic_path,
    topic_config_path,
    topic_partition_state_path,
    topic_path,
)
from statemachines.releases import RELEASES
from tests.rows import rows

T0 = TopicPartition("t", 0)
PERMITS = b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}'


def with_topic(release: str, replicas: tuple[int, ...] = (1, 2), **options: Any) -> Cluster:
    """Three brokers at rest, and a topic with one partition."""
    cluster = Cluster((1, 2, 3), release, **options)
    cluster.create_topic("t", {0: replicas})
    cluster.settle()
    return cluster


def leave_only_3(cluster: Cluster) -> None:
    """Of a partition on brokers 2 and 3 only broker 3 is alive, and it is not in sync."""
    cluster.crash(3)
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    cluster.restart(3)
    cluster.settle()


def bounce(cluster: Cluster, broker: int) -> None:
    """A broker dies, and returns when another one leads."""
    cluster.crash(broker)
    cluster.settle()
    cluster.restart(broker)
    cluster.settle()


def with_failed_election(release: str, **options: Any) -> Cluster:
    """An election of t-0, and of a partition that has never had a leader."""
    cluster = with_topic(release, **options)
    cluster.create_topic("n", {0: (9,)})
    cluster.settle()
    cluster.elect([T0, ("n", 0)])
    cluster.settle()
    return cluster


def there(cluster: Cluster, path: str) -> bool:
    return path in cluster.zookeeper.state.nodes


def sent(cluster: Cluster, since: int) -> list[str]:
    return [str(each) for each in cluster.history[since:] if "LeaderAndIsr" in str(each)]


# Events with data.


@rows("release, moves", [("0.11.0.0", True), ("0.11.0.1", True), ("0.11.0.2", False), ("1.0", False), ("1.1", False)])
def test_a_reassignment_that_is_withdrawn_after_it_was_read(release: str, moves: bool) -> None:
    """KAFKA-6134: the event holds the node's data only in 0.11.0.0 and 0.11.0.1."""
    cluster = with_topic(release)
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T0, (3, 2)),))
    cluster.step(cluster.steps()[0])  # it is heard of; in 0.11 and 1.0 it is also read
    cluster.zookeeper.delete(None, REASSIGN_PARTITIONS)
    cluster.settle()
    assert (cluster.partition("t", 0).assignment.replicas == (3, 2)) is moves


@rows("release, apart", [("0.10.2", False), ("0.11", True), ("1.0", True), ("1.1", False), ("3.9", False)])
def test_a_topic_that_is_created_after_the_topics_were_read(release: str, apart: bool) -> None:
    """KAFKA-5879: in 0.11 and 1.0 the event of a topic change holds the topics, so the second topic comes later."""
    cluster = Cluster((1,), release)
    cluster.settle()
    since = len(cluster.history)
    cluster.create_topic("t", {0: (1,)})
    cluster.step(cluster.steps()[0])  # it is heard of; in 0.11 and 1.0 it is also read
    cluster.create_topic("u", {0: (1,)})
    cluster.settle()
    assert len(sent(cluster, since)) == 1 + apart


@rows("release, deleted", [("0.11", True), ("1.0", True), ("1.1", False), ("2.8", False)])
def test_a_deletion_that_is_withdrawn_after_it_was_read(release: str, deleted: bool) -> None:
    """KAFKA-5879."""
    cluster = with_topic(release, delete_topic_enable=True)
    cluster.delete_topic("t")
    cluster.step(cluster.steps()[0])  # it is heard of; in 0.11 and 1.0 it is also read
    cluster.zookeeper.delete(None, delete_topics_topic_path("t"))
    cluster.settle()
    assert (cluster.partitions() == {}) is deleted


@rows("release, elected", [("0.11", True), ("1.0", True), ("1.1", False)])
def test_an_election_that_is_withdrawn_after_it_was_read(release: str, elected: bool) -> None:
    """KAFKA-5879: the event holds the partitions."""
    cluster = with_topic(release, (2, 3), auto_leader_rebalance=False)
    bounce(cluster, 2)
    cluster.elect([T0])
    cluster.step(cluster.steps()[0])  # it is heard of; in 0.11 and 1.0 it is also read
    cluster.zookeeper.delete(None, PREFERRED_REPLICA_ELECTION)
    cluster.settle()
    assert (cluster.partition("t", 0).leader == 2) is elected


# Administrators.


@rows("release, survives", [("0.10.2", True), ("1.1", True), ("2.1", True), ("2.2", False), ("3.9", False)])
def test_an_election_survives_its_controller_until_2_1(release: str, survives: bool) -> None:
    """KIP-183, KAFKA-5692, KAFKA-6146: a node makes the request, and the next controller finds it."""
    cluster = with_topic(release, (2, 3), controller=1, auto_leader_rebalance=False)
    bounce(cluster, 2)
    cluster.elect([T0])
    assert there(cluster, PREFERRED_REPLICA_ELECTION) is survives
    cluster.crash(1)
    cluster.settle()
    assert (cluster.partition("t", 0).leader == 2) is survives
    assert not there(cluster, PREFERRED_REPLICA_ELECTION)


@rows("release, refused", [("0.10.2", True), ("2.3", True), ("2.4", False), ("3.9", False)])
def test_unclean_elections_cannot_be_requested_until_2_3(release: str, refused: bool) -> None:
    """KIP-460, KAFKA-8286."""
    cluster = with_topic(release, (2, 3), unclean=False)
    leave_only_3(cluster)
    if refused:
        with pytest.raises(ValueError, match=r"until 2\.3 no unclean election"):
            cluster.elect([T0], ElectionType.UNCLEAN)
        return
    cluster.elect([T0], ElectionType.UNCLEAN)
    cluster.settle()
    assert cluster.partition("t", 0).leader == 3


@rows(
    "release, unknown, dead",
    [
        ("0.10.2", True, True),
        ("0.11", False, False),
        ("2.3", False, False),
        ("2.4", False, False),
        ("3.9", False, False),
    ],
)
def test_brokers_that_a_reassignment_may_name(release: str, unknown: bool, dead: bool) -> None:
    """KAFKA-5161: since 0.11 the tool, and since 2.4 the controller, refuses brokers that are not alive."""
    for broker, accepted in {9: unknown, 3: dead}.items():
        cluster = with_topic(release)
        cluster.crash(3)
        cluster.settle()
        cluster.reassign({T0: (broker, 2)})
        cluster.settle()
        refusals = [each for each in cluster.history if isinstance(each, Failed) and "refused" in each.what]
        assert (not refusals) is accepted


@rows("release, outcome", [("0.10.2", "accepted"), ("0.11", "ValueError"), ("2.3", "ValueError"), ("2.4", "refused")])
def test_a_reassignment_to_no_replica(release: str, outcome: str) -> None:
    """KAFKA-5091: from 0.11 on the tool refuses it; since 2.4 the controller does."""
    cluster = with_topic(release)
    if outcome == "ValueError":
        with pytest.raises(ValueError, match="the replicas of t-0: there are none"):
            cluster.reassign({T0: ()})
        return
    cluster.reassign({T0: ()})
    assert there(cluster, REASSIGN_PARTITIONS) is (outcome == "accepted")
    cluster.settle()
    refusal = Failed("the reassignment of t-0 is refused: INVALID_REPLICA_ASSIGNMENT")
    assert (refusal in cluster.history) is (outcome == "refused")


@rows("release, refused", [("1.1", False), ("2.2", False), ("2.3.0", True), ("3.9", True)])
def test_partitions_that_are_not_numbered_from_0(release: str, refused: bool) -> None:
    """KAFKA-7864."""
    cluster = Cluster((1, 2), release)
    if refused:
        with pytest.raises(ValueError, match="allowed are the numbers from 0 to 0"):
            cluster.create_topic("t", {1: (1, 2)})
        return
    cluster.create_topic("t", {1: (1, 2)})
    cluster.settle()
    assert cluster.partition("t", 1).leader == 1


@rows("release, refused", [("2.3", False), ("3.0", False), ("3.1.0", True), ("3.9", True)])
def test_a_topic_created_while_its_deletion_is_still_requested(release: str, refused: bool) -> None:
    """KAFKA-6098, KAFKA-13175."""
    cluster = with_topic(release)
    cluster.delete_topic("t")
    cluster.settle(until=lambda it: not there(it, topic_path("t")) and there(it, delete_topics_topic_path("t")))
    if refused:
        with pytest.raises(ValueError, match="topic t is marked for deletion"):
            cluster.create_topic("t", {0: (2, 1)})
        return
    cluster.create_topic("t", {0: (2, 1)})
    cluster.settle()
    assert not there(cluster, delete_topics_topic_path("t"))


@rows(
    "release, topic, request",
    [("0.10.1", True, True), ("0.10.2", True, False), ("0.11", True, False), ("1.0", False, False)],
)
def test_topics_are_not_deleted_by_default_until_0_11(release: str, topic: bool, request: bool) -> None:
    """KAFKA-3175, KIP-162: in 0.10.1 the request stays, later the controller removes it."""
    cluster = with_topic(release)
    cluster.delete_topic("t")
    cluster.settle()
    assert (cluster.partitions() != {}, there(cluster, delete_topics_topic_path("t"))) == (topic, request)


@rows("release, refused", [("2.8", False), ("3.0", True), ("3.9", True)])
def test_a_topic_that_never_led_is_deleted_by_the_tool_only(release: str, refused: bool) -> None:
    """KAFKA-12596: since 3.0 the tool asks a broker, and none knows a topic that has never had a leader."""
    cluster = with_topic(release)
    cluster.create_topic("u", {0: (9,)})
    cluster.settle()
    if refused:
        with pytest.raises(ValueError, match="topic u cannot be deleted: the controller's broker does not know it"):
            cluster.delete_topic("u")
    else:
        cluster.delete_topic("u")
    assert there(cluster, delete_topics_topic_path("u")) is not refused


def test_a_topic_is_deleted_while_there_is_no_controller() -> None:
    """The client asks again until there is one."""
    cluster = with_topic("3.9", (2, 3), controller=1)
    cluster.crash(1)
    assert cluster.controller is None
    cluster.delete_topic("t")
    cluster.settle()
    assert cluster.partitions() == {}


@rows("release", ["0.10.1", "2.8", "3.9"])
def test_a_topic_is_placed_on_the_brokers_that_the_controllers_broker_knows(release: str) -> None:
    """From UpdateMetadata, so a broker that has just died still gets replicas."""
    cluster = with_topic(release)
    cluster.crash(3)
    placed = {}
    for topic in ("u", "v"):
        cluster.create_topic(topic, partitions=3, replication_factor=1)
        placed[topic] = [cluster.partition(topic, number).assignment.replicas for number in range(3)]
        cluster.settle()
    assert placed == {"u": [(1,), (2,), (3,)], "v": [(1,), (2,), (1,)]}


@rows("release, leader", [("0.10.1", 2), ("0.10.2", 2), ("0.11", 1), ("3.9", 1)])
def test_a_failed_election_keeps_leaders_from_being_rebalanced(release: str, leader: int) -> None:
    """Until 0.10.2, if one of its partitions has never had a leader."""
    cluster = with_failed_election(release, controller=3)
    bounce(cluster, 1)
    cluster.rebalance()
    cluster.settle()
    assert cluster.partition("t", 0).leader == leader


@rows("release", ["0.10.1", "0.10.2", "0.11"])
def test_a_process_that_restarts_has_forgotten_a_failed_election(release: str) -> None:
    cluster = with_failed_election(release, controller=3)
    cluster.zookeeper.delete(None, PREFERRED_REPLICA_ELECTION)
    for broker in (1, 2):
        cluster.crash(broker)
    cluster.settle()
    bounce(cluster, 3)
    for broker in (2, 1):
        cluster.restart(broker)
        cluster.settle()
    cluster.rebalance()
    cluster.settle()
    assert (cluster.controller, cluster.partition("t", 0).leader) == (3, 1)


@rows("release, refused", [("2.0", False), ("2.1", True), ("3.9", True)])
def test_a_deletion_is_refused_where_topics_cannot_be_deleted(release: str, refused: bool) -> None:
    cluster = with_topic(release, delete_topic_enable=False)
    if refused:
        with pytest.raises(ValueError, match=r"delete\.topic\.enable is false"):
            cluster.delete_topic("t")
    else:
        cluster.delete_topic("t")
        cluster.settle()
    assert cluster.zookeeper.children(None, DELETE_TOPICS)[0] == frozenset()
    assert cluster.partitions() != {}


@rows("release, refused", [("0.10.2", True), ("2.1", True), ("2.2.0", False), ("3.9", False)])
def test_partitions_are_added_to_a_topic_with_unequal_numbers_of_replicas(release: str, refused: bool) -> None:
    cluster = Cluster((1, 2, 3), release)
    cluster.create_topic("t", {0: (1, 2), 1: (1, 2)})
    cluster.settle()
    cluster.reassign({("t", 1): (1, 2, 3)})
    cluster.settle()
    if refused:
        with pytest.raises(ValueError, match="the partitions of t have 2, 3 replicas"):
            cluster.create_partitions("t", 3)
        return
    cluster.create_partitions("t", 3)
    cluster.settle()
    assert len(cluster.partition("t", 2).assignment.replicas) == 2


@rows("release", RELEASES)
def test_the_default_for_unclean_elections_is_the_releases(release: str) -> None:
    """KIP-106."""
    led = []
    for unclean in (None, False, True):
        cluster = with_topic(release, (2, 3), unclean=unclean)
        leave_only_3(cluster)
        led.append(cluster.partition("t", 0).leader == 3)
    assert led == [AdminDesign(release).unclean_by_default, False, True]


@rows("release, restarted, at_once", [("1.0", True, False), ("1.1", False, False), ("2.0", False, True)])
def test_when_a_changed_default_for_unclean_elections_counts(release: str, restarted: bool, at_once: bool) -> None:
    """Until 1.0 a broker reads it when it starts; in 1.1 its next election does; since 2.0 there is one at once."""
    cluster = with_topic(release, (2, 3), unclean=False, controller=1)
    leave_only_3(cluster)
    cluster.allow_unclean()
    cluster.settle()
    assert (cluster.partition("t", 0).leader == 3) is at_once
    cluster.crash(3)
    cluster.settle()
    cluster.restart(3)
    cluster.settle()
    assert (cluster.partition("t", 0).leader == 3) is not restarted
    cluster.crash(1)
    cluster.restart(1)
    cluster.settle()
    assert cluster.partition("t", 0).leader == 3
    cluster.allow_unclean(allowed=False)
    cluster.crash(3)
    cluster.crash(1)
    cluster.restart(1, 3)
    cluster.settle()
    assert cluster.partition("t", 0).leader == 3  # the last member of an ISR is in it


@rows("release, refused", [("2.3.0", False), ("2.3.1", True), ("3.9", True)])
def test_a_topic_that_the_controllers_broker_still_knows(release: str, refused: bool) -> None:
    """KAFKA-8875: ZooKeeper has forgotten it, and UpdateMetadata has not been taken yet."""
    cluster = with_topic(release, controller=3)
    cluster.delete_topic("t")
    cluster.settle(
        until=lambda it: not there(it, topic_path("t")) and not there(it, delete_topics_topic_path("t")),
        without=lambda step: isinstance(step, TakeRequest) and step.broker == 3,
    )
    if refused:
        with pytest.raises(ValueError, match="there is a topic t already"):
            cluster.create_topic("t", {0: (1, 2)})
    else:
        cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    assert (cluster.partitions() == {}) is refused


@rows(
    "release, why",
    [("2.3.0", "replication_factor: 3"), ("2.3.1", "there is a topic t"), ("3.9", "there is a topic t")],
)
def test_a_topic_that_is_there_is_refused_for_that_reason(release: str, why: str) -> None:
    """KAFKA-8875: though fewer brokers are alive than it has replicas."""
    cluster = with_topic(release, (1, 2, 3))
    cluster.crash(3)
    cluster.settle()
    with pytest.raises(ValueError, match=why):
        cluster.create_topic("t", partitions=1, replication_factor=3)


@rows("release", ["2.3.1", "3.9"])
def test_a_deleted_topic_that_is_still_known_collides_with_none(release: str) -> None:
    """Kafka looks for collisions in ZooKeeper [validateTopicCreate]."""
    cluster = Cluster((1, 2, 3), release, controller=3)
    cluster.create_topic("a.b", {0: (1, 2)})
    cluster.settle()
    cluster.delete_topic("a.b")
    cluster.settle(
        until=lambda it: not there(it, topic_path("a.b")),
        without=lambda step: isinstance(step, TakeRequest) and step.broker == 3,
    )
    cluster.create_topic("a_b", {0: (1, 2)})
    cluster.settle()
    assert [*cluster.partitions()] == [("a_b", 0)]


@rows("release", RELEASES)
def test_a_new_topic_does_not_inherit_a_permission(release: str) -> None:
    """The configuration of a deleted topic that was left over is overwritten."""
    cluster = Cluster((1, 2, 3), release, unclean=False)
    cluster.settle()
    cluster.zookeeper.create(None, topic_config_path("t"), TopicConfig(unclean_leader_election_enable=True))
    cluster.create_topic("t", {0: (2, 3)})
    cluster.settle()
    leave_only_3(cluster)
    assert cluster.partition("t", 0).leader is None


# Damaged trees.


@rows("release, counts", [("1.0", False), ("1.1", True), ("3.9", True)])
def test_the_default_in_the_tree_counts_since_1_1(release: str, counts: bool) -> None:
    """KIP-226."""
    tree = {**with_topic(release, (2, 3)).znodes(), "/config/brokers/<default>": PERMITS}
    cluster = Cluster.from_znodes(tree, release, unclean=False)
    cluster.settle()
    leave_only_3(cluster)
    assert (cluster.partition("t", 0).leader == 3) is counts


@rows("data", [None, b""])
def test_a_controller_node_without_data_stops_elections(data: bytes | None) -> None:
    """KAFKA-9267: the security migrator leaves one, until an operator deletes it."""
    cluster = Cluster.from_znodes({**with_topic("2.4").znodes(), CONTROLLER: data}, "2.4")
    assert "no broker is controller until it is deleted" in str(cluster.history[0])
    cluster.settle()
    assert cluster.controller is None
    cluster.zookeeper.delete(None, CONTROLLER)
    cluster.settle()
    assert cluster.controller is not None


@rows("release, said", [("2.7", 0), ("2.8.0", 1), ("3.9", 1)])
def test_a_topic_without_its_id_is_named(release: str, said: int) -> None:
    """KAFKA-14190: a tool of before 2.8 rewrites the node."""
    tree = {**with_topic(release).znodes(), topic_path("t"): b'{"version":2,"partitions":{"0":[1,2]}}'}
    history = Cluster.from_znodes(tree, release).history
    assert [("no topic_id" in str(each)) for each in history] == [True] * said


# Races.


@rows("release, joins", [("2.7", True), ("3.2", True), ("3.9", True)])
def test_a_follower_back_with_an_empty_disk_joins_by_an_old_request(release: str, joins: bool) -> None:
    """KAFKA-14617, KIP-903: it caught up, died and is back before its leader's request is taken. Never fixed."""
    cluster = with_topic(release, controller=3)
    cluster.produce("t", 0, "m0")
    cluster.crash(2)
    cluster.settle()
    cluster.restart(2)
    cluster.settle(without=ChangeIsr)
    cluster.crash(2, keep=0)
    cluster.settle(without=ChangeIsr)
    cluster.restart(2)
    cluster.hold_fetches(2)
    cluster.settle()
    assert (2 in cluster.partition("t", 0).isr) is joins
    assert cluster.logs("t", 0)[2].end_offset == 0
    assert cluster.consume("t", 0) == ["m0"]


def test_a_race_that_never_happens_is_an_error() -> None:
    cluster = with_topic("3.9")
    with pytest.raises(NotReached):
        cluster.settle(until=lambda it: it.controller is None)


def test_steps_can_be_left_out_by_type_or_by_function() -> None:
    """Also in a random order."""
    for without in (AdvanceController, lambda step: isinstance(step, AdvanceController)):
        for seed in (None, 1):
            cluster = Cluster((1, 2))
            cluster.settle(seed, without=without)
            assert cluster.steps()
            assert all(isinstance(each, AdvanceController) for each in cluster.steps())


# What is remembered for the next conditional write.


def remembered(cluster: Cluster) -> dict[str, tuple[int, int]]:
    """By partition, the version that the controller remembers, and the node's."""
    assert cluster.controller is not None
    known = cluster.controllers[cluster.controller].context
    nodes = cluster.zookeeper.state.nodes
    return {
        str(each): (of.leader_and_isr.partition_epoch, nodes[topic_partition_state_path(each)].version)
        for each in cluster.partitions()
        if (of := known.leadership_of(each)) is not None
    }


@rows("release", RELEASES)
def test_the_controller_remembers_the_version_that_it_has_written(release: str) -> None:
    """After it has created a state, elected, shrunk an ISR, moved a partition, or taken over."""
    cluster = with_topic(release, (2, 3))
    events: tuple[Callable[[], object], ...] = (
        lambda: None,
        lambda: cluster.crash(2),
        lambda: cluster.restart(2),
        lambda: cluster.reassign({T0: (1, 3)}),
        lambda: cluster.create_topic("u", {0: (3,), 1: (1,)}),
        lambda: cluster.fail_over(),
    )
    for event in events:
        event()
        cluster.settle()
        versions = remembered(cluster)
        assert versions
        assert all(known == there for known, there in versions.values()), versions
