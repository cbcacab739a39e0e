"""What a controller does for a broker that is about to stop: the new leaders, its requests, its reply."""

from __future__ import annotations

import pytest

from statemachines.controller.calls import EventFailure
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.state_change import EventDone
from statemachines.messages.topic_partition import TopicPartition
from statemachines.tables.replica import OfflineReplica, OnlineReplica
from tests.statemachines.control import T0, T1
from tests.statemachines.processing import EventCluster

T2 = TopicPartition("t", 2)


def started(design: ControlDesign | None = None) -> EventCluster:
    """Brokers 1, 2 and 3: partition 0 is led by 1, 1 by 2 with 1 following, and 2 is on 1 alone."""
    cluster = EventCluster(design=design)
    cluster.create_topic("t", (1, 2, 3), (2, 1), (1,))
    cluster.take_over()
    cluster.forget()
    return cluster


@pytest.fixture
def cluster() -> EventCluster:
    """The same cluster, in the newest release."""
    return started()


def test_others_lead_and_the_broker_leaves_every_isr(cluster: EventCluster) -> None:
    """First where it leads; then it is ordered to stop following, leaves the ISRs, and is ordered once more."""
    assert cluster.process("process_controlled_shutdown", 1) == EventDone(())
    assert cluster.state(T0)[:3] == (2, 1, (2, 3))
    assert cluster.state(T1)[:3] == (2, 1, (2,))
    assert cluster.story() == [
        "1+2+3 LeaderAndIsr t-0 led by 2 in 1, ISR 2+3",
        "1+2+3 UpdateMetadata of 1+2+3; t-0 led by 2 in 1",
        "1 StopReplica t-1",
        "2 LeaderAndIsr t-1 led by 2 in 1, ISR 2",
        "1+2+3 UpdateMetadata of 1+2+3; t-1 led by 2 in 1",
        "1 StopReplica t-1",
    ]
    assert cluster.replica_state(T1, 1) is OfflineReplica
    assert cluster.replica_state(T0, 1) is OnlineReplica


def test_until_1_0_a_shutdown_goes_partition_by_partition() -> None:
    """Two followed partitions need two StopReplica requests, each with its consequences in between."""
    cluster = EventCluster(design=ControlDesign("1.0"))
    cluster.create_topic("t", (2, 1), (2, 1))
    cluster.take_over()
    cluster.forget()
    assert cluster.process("process_controlled_shutdown", 1) == EventDone(())
    stops = [line for line in cluster.story() if line.startswith("1 StopReplica")]
    assert stops == ["1 StopReplica t-0", "1 StopReplica t-0", "1 StopReplica t-1", "1 StopReplica t-1"]


def test_a_sole_replica_stays_leader(cluster: EventCluster) -> None:
    """No other broker could lead it, so the shutdown does not wait for it."""
    cluster.process("process_controlled_shutdown", 1)
    assert cluster.state(T2)[:3] == (1, 0, (1,))
    assert TopicPartition("t", 2) not in cluster.context.partition_leaders_on_broker(1)


def test_partitions_without_another_candidate_are_returned(cluster: EventCluster) -> None:
    """The broker asks again until there are none."""
    cluster.leader_writes(T0, (1,))
    assert cluster.process("process_controlled_shutdown", 1) == EventDone((T0,))
    assert cluster.state(T0)[:3] == (1, 0, (1,))
    cluster.leader_writes(T0, (1, 3))
    assert cluster.process("process_controlled_shutdown", 1) == EventDone(())
    assert cluster.state(T0)[:3] == (3, 1, (3,))


def test_brokers_shutting_down_are_not_elected(cluster: EventCluster) -> None:
    """Two brokers shut down at once."""
    cluster.process("process_controlled_shutdown", 2)
    assert cluster.process("process_controlled_shutdown", 1) == EventDone((T1,))
    assert cluster.state(T0)[:3] == (3, 2, (3,))
    assert cluster.state(T1)[:3] == (1, 1, (1,))
    assert cluster.process("process_controlled_shutdown", 3) == EventDone((T0,))


@pytest.mark.parametrize(("release", "leader", "answer"), [("2.0", 2, (T1,)), ("2.1", 1, ())])
def test_until_2_0_a_topic_in_deletion_got_new_leaders(
    release: str, leader: int, answer: tuple[TopicPartition, ...]
) -> None:
    """And the reply listed partitions without one. [KAFKA-6753]"""
    cluster = started(ControlDesign(release))
    cluster.context.queue_topic_deletion(["t"])
    assert cluster.process("process_controlled_shutdown", 1) == EventDone(())
    assert cluster.state(T0).leader == leader
    assert cluster.process("process_controlled_shutdown", 2) == EventDone(answer)


def test_a_topic_in_deletion_is_left_alone(cluster: EventCluster) -> None:
    """Its partitions get no new leader, and the reply does not list them."""
    cluster.context.queue_topic_deletion(["t"])
    assert cluster.process("process_controlled_shutdown", 1) == EventDone(())
    assert cluster.sent == []


def test_it_receives_every_request_until_it_is_gone(cluster: EventCluster) -> None:
    """It is registered, though not live."""
    cluster.process("process_controlled_shutdown", 1)
    assert not cluster.context.is_live_broker(1)
    assert 1 in cluster.metadata()


# Refused brokers


def test_an_older_registration_is_refused(cluster: EventCluster) -> None:
    """Its request was in flight when the broker restarted. [KIP-380]"""
    epoch = cluster.context.state.live_broker_epochs[1]
    assert cluster.process("process_controlled_shutdown", 1, epoch - 1).answer is EventFailure.StaleBrokerEpoch
    assert cluster.context.is_live_broker(1)
    assert cluster.process("process_controlled_shutdown", 1, epoch) == EventDone(())


def test_until_2_1_the_request_had_no_epoch() -> None:
    """So the controller could not refuse it."""
    cluster = started(ControlDesign("2.1"))
    assert cluster.process("process_controlled_shutdown", 1, 0) == EventDone(())


@pytest.mark.parametrize(
    ("epoch", "failure"), [(-1, EventFailure.BrokerNotAvailable), (0, EventFailure.UnknownBroker)]
)
def test_an_unregistered_broker_is_refused(cluster: EventCluster, epoch: int, failure: EventFailure) -> None:
    """With an epoch, the error is not BrokerNotAvailable: the search for the epoch comes first."""
    assert cluster.process("process_controlled_shutdown", 4, epoch) == EventDone(failure)
    assert cluster.context.state.shutting_down_broker_ids == frozenset()


# The controller moves


def test_a_controller_that_has_moved_says_so_to_the_broker(cluster: EventCluster) -> None:
    """And does not resign: only the caller learns of the failure."""
    processed = cluster.process("process_controlled_shutdown", 1, before={1: cluster.elect_another_controller})
    assert processed == EventDone(EventFailure.ControllerMoved)
    assert cluster.sent == []
    assert cluster.context.state.shutting_down_broker_ids == {1}


def test_leftover_requests_trigger_an_election(cluster: EventCluster) -> None:
    """The broker receives the failure."""
    cluster.batch.add_update_metadata_request_for_brokers((1,))
    processed = cluster.process("process_controlled_shutdown", 1)
    assert processed == EventDone(EventFailure.IllegalState, must_reelect=True)
