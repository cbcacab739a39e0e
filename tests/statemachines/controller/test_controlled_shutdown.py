"""What a controller does for a broker that is about to stop: who leads instead, what is sent and answered."""

from __future__ import annotations

import pytest

from statemachines.controller.calls import EventFailure
from statemachines.controller.control_design import ControlDesign, control_design_of
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
    """The same, as of today."""
    return started()


def test_others_lead_and_the_broker_leaves_every_isr(cluster: EventCluster) -> None:
    """First where it leads; then it is told to stop following, leaves the ISRs, and is told so once more."""
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


def test_until_1_0_it_goes_partition_by_partition() -> None:
    """Two that it follows are two requests to stop, with what each leads to in between."""
    cluster = EventCluster(design=control_design_of("1.0"))
    cluster.create_topic("t", (2, 1), (2, 1))
    cluster.take_over()
    cluster.forget()
    assert cluster.process("process_controlled_shutdown", 1) == EventDone(())
    stops = [line for line in cluster.story() if line.startswith("1 StopReplica")]
    assert stops == ["1 StopReplica t-0", "1 StopReplica t-0", "1 StopReplica t-1", "1 StopReplica t-1"]


def test_a_sole_replica_stays_leader(cluster: EventCluster) -> None:
    """No other broker could lead it, so it is not waited for."""
    cluster.process("process_controlled_shutdown", 1)
    assert cluster.state(T2)[:3] == (1, 0, (1,))
    assert TopicPartition("t", 2) not in cluster.context.partition_leaders_on_broker(1)


def test_partitions_without_another_candidate_are_returned(cluster: EventCluster) -> None:
    """The broker asks again, as long as there is any."""
    cluster.leader_writes(T0, (1,))
    assert cluster.process("process_controlled_shutdown", 1) == EventDone((T0,))
    assert cluster.state(T0)[:3] == (1, 0, (1,))
    cluster.leader_writes(T0, (1, 3))
    assert cluster.process("process_controlled_shutdown", 1) == EventDone(())
    assert cluster.state(T0)[:3] == (3, 1, (3,))


def test_brokers_shutting_down_are_not_elected(cluster: EventCluster) -> None:
    """Two that shut down at once."""
    cluster.process("process_controlled_shutdown", 2)
    assert cluster.process("process_controlled_shutdown", 1) == EventDone((T1,))
    assert cluster.state(T0)[:3] == (3, 2, (3,))
    assert cluster.state(T1)[:3] == (1, 1, (1,))
    assert cluster.process("process_controlled_shutdown", 3) == EventDone((T0,))


@pytest.mark.parametrize(("release", "leader", "answer"), [("2.0", 2, (T1,)), ("2.1", 1, ())])
def test_until_2_0_a_topic_that_goes_was_led_elsewhere(
    release: str, leader: int, answer: tuple[TopicPartition, ...]
) -> None:
    """And what could not be was answered. [KAFKA-6753]"""
    cluster = started(control_design_of(release))
    cluster.context.queue_topic_deletion(["t"])
    assert cluster.process("process_controlled_shutdown", 1) == EventDone(())
    assert cluster.state(T0).leader == leader
    assert cluster.process("process_controlled_shutdown", 2) == EventDone(answer)


def test_a_topic_that_goes_is_left_alone(cluster: EventCluster) -> None:
    """Nothing is elected for it, nor answered."""
    cluster.context.queue_topic_deletion(["t"])
    assert cluster.process("process_controlled_shutdown", 1) == EventDone(())
    assert cluster.sent == []


def test_a_broker_shutting_down_receives_requests_until_it_is_gone(cluster: EventCluster) -> None:
    """It is not live, and registered."""
    cluster.process("process_controlled_shutdown", 1)
    assert not cluster.context.is_live_broker(1)
    assert 1 in cluster.metadata()


# Who is refused


def test_an_older_registration_is_refused(cluster: EventCluster) -> None:
    """Its request was under way when the broker started again. [KIP-380]"""
    epoch = cluster.context.state.live_broker_epochs[1]
    assert cluster.process("process_controlled_shutdown", 1, epoch - 1).answer is EventFailure.StaleBrokerEpoch
    assert cluster.context.is_live_broker(1)
    assert cluster.process("process_controlled_shutdown", 1, epoch) == EventDone(())


def test_until_2_1_it_had_no_epoch() -> None:
    """And so could not be refused."""
    cluster = started(control_design_of("2.1"))
    assert cluster.process("process_controlled_shutdown", 1, 0) == EventDone(())


@pytest.mark.parametrize(
    ("epoch", "failure"), [(-1, EventFailure.BrokerNotAvailable), (0, EventFailure.UnknownBroker)]
)
def test_shutdown_of_an_unregistered_broker_is_refused(
    cluster: EventCluster, epoch: int, failure: EventFailure
) -> None:
    """One that says its epoch by another error than BrokerNotAvailable: the search for its epoch comes first."""
    assert cluster.process("process_controlled_shutdown", 4, epoch) == EventDone(failure)
    assert cluster.context.state.shutting_down_broker_ids == frozenset()


# It moves


def test_a_controller_that_has_moved_says_so_to_the_broker(cluster: EventCluster) -> None:
    """And does not resign for it: what failed is told to who asked, and no more."""
    processed = cluster.process("process_controlled_shutdown", 1, before={1: cluster.elect_another_controller})
    assert processed == EventDone(EventFailure.ControllerMoved)
    assert cluster.sent == []
    assert cluster.context.state.shutting_down_broker_ids == {1}


def test_leftover_requests_elect_another_controller(cluster: EventCluster) -> None:
    """The broker is told that it failed."""
    cluster.batch.add_update_metadata_request_for_brokers((1,))
    processed = cluster.process("process_controlled_shutdown", 1)
    assert processed == EventDone(EventFailure.IllegalState, must_reelect=True)
