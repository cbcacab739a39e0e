"""Logs of a `Cluster`: what producers and consumers see, how records are lost, and how logs come to differ."""

from __future__ import annotations

import random

import pytest

from statemachines import Cluster
from statemachines.broker.data_plane import Appended, Halted, Truncated
from statemachines.broker.log.unified_log import PartitionLogs, UnifiedLog
from statemachines.cluster import NotSettled
from statemachines.cluster_history import Written, unclean_elections
from statemachines.cluster_steps import ChangeIsr, SendFetch, Step, TakeFetch, TakeFetchResponse, TakeRequest
from statemachines.messages.errors import Errors
from statemachines.messages.records import Record
from statemachines.messages.topic_partition import TopicPartition
from statemachines.releases import RELEASES, Release
from tests.rows import rows

T0 = TopicPartition("t", 0)


def with_topic(release: str = "3.9", replicas: tuple[int, ...] = (1, 2), **more: object) -> Cluster:
    cluster = Cluster((1, 2, 3), release, controller=3, **more)  # type: ignore[arg-type]
    cluster.settle()  # until 0.10.1 brokers follow nobody before they know who lives
    cluster.create_topic("t", {0: replicas})
    cluster.settle()
    return cluster


def logs(cluster: Cluster) -> list[str]:
    return [str(log) for log in cluster.logs("t", 0).values()]


def values(cluster: Cluster, broker: int) -> list[object]:
    return [each.value for each in cluster.logs("t", 0)[broker].records]


# What is shown of logs.


def test_logs_print_as_rows() -> None:
    """With the bar at the high watermark, and who leads or is down."""
    cluster = with_topic("3.9", (1, 2))
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.checkpoint()
    cluster.crash(1)
    cluster.settle()
    cluster.produce("t", 0, "longer", acks=1)
    assert str(cluster.logs("t", 0)).splitlines() == [
        "broker 1 down    m0@0 |             LEO 1, HW 1",
        "broker 2 leads   m0@0   longer@1 |  LEO 2, HW 2",
    ]
    cluster.crash(2)
    assert [cluster.logs("t", 0).name(each) for each in (1, 2)] == ["broker 1 down", "broker 2 down"]


def test_logs_of_a_deleted_topic_have_no_leader() -> None:
    """A broker that is down still has its log."""
    cluster = with_topic("3.9", (1, 2))
    cluster.crash(2)
    cluster.settle()
    cluster.delete_topic("t")
    cluster.settle()
    cluster.zookeeper.delete(None, "/brokers/topics/t/partitions/0/state")
    assert str(cluster.logs("t", 0)).splitlines()[-1] == "broker 2 down |  LEO 0, HW 0"


def test_a_high_watermark_beyond_the_end_has_no_bar() -> None:
    """Until 2.3 a log may be cut below it."""
    log = UnifiedLog((Record("m0"),), high_watermark=2)
    assert str(PartitionLogs({1: log}, 1, {1})) == "broker 1 leads   m0    LEO 1, HW 2"
    longer = log.append((Record("m1"), Record("m2")))
    assert str(PartitionLogs({1: log, 2: longer}, 2, {1, 2})).splitlines()[0].endswith("m0      |       LEO 1, HW 2")


def test_the_files_of_a_broker_are_as_old_as_its_last_checkpoint() -> None:
    """Leader epochs are written at once, and are what the broker finds after the records that it lost."""
    cluster = with_topic("3.9", (1, 2))
    cluster.produce("t", 0, "m0")
    cluster.settle()
    files = cluster.brokers[1].files
    assert files == {"replication-offset-checkpoint": "0\n1\nt 0 0\n", "t-0/leader-epoch-checkpoint": "0\n1\n0 0\n"}
    cluster.checkpoint(1)
    cluster.crash(2)
    cluster.settle()
    cluster.produce("t", 0, "m1")
    cluster.crash(1)
    assert cluster.brokers[1].files == {
        "replication-offset-checkpoint": "0\n1\nt 0 1\n",
        "t-0/leader-epoch-checkpoint": "0\n2\n0 0\n1 1\n",
    }
    assert [*with_topic("0.10.2").brokers[1].files] == ["replication-offset-checkpoint"]


