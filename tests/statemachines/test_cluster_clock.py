"""Time in a `Cluster`: what brokers and controllers do by the clock, in order, and only when time passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from statemachines import Cluster
from statemachines.cluster import NotReached
from statemachines.cluster_history import Elected, Failed
from statemachines.cluster_steps import AdvanceController, ChangeIsr, RunTask, SendFetch, TakeRequest
from statemachines.messages.errors import Errors
from statemachines.releases import RELEASES, Release
from tests.rows import rows

SEEDS = (None, 0, 1, 2)


def with_topic(release: str = "3.9", replicas: tuple[int, ...] = (1, 2)) -> Cluster:
    cluster = Cluster((1, 2, 3), release, controller=3)
    cluster.settle()
    cluster.create_topic("t", {0: replicas})
    cluster.settle()
    return cluster


def seconds_until(cluster: Cluster, is_so: Callable[[Cluster], bool]) -> float:
    """How long it takes."""
    before = cluster.seconds
    cluster.advance(700, until=is_so)
    return cluster.seconds - before


@rows("release", RELEASES)
def test_a_follower_leaves_the_isr_after_the_lag_time_and_joins_again(release: str) -> None:
    """The check comes twice in that time, so it takes up to half of it longer; in 0.10.1 up to all of it."""
    lag = 30 if Release(release) >= Release("2.5") else 10
    longest = 2 * lag if release == "0.10.1" else lag + lag / 2
    cluster = with_topic(release)
    cluster.advance(7)
    cluster.hold_fetches(2)
    cluster.produce("t", 0, "m0")
    cluster.advance(lag)
    assert cluster.partition("t", 0).isr == (1, 2)
    cluster.advance(longest - lag)
    assert cluster.partition("t", 0).isr == (1,)
    cluster.resume_fetches(2)
    cluster.advance(0)
    assert cluster.partition("t", 0).isr == (1, 2)


@rows("release, stays", [("2.0", False), ("2.1", True), ("3.9", True)])
def test_a_member_that_is_at_the_end_of_the_log_stays_since_2_1(release: str, stays: bool) -> None:
    cluster = with_topic(release)
    cluster.hold_fetches(2)
    cluster.advance(600)
    assert cluster.partition("t", 0).isr == ((1, 2) if stays else (1,))


@rows("seed", SEEDS)
def test_who_fetches_stays_in_the_isr(seed: int | None) -> None:
    cluster = with_topic("0.10.2")
    for number in range(5):
        cluster.produce("t", 0, number)
        cluster.advance(20, seed)
    assert cluster.partition("t", 0).isr == (1, 2)
    assert cluster.steps() == ()


def test_high_watermarks_are_checkpointed_every_five_seconds() -> None:
    cluster = with_topic()
    cluster.produce("t", 0, "m0")
    cluster.settle()
    cluster.advance(4.9)
    cluster.crash(2)
    cluster.advance(0.2)
    cluster.crash(1)
    assert {broker: log.high_watermark for broker, log in cluster.logs("t", 0).items()} == {1: 1, 2: 0}


@rows("release", ["0.10.1", "1.0", "2.8", "3.9"])
def test_preferred_replicas_lead_again_five_seconds_after_a_failover_or_within_300(release: str) -> None:
    cluster = with_topic(release)
    cluster.advance(6)
    cluster.crash(1)
    cluster.settle()
    cluster.restart(1)
    cluster.settle()
    assert cluster.partition("t", 0).leader == 2
    assert seconds_until(cluster, lambda cluster: cluster.partition("t", 0).leader == 1) == 299
    cluster.crash(1)
    cluster.settle()
    cluster.restart(1)
    cluster.fail_over()
    assert seconds_until(cluster, lambda cluster: cluster.partition("t", 0).leader == 1) == 5


@rows("release, seconds", [("0.10.2", 15), ("2.8", 15), ("3.0", 15), ("3.1", 10), ("3.9", 10)])
def test_a_broker_that_cannot_shut_down_cleanly_asks_three_times(release: str, seconds: int) -> None:
    """Until 3.0 it waits after the last attempt, too."""
    cluster = with_topic(release)
    cluster.crash(2)
    cluster.settle()
    cluster.shut_down(1)
    assert seconds_until(cluster, lambda cluster: 1 not in cluster.live) == seconds


def test_a_leader_that_is_replaced_meanwhile_stops_at_its_second_attempt() -> None:
    cluster = with_topic("2.4")
    cluster.crash(2)
    cluster.settle()
    cluster.shut_down(1)
    cluster.advance(2)
    cluster.restart(2)
    assert seconds_until(cluster, lambda cluster: 1 not in cluster.live) == 3
    assert cluster.partition("t", 0).leader == 2


@rows(
    "release, at, seconds",
    [
        ("0.10.2", 37.5, 7.5),
        ("0.10.2", 57.5, 5),
        ("2.6", 37.5, 7.5),
        ("2.6", 57.5, 5),
        ("2.7", 37.5, 0),
        ("3.9", 57.5, 0),
    ],
)
def test_the_controller_hears_of_an_isr(release: str, at: float, seconds: float) -> None:
    """Until 2.6 leaders notify it when no ISR has changed for 5 seconds, or after a minute without notification."""
    cluster = with_topic(release)
    cluster.crash(2)
    cluster.settle()
    cluster.advance(at)
    cluster.restart(2)
    cluster.settle(without=ChangeIsr)
    its = cluster.controllers[3].context.state

    def knows(_: Cluster) -> bool:
        return any(known.leader_and_isr.isr == (1, 2) for known in its.partition_leadership_info.values())

    assert seconds_until(cluster, knows) == seconds


def test_a_producer_waits_for_thirty_seconds_and_its_record_stays() -> None:
    cluster = with_topic()
    cluster.hold_fetches(2)
    first = cluster.produce("t", 0, "m0")
    cluster.advance(10)
    second = cluster.produce("t", 0, "m1")
    cluster.advance(19.9)
    assert first.error is None
    cluster.advance(0.1)
    assert [first.error, second.error] == [Errors.REQUEST_TIMED_OUT, None]
    cluster.resume_fetches(2)
    cluster.settle()
    assert (first.acknowledged, second.acknowledged) == (False, True)
    assert cluster.consume("t", 0) == ["m0", "m1"]


@rows("release, reaper", [("0.10.2", "ExpirationReaper-1"), ("0.11", "ExpirationReaper-1-Produce")])
def test_a_producer_hears_that_its_time_is_over_from_a_leader_without_session(release: str, reaper: str) -> None:
    """Only what writes to ZooKeeper waits for a session."""
    cluster = with_topic(release)
    cluster.hold_fetches(2)
    produced = cluster.produce("t", 0, "m0")
    cluster.expire_session(1)
    cluster.advance(30, without=lambda step: isinstance(step, AdvanceController | RunTask))
    assert RunTask(1, reaper) in cluster.steps()
    assert RunTask(1, "isr-expiration") not in cluster.steps()
    cluster.advance(0, without=AdvanceController)
    assert produced.error is Errors.REQUEST_TIMED_OUT


# Time and steps.


@rows("release", RELEASES)
def test_settling_takes_no_time(release: str) -> None:
    cluster = with_topic(release)
    cluster.advance(4)
    for _ in range(5):
        cluster.produce("t", 0, "m")
        cluster.settle()
    cluster.crash(2)
    cluster.settle()
    assert not any(isinstance(step, RunTask) for step in cluster.steps())


def test_tasks_are_steps_that_may_wait() -> None:
    cluster = with_topic()
    cluster.advance(16, without=RunTask)
    due = [step for step in cluster.steps() if isinstance(step, RunTask)]
    names = ["auto-leader-rebalance-task", *["highwatermark-checkpoint", "isr-expiration"] * 3]
    assert sorted(each.name for each in due) == sorted(names)
    cluster.step(RunTask(1, "isr-expiration"))
    assert RunTask(1, "isr-expiration") not in cluster.steps()
    cluster.settle()
    assert cluster.steps() == ()
    cluster.advance(14)
    cluster.advance(5, without=RunTask)
    assert RunTask(1, "highwatermark-checkpoint") in cluster.steps()


def test_time_stops_when_something_is_true() -> None:
    cluster = with_topic()
    cluster.crash(1)
    cluster.settle()
    cluster.restart(1)
    cluster.settle()
    cluster.advance(600, until=lambda its: its.partition("t", 0).leader == 1)
    assert cluster.partition("t", 0).leader == 1
    with pytest.raises(NotReached, match="600 seconds"):
        cluster.advance(600, until=lambda its: its.partition("t", 0).leader == 2)


def test_the_parts_of_a_time_make_the_whole() -> None:
    def events(*parts: float) -> list[str]:
        cluster = with_topic("2.0")
        cluster.hold_fetches(2)
        cluster.produce("t", 0, "m0")
        cluster.shut_down(3)
        for part in parts:
            cluster.advance(part)
        return [*map(str, cluster.history)]

    assert events(20) == events(*[0.1] * 200) == events(3, 17) == events(0.001, 19.999)


def test_expiring_isrs_puts_off_all_else() -> None:
    cluster = with_topic()
    cluster.advance(3)
    cluster.hold_fetches(2)
    produced = cluster.produce("t", 0, "m0")
    before = len(cluster.history)
    cluster.expire_isrs()
    assert not any(isinstance(step, RunTask) for step in cluster.steps())
    cluster.settle()
    assert produced.acknowledged
    assert not any(isinstance(each, Elected | Failed) for each in cluster.history[before:])
    assert seconds_until(cluster, lambda cluster: cluster.brokers[1].disks["t", 0].high_watermark == 1) == 2  # type: ignore[index]


def test_a_broker_that_has_died_does_nothing_by_the_clock() -> None:
    cluster = with_topic()
    cluster.crash(2)
    cluster.advance(60, without=RunTask)
    assert 2 not in {step.broker for step in cluster.steps() if isinstance(step, RunTask)}
    cluster.restart(2)
    cluster.settle()
    cluster.advance(4)
    cluster.advance(1, without=RunTask)
    assert [step for step in cluster.steps() if isinstance(step, RunTask) and step.broker == 2] == [
        RunTask(2, "highwatermark-checkpoint")
    ]


@rows("release", ["0.10.2", "2.6"])
def test_until_2_6_a_leader_without_session_changes_no_isr(release: str) -> None:
    cluster = with_topic(release)
    cluster.hold_fetches(2)
    cluster.produce("t", 0, "m0")
    cluster.expire_session(1)
    cluster.advance(60, without=AdvanceController)
    assert cluster.partition("t", 0).isr == (1, 2)


@rows("seconds", [-1, -0.1, float("nan"), float("inf"), 86_401, "1", None, True])
def test_what_is_no_time_is_refused(seconds: object) -> None:
    with pytest.raises(ValueError, match=r"^seconds: .*, allowed are numbers from 0 to 86400"):
        with_topic().advance(seconds)  # type: ignore[arg-type]


def test_threads_have_the_names_that_kafka_gives_them() -> None:
    assert TakeRequest(1, 2, "LeaderAndIsr").thread == "Controller-1-to-broker-2-send-thread"
    assert SendFetch(2, 1, ()).thread == "ReplicaFetcherThread-0-1"


@rows("release, error", [("0.10.2", None), ("2.3", None), ("2.4", Errors.UNKNOWN_TOPIC_OR_PARTITION)])
def test_a_producer_whose_topic_is_deleted_waits_until_its_time_ends(release: str, error: Errors | None) -> None:
    """Since 2.4 it hears of it at once."""
    cluster = Cluster((1, 2, 3), release, controller=3, delete_topic_enable=True)
    cluster.settle()
    cluster.create_topic("t", {0: (1, 2)})
    cluster.settle()
    cluster.hold_fetches(2)
    produced = cluster.produce("t", 0, "m0")
    cluster.delete_topic("t")
    cluster.settle()
    assert produced.error is error
    cluster.advance(30)
    assert produced.error is (error or Errors.REQUEST_TIMED_OUT)
