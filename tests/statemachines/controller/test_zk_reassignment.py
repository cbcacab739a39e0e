"""How partitions moved until 2.3: by a node that is read once, without a trace in the topic's node."""

from __future__ import annotations

import pytest

from statemachines.controller.calls import Call, EventFailed, EventFailure
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.state_change import EventDone
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import REASSIGN_PARTITIONS, topic_path
from statemachines.tables.replica import NewReplica, OnlineReplica
from tests.statemachines.control import T0, T1
from tests.statemachines.processing import EventCluster


@pytest.fixture
def cluster() -> EventCluster:
    """As of 2.3."""
    return cluster_of("2.3")


def cluster_of(release: str) -> EventCluster:
    """Brokers 1 to 5; partition 0 is on 1 and 2, partition 1 on 1 alone."""
    cluster = EventCluster((1, 2, 3, 4, 5), ControlDesign(release))
    cluster.create_topic("t", (1, 2), (1,))
    cluster.take_over()
    cluster.forget()
    return cluster


def ask(cluster: EventCluster, *targets: tuple[TopicPartition, tuple[int, ...]]) -> EventDone:
    """The tool writes the node."""
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, targets)
    return cluster.process("process_zk_partition_reassignment")


def caught_up(cluster: EventCluster, partition: TopicPartition, *isr: int) -> EventDone:
    """The leader has added replicas to its ISR, and notifies the controller."""
    cluster.leader_writes(partition, isr)
    cluster.forget()
    return cluster.process("process_partition_reassignment_isr_change", partition)


def assigned(cluster: EventCluster, partition: TopicPartition = T0) -> tuple[int, ...]:
    """The assignment in the topic's node and in the context, which has no adding or removing replicas."""
    written = cluster.data(topic_path("t")).decode("t")[partition]
    assert isinstance(written, ReplicaAssignment)
    assert written == cluster.context.partition_full_replica_assignment(partition)
    assert not written.is_being_reassigned
    return written.replicas


def test_a_reassignment_begins_with_old_and_new_replicas(cluster: EventCluster) -> None:
    """All are informed in the next epoch, none as new; then the new ones, as new, in the old epoch [KAFKA-9212]."""
    assert ask(cluster, (T0, (3, 2))) == EventDone()
    assert assigned(cluster) == (3, 2, 1)
    assert cluster.state(T0)[:3] == (1, 1, (1, 2))
    everybody = "1+2+3+4+5 UpdateMetadata of 1+2+3+4+5; t-0 led by 1 in 0"
    assert cluster.story() == [
        "1+2+3 LeaderAndIsr t-0 led by 1 in 1, ISR 1+2",
        everybody,
        "3 LeaderAndIsr t-0 led by 1 in 0, ISR 1+2, new",
        everybody,
    ]
    assert cluster.replica_state(T0, 3) is NewReplica
    assert cluster.data(REASSIGN_PARTITIONS) == ((T0, (3, 2)),)


def test_a_reassignment_ends_when_all_targets_are_in_sync(cluster: EventCluster) -> None:
    """The old ones are deleted, the topic's node is written, and the last partition deletes the request node."""
    ask(cluster, (T0, (3, 2)))
    caught_up(cluster, T0, 1, 2)
    assert cluster.sent == []
    caught_up(cluster, T0, 1, 2, 3)
    assert assigned(cluster) == (3, 2)
    assert cluster.state(T0)[:3] == (3, 3, (2, 3))
    assert cluster.replica_state(T0, 3) is OnlineReplica
    assert cluster.story()[-2:] == [
        "1 StopReplica t-0, delete",
        "1+2+3+4+5 UpdateMetadata of 1+2+3+4+5; t-0 led by 3 in 3",
    ]
    assert not cluster.exists(REASSIGN_PARTITIONS)
    assert cluster.queue[-1] == Call("process_zk_partition_reassignment")
    assert cluster.context.state.partitions_being_reassigned == frozenset()


def test_a_remaining_leader_and_removed_replicas_receive_the_new_isr(cluster: EventCluster) -> None:
    """Since 2.4 the removed ones do not."""
    ask(cluster, (T0, (1,)))
    assert "1+2 LeaderAndIsr t-0 led by 1 in 1, ISR 1+2" in cluster.story()
    assert cluster.state(T0)[:3] == (1, 2, (1,))