# Producers and consumers.


@rows("release", RELEASES)
def test_a_record_is_committed_when_all_in_sync_have_it(release: str) -> None:
    cluster = with_topic(release)
    cluster.hold_fetches(2)
    produced = cluster.produce("t", 0, "m0")
    cluster.settle()
    assert (produced.acknowledged, cluster.consume("t", 0)) == (False, [])
    cluster.resume_fetches(2)
    cluster.settle()
    assert (produced.offset, produced.error, cluster.consume("t", 0)) == (0, None, ["m0"])
    assert values(cluster, 1) == values(cluster, 2) == ["m0"]


def test_a_follower_learns_that_a_record_is_committed_by_its_next_fetch() -> None:
    cluster = with_topic()
    cluster.produce("t", 0, "m0")
    seen = [logs(cluster)]
    while steps := cluster.steps():
        cluster.step(steps[0])
        if logs(cluster) != seen[-1]:
            seen.append(logs(cluster))
    assert seen == [["[m0@0] 1/0", "[] 0/0"], ["[m0@0] 1/0", "[m0@0] 1/0"], ["[m0@0] 1/1", "[m0@0] 1/0"]] + [
        ["[m0@0] 1/1", "[m0@0] 1/1"]
    ]


def test_an_idle_follower_has_nothing_to_fetch() -> None:
    cluster = with_topic()
    for _ in range(2):
        cluster.produce("t", 0, "m")
        cluster.settle()
        assert cluster.steps() == ()


@rows("acks, knows", [(0, (None, None)), (1, (0, None)), ("all", (None, None)), (-1, (None, None))])
def test_what_a_producer_knows_at_once(acks: object, knows: tuple[int | None, Errors | None]) -> None:
    cluster = with_topic()
    produced = cluster.produce("t", 0, "m0", acks)  # type: ignore[arg-type]
    assert (produced.offset, produced.error) == knows
    assert values(cluster, 1) == ["m0"]


def test_a_producer_with_acks_all_needs_enough_replicas_in_sync() -> None:
    cluster = with_topic(min_insync_replicas=2)
    cluster.crash(2)
    cluster.settle()
    assert cluster.produce("t", 0, "m0").error is Errors.NOT_ENOUGH_REPLICAS
    assert cluster.produce("t", 0, "m1", acks=1).acknowledged
    assert values(cluster, 1) == ["m1"]


@rows("release, error", [("2.6", Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND), ("3.6", None), ("3.9", None)])
def test_the_isr_shrinks_below_the_minimum_while_a_producer_waits(release: str, error: Errors | None) -> None:
    """Since 3.7 the high watermark does not advance, and before, 2.7 to 3.6, it does so with the committed ISR."""
    cluster = with_topic(release, min_insync_replicas=2)
    cluster.hold_fetches(2)
    produced = cluster.produce("t", 0, "m0")
    cluster.expire_isrs()
    cluster.settle()
    assert cluster.partition("t", 0).isr == (1,)
    advances = Release(release) < Release("2.7") or Release("3.1") <= Release(release) < Release("3.7")
    assert produced.error is (Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND if advances else error)
    assert cluster.consume("t", 0) == (["m0"] if advances else [])


def test_each_setting_of_a_topic_stays_when_another_one_changes() -> None:
    cluster = with_topic()
    cluster.set_min_insync_replicas("t", 2)
    cluster.allow_unclean("t")
    cluster.crash(2)
    cluster.settle()
    assert cluster.produce("t", 0, "m0").error is Errors.NOT_ENOUGH_REPLICAS
    cluster.set_min_insync_replicas("t", 1)
    assert cluster.produce("t", 0, "m0").error is None
    cluster.restart(2)
    cluster.hold_fetches(2)
    cluster.crash(1)
    cluster.settle()
    assert cluster.partition("t", 0).leader == 2


