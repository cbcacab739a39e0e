"""Answers for real listings: live brokers, leaders, and the worst moment on the way.

The files of `listings/` that begin with `in-` come from real clusters, made anonymous.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from election.ids import BrokerId
from spec.language.errors import UsageError
from spec.what_if.any_order import AnyOrder, in_any_order
from spec.what_if.events import AllowUnclean, AnotherController, ClusterEvent, Crash, Reassign, Return, Shutdown
from spec.what_if.known_cluster import KnownCluster, PartitionStatus, complete
from spec.what_if.prediction import PartitionHealth, Prediction, what_if
from spec.what_if.reading import read_cluster, read_plan
from statemachines.cluster_history import Written
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES
from tests.rows import rows

LISTINGS = Path(__file__).parent / "listings"
Offline, Unclean, UnderMinIsr, Online, Deleting, Deleted, _ = PartitionHealth


def listed(name: str, **options: Any) -> KnownCluster:
    """Return the cluster of a listing."""
    return complete(read_cluster(str(LISTINGS / name)), **options)


def ends(prediction: Prediction, topic: str) -> dict[int, tuple[BrokerId | None, set[BrokerId], PartitionHealth]]:
    """Return leader, ISR and state of a topic's partitions at the end."""
    return {
        each.partition.partition: (each.after.leader, {*each.after.isr}, each.health)
        for each in prediction.changes
        if each.partition.topic == topic
    }


def worst(found: AnyOrder) -> dict[TopicPartition, PartitionHealth]:
    return {partition: case.health for case in found.cases for partition in case.partitions}


def numbers(partitions: Iterable[TopicPartition]) -> list[int]:
    return sorted(each.partition for each in partitions)


# Live brokers.


def test_the_last_to_die_stays_in_the_isr_and_is_dead() -> None:
    """Brokers 4 and 5 were removed; 5 is the only member of three ISRs, and without it none leads."""
    cluster = listed("in-07-scale-in.txt")
    assert cluster.live == {1, 2, 3}
    assert "dead: 5, in sync only where no broker leads: the last to die stays in the ISR (--live)" in cluster.assumed
    assert "dead: 4, in no ISR (--live)" in cluster.assumed
    found = what_if(cluster)
    assert numbers(found.offline) == [0, 1, 4]
    assert not found.at_first
    assert all(change.is_none for change in found.changes)


@pytest.mark.long
@rows("release", ["1.0", "2.2", "3.9"])
def test_without_an_event_nothing_comes_online_in_any_order(release: str) -> None:
    found = in_any_order(listed("in-07-scale-in.txt"), release=release)
    assert [health for _, health in sorted(worst(found).items())] == [Offline, Offline, Online, Online, Offline]
    assert "from the start" in str(found)


@pytest.mark.long
@rows("release", ["1.0", "2.2", "2.7", "3.9"])
def test_only_the_last_to_die_brings_them_back(release: str) -> None:
    """Live replicas have no leader to follow until then; they join the ISR as soon as it leads."""
    cluster = listed("in-07-scale-in.txt")
    assert numbers(what_if(cluster, Return(4), release=release).offline) == [0, 1, 4]
    back = ends(what_if(cluster, Return(5), release=release), "test.topic")
    assert (back[0], back[1], back[4]) == (
        (5, {1, 5}, Online),
        (5, {1, 2, 5}, Online),
        (5, {3, 5}, Online),
    )
    assert set(worst(in_any_order(cluster, Return(5), release=release)).values()) == {Online}


def test_a_broker_given_as_live_may_lead_and_is_reported() -> None:
    """A cluster at rest would not be so, and the listing shows no such leader."""
    found = what_if(listed("in-07-scale-in.txt", live={1, 2, 3, 5}), Crash(1))
    assert numbers(found.at_first) == [0, 1, 4]
    lines = found.text(with_steps=True).splitlines()
    at = lines.index("0. before anything happens the controller changes test.topic-0, test.topic-1, test.topic-4")
    assert lines[at + 1] == "   broker 1 is controller, epoch 1"
    assert found.to_json()["at_first"] == [["test.topic", 0], ["test.topic", 1], ["test.topic", 4]]


def test_without_leaders_no_broker_is_known_live() -> None:
    found = what_if(listed("in-09-unavailable.txt"))
    assert str(found).startswith("1 topic, 2 partitions, no broker alive, no controller, Kafka 3.9")
    assert "assumed: dead: 2, in no ISR (--live)" in str(found)


NOBODY: set[BrokerId] = set()
"""In the ISR."""


