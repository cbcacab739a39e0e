"""What a controller writes and sends when brokers start, fail, restart, or lose a disk."""

from __future__ import annotations

import pytest

from statemachines.controller.calls import Call, EventFailure, EventWaiting
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import LeaderAndIsrResponse
from statemachines.controller.design import BROKER_IDS
from statemachines.controller.event_driver import ReleaseChannels
from statemachines.controller.kafka_zk_client import GetChildren
from statemachines.controller.state_change import EventDone
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import LOG_DIR_EVENT_NOTIFICATION
from statemachines.tables.partition import NewPartition, OfflinePartition, OnlinePartition
from statemachines.tables.replica import (
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
)
from tests.statemachines.control import T0, T1
from tests.statemachines.processing import EventCluster


@pytest.fixture
def cluster() -> EventCluster:
    """Brokers 1, 2 and 3; partition 0 is led by 1; partition 1 is led by 2 and followed by 3."""
    return started()


def started(design: ControlDesign | None = None) -> EventCluster:
    """The same cluster, with the design of a release."""
    cluster = EventCluster(design=design)
    cluster.create_topic("t", (1, 2, 3), (2, 3))
    cluster.take_over()
    cluster.forget()
    return cluster


# Brokers that fail


def test_the_partitions_of_a_dead_leader_are_led_by_another(cluster: EventCluster) -> None:
    """The election comes first, and removes the dead from the ISR; replicas get two requests in one epoch."""
    cluster.die(1)
    assert cluster.process("process_broker_change") == EventDone()
    assert cluster.state(T0)[:3] == (2, 1, (2, 3))
    assert cluster.version(T0) == 1
    assert cluster.story() == [
        "2+3 LeaderAndIsr t-0 led by 2 in 1, ISR 2+3",
        "2+3 UpdateMetadata of 2+3; t-0 led by 2 in 1",
        "2+3 LeaderAndIsr t-0 led by 2 in 1, ISR 2+3",
        "2+3 UpdateMetadata of 2+3; t-0 led by 2 in 1",
    ]
    assert cluster.channels.said == [("remove", 1)]
    assert cluster.context.partition_state(T0) is OnlinePartition
    assert cluster.replica_state(T0, 1) is OfflineReplica


def test_a_dead_follower_leaves_the_isr(cluster: EventCluster) -> None:
    """The leader stays, in the next epoch; it and all others are informed."""
    cluster.die(3)
    cluster.process("process_broker_change")
    assert [cluster.state(each)[:3] for each in (T0, T1)] == [(1, 1, (1, 2)), (2, 1, (2,))]
    assert cluster.story() == [
        "1 LeaderAndIsr t-0 led by 1 in 1, ISR 1+2",
        "2 LeaderAndIsr t-0 led by 1 in 1, ISR 1+2; t-1 led by 2 in 1, ISR 2",
        "1+2 UpdateMetadata of 1+2; t-0 led by 1 in 1; t-1 led by 2 in 1",
    ]


def test_without_another_in_sync_replica_there_is_no_leader(cluster: EventCluster) -> None:
    """The last member of the ISR stays in it, and leads again after its return."""
    cluster.die(2, 3)
    cluster.process("process_broker_change")
    assert cluster.state(T1)[:3] == (-1, 2, (3,))
    assert cluster.context.partition_state(T1) is OfflinePartition
    cluster.register(2)
    cluster.process("process_broker_change")
    assert cluster.state(T1).leader == -1
    cluster.register(3)
    cluster.process("process_broker_change")
    assert cluster.state(T1)[:3] == (3, 3, (3,))


def test_a_controlled_shutdown_is_forgotten_when_the_broker_dies(cluster: EventCluster) -> None:
    """After its restart it may be elected."""
    cluster.quietly("process_controlled_shutdown", 2)
    cluster.die(2)
    cluster.process("process_broker_change")
    assert cluster.context.state.shutting_down_broker_ids == frozenset()


def test_a_broker_without_replicas_is_sent_in_metadata() -> None:
    """No election or ISR change announces its death, so all brokers receive the live ones."""
    cluster = EventCluster()
    cluster.create_topic("t", (1, 2))
    cluster.take_over()
    cluster.forget()
    cluster.die(3)
    cluster.process("process_broker_change")
    assert cluster.story() == ["1+2 UpdateMetadata of 1+2"]