@rows("release, forgets", [("1.0", False), ("1.1.0", True), ("2.4.0", True), ("2.4.1", False), ("3.9", False)])
def test_the_second_change_of_a_default_made_logs_forget_their_topic(release: str, forgets: bool) -> None:
    """KAFKA-9254. A log that is new, whose topic is configured, or whose broker has started has forgotten nothing."""
    cluster = with_topic(release)
    cluster.set_min_insync_replicas("t", 2)
    cluster.crash(2)
    cluster.settle()
    forgotten = []
    for allowed in (False, False, True):
        cluster.allow_unclean(allowed=allowed)
        cluster.settle()
        forgotten.append(cluster.produce("t", 0, "m").error is None)
    assert forgotten == [False, False, forgets]
    cluster.create_topic("u", {0: (1, 2)})
    cluster.set_min_insync_replicas("u", 2)
    cluster.settle()
    cluster.allow_unclean(allowed=False)
    assert cluster.produce("u", 0, "m").error is Errors.NOT_ENOUGH_REPLICAS
    cluster.fail_over()
    cluster.settle()
    assert (cluster.produce("t", 0, "m").error is None) is forgets
    cluster.allow_unclean("t", allowed=False)
    assert cluster.produce("t", 0, "m").error is Errors.NOT_ENOUGH_REPLICAS
    cluster.allow_unclean(allowed=True)
    cluster.allow_unclean(allowed=False)
    assert (cluster.produce("t", 0, "m").error is None) is forgets
    cluster.bounce(1)
    cluster.settle()
    assert cluster.produce("t", 0, "m").error is Errors.NOT_ENOUGH_REPLICAS


def test_the_high_watermark_advances_when_fewer_replicas_are_enough() -> None:
    """By the next record; since 3.7 it waits while the ISR is too small."""
    cluster = with_topic(replicas=(1, 2, 3), min_insync_replicas=3)
    cluster.crash(3)
    cluster.settle()
    cluster.produce("t", 0, "m0", acks=1)
    cluster.settle()
    assert cluster.consume("t", 0) == []
    cluster.set_min_insync_replicas("t", 2)
    cluster.settle()
    assert cluster.consume("t", 0) == []
    cluster.produce("t", 0, "m1")
    cluster.settle()
    assert cluster.consume("t", 0) == ["m0", "m1"]


def test_a_producer_that_asks_the_wrong_broker_is_refused() -> None:
    cluster = with_topic(replicas=(1, 2))
    assert cluster.produce("t", 0, "m0", to=2).error is Errors.NOT_LEADER_OR_FOLLOWER
    assert cluster.produce("t", 0, "m0", to=3).error is Errors.NOT_LEADER_OR_FOLLOWER
    assert cluster.produce("t", 0, "m0", acks=0, to=2).error is None
    cluster.crash(2)
    assert cluster.produce("t", 0, "m0", to=2).error is Errors.NETWORK_EXCEPTION
    cluster.crash(1)
    cluster.settle()
    assert cluster.produce("t", 0, "m0").error is Errors.LEADER_NOT_AVAILABLE
    assert values(cluster, 1) == values(cluster, 2) == []


@rows("release, error", [("1.1.1", Errors.UNKNOWN_TOPIC_OR_PARTITION), ("2.0.0", Errors.NOT_LEADER_OR_FOLLOWER)])
def test_a_broker_without_a_replica_knows_since_2_0_that_there_is_a_leader(release: str, error: Errors) -> None:
    """Also one whose replica has moved away [KAFKA-6796]."""
    cluster = with_topic(release)
    assert cluster.produce("t", 0, "m0", to=3).error is error
    cluster.reassign({T0: (2, 3)})
    cluster.settle()
    assert cluster.produce("t", 0, "m0", to=1).error is error
    with pytest.raises(ValueError, match=error.name):
        cluster.consume("t", 0, at=1)