@rows(
    "name, alive, events, topic, ended",
    [
        ("14-kcat.txt", {1, 2}, [Crash(1)], "t", {0: (2, {2}, Online)}),
        ("15-partial.txt", {1, 3}, [Crash(1)], "t", {0: (None, {1}, Offline)}),
        ("15-partial.txt", {1, 3}, [Crash(1)], "u", {3: (3, {3}, Online)}),
        ("in-05-confluent-west-down.txt", {3, 4}, [], "single-region", {0: (None, {1}, Offline)}),
        ("in-05-confluent-west-down.txt", {3, 4}, [], "multi-region-async", {0: (None, {1}, Offline)}),
        ("in-05-confluent-west-down.txt", {3, 4}, [Crash(3)], "multi-region-sync", {0: (4, {4}, Online)}),
        ("in-05-confluent-west-down.txt", {3, 4}, [Return(2)], "single-region", {0: (None, {1}, Offline)}),
        ("in-05-confluent-west-down.txt", {3, 4}, [Return(1, 2)], "single-region", {0: (1, {1, 2}, Online)}),
        ("in-06-confluent-liveobservers.txt", {3, 4}, [], "multi-region-async", {0: (None, {1}, Offline)}),
        ("in-06-confluent-liveobservers.txt", {3, 4}, [Return(1)], "single-region", {0: (1, {1}, Online)}),
        ("in-09-unavailable.txt", NOBODY, [Return(2)], "tc", dict.fromkeys((2, 3), (None, {1}, Offline))),
        ("in-09-unavailable.txt", NOBODY, [Return(1)], "tc", dict.fromkeys((2, 3), (1, {1}, Online))),
        (
            *("in-13-kcat.txt", {1, 2, 3}, [Crash(3)], "oef"),
            {**dict.fromkeys((1, 2, 3, 4), (1, {1, 2}, Online)), 0: (2, {1, 2}, Online)},
        ),
        (
            *("in-25-compose-prefix.txt", {0, 1, 2, 3}, [Crash(1, 2)], "my-topic"),
            {0: (0, {0}, UnderMinIsr), 1: (0, {0, 3}, Online), 2: (3, {3}, UnderMinIsr)},
        ),
        (
            *("in-25-urp-one-prefixed.txt", {0, 1, 2}, [Crash(2)], "my-topic"),
            {0: (1, {1}, Online), 1: (0, {0}, Online)},
        ),
        ("in-31-warn-first.txt", {2, 3}, [Crash(2)], "tt1", {0: (None, {2}, Offline), 1: (3, {3}, Online)}),
        (
            *("in-32-cp-offline.txt", {1, 2, 3}, [Crash(1)], "pc"),
            {0: (2, {2, 3}, Online), 1: (2, {2, 3}, Online), 2: (3, {2, 3}, Online)},
        ),
    ],
)
def test_predictions_for_listings(
    name: str,
    alive: set[BrokerId],
    events: list[ClusterEvent],
    topic: str,
    ended: dict[int, tuple[BrokerId | None, set[BrokerId], PartitionHealth]],
) -> None:
    cluster = listed(name)
    assert cluster.live == alive
    found = what_if(cluster, *events)
    assert not found.at_first
    assert ends(found, topic) == ended


def test_the_isr_of_a_leaderless_partition_can_be_given() -> None:
    """Brokers until 2.3 do not report it: their listing has an empty ISR."""
    cluster = listed("in-26-rf1-0.10-after.txt", isr={TopicPartition("ts", 1): (2,)})
    assert cluster.live == {1}
    assert ends(what_if(cluster, Return(2), release="2.3"), "ts")[1] == (2, {2}, Online)


# The worst moment.


def test_the_worst_moment_is_reported() -> None:
    """Two replicas, and both must be in sync: any broker that goes down stops producers."""
    cluster = listed("in-19-cc-rf2-min2.txt")
    samples = "strimzi.cruisecontrol.partitionmetricsamples"
    has_0 = [p for p, each in cluster.partitions.items() if p.topic == samples and 0 in each.assignment.replicas]
    found = what_if(cluster, AnotherController(), Crash(0), Return(0))
    assert found.exit_code == 0
    assert {health for _, _, health in ends(found, samples).values()} == {Online}
    assert found.worst is not None
    assert (found.worst.number, found.worst.event) == (2, Crash(0))
    assert not found.worst.offline
    assert sorted(found.worst.under_min_isr) == sorted(has_0)
    assert f"worst on the way: after 2. crash of 0: {len(has_0)} under min ISR ({samples}-0, " in str(found)
    assert found.to_json()["worst"] == {
        "after": 2,
        "event": "crash of 0",
        "offline": [],
        "under_min_isr": [list(partition) for partition in found.worst.under_min_isr],
    }


def test_the_first_of_equally_bad_moments_is_reported() -> None:
    cluster = listed("in-23-win-crlf.txt")
    found = what_if(cluster, Crash(2), Return(2), Crash(3), Return(3))
    assert found.exit_code == 0
    assert "worst on the way: after 1. crash of 2: 1 offline (tt-0)" in str(found)
    assert "on the way" not in str(what_if(cluster, Crash(2))), "the end is the only moment"
    assert what_if(cluster).to_json()["worst"] is None


