"""How a broker leads, follows and stops on a controller's requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachines.broker.hosted_partition import OFFLINE_PARTITION, HostedPartition
from statemachines.broker.replica_manager import LogFailure
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import LeaderAndIsrResponse
from statemachines.messages.control_requests import LeaderAndIsrRequest, StopReplicaPartitionState, StopReplicaRequest
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition
from tests.rows import rows
from tests.statemachines.control import T0, T1
from tests.statemachines.receiving import BROKER_EPOCH, EPOCH, Broker, leader_and_isr_state

NONE, STALE, NO_LOG = Errors.NONE, Errors.STALE_CONTROLLER_EPOCH, Errors.NOT_LEADER_OR_FOLLOWER
UNREAD = {T0: LogFailure.ConfigNotRead}


# Leading and following.


def test_a_follower_fetches_from_its_leader() -> None:
    """And stops fetching when it leads itself."""
    broker = Broker()
    assert broker.lead(2, 0) == [NONE]
    assert broker.fetches() == (2, 0)
    assert broker.lead(1, 1) == [NONE]
    assert broker.fetches() is None
    assert [(change.leaders, change.followers) for change in broker.changes] == [((), (T0,)), ((T0,), ())]


def test_a_leader_in_a_new_epoch_has_not_become_leader_again() -> None:
    """But its epoch and its ISR are new."""
    broker = Broker()
    broker.lead(1, 0)
    assert broker.lead(1, 1, replicas=(1, 3)) == [NONE]
    assert (broker.hosted().leader_epoch, broker.hosted().state.isr) == (1, (1, 3))
    assert len(broker.changes) == 1


@pytest.mark.parametrize(("leader_epoch", "error"), [(2, STALE), (3, STALE), (4, NONE)])
def test_only_a_newer_leader_epoch_counts(leader_epoch: int, error: Errors) -> None:
    """An equal one brings no news: LeaderAndIsr alone never changes an ISR."""
    broker = Broker()
    broker.lead(1, 3)
    before = broker.known()
    assert broker.lead(2, leader_epoch) == [error]
    assert (broker.known() == before) is (error is STALE)


def test_each_partition_is_judged_by_itself() -> None:
    """A state may be stale for one and new for another."""
    broker = Broker()
    broker.lead(2, 3, T0)
    assert broker.lead(2, 3, T0, T1) == [STALE, NONE]
    assert broker.hosted(T1).leader == 2


def test_a_partition_of_others_is_not_led() -> None:
    """The broker then knows of it, and keeps nothing."""
    broker = Broker()
    assert broker.lead(1, 0, replicas=(2, 3)) == [Errors.UNKNOWN_TOPIC_OR_PARTITION]
    assert broker.hosted() == HostedPartition()
    assert broker.manager.state.logs == frozenset()


def test_a_leader_that_is_not_alive_is_not_followed() -> None:
    """The replica keeps its role, epoch and log, and the response does not mention it. [KAFKA-4443]"""
    broker = Broker()
    broker.tell(1, 3)
    assert broker.lead(2, 0) == [NONE]
    assert broker.hosted() == HostedPartition().with_log()
    assert broker.manager.state.logs == {T0}
    broker.tell(1, 2, 3)
    assert broker.lead(2, 0) == [NONE], "the request can come again"
    assert broker.fetches() == (2, 0)


def test_a_request_without_leader_changes_nothing() -> None:
    """Leader -1 is never alive: the old leader continues to lead, in its own view."""
    broker = Broker()
    broker.lead(1, 0)
    assert broker.lead(-1, 1) == [NONE]
    assert (broker.hosted().leader, broker.hosted().leader_epoch) == (1, 0)


def test_a_request_older_than_a_known_write_changes_nothing() -> None:
    """Since 3.3. The response does not say so. [KAFKA-13790]"""
    epochs = []
    for release in ("3.2", "3.3"):
        broker = Broker(ControlDesign(release))
        broker.lead(1, 3, partition_epoch=9)
        assert broker.lead(1, 4, partition_epoch=8) == [NONE]
        assert broker.lead(2, 5, partition_epoch=8) == [NONE]
        epochs.append(broker.hosted().leader_epoch)
    assert epochs == [5, 3]


@pytest.mark.parametrize(
    ("release", "in_the_next", "in_one_after"),
    [("2.0.0", (2, 0), (2, 0)), ("2.0.1", (2, 0), (2, 2)), ("2.1.0", (2, 1), (2, 2))],
)
def test_a_follower_of_the_same_leader_restarts_fetching(
    release: str, in_the_next: tuple[int, int], in_one_after: tuple[int, int]
) -> None:
    """Since 2.0.1 if an epoch was skipped, since another may have led in it; since 2.1 in each. [B9]"""
    fetching = []
    for epoch in (1, 2):
        broker = Broker(ControlDesign(release))
        broker.lead(2, 0)
        broker.lead(2, epoch)
        assert broker.hosted().leader_epoch == epoch
        fetching.append(broker.fetches())
    assert fetching == [in_the_next, in_one_after]


# Failures.


def test_a_failed_log_directory_makes_a_replica_offline() -> None:
    """Each response says so; nothing brings the replica back."""
    broker = Broker()
    broker.lead(2, 0, T0, T1)
    assert broker.manager.handle_log_dir_failure([T0]) == (T0,)
    assert (broker.hosted(T0), broker.fetches(T0), broker.fetches(T1)) == (OFFLINE_PARTITION, None, (2, 0))
    assert broker.lead(2, 1, T0, T1) == [Errors.KAFKA_STORAGE_ERROR, NONE]
    assert broker.stop(1) == [Errors.KAFKA_STORAGE_ERROR]


def test_a_log_that_is_not_open_does_not_fail_with_its_directory() -> None:
    """It was there before a restart, and is gone; the broker notices when the replica must lead or follow."""
    broker = Broker()
    broker.lead(2, 0)
    broker.manager.restart()
    broker.lead(2, 1, replicas=(2, 3))
    assert broker.manager.handle_log_dir_failure([T0]) == ()
    assert (broker.hosted(), broker.manager.state.logs) == (HostedPartition(), frozenset())
    assert broker.lead(2, 2) == [Errors.KAFKA_STORAGE_ERROR]


def test_with_a_failed_directory_only_new_replicas_get_a_log() -> None:
    """The log of an older one may be in the failed directory."""
    broker = Broker()
    broker.manager.handle_log_dir_failure([])
    assert broker.lead(1, 0, T0) == [Errors.KAFKA_STORAGE_ERROR]
    assert broker.lead(1, 0, T1, is_new=True) == [NONE]
    assert (broker.hosted(T0), broker.hosted(T1).leader) == (OFFLINE_PARTITION, 1)


@pytest.mark.parametrize("leader", [1, 2, 4])
def test_a_directory_that_fails_meanwhile_does_not_affect_other_partitions(leader: int) -> None:
    """Whether they lead, follow, or should follow a dead leader."""
    broker = Broker()
    errors = broker.lead(leader, 0, T0, T1, failures={T0: LogFailure.Storage})
    assert errors == [Errors.KAFKA_STORAGE_ERROR, NONE]
    assert broker.hosted(T0) == OFFLINE_PARTITION
    assert broker.manager.state.logs == {T1}


def test_until_2_6_one_read_that_fails_ends_the_request() -> None:
    """New followers already fetch from no leader, and the repeated request is stale for them. [B33, KAFKA-9769]"""
    broker = Broker(ControlDesign("2.6"))
    failing = {T1: LogFailure.ConfigNotRead}
    assert broker.lead(2, 0, T0, T1, failures=failing) == [Errors.UNKNOWN_SERVER_ERROR] * 2
    assert (broker.hosted(T0).leader, broker.fetches(T0)) == (2, None)
    assert broker.lead(2, 0, T0, T1) == [STALE, NONE]
    assert (broker.fetches(T0), broker.fetches(T1)) == (None, (2, 0))


def test_since_2_7_other_partitions_continue_after_a_failed_read() -> None:
    """Until 3.0 the replica counts as offline, until 3.5 the repeated request makes it follow, since 3.6 not."""
    came = {}
    for release in ("2.7", "3.1", "3.5", "3.6", "3.9"):
        broker = Broker(ControlDesign(release))
        assert broker.lead(2, 0, T0, T1, failures=UNREAD) == [NONE, NONE]
        assert broker.fetches(T1) == (2, 0)
        again = broker.lead(2, 0, T0)
        came[release] = (*again, broker.fetches(T0))
    assert came == {
        "2.7": (Errors.KAFKA_STORAGE_ERROR, None),
        "3.1": (NONE, (2, 0)),
        "3.5": (NONE, (2, 0)),
        "3.6": (NO_LOG, None),
        "3.9": (NO_LOG, None),
    }


def test_a_replica_that_is_in_its_epoch_without_log_ends_the_request() -> None:
    """Since 3.6: the other partitions' news is ignored too, until the replica's own epoch is newer."""
    broker = Broker()
    broker.lead(2, 0, failures=UNREAD)
    assert broker.lead(2, 0, T1, T0) == [NO_LOG, NO_LOG]
    assert broker.fetches(T1) is None
    assert broker.lead(2, 1, T1, T0) == [NONE, NONE]
    assert broker.fetches(T1) == broker.fetches(T0) == (2, 1)


def test_a_leader_with_a_failed_read_leads_at_the_next_request() -> None:
    """In each release since 3.1: it sets its epoch after the read."""
    broker = Broker()
    assert broker.lead(1, 0, failures=UNREAD) == [NONE]
    assert broker.hosted().leader is None
    assert broker.lead(1, 0) == [NONE]
    assert broker.hosted().leader == 1


def test_a_read_that_fails_beside_a_dead_leader_ends_the_request() -> None:
    """No release expects a failure there."""
    broker = Broker()
    assert broker.lead(4, 0, failures=UNREAD) == [Errors.UNKNOWN_SERVER_ERROR]


def test_until_3_0_a_partition_without_log_is_offline() -> None:
    """Also a partition that the broker does not keep. [#11225]"""
    hosted = []
    for release in ("0.11", "3.0", "3.1"):
        broker = Broker(ControlDesign(release))
        assert broker.lead(1, 0, replicas=(2, 3)) == [Errors.UNKNOWN_TOPIC_OR_PARTITION]
        hosted.append(broker.hosted())
    assert hosted == [HostedPartition(), OFFLINE_PARTITION, HostedPartition()]


def test_until_3_0_a_replica_that_is_refused_has_opened_no_log() -> None:
    """Yet a log from before a restart makes the replica offline, unless it was known already."""
    for known, release, expected in (
        (False, "3.0", Errors.KAFKA_STORAGE_ERROR),
        (False, "3.1", NONE),
        (True, "3.0", NONE),
    ):
        broker = Broker(ControlDesign(release))
        broker.lead(2, 0)
        if not known:
            broker.manager.restart()
        assert broker.lead(2, 1, replicas=(2, 3)) == [Errors.UNKNOWN_TOPIC_OR_PARTITION]
        assert broker.lead(2, 2) == [expected]


def test_a_log_that_is_there_needs_no_read() -> None:
    """After a restart the broker knows only its logs."""
    broker = Broker()
    broker.lead(2, 3)
    broker.manager.restart()
    assert (broker.manager.state.all_partitions, broker.manager.state.fetchers) == ({}, {})
    assert broker.lead(2, 3, failures=UNREAD) == [NONE]
    assert broker.fetches() == (2, 3)


# Stopping.


@rows("leader_epoch, error", [(3, NONE), (2, Errors.FENCED_LEADER_EPOCH), (4, NONE), (-1, NONE), (-2, NONE)])
def test_an_older_stop_is_fenced(leader_epoch: int, error: Errors) -> None:
    """But not one without epoch, nor one that deletes the topic. [KAFKA-9539]"""
    broker = Broker()
    broker.lead(2, 3)
    before = broker.known()
    assert broker.stop(leader_epoch) == [error]
    assert (broker.known() == before) is (error is not NONE)
    assert (broker.fetches() is None) is (error is NONE)


def test_until_3_4_0_a_stop_in_the_same_epoch_is_fenced_too() -> None:
    """After a cancelled reassignment the replica stayed. [KAFKA-13972]"""
    errors = []
    for release in ("2.5", "2.6", "3.4.0", "3.4.1"):
        broker = Broker(ControlDesign(release))
        broker.lead(2, 3)
        errors.extend(broker.stop(3))
    assert errors == [NONE, Errors.FENCED_LEADER_EPOCH, Errors.FENCED_LEADER_EPOCH, NONE]


def test_until_2_5_a_late_stop_stops() -> None:
    """It stops a replica that has returned since. [B29]"""
    broker = Broker(ControlDesign("2.5"))
    broker.lead(2, 3)
    assert broker.stop(2, delete=True) == [NONE]
    assert (broker.manager.state.all_partitions, broker.manager.state.logs) == ({}, frozenset())


def test_a_replica_that_stops_keeps_its_role() -> None:
    """Only deletion removes it: a leader that receives StopReplica still takes itself for the leader."""
    broker = Broker()
    broker.lead(1, 0)
    assert broker.stop(0) == [NONE]
    assert broker.hosted().is_led_by(1)
    assert broker.stop(0, delete=True) == [NONE]
    assert T0 not in broker.manager.state.all_partitions


def test_a_replica_that_is_not_known_is_deleted() -> None:
    """Its log may be left from before the broker's last stop."""
    broker = Broker()
    broker.lead(2, 3)
    broker.manager.restart()
    assert broker.stop(-2, delete=True) == [NONE]
    assert broker.manager.state.logs == frozenset()


def test_an_undeletable_log_is_reported() -> None:
    """The replica is gone, the log is not, and its topic waits. [ReplicaDeletionIneligible]"""
    broker = Broker()
    broker.lead(2, 3)
    assert broker.stop(-2, delete=True, failures={T0: LogFailure.Storage}) == [Errors.KAFKA_STORAGE_ERROR]
    assert broker.manager.state.all_partitions == {}


def test_deleting_without_a_log_does_not_fail() -> None:
    """Deleting a partition that was never kept here."""
    assert Broker().stop(-2, delete=True, failures={T0: LogFailure.Storage}) == [NONE]


def test_an_offline_replica_is_stopped_by_older_releases() -> None:
    """If it is not also deleted: an offline replica does nothing anyway."""
    errors = []
    for release in ("2.5", "2.6"):
        broker = Broker(ControlDesign(release))
        broker.lead(2, 3)
        broker.manager.handle_log_dir_failure([T0])
        errors.append([*broker.stop(-1), *broker.stop(-1, delete=True)])
    assert errors == [[NONE, Errors.KAFKA_STORAGE_ERROR], [Errors.KAFKA_STORAGE_ERROR] * 2]


def test_until_2_5_a_log_that_is_there_is_not_opened_without_configuration() -> None:
    """Since 2.6 the configuration is not read there. An open log is never read again."""
    answered = []
    for release in ("2.5.1", "2.6.0"):
        broker = Broker(ControlDesign(release))
        broker.lead(2, 0)
        answered += broker.lead(2, 1, failures=UNREAD)
        broker.manager.restart()
        answered += broker.lead(2, 2, failures=UNREAD)
    assert answered == [NONE, Errors.UNKNOWN_SERVER_ERROR, NONE, NONE]


@pytest.mark.parametrize(
    ("release", "with_log", "without_log"),
    [
        ("1.0.2", NONE, Errors.KAFKA_STORAGE_ERROR),
        ("1.1.0", Errors.KAFKA_STORAGE_ERROR, Errors.KAFKA_STORAGE_ERROR),
        ("2.0.1", Errors.KAFKA_STORAGE_ERROR, Errors.KAFKA_STORAGE_ERROR),
        ("2.1.0", NONE, Errors.KAFKA_STORAGE_ERROR),
        ("2.6.3", NONE, Errors.KAFKA_STORAGE_ERROR),
        ("3.1.0", NONE, NONE),
    ],
)
def test_deletions_after_a_directory_failure(release: str, with_log: Errors, without_log: Errors) -> None:
    """Whatever the response, the replica is gone, and so is its log."""
    answered = []
    for failures in ({}, UNREAD):
        broker = Broker(ControlDesign(release))
        broker.lead(2, 0, failures=failures)
        broker.manager.handle_log_dir_failure([])
        answered += broker.stop(-2, delete=True)
        assert (broker.manager.state.all_partitions, broker.manager.state.logs) == ({}, frozenset())
    assert answered == [with_log, without_log]


@pytest.mark.parametrize(
    ("release", "offline"), [("1.0.2", True), ("1.1.0", False), ("2.0.1", False), ("2.1.0", True)]
)
def test_deletions_of_offline_replicas(release: str, offline: bool) -> None:
    """From 1.1 to 2.0 deletion makes the replica offline, and it may return."""
    broker = Broker(ControlDesign(release))
    broker.lead(2, 0)
    broker.manager.handle_log_dir_failure([T0])
    assert broker.stop(-2, delete=True) == [Errors.KAFKA_STORAGE_ERROR]
    assert (T0 in broker.manager.state.all_partitions) is offline


def test_until_1_0_a_request_has_its_error_once() -> None:
    """The error of an older controller for the whole request; a failure for each partition."""
    answers = []
    for release in ("1.0.2", "1.1.0"):
        broker = Broker(ControlDesign(release))
        stale = LeaderAndIsrRequest(9, EPOCH - 1, BROKER_EPOCH, (leader_and_isr_state(2, 0),), ())
        broker.manager.state.controller_epoch = EPOCH
        failing = LeaderAndIsrRequest(9, EPOCH, BROKER_EPOCH, (leader_and_isr_state(2, 0),), ())
        answers += [broker.apis.handle(stale), broker.apis.handle(failing, UNREAD)]
    refused, failed = Errors.STALE_CONTROLLER_EPOCH, Errors.UNKNOWN_SERVER_ERROR
    assert answers == [
        LeaderAndIsrResponse(refused, ()),
        LeaderAndIsrResponse(NONE, ((T0, failed),)),
        LeaderAndIsrResponse(refused, ((T0, refused),)),
        LeaderAndIsrResponse(failed, ((T0, failed),)),
    ]


# Impossible requests.


def test_a_partition_twice_is_refused() -> None:
    """With the partition's name; nothing changes."""
    broker = Broker()
    before = broker.known()
    lead = LeaderAndIsrRequest(9, EPOCH, BROKER_EPOCH, (leader_and_isr_state(1, 0), leader_and_isr_state(2, 0)), ())
    with pytest.raises(ValueError, match="t-0 occurs twice in a request"):
        broker.apis.handle(lead)
    states = tuple(StopReplicaPartitionState(T0, 0, delete) for delete in (True, False))
    stop = StopReplicaRequest(9, EPOCH, BROKER_EPOCH, False, states)
    with pytest.raises(ValueError, match="t-0 occurs twice in a request"):
        broker.apis.handle(stop)
    assert broker.known() == before


@given(
    st.lists(
        st.tuples(st.sampled_from([1, 2, -1]), st.integers(0, 4), st.sampled_from([T0, T1]), st.integers(3, 6)),
        max_size=12,
    )
)
def test_epochs_never_fall_and_a_repeated_request_changes_nothing(
    requests: list[tuple[int, int, TopicPartition, int]],
) -> None:
    """Any requests in any order, each of them twice, as when replies are lost."""
    broker = Broker()
    highest: dict[TopicPartition, int] = {}
    for leader, leader_epoch, partition, epoch in requests:
        known_epoch = broker.manager.state.controller_epoch
        broker.lead(leader, leader_epoch, partition, epoch=epoch)
        once = broker.known()
        broker.lead(leader, leader_epoch, partition, epoch=epoch)
        assert broker.known() == once
        assert broker.manager.state.controller_epoch == max(known_epoch, epoch)
        for each, hosted in broker.manager.state.all_partitions.items():
            assert hosted.leader_epoch >= highest.get(each, -1)
            highest[each] = hosted.leader_epoch
            following = hosted.leader not in (None, 1)
            assert (each in broker.manager.state.fetchers) is following


def test_the_design_is_the_newest_if_none_is_given() -> None:
    """As everywhere."""
    assert Broker().manager.design == ControlDesign()