def test_a_leader_that_has_not_heard_of_a_partition_by_update_metadata_serves_no_client() -> None:
    cluster = with_topic()
    cluster.create_topic("u", {0: (1, 2)})
    cluster.settle(without=lambda step: isinstance(step, TakeRequest) and step.request == "UpdateMetadata")
    assert cluster.produce("u", 0, "m0").error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.produce("u", 0, "m0", acks=0).error is None
    with pytest.raises(ValueError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        cluster.consume("u", 0)
    cluster.settle()
    assert cluster.logs("u", 0)[1].records == ()
    assert cluster.produce("u", 0, "m0").error is None


@rows("release, error", [("1.1.1", None), ("2.0.0", Errors.UNKNOWN_TOPIC_OR_PARTITION)])
def test_until_1_1_it_is_enough_that_the_leader_has_heard_of_the_topic(release: str, error: Errors | None) -> None:
    cluster = with_topic(release)
    cluster.create_partitions("t", 2)
    cluster.settle(without=lambda step: isinstance(step, TakeRequest) and step.request == "UpdateMetadata")
    assert cluster.produce("t", 1, "m0").error is error


def test_a_producer_that_waits_hears_that_its_leader_has_lost_the_leadership() -> None:
    cluster = with_topic(replicas=(1, 2))
    cluster.hold_fetches(2)
    produced = cluster.produce("t", 0, "m0")
    cluster.reassign({("t", 0): (2, 1)})
    cluster.settle()
    cluster.elect([("t", 0)])
    cluster.settle()
    assert cluster.partition("t", 0).leader == 2
    assert produced.error is Errors.NOT_LEADER_OR_FOLLOWER
    assert values(cluster, 1) == []


def test_an_old_leader_accepts_records_until_it_hears_of_the_new_one() -> None:
    """Then produce requests to it fail, and it cuts what it has accepted."""
    cluster = with_topic(replicas=(2, 1, 3))
    cluster.crash(2)
    cluster.settle()
    cluster.restart(2)
    cluster.settle()
    assert cluster.partition("t", 0).leader == 1
    cluster.elect([("t", 0)])
    cluster.settle(without=lambda step: isinstance(step, TakeRequest) and step.broker == 1)
    assert cluster.partition("t", 0).leader == 2
    assert cluster.produce("t", 0, "m0", acks=1, to=1).acknowledged
    cluster.settle()
    assert cluster.produce("t", 0, "m1", acks=1, to=1).error is Errors.NOT_LEADER_OR_FOLLOWER
    assert cluster.consume("t", 0) == values(cluster, 1) == []


def test_a_producer_does_not_hear_from_a_leader_that_dies() -> None:
    cluster = with_topic()
    produced = cluster.produce("t", 0, "m0")
    cluster.crash(1)
    assert (produced.acknowledged, produced.error) == (False, Errors.NETWORK_EXCEPTION)


def test_a_consumer_reads_from_an_offset_on() -> None:
    cluster = with_topic()
    for value in "abc":
        cluster.produce("t", 0, value)
    cluster.settle()
    assert cluster.consume("t", 0, 1) == ["b", "c"]
    assert cluster.consume("t", 0, 3) == []
    cluster.hold_fetches(2)
    cluster.produce("t", 0, "d", acks=1)
    assert cluster.consume("t", 0, 4) == [], "not committed"
    with pytest.raises(ValueError, match="OFFSET_OUT_OF_RANGE"):
        cluster.consume("t", 0, 5)
    with pytest.raises(ValueError, match="NOT_LEADER"):
        cluster.consume("t", 0, at=2)
    with pytest.raises(ValueError, match="broker 9"):
        cluster.consume("t", 0, at=9)


# The article's records: LEO 8, 4 and 6.


@rows("release", RELEASES)
def test_a_leader_with_eight_records_fails_and_the_four_that_were_committed_stay(release: str) -> None:
    """The others were never committed. Broker 2 becomes leader with 4, and broker 3 cuts its log there."""
    cluster = with_topic(release, (1, 2, 3))
    for number in range(4):
        cluster.produce("t", 0, f"m{number}")
    cluster.settle()
    cluster.hold_fetches(2)
    for number in range(4, 6):
        cluster.produce("t", 0, f"m{number}")
    cluster.settle()
    cluster.hold_fetches(3)
    for number in range(6, 8):
        cluster.produce("t", 0, f"m{number}")
    assert [log.end_offset for log in cluster.logs("t", 0).values()] == [8, 4, 6]
    assert cluster.consume("t", 0) == ["m0", "m1", "m2", "m3"]
    cluster.crash(1)
    cluster.settle()
    assert cluster.partition("t", 0).leader == 2
    cluster.resume_fetches(3)
    cluster.restart(1)
    cluster.settle()
    assert [values(cluster, broker) for broker in (1, 2, 3)] == [["m0", "m1", "m2", "m3"]] * 3
    assert cluster.consume("t", 0) == ["m0", "m1", "m2", "m3"]


# Losses.


def restarted_unnoticed(release: str) -> Cluster:
    """Broker 2 has m1, which is committed, and does not know that; it restarts, and becomes follower again."""
    cluster = Cluster((1, 2), release, unclean=True)
    cluster.settle()
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.checkpoint(2)
    m1 = cluster.produce("t", 0, "m1")
    cluster.settle(until=lambda _: m1.acknowledged)
    cluster.checkpoint(1)
    cluster.hold_fetches(2)
    cluster.bounce(2)
    for _ in range(
        2
    ):  # until 0.10.1 the first controller's LeaderAndIsr comes before its UpdateMetadata [KAFKA-4443]
        cluster.fail_over()
        cluster.settle()
    return cluster


@rows("release, lost", [(release, Release(release) < Release("0.11")) for release in RELEASES])
def test_an_acknowledged_record_is_lost_until_0_10(release: str, lost: bool) -> None:
    """Article 003, T1: the follower cuts its log at its high watermark, and is elected before it fetches."""
    cluster = restarted_unnoticed(release)
    assert len(values(cluster, 2)) == (1 if lost else 2)
    cluster.crash(1)
    cluster.settle()
    cluster.resume_fetches(2)
    cluster.restart(1)
    cluster.settle()
    assert cluster.consume("t", 0) == (["m0"] if lost else ["m0", "m1"])
    assert values(cluster, 1) == values(cluster, 2)
    assert (Truncated(1, T0, cluster.logs("t", 0)[1].records[1:], 1, "") in cluster.history) is False


@rows("release, differ", [(release, Release(release) < Release("0.11")) for release in RELEASES])
def test_logs_differ_for_good_until_0_10(release: str, differ: bool) -> None:
    """T2: both brokers lose their power, and the one that has lost a record comes back first."""
    cluster = Cluster((1, 2), release, unclean=True)
    cluster.settle()
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.checkpoint()
    m1 = cluster.produce("t", 0, "m1")
    cluster.settle(until=lambda _: m1.acknowledged)
    cluster.checkpoint(1)
    cluster.crash(1)
    cluster.crash(2, keep=1)
    cluster.restart(2)
    cluster.settle()
    cluster.produce("t", 0, "m2")
    cluster.restart(1)
    cluster.settle()
    assert set(cluster.partition("t", 0).isr) == {1, 2}
    assert values(cluster, 2) == ["m0", "m2"]
    assert values(cluster, 1) == (["m0", "m1"] if differ else ["m0", "m2"])


@rows("release", RELEASES)
def test_until_2_0_0_a_broker_halts_if_its_log_ends_after_its_leaders(release: str) -> None:
    """KAFKA-7414: unclean elections are forbidden again, after one has lost a record. Since 2.0.1 the log is cut."""
    cluster = with_topic(release, unclean=True)
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    cluster.produce("t", 0, "m1")
    cluster.checkpoint()
    cluster.crash(1)
    cluster.settle()
    cluster.restart(2)
    cluster.settle()
    assert (unclean_elections(cluster.history), cluster.partition("t", 0).leader) == ({T0}, 2)
    cluster.allow_unclean("t", False)
    cluster.restart(1)
    cluster.settle()
    halts = Release(release) < Release("2.0")  # the line 2.0 is 2.0.1
    assert (Halted(1, T0) in cluster.history) is halts
    assert (1 not in cluster.live) is halts
    assert values(cluster, 1) == (["m0", "m1"] if halts else ["m0"])


def test_an_unclean_election_loses_a_record() -> None:
    cluster = with_topic("3.9", unclean=True)
    cluster.crash(2)
    cluster.settle()
    assert cluster.produce("t", 0, "m0").acknowledged
    cluster.crash(1)
    cluster.restart(2)
    cluster.settle()
    assert unclean_elections(cluster.history) == {T0}
    cluster.restart(1)
    cluster.settle()
    assert cluster.consume("t", 0) == values(cluster, 1) == []
    (cut,) = [each for each in cluster.history if isinstance(each, Truncated)]
    assert (cut.broker, [each.value for each in cut.records], cut.offset) == (1, ["m0"], 0)


@rows("release", RELEASES[1:])
def test_a_leader_that_missed_an_epoch_counts_a_follower_that_has_cut_its_log(release: str) -> None:
    """K11: one of two replicas that acknowledge a record does not have it any more, and leads when the other dies.

    In 0.10.1 the next controller informs broker 1 of the missed epoch before it elects.
    """
    cluster = Cluster((1, 2, 3), release, controller=2, min_insync_replicas=2)
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    cluster.create_topic("t", {0: (2, 1, 3)})
    cluster.settle()
    cluster.restart(2)
    cluster.settle()
    cluster.fail_over()
    cluster.settle()
    if cluster.controller != 2:
        cluster.fail_over()
        cluster.settle(until=lambda it: it.controller == 2)
        cluster.settle()
    cluster.hold_fetches(2)
    produced = cluster.produce("t", 0, "m0")
    cluster.settle()
    assert (cluster.partition("t", 0).leader, values(cluster, 3), produced.acknowledged) == (1, ["m0"], False)

    def is_for_broker_1(step: Step) -> bool:
        return isinstance(step, TakeRequest) and step.broker == 1

    cluster.elect([("t", 0)])
    cluster.settle(without=is_for_broker_1)
    assert (cluster.partition("t", 0).leader, values(cluster, 3)) == (2, [])
    cluster.hold_fetches(3)
    cluster.crash(2)
    cluster.settle()
    assert (cluster.partition("t", 0).leader, produced.acknowledged) == (1, True)
    assert cluster.consume("t", 0) == ["m0"]
    cluster.crash(1)
    cluster.settle()
    assert (cluster.partition("t", 0).leader, cluster.consume("t", 0)) == (3, [])


# Disks.


def test_a_crash_keeps_as_many_records_as_it_is_told() -> None:
    cluster = with_topic()
    cluster.create_topic("u", {0: (2, 1)})
    cluster.settle()
    for value in "abc":
        cluster.produce("t", 0, value)
        cluster.produce("u", 0, value)
    cluster.settle()
    cluster.crash(2, keep={("t", 0): 1})
    assert (len(values(cluster, 2)), cluster.logs("u", 0)[2].end_offset) == (1, 3)
    cluster.restart(2)
    cluster.crash(2, keep=2)
    assert (len(values(cluster, 2)), cluster.logs("u", 0)[2].end_offset) == (1, 2)
    for keep in (-1, True, 1.0, {("t", 0): -1}, {"t": 1}):
        with pytest.raises(ValueError, match=r"keep|partition"):
            cluster.crash(1, keep=keep)  # type: ignore[arg-type, misc]
    assert 1 in cluster.live


def test_a_broker_that_stops_cleanly_writes_its_high_watermark() -> None:
    cluster = with_topic()
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.crash(2)
    assert logs(cluster)[1] == "[m0@0] 1/0", "no checkpoint"
    cluster.settle()
    cluster.restart(2)
    cluster.settle()
    cluster.shut_down(2)
    cluster.settle()
    assert logs(cluster)[1] == "[m0@0] 1/1"


def test_a_broker_that_stops_before_it_hears_of_its_partitions_leaves_its_files() -> None:
    cluster = with_topic()
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.checkpoint(2)
    cluster.crash(2)
    broker = cluster.brokers[2]
    before = broker.files
    assert before["replication-offset-checkpoint"] == "0\n1\nt 0 1\n"
    broker.start()
    broker.stop(cleanly=True)
    assert broker.files == before


def test_a_replica_that_is_deleted_has_no_log() -> None:
    cluster = with_topic()
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.reassign({("t", 0): (1, 3)})
    cluster.settle()
    assert cluster.logs("t", 0).keys() == {1, 3}
    assert values(cluster, 3) == ["m0"]
    cluster.delete_topic("t")
    cluster.settle()
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    assert logs(cluster) == ["[] 0/0", "[] 0/0"]


# ISRs.


@rows("release", RELEASES)
def test_a_follower_that_lags_leaves_the_isr_and_joins_again(release: str) -> None:
    cluster = with_topic(release)
    cluster.hold_fetches(2)
    produced = cluster.produce("t", 0, "m0")
    cluster.expire_isrs()
    cluster.settle()
    assert cluster.partition("t", 0).isr == (1,)
    cluster.produce("t", 0, "m1")
    assert produced.acknowledged
    cluster.resume_fetches(2)
    cluster.settle()
    assert cluster.partition("t", 0).isr == (1, 2)
    cluster.expire_isrs()
    cluster.settle()
    assert cluster.partition("t", 0).isr == (1, 2), "it is caught up"


@rows("release", RELEASES)
def test_followers_that_fetch_stay_in_the_isr(release: str) -> None:
    """However much time passes; also one whose fetch of the last record was due."""
    cluster = with_topic(release)
    for _ in range(2):
        done = len(cluster.history)
        cluster.expire_isrs()
        cluster.settle()
        assert cluster.history[done:] == []
    cluster.produce("t", 0, "m0")
    cluster.expire_isrs()
    cluster.settle()
    assert cluster.partition("t", 0).isr == (1, 2)
    assert not any(isinstance(each, Written) and each.path.endswith("/state") for each in cluster.history[done:])


@rows("release", ["0.10.2", "2.0.0"])
def test_only_the_broker_whose_log_is_too_long_halts(release: str) -> None:
    """Another one takes an answer right after it, which brings nothing but a high watermark."""
    cluster = with_topic(release, unclean=True)
    cluster.create_topic("u", {0: (3, 2)})
    cluster.crash(2)
    cluster.settle()
    cluster.produce("t", 0, "m0")
    cluster.checkpoint(1)
    cluster.crash(1)
    cluster.restart(2)
    cluster.settle()
    cluster.allow_unclean("t", False)
    cluster.produce("u", 0, "m1")
    cluster.settle(until=lambda it: it.logs("u", 0)[2].end_offset == 1)
    cluster.restart(1)
    cluster.settle(
        until=lambda it: 1 not in it.live,
        without=lambda step: isinstance(step, TakeFetchResponse) and step.follower == 2,
    )
    assert cluster.history[-1] == Halted(1, T0)
    cluster.step(TakeFetchResponse(2, 3))
    assert cluster.history[-1] == Halted(1, T0)
    assert cluster.live == {2, 3}


def test_fetches_of_one_partition_are_held() -> None:
    cluster = with_topic()
    cluster.create_topic("u", {0: (1, 2)})
    cluster.settle()
    cluster.hold_fetches(2, ("t", 0))
    cluster.produce("t", 0, "a")
    cluster.produce("u", 0, "b")
    cluster.settle()
    assert (cluster.consume("t", 0), cluster.consume("u", 0)) == ([], ["b"])
    cluster.resume_fetches(2, ("t", 0))
    cluster.settle()
    assert cluster.consume("t", 0) == ["a"]


def test_a_late_answer_of_a_former_leader_is_ignored() -> None:
    """The leader answers, the leadership moves, and the answer arrives."""
    cluster = with_topic(replicas=(1, 2, 3))
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.produce("t", 0, "m1")
    cluster.settle(without=TakeFetchResponse)
    assert {type(each) for each in cluster.steps()} == {TakeFetchResponse}
    cluster.crash(1)
    cluster.settle(without=TakeFetchResponse)
    before = logs(cluster)
    assert before[1:] == ["[m0@0] 1/1", "[m0@0] 1/1"]
    cluster.settle()
    assert logs(cluster)[1:] == before[1:]
    assert cluster.partition("t", 0).leader == 2


def test_steps_of_a_fetch_print_as_lines() -> None:
    cluster = with_topic()
    cluster.produce("t", 0, "m0")
    said: list[str] = []
    while isinstance(step := cluster.steps()[0], SendFetch | TakeFetch | TakeFetchResponse) and len(said) < 3:
        said.append(str(step))
        cluster.step(step)
    assert said == [
        "broker 2 fetches from broker 1: t-0",
        "broker 1 answers broker 2",
        "broker 2 takes the answer of broker 1",
    ]
    assert str(Appended(2, T0, 0, cluster.logs("t", 0)[2].records)) in map(str, cluster.history)
    assert not [each for each in cluster.steps() if isinstance(each, ChangeIsr)]


# Any order.


def random_run(seed: int, release: str) -> Cluster:
    """Random steps, process kills, elections and producers; then all brokers run, and the cluster rests."""
    chance = random.Random(f"{seed} {release}")
    cluster = Cluster((1, 2, 3), release, unclean=False, min_insync_replicas=chance.choice((1, 2)))
    cluster.create_topic("t", {0: chance.choice([(1, 2, 3), (2, 3, 1), (3, 1, 2)])})
    cluster.settle()
    for number in range(25):
        for _ in range(chance.randrange(12)):
            if steps := cluster.steps():
                cluster.step(chance.choice(steps))
        dead = sorted({1, 2, 3} - cluster.live)
        match chance.choice(("produce", "produce", "produce", "crash", "restart", "restart", "elect", "expire")):
            case "produce":
                cluster.produce("t", 0, number)
            case "crash" if not dead:
                cluster.crash(chance.choice((1, 2, 3)))
            case "restart" if dead:
                cluster.restart(chance.choice(dead))
            case "elect":
                cluster.elect([("t", 0)])
            case "expire":
                cluster.expire_isrs()
    cluster.restart(*sorted({1, 2, 3} - cluster.live))
    cluster.settle()
    return cluster


@rows("release", ["2.4", "3.2", "3.9"])
def test_after_any_order_the_logs_of_an_isr_are_equal(release: str) -> None:
    """Brokers die with all their records on the disk. In 2.7 and 2.8 an ISR may stay small [KAFKA-12686]."""
    for seed in range(15):
        try:
            cluster = random_run(seed, release)
        except NotSettled:
            continue
        status = cluster.partition("t", 0)
        assert status.leader is not None
        assert {*status.isr} == {1, 2, 3}
        assert values(cluster, 1) == values(cluster, 2) == values(cluster, 3), (seed, cluster.history)


@rows("release, left", [("2.8.0", ["m0"]), ("2.8.1", ["m0", "m2"]), ("3.9", ["m0", "m2"])])
def test_a_late_answer_truncates_the_log_of_a_broker_that_leads_by_then(release: str, left: list[str]) -> None:
    """KAFKA-13207: the thread hears where the logs diverge, and truncates when it no longer fetches. m2 is lost."""
    cluster = with_topic(release, replicas=(2, 1))
    cluster.create_topic("u", {0: (1, 2)})  # broker 2 goes on to fetch from broker 1
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.hold_fetches(1)
    cluster.produce("t", 0, "m1", acks=1)
    cluster.reassign({("t", 0): (1, 2)})
    cluster.settle()
    cluster.elect([T0])
    cluster.settle(until=lambda it: any(type(step) is TakeFetchResponse for step in it.steps()))
    cluster.step(TakeFetchResponse(2, 1))
    cluster.resume_fetches(1)
    cluster.reassign({("t", 0): (2, 1)})
    cluster.settle(without=TakeFetchResponse)
    cluster.elect([T0])
    cluster.settle(until=lambda it: it.brokers[2].replica_manager.state.all_partitions[T0].is_led_by(2))
    m2 = cluster.produce("t", 0, "m2")
    cluster.settle(without=lambda step: step == (2, 1) and type(step) is TakeFetchResponse)
    assert m2.acknowledged
    cluster.settle()
    assert cluster.consume("t", 0) == left
    assert values(cluster, 1) == values(cluster, 2) == left