def test_without_a_bad_moment_none_is_reported() -> None:
    found = what_if(listed("in-17-strimzi-4.txt"), Crash(4), Return(4), Crash(5))
    assert "worst on the way: every partition keeps its min ISR" in str(found)


@rows(
    "crashed, healths",
    [((4,), {Online}), ((4, 5), {UnderMinIsr}), ((3, 4, 5), {Offline})],
)
def test_three_replicas_with_min_isr_two(crashed: tuple[BrokerId, ...], healths: set[PartitionHealth]) -> None:
    found = what_if(listed("in-17-strimzi-4.txt"), Crash(*crashed))
    assert {health for _, _, health in ends(found, "my-topic").values()} == healths


# Elections from outside the ISR.


@rows("release, unclean", [("0.10.2", None), ("1.0", True)])
def test_until_1_0_an_isr_is_emptied_where_brokers_permit_unclean_elections(
    release: str, unclean: bool | None
) -> None:
    cluster = listed("10-unclean-default-isr.txt", live={1, 2}, unclean=unclean)
    assert ends(what_if(cluster, Crash(2), release=release), "t")[0] == (None, set(), Offline)
    back = what_if(cluster, Crash(2), Return(2, 3), release=release)
    assert ends(back, "t")[0] == (3, {2, 3}, Unclean), "the first live replica, since none is in sync"
    in_order = in_any_order(cluster, Crash(2), release=release)
    assert "no broker leads; in sync: none" in str(in_order)


def test_since_1_1_the_last_in_sync_stays_and_leads_again() -> None:
    cluster = listed("10-unclean-default-isr.txt", live={1, 2}, unclean=True)
    assert ends(what_if(cluster, Crash(2), release="1.1"), "t")[0] == (None, {2}, Offline)
    assert ends(what_if(cluster, Crash(2), Return(2, 3), release="1.1"), "t")[0] == (2, {2, 3}, Online)


def test_the_prediction_for_0_10_matches_its_listing() -> None:
    begun, listed_then = listed("in-26-rf1-0.10.txt"), listed("in-26-rf1-0.10-after.txt")
    said = what_if(begun, Crash(2), release="0.10.2")
    assert {each.partition: (each.after.leader, each.after.isr) for each in said.changes} == {
        partition: (status.leader, status.isr) for partition, status in listed_then.partitions.items()
    }


@rows("release, unclean, health", [("0.10.2", None, Unclean), ("1.0", False, Offline), ("3.9", None, Offline)])
def test_an_empty_isr_needs_an_unclean_election(release: str, unclean: bool | None, health: PartitionHealth) -> None:
    cluster = listed("in-26-rf1-0.10-after.txt", unclean=unclean)
    assert ends(what_if(cluster, Return(2), release=release), "ts")[1][2] is health
    assert worst(in_any_order(cluster, Return(2), release=release))[TopicPartition("ts", 1)] is health


@rows(
    "event, release, instead",
    [
        (AllowUnclean(), "0.10.2", "reads it when its broker starts: use --unclean-default"),
        (AllowUnclean(), "1.1", "reads it at its next election: use --unclean-default"),
        (
            AllowUnclean("t"),
            "1.0",
            "reads it at its next election: put it into the topic's Configs, and add --failover",
        ),
        (AllowUnclean("t"), "2.0", "reads it at its next election"),
    ],
)
def test_in_old_releases_unclean_configuration_is_no_event(event: AllowUnclean, release: str, instead: str) -> None:
    cluster = listed("10-unclean-default-isr.txt")
    for asked in (what_if, in_any_order):
        with pytest.raises(UsageError, match=f"is an event only since 2.[01]; a controller of {release} {instead}"):
            asked(cluster, Crash(2), event, release=release)


@rows("event, since", [(AllowUnclean(), "2.0"), (AllowUnclean("t"), "2.1")])
def test_a_controller_notified_of_unclean_elects_at_once(event: AllowUnclean, since: str) -> None:
    cluster = listed("10-unclean-default-isr.txt", live={1, 2, 3})
    for release in (since, "3.9"):
        assert ends(what_if(cluster, Crash(2), event, release=release), "t")[0] == (3, {3}, Unclean)


# Topics queued for deletion.