def lonely(design: ControlDesign) -> list[str]:
    """The requests after the death of a broker without replicas, beside a partition that has no leader anyway."""
    cluster = EventCluster(design=design)
    cluster.create_topic("t", (1,))
    cluster.take_over()
    for broker in (1, 3):
        cluster.die(broker)
        cluster.forget()
        cluster.process("process_broker_change")
    return cluster.story()


def test_until_3_0_a_partition_without_leader_prevented_that() -> None:
    """Since 3.1 the controller asks whether a leader was elected, not whether one was lost. [KAFKA-13225]"""
    assert lonely(ControlDesign("3.0")) == []
    assert lonely(ControlDesign("3.1")) == ["2 UpdateMetadata of 2"]


def test_until_0_11_only_partitions_it_led_prevented_that() -> None:
    """Since 1.0 every partition without leader counts as having lost it now."""
    assert lonely(ControlDesign("0.11")) == ["2 UpdateMetadata of 2; t-0 led by -1 in 1"]
    assert lonely(ControlDesign("1.0")) == []


def test_dead_replicas_of_topics_in_deletion_are_ineligible(cluster: EventCluster) -> None:
    """No leader is elected for them, and the topic waits."""
    cluster.ask_to_delete("t")
    cluster.quietly("process_topic_deletion")
    assert cluster.replica_state(T0, 1) is ReplicaDeletionStarted
    cluster.die(1)
    cluster.process("process_broker_change")
    assert cluster.replica_state(T0, 1) is ReplicaDeletionIneligible
    assert cluster.context.state.topics_ineligible_for_deletion == {"t"}
    assert cluster.replica_state(T0, 2) is ReplicaDeletionStarted
    assert cluster.story() == ["2+3 UpdateMetadata of 2+3"]


# Brokers that start


def test_a_new_broker_receives_everything_and_the_others_its_start(cluster: EventCluster) -> None:
    """The others receive only its start; then it receives its replicas, and nothing is written."""
    cluster.die(3)
    cluster.quietly("process_broker_change")
    cluster.register(3)
    cluster.process("process_broker_change")
    assert cluster.story() == [
        "1+2 UpdateMetadata of 1+2+3",
        "3 UpdateMetadata of 1+2+3; t-0 led by 1 in 1; t-1 led by 2 in 1",
        "3 LeaderAndIsr t-0 led by 1 in 1, ISR 1+2; t-1 led by 2 in 1, ISR 2",
        "1+2+3 UpdateMetadata of 1+2+3; t-0 led by 1 in 1; t-1 led by 2 in 1",
    ]
    assert cluster.channels.said == [("add", 3)]
    assert cluster.replica_state(T0, 3) is OnlineReplica


def test_until_2_1_all_brokers_received_everything() -> None:
    """[KAFKA-7537]"""
    cluster = started(ControlDesign("2.1"))
    cluster.die(3)
    cluster.quietly("process_broker_change")
    cluster.register(3)
    cluster.process("process_broker_change")
    assert cluster.story()[:1] == ["1+2+3 UpdateMetadata of 1+2+3; t-0 led by 1 in 1; t-1 led by 2 in 1"]


@pytest.mark.parametrize(("release", "topics"), [("2.6", ["t", "t"]), ("2.7", [])])
def test_until_2_6_a_new_broker_received_topics_to_be_deleted(release: str, topics: list[str]) -> None:
    """As partitions to forget [KAFKA-10040]."""
    cluster = started(ControlDesign(release))
    cluster.ask_to_delete("t")
    cluster.quietly("process_topic_deletion")
    cluster.register(4)
    cluster.process("process_broker_change")
    [request] = [request for broker, request in cluster.sent if broker == 4]
    assert [state.partition.topic for state in request.partitionStates] == topics


def test_a_new_broker_leads_leaderless_partitions() -> None:
    """A partition without a live replica at its creation now has a leader."""
    cluster = EventCluster((1,))
    cluster.create_topic("t", (2, 3))
    cluster.take_over()
    assert cluster.context.partition_state(T0) is NewPartition
    cluster.forget()
    cluster.register(3)
    cluster.process("process_broker_change")
    assert cluster.state(T0)[:3] == (3, 0, (3,))
    assert cluster.context.partition_state(T0) is OnlinePartition
    assert "3 LeaderAndIsr t-0 led by 3 in 0, ISR 3, new" in cluster.story()