@pytest.mark.parametrize(
    ("release", "left", "begun"),
    [
        ("0.10.2", ((T1, (2,)),), True),
        ("1.0", ((T1, (2,)),), True),
        ("1.1", None, False),
        ("2.3", None, False),
        ("2.4", ((T1, (2,)),), False),
    ],
)
def test_additions_to_the_node_during_a_move(release: str, left: object, begun: bool) -> None:
    """Until 1.0 they begin; until 2.3 they are lost: the node is written from memory; since 2.4 they wait in it."""
    cluster = cluster_of(release)
    ask(cluster, (T0, (3, 2)))
    cluster.zookeeper.set(None, REASSIGN_PARTITIONS, ((T0, (3, 2)), (T1, (2,))))
    cluster.queue.clear()
    caught_up(cluster, T0, 1, 2, 3)
    assert (cluster.data(REASSIGN_PARTITIONS) if cluster.exists(REASSIGN_PARTITIONS) else None) == left
    for event in cluster.queue:
        cluster.process(event.method, *event.arguments)
    if ControlDesign(release).reread_reassignment:  # ZkClient reports the controller's own write
        cluster.process("process_zk_partition_reassignment")
    assert (T1 in cluster.context.state.partitions_being_reassigned) is begun


def test_until_1_0_additions_start_at_once() -> None:
    """The node is read whenever it changes; running reassignments are not begun again."""
    cluster = cluster_of("1.0")
    ask(cluster, (T0, (3, 2)))
    cluster.forget()
    cluster.zookeeper.set(None, REASSIGN_PARTITIONS, ((T0, (3, 2)), (T1, (2,))))
    cluster.process("process_zk_partition_reassignment")
    assert cluster.context.state.partitions_being_reassigned == {T0, T1}
    assert not any("t-0 led by 1 in 2" in line for line in cluster.story())


@pytest.mark.parametrize(("release", "goes_on"), [("0.10.2", True), ("1.0", True), ("1.1", False), ("2.3", False)])
def test_a_failover_during_reassignment_and_deletion(release: str, goes_on: bool) -> None:
    """Until 1.0 the reassignment continues, and the deletion waits for it; since then it is abandoned."""
    cluster = cluster_of(release)
    ask(cluster, (T0, (3, 2)))
    cluster.ask_to_delete("t")
    cluster.take_over()
    assert cluster.exists(REASSIGN_PARTITIONS) is goes_on
    assert (T0 in cluster.context.state.partitions_being_reassigned) is goes_on


@pytest.mark.parametrize(("release", "waits"), [("1.0", False), ("1.1", True)])
def test_until_1_0_an_already_assigned_partition_leaves_the_node_first(release: str, waits: bool) -> None:
    """So its topic's deletion waits for no reassignment, though the new replica has not caught up."""
    cluster = cluster_of(release)
    ask(cluster, (T0, (1, 2, 3)))
    cluster.ask_to_delete("t")
    cluster.take_over()
    assert not cluster.exists(REASSIGN_PARTITIONS)
    assert ("t" in cluster.context.state.topics_ineligible_for_deletion) is waits


def test_a_partition_without_work_leaves_the_node(cluster: EventCluster) -> None:
    """Partitions that are already in place, unknown, or in deletion."""
    nowhere = TopicPartition("v", 0)
    ask(cluster, (T1, (1,)), (nowhere, (2,)), (T0, (3, 2)))
    assert cluster.data(REASSIGN_PARTITIONS) == ((T0, (3, 2)),)
    assert cluster.context.state.partitions_being_reassigned == {T0}


@pytest.mark.parametrize(("release", "writes"), [("1.1", 2), ("2.0", 1)])
def test_until_1_1_partitions_left_the_node_one_by_one(release: str, writes: int) -> None:
    """The node is written for each; since 2.0 once. [KAFKA-6617]"""
    cluster = cluster_of(release)
    ask(cluster, (T1, (1,)), (TopicPartition("v", 0), (2,)), (T0, (3, 2)))
    assert cluster.zookeeper.get(None, REASSIGN_PARTITIONS)[1].version == writes


@pytest.mark.parametrize(("release", "known"), [("1.1", (1, 2)), ("2.0", (3, 1, 2))])
def test_since_2_0_the_context_changes_before_the_write(release: str, known: tuple[int, ...]) -> None:
    """So if the topic's node is gone, the controller continues with unwritten replicas. [KAFKA-6630]"""
    cluster = cluster_of(release)
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T0, (3,)),))
    for number, step in enumerate(cluster.steps("process_zk_partition_reassignment")):
        if number == 3:
            break
        step()
    assert cluster.context.partition_replica_assignment(T0) == known


@pytest.mark.parametrize(("release", "failure"), [("1.1", None), ("2.0", EventFailure.NotReassigned)])
def test_a_failure_after_leaving_the_node(release: str, failure: EventFailure | None) -> None:
    """The partition is removed from the node once more, which since 2.0 fails the event."""

    def is_reassigned(partition: TopicPartition) -> None:
        raise EventFailed(EventFailure.NeverLed)

    cluster = cluster_of(release)
    vars(cluster.controller).update(is_reassigned=is_reassigned)
    cluster.leader_writes(T0, (1, 2, 3))
    assert ask(cluster, (T0, (3,))).failure is failure
    assert assigned(cluster) == (3,)