@rows("release", RELEASES)
def test_no_leader_is_elected_for_a_topic_queued_for_deletion(release: str) -> None:
    """Until 1.0 broker 1 is controller again before it registers; then the deletion begins, and is halted.

    By default an ISR may become empty in 0.10 [unclean.leader.election.enable].
    """
    cluster = listed("08-marked.txt")
    found = what_if(cluster, Crash(1), Return(1), release=release)
    assert ends(found, "t")[0] == (None, set() if release.startswith("0.10") else {1}, Deleting)
    assert ends(found, "u")[0] == (1, {1}, Online)
    assert (found.exit_code, found.at_first) == (0, ()), "nothing counts as offline"
    assert "t is marked for deletion: no leader is elected for it" in str(found)
    assert found.to_json()["to_be_deleted"] == ["t"]


@rows("release", RELEASES)
def test_a_queued_topic_is_deleted_when_all_brokers_run(release: str) -> None:
    found = what_if(listed("08-marked.txt"), Return(2), release=release)
    assert ends(found, "t")[0] == (None, set(), Deleted)
    assert Written("/admin/delete_topics/t", None) in found.steps[0]
    assert any(line.split()[-2:] == ["->", "deleted"] for line in str(found).splitlines())


@rows("release, leader", [("1.0", 2), ("2.0", 2), ("2.1", None), ("3.9", None)])
def test_since_2_1_a_shutdown_skips_queued_topics(release: str, leader: BrokerId | None) -> None:
    """Until then another broker takes over. A dead broker halts the deletion."""
    status = PartitionStatus(ReplicaAssignment((1, 2, 3)), 1, (1, 2), 0)
    t0 = TopicPartition("t", 0)
    cluster = KnownCluster({t0: status}, frozenset({1, 2, 4}), 4, {"t": 1}, {}, deletion_queued=frozenset("t"))
    assert what_if(cluster, Shutdown(1), release=release).changes[0].after.leader == leader
    assert what_if(cluster, Crash(1), release=release).changes[0].after.leader is None


@rows("release", RELEASES)
def test_brokers_receive_its_deletion_with_its_log(release: str) -> None:
    found = what_if(listed("08-marked.txt"), Return(2), release=release)
    text = found.text(with_steps=True)
    assert all(f"to broker {broker}: StopReplica, with the log, of t-0" in text for broker in (1, 2))


def test_in_any_order_queued_topics_are_left_out() -> None:
    found = in_any_order(listed("08-marked.txt"), Return(2))
    assert worst(found) == {TopicPartition("u", 0): Online}
    assert "t is marked for deletion" in str(found)
    assert found.to_json()["to_be_deleted"] == ["t"]


# Reassignments.


@rows("release", ["0.10.1", "2.3", "2.4", "3.9"])
def test_a_plan_may_name_a_partition_that_stays(release: str) -> None:
    cluster, plan = listed("01-plan-same.txt"), read_plan(str(LISTINGS / "01-plan-same.json"))
    in_order = what_if(cluster, Reassign(plan), release=release)
    assert all(change.is_none for change in in_order.changes)
    for events in ([Reassign(plan)], [Reassign(plan), Crash(1)]):
        found = in_any_order(cluster, *events, release=release)
        assert [(case.health, case.arrives) for case in found.cases] == [(Online, None)]


@rows("release", ["2.3", "3.9"])
def test_a_broker_is_removed_after_its_partitions_have_moved(release: str) -> None:
    """The tool's plan names all partitions; two of them stay."""
    cluster, plan = listed("in-04-decommission-before.txt"), read_plan(str(LISTINGS / "in-04-plan.json"))
    events: list[ClusterEvent] = [Reassign(plan), Crash(32)]
    found = what_if(cluster, *events, release=release)
    assert {each.partition: each.after.assignment for each in found.changes} == {
        partition: ReplicaAssignment(target) for partition, target in plan.items()
    }
    assert {health for _, _, health in ends(found, "ttt").values()} == {Online}
    arrives = {
        partition.partition: case.arrives
        for case in in_any_order(cluster, Reassign(plan), release=release).cases
        for partition in case.partitions
    }
    assert arrives == {number: None if number in (0, 6) else True for number in range(8)}


@rows("release", ["2.3", "3.9"])
def test_a_reassignment_waiting_in_zookeeper_begins_with_the_controller(release: str) -> None:
    t0 = TopicPartition("t", 0)
    cluster = replace(listed("01-plan-same.txt", live={1, 2, 3}), reassigning={t0: (2, 3)})
    found = what_if(cluster, release=release)
    assert found.at_first == (t0,)
    assert found.changes[0].after.assignment == ReplicaAssignment((2, 3))
    with pytest.raises(UsageError, match="/admin/reassign_partitions requests a move of t-0; --any-order explores"):
        in_any_order(cluster, Crash(1), release=release)


def test_json_is_one_object() -> None:
    found = what_if(listed("08-marked.txt"), Return(2))
    partition = next(each for each in json.loads(json.dumps(found.to_json()))["partitions"] if each["topic"] == "t")
    assert partition["health"] == "deleted"
    assert partition["after"]["replicas"] == []