def test_the_watch_is_armed_with_the_read(cluster: EventCluster) -> None:
    """So the controller notices every later change."""
    processing = cluster.controller.process(Call("process_broker_change"))
    assert isinstance(processing, EventWaiting)
    assert cluster.controller.requests(processing) == (GetChildren(BROKER_IDS, watch=True),)


def test_a_broker_gone_between_the_reads_is_dead(cluster: EventCluster) -> None:
    """Its name was among the children, but its node is gone."""
    cluster.process("process_broker_change", before={1: lambda: cluster.die(1)})
    assert 1 not in cluster.context.state.live_broker_epochs
    assert cluster.state(T0).leader == 2


def test_an_unchanged_list_of_brokers_changes_nothing(cluster: EventCluster) -> None:
    """And sends nothing."""
    assert cluster.process("process_broker_change") == EventDone()
    assert (cluster.sent, cluster.channels.said) == ([], [])


def test_until_2_2_a_controller_that_is_not_set_up_knows_no_broker() -> None:
    """Without a channel manager it fails at the first broker that starts or stops, and changes nothing."""
    for release, fails in (("2.2", True), ("2.3", False)):
        design = ControlDesign(release)
        cluster = started(design)
        channels = cluster.controller.channels = ReleaseChannels(cluster.channels, design)
        cluster.register(4)
        known = dict(cluster.context.state.live_broker_epochs)
        processed = cluster.process("process_broker_change")
        assert processed == EventDone(failure=EventFailure.NoChannelManager if fails else None)
        assert (cluster.context.state.live_broker_epochs == known) is fails
        assert (cluster.sent == []) is fails
        channels.startup((1, 2, 3))
        cluster.register(5)
        assert cluster.process("process_broker_change").failure is None
        assert {4, 5} <= cluster.context.state.live_broker_epochs.keys()
        channels.shutdown()
        cluster.die(5)
        assert (cluster.process("process_broker_change").failure is EventFailure.NoChannelManager) is fails


# Brokers that restart


def test_a_bounced_broker_is_dead_and_then_new(cluster: EventCluster) -> None:
    """Its queued requests are gone; it leaves ISRs, loses leaderships, and learns that under its new epoch."""
    before = cluster.context.state.live_broker_epochs[1]
    cluster.die(1)
    cluster.register(1)
    cluster.process("process_broker_change")
    assert cluster.channels.said == [("remove", 1), ("add", 1)]
    assert cluster.context.state.live_broker_epochs[1] > before
    assert cluster.state(T0)[:3] == (2, 1, (2, 3))
    assert cluster.story()[-2:] == [
        "1 LeaderAndIsr t-0 led by 2 in 1, ISR 2+3",
        "1+2+3 UpdateMetadata of 1+2+3; t-0 led by 2 in 1",
    ]
    assert {request.brokerEpoch for broker, request in cluster.sent if broker == 1} == {
        cluster.context.state.live_broker_epochs[1]
    }


def test_until_2_1_a_bounced_broker_was_not_noticed() -> None:
    """It is taken for the old process, and continues without receiving anything. [B5, KAFKA-7235]"""
    cluster = started(ControlDesign("2.1"))
    cluster.die(1)
    cluster.register(1)
    cluster.process("process_broker_change")
    assert (cluster.sent, cluster.channels.said) == ([], [])
    assert cluster.state(T0).leader == 1


def test_new_bounced_and_dead_in_this_order(cluster: EventCluster) -> None:
    """The dead still receive the new ones: they count as live until their turn."""
    cluster.die(1, 2)
    cluster.register(1)
    cluster.register(4)
    cluster.process("process_broker_change")
    assert cluster.channels.said == [("add", 4), ("remove", 1), ("add", 1), ("remove", 2)]
    assert cluster.story()[0] == "1+2+3 UpdateMetadata of 1+2+3+4"
    assert set(cluster.context.state.live_broker_epochs) == {1, 3, 4}


def test_until_2_1_new_brokers_were_announced_after_failures() -> None:
    """All live brokers were replaced before the first failure was handled."""
    cluster = started(ControlDesign("2.1"))
    cluster.die(2)
    cluster.register(4)
    cluster.process("process_broker_change")
    assert cluster.story()[0].startswith("1+3+4 UpdateMetadata of 1+3+4; ")


# The controller moves