def test_a_partition_without_known_leader_stays_assigned(cluster: EventCluster) -> None:
    """Its replicas are in sync, but the controller's own creation of the state lost its reply."""
    cluster.context.state.partition_leadership_info.pop(T0)
    cluster.leader_writes(T0, (1, 2, 3))
    ask(cluster, (T0, (3,)))
    assert assigned(cluster) == (1, 2)
    assert not cluster.exists(REASSIGN_PARTITIONS)


def test_changes_of_a_state_are_watched_during_a_reassignment(cluster: EventCluster) -> None:
    """From the beginning to the end."""
    watched: list[tuple[str, TopicPartition]] = []
    vars(cluster.controller.handlers).update(
        watch_isr=lambda partition, target: watched.append(("watch", partition)),
        unwatch_isr=lambda partition: watched.append(("unwatch", partition)),
    )
    ask(cluster, (T0, (3, 2)), (T1, (1,)))
    assert watched == [("watch", T0), ("unwatch", T1)]
    caught_up(cluster, T0, 1, 2, 3)
    assert watched[2:] == [("unwatch", T0)]


def test_a_failed_partition_leaves_the_node(cluster: EventCluster) -> None:
    """So it can be requested again; the others continue."""
    path = "/brokers/topics/t/partitions/0/state"
    cluster.zookeeper.set(None, path, cluster.data(path)._replace(controller_epoch=99))
    ask(cluster, (T0, (3,)), (T1, (4,)))
    assert cluster.data(REASSIGN_PARTITIONS) == ((T1, (4,)),)
    assert cluster.state(T1).leader_epoch == 1


def test_a_moved_controller_leaves_the_node_to_its_successor(cluster: EventCluster) -> None:
    """The node is unchanged."""
    cluster.zookeeper.create(None, REASSIGN_PARTITIONS, ((T0, (3,)),))
    processed = cluster.process("process_zk_partition_reassignment", before={3: cluster.elect_another_controller})
    assert processed.failure is EventFailure.ControllerMoved
    assert cluster.exists(REASSIGN_PARTITIONS)


@pytest.mark.parametrize("batch", range(14))
def test_the_next_controller_completes_it(cluster: EventCluster, batch: int) -> None:
    """The request node has the target, and the assignment the other replicas."""
    ask(cluster, (T0, (3, 4)))
    cluster.leader_writes(T0, (1, 2, 3, 4))
    for number, step in enumerate(cluster.steps("maybe_complete_reassignment", T0)):
        if number == batch:
            break
        step()
    cluster.controller = cluster.made()
    cluster.take_over()
    assert assigned(cluster) == (3, 4)
    assert set(cluster.state(T0).isr) == {3, 4}
    assert not cluster.exists(REASSIGN_PARTITIONS)


def test_a_starting_broker_receives_the_reassignment_again(cluster: EventCluster) -> None:
    """If a partition moves to it."""
    ask(cluster, (T0, (3, 2)))
    cluster.die(3)
    cluster.quietly("process_broker_change")
    epoch = cluster.state(T0).leader_epoch
    cluster.register(3)
    cluster.process("process_broker_change")
    assert cluster.state(T0).leader_epoch == epoch + 1


@pytest.mark.parametrize(("release", "failure"), [("1.1", EventFailure.NotAssigned), ("2.0", EventFailure.NoTopic)])
def test_a_partition_of_a_missing_topic_is_still_moved(release: str, failure: EventFailure) -> None:
    """Until 1.1 it fails before any write, as it is no longer assigned; later, because there is no node."""
    cluster = cluster_of(release)
    gone = TopicPartition("gone", 0)
    cluster.controller.reassignment_targets[gone] = (3,)
    cluster.context.state.partitions_being_reassigned |= {gone}
    assert cluster.process("resume_reassignment", gone).failure is failure
    assert (gone in cluster.context.all_partitions()) is (failure is EventFailure.NoTopic)
    assert cluster.sent == []


def test_alter_partition_reassignments_is_refused_until_2_3(cluster: EventCluster) -> None:
    """The request does not exist yet; nothing changes."""
    with pytest.raises(ValueError, match=r"until 2\.3 partitions are reassigned by /admin/reassign_partitions alone"):
        cluster.process("process_api_partition_reassignment", ((T0, (3,)),))
    assert assigned(cluster) == (1, 2)