def test_a_controller_that_moves_during_an_event_drops_the_rest(cluster: EventCluster) -> None:
    """The election detects it; replicas do not go offline, and nothing is sent."""
    cluster.die(1)
    processed = cluster.process("process_broker_change", before={3: cluster.elect_another_controller})
    assert processed == EventDone(failure=EventFailure.ControllerMoved)
    assert cluster.sent == []
    assert cluster.state(T0).leader == 1
    assert cluster.replica_state(T0, 1) is OnlineReplica


# Disks


def lose_disk(cluster: EventCluster, broker: int) -> str:
    """A broker reports that a log directory has failed."""
    path = f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_"
    return cluster.zookeeper.create(None, path, broker, sequential=True).path


def test_a_broker_with_a_failed_disk_is_asked_which_replicas(cluster: EventCluster) -> None:
    """By a LeaderAndIsr with the known state; then the notification is deleted."""
    path = lose_disk(cluster, 2)
    cluster.process("process_log_dir_event_notification")
    assert cluster.story() == [
        "2 LeaderAndIsr t-0 led by 1 in 0, ISR 1+2+3; t-1 led by 2 in 0, ISR 2+3",
        "1+2+3 UpdateMetadata of 1+2+3; t-0 led by 1 in 0; t-1 led by 2 in 0",
    ]
    assert not cluster.exists(path)


def test_the_notification_is_always_deleted(cluster: EventCluster) -> None:
    """If the controller has moved, it stays for the next one."""
    path = lose_disk(cluster, 2)
    processed = cluster.process("process_log_dir_event_notification", before={2: cluster.elect_another_controller})
    assert processed.failure is EventFailure.ControllerMoved
    assert cluster.exists(path)


def answer(cluster: EventCluster, broker: int, *errors: tuple[TopicPartition, Errors]) -> EventDone:
    """A broker answers LeaderAndIsr."""
    response = LeaderAndIsrResponse(Errors.NONE, errors)
    return cluster.process("process_leader_and_isr_response_received", response, broker)


def test_replicas_that_cannot_be_served_are_offline(cluster: EventCluster) -> None:
    """Another leads instead; the broker stays, and leads the replicas on its other disks."""
    answer(cluster, 2, (T0, Errors.NONE), (T1, Errors.KAFKA_STORAGE_ERROR))
    assert cluster.state(T1)[:3] == (3, 1, (3,))
    assert cluster.state(T0)[:3] == (1, 0, (1, 2, 3))
    assert cluster.replica_state(T1, 2) is OfflineReplica
    assert "2 StopReplica t-1" in cluster.story()
    offline = {each.partition.partition: each.offlineReplicas for each in cluster.metadata()[1].partitionStates}
    assert offline == {1: (2,)}


def test_an_offline_replica_is_not_handled_again(cluster: EventCluster) -> None:
    """And a replica that can be served again is online without further steps."""
    answer(cluster, 2, (T1, Errors.KAFKA_STORAGE_ERROR))
    cluster.forget()
    answer(cluster, 2, (T1, Errors.KAFKA_STORAGE_ERROR))
    assert cluster.sent == []
    answer(cluster, 2, (T1, Errors.NONE))
    assert cluster.context.state.replicas_on_offline_dirs[2] == frozenset()
    assert cluster.sent == []


@pytest.mark.parametrize("error", [Errors.STALE_CONTROLLER_EPOCH, Errors.UNKNOWN_TOPIC_OR_PARTITION])
def test_other_errors_do_not_concern_disks(cluster: EventCluster, error: Errors) -> None:
    """Neither for a partition, nor for the whole request."""
    answer(cluster, 2, (T1, error))
    response = LeaderAndIsrResponse(error, ((T1, Errors.KAFKA_STORAGE_ERROR),))
    cluster.process("process_leader_and_isr_response_received", response, 2)
    assert cluster.sent == []
    assert cluster.context.is_replica_online(2, T1)


def test_the_disks_of_a_dead_broker_are_forgotten(cluster: EventCluster) -> None:
    """Its replicas are no longer listed as offline."""
    answer(cluster, 2, (T1, Errors.KAFKA_STORAGE_ERROR))
    cluster.die(2)
    cluster.process("process_broker_change")
    assert 2 not in cluster.context.state.replicas_on_offline_dirs


def test_a_restarted_broker_has_all_its_disks(cluster: EventCluster) -> None:
    """Until its response says otherwise."""
    answer(cluster, 2, (T1, Errors.KAFKA_STORAGE_ERROR))
    cluster.die(2)
    cluster.register(2)
    cluster.process("process_broker_change")
    assert 2 not in cluster.context.state.replicas_on_offline_dirs
