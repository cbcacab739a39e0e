"""The requests of one change of states: merged, in order, and the leftovers of a failure."""

from __future__ import annotations

import pytest

from statemachines.controller.control_design import ControlDesign
from statemachines.controller.request_batch import BatchNotEmpty, RequestsNotSent
from statemachines.messages.control_requests import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition
from tests.statemachines.control import CONTROLLER, EPOCH, T0, T1, T2, Cluster

KNOWN = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, 3, (1, 2), partition_epoch=7), 4)
ASSIGNED = ReplicaAssignment((1, 2, 3), (3,), (1,))


@pytest.fixture
def cluster() -> Cluster:
    """Brokers 1, 2 and 3, and two partitions that 1 leads."""
    cluster = Cluster()
    for partition in (T0, T1):
        cluster.lead(partition, 1, (1, 2), leader_epoch=3, replicas=(1, 2, 3))
    return cluster


def test_leader_and_isr_has_state_and_assignment(cluster: Cluster) -> None:
    """Field by field, with the epochs of controller and broker, and the registered ones among the leaders."""
    cluster.batch.new_batch()
    cluster.batch.add_leader_and_isr_request_for_brokers([2], T0, KNOWN, ASSIGNED, is_new=True)
    cluster.batch.send_requests_to_brokers(EPOCH)
    broker, request = cluster.sent[0]
    assert broker == 2
    assert isinstance(request, LeaderAndIsrRequest)
    assert request[:3] == (CONTROLLER, EPOCH, 102)
    assert request.liveLeaders == (1,)
    (state,) = request.partitionStates
    assert state == (T0, 4, 1, 3, (1, 2), 7, (1, 2, 3), (3,), (1,), True, 0)


def test_leader_and_isr_is_metadata_for_every_broker(cluster: Cluster) -> None:
    """A broker that shuts down gets it too, listed as offline; the controller epoch is that of the state's writer."""
    cluster.shut_down(3)
    cluster.batch.add_leader_and_isr_request_for_brokers([2], T0, KNOWN, ASSIGNED, is_new=False)
    cluster.batch.send_requests_to_brokers(EPOCH)
    metadata = cluster.metadata()
    assert metadata.keys() == {1, 2, 3}
    state = UpdateMetadataPartitionState(T0, EPOCH - 1, 1, 3, (1, 2), 1, (1, 2, 3), (3,))
    assert metadata[3] == UpdateMetadataRequest(CONTROLLER, EPOCH, 103, (state,), (1, 2, 3))


def test_new_replicas_stay_marked_new(cluster: Cluster) -> None:
    """A later entry for the replica replaces everything else."""
    later = LeaderIsrAndControllerEpoch(LeaderAndIsr(2, 4, (2,), partition_epoch=8), EPOCH)
    cluster.batch.add_leader_and_isr_request_for_brokers([2], T0, KNOWN, ASSIGNED, is_new=True)
    cluster.batch.add_leader_and_isr_request_for_brokers([2, 3], T0, later, ASSIGNED, is_new=False)
    cluster.batch.send_requests_to_brokers(EPOCH)
    received = cluster.leader_and_isr()
    assert [(state.leader, state.leaderEpoch, state.isNew) for state in received.values()] == [
        (2, 4, True),
        (2, 4, False),
    ]


def test_replicas_to_delete_stay_marked(cluster: Cluster) -> None:
    """A later StopReplica without deletion does not cancel it."""
    cluster.batch.add_stop_replica_request_for_brokers([2], T0, delete_partition=True)
    cluster.batch.add_stop_replica_request_for_brokers([2, 3], T0, delete_partition=False)
    cluster.batch.send_requests_to_brokers(EPOCH)
    assert {broker: state.deletePartition for (broker, _), state in cluster.stopped().items()} == {2: True, 3: False}


def test_the_order_of_the_three_requests(cluster: Cluster) -> None:
    """LeaderAndIsr, UpdateMetadata, StopReplica, in whatever order they were added."""
    cluster.batch.add_stop_replica_request_for_brokers([1], T1, delete_partition=False)
    cluster.batch.add_update_metadata_request_for_brokers([1])
    cluster.batch.add_leader_and_isr_request_for_brokers([1], T0, KNOWN, ASSIGNED, is_new=False)
    cluster.batch.send_requests_to_brokers(EPOCH)
    kinds = [type(request) for broker, request in cluster.sent if broker == 1]
    assert kinds == [LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest]


def test_an_unregistered_broker_receives_nothing(cluster: Cluster) -> None:
    """None of the three, and none stays in the batch."""
    cluster.batch.add_leader_and_isr_request_for_brokers([4, -1], T0, KNOWN, ASSIGNED, is_new=False)
    cluster.batch.add_stop_replica_request_for_brokers([4], T0, delete_partition=False)
    cluster.batch.add_update_metadata_request_for_brokers([4])
    cluster.batch.send_requests_to_brokers(EPOCH)
    assert {broker for broker, _ in cluster.sent} == {1, 2, 3}
    cluster.batch.new_batch()


def test_a_negative_broker_id_leaves_the_batch_clean(cluster: Cluster) -> None:
    """-1, which stands for no leader, gets no request."""
    cluster.batch.add_stop_replica_request_for_brokers([-1], T0, delete_partition=False)
    cluster.batch.add_update_metadata_request_for_brokers([-1])
    cluster.batch.new_batch()


def test_a_partition_without_leader_is_left_out_of_metadata(cluster: Cluster) -> None:
    """The brokers get a request, but without the partition."""
    del cluster.context.state.partition_leadership_info[T0]
    cluster.batch.add_update_metadata_request_for_brokers([1], [T0, T1])
    cluster.batch.send_requests_to_brokers(EPOCH)
    assert [state.partition.partition for state in cluster.metadata()[1].partitionStates] == [1]


def test_a_topic_to_be_deleted(cluster: Cluster) -> None:
    """In metadata its leader is -2 and its epochs start again; in StopReplica its leader epoch is -2."""
    cluster.context.queue_topic_deletion({"t"})
    cluster.batch.add_update_metadata_request_for_brokers([1], [T0])
    cluster.batch.add_stop_replica_request_for_brokers([1], T0, delete_partition=True)
    cluster.batch.send_requests_to_brokers(EPOCH)
    (state,) = cluster.metadata()[1].partitionStates
    assert (state.leader, state.leaderEpoch, state.zkVersion, state.isr) == (-2, 0, 0, (1, 2))
    assert cluster.stopped()[1, T0].leaderEpoch == -2


def test_stop_replica_carries_the_leader_epoch(cluster: Cluster) -> None:
    """The known one, or -1."""
    del cluster.context.state.partition_leadership_info[T1]
    for partition in (T0, T1):
        cluster.batch.add_stop_replica_request_for_brokers([1], partition, delete_partition=False)
    cluster.batch.send_requests_to_brokers(EPOCH)
    assert [state.leaderEpoch for state in cluster.stopped().values()] == [3, -1]
    ((_, request),) = cluster.sent
    assert isinstance(request, StopReplicaRequest)
    assert request.deletePartitions is False


def test_until_2_5_deletions_are_a_request_of_their_own() -> None:
    """It goes first, and neither has leader epochs."""
    cluster = Cluster(design=ControlDesign().but(fence_stop=False))
    cluster.lead(T0, 1, (1, 2), leader_epoch=3)
    cluster.lead(T1, 1, (1, 2), leader_epoch=3)
    cluster.batch.add_stop_replica_request_for_brokers([1], T0, delete_partition=False)
    cluster.batch.add_stop_replica_request_for_brokers([1], T1, delete_partition=True)
    cluster.batch.send_requests_to_brokers(EPOCH)
    requests = [request for _, request in cluster.sent if isinstance(request, StopReplicaRequest)]
    assert [request.deletePartitions for request in requests] == [True, False]
    assert [[state[:2] for state in request.partitionStates] for request in requests] == [[(T1, -1)], [(T0, -1)]]


def test_until_1_1_metadata_contained_every_topic_in_deletion() -> None:
    """Whatever else the request contained."""
    cluster = Cluster(design=ControlDesign("1.1"))
    cluster.lead(T0, 1, (1, 2))
    cluster.lead(TopicPartition("u", 0), 1, (1, 2))
    cluster.context.queue_topic_deletion({"u"})
    cluster.batch.add_update_metadata_request_for_brokers([1], [T0])
    cluster.batch.send_requests_to_brokers(EPOCH)
    states = cluster.metadata()[1].partitionStates
    assert [(state.partition.topic, state.leader) for state in states] == [("t", 1), ("u", -2)]


def test_until_2_2_each_stopping_replica_has_a_request_of_its_own() -> None:
    """After an empty one, in the order in which they were added, with or without deletion."""
    cluster = Cluster(design=ControlDesign("2.2"))
    cluster.batch.add_stop_replica_request_for_brokers([1], T1, delete_partition=False)
    cluster.batch.add_stop_replica_request_for_brokers([1], T0, delete_partition=True)
    cluster.batch.send_requests_to_brokers(EPOCH)
    requests = [request for _, request in cluster.sent if isinstance(request, StopReplicaRequest)]
    assert [request.deletePartitions for request in requests] == [False, False, True]
    assert [[state[:2] for state in request.partitionStates] for request in requests] == [[], [(T1, -1)], [(T0, -1)]]


@pytest.mark.parametrize(
    ("release", "kept", "deleted_too"),
    [
        ("0.10.1", [1, 1], [1, 1, 1]),
        ("0.10.2", [2], [2, 1]),
        ("1.0", [2], [2, 1]),
        ("1.1", [0, 1, 1], [0, 1, 1, 1]),
        ("2.2", [0, 1, 1], [0, 1, 1, 1]),
        ("2.3", [2], [1, 2]),
        ("2.6", [2], [3]),
    ],
)
def test_the_number_of_stop_requests(release: str, kept: list[int], deleted_too: list[int]) -> None:
    """Two replicas that keep their logs, and with a third that does not: the size of each StopReplica."""
    cluster = Cluster(design=ControlDesign(release))
    for more, expected in (((), kept), ((T2,), deleted_too)):
        cluster.sent.clear()
        for partition in (T1, *more, T0):
            delete = partition == T2
            cluster.batch.add_stop_replica_request_for_brokers([1], partition, delete_partition=delete)
        cluster.batch.send_requests_to_brokers(EPOCH)
        assert [len(request.partitionStates) for _, request in cluster.sent] == expected


def test_partitions_are_sorted(cluster: Cluster) -> None:
    """So two batches with the same content are the same requests."""
    for partition in (T1, T0):
        cluster.batch.add_leader_and_isr_request_for_brokers([1], partition, KNOWN, ASSIGNED, is_new=False)
    cluster.batch.send_requests_to_brokers(EPOCH)
    for _, request in cluster.sent:
        assert [state.partition.partition for state in request.partitionStates] == [0, 1]


@pytest.mark.parametrize("kind", ["LeaderAndIsr", "StopReplica", "UpdateMetadata"])
def test_a_dirty_batch_refuses_the_next_change(cluster: Cluster, kind: str) -> None:
    """It names the waiting request, which stays; once it is cleared the next change begins."""
    match kind:
        case "LeaderAndIsr":
            cluster.batch.add_leader_and_isr_request_for_brokers([2], T0, KNOWN, ASSIGNED, is_new=False)
        case "StopReplica":
            cluster.batch.add_stop_replica_request_for_brokers([2], T0, delete_partition=False)
        case "UpdateMetadata":
            cluster.batch.add_update_metadata_request_for_brokers([2])
    for _ in range(2):
        with pytest.raises(BatchNotEmpty, match=f"{kind} of an earlier change for .*2"):
            cluster.batch.new_batch()
    cluster.batch.clear()
    cluster.batch.new_batch()
    cluster.batch.send_requests_to_brokers(EPOCH)
    assert cluster.sent == []


def test_unsent_requests_stay() -> None:
    """The unsent kind and the later kinds; earlier kinds are gone."""
    sent = []

    def send(broker: int, request: object) -> None:
        if isinstance(request, UpdateMetadataRequest) and broker == 2:
            raise RequestsNotSent("no channel")
        sent.append((broker, type(request)))

    cluster = Cluster(live=(1, 2), send=send)
    cluster.lead(T0, 1, (1, 2))
    cluster.batch.add_leader_and_isr_request_for_brokers([2], T0, KNOWN, ASSIGNED, is_new=False)
    cluster.batch.add_stop_replica_request_for_brokers([2], T0, delete_partition=False)
    with pytest.raises(RequestsNotSent, match="no channel"):
        cluster.batch.send_requests_to_brokers(EPOCH)
    assert sent == [(2, LeaderAndIsrRequest), (1, UpdateMetadataRequest)]
    assert not cluster.batch.state.leader_and_isr
    assert cluster.batch.state.update_metadata_brokers == {1, 2}
    assert list(cluster.batch.state.stop_replica) == [(T0, 2)]


def test_since_3_2_recovery_is_sent() -> None:
    """Earlier requests have no field for it."""
    for design in (ControlDesign(), ControlDesign().but(leader_recovery=False)):
        cluster = Cluster(design=design)
        cluster.lead(T0, 1, (1,))
        state = KNOWN.leader_and_isr._replace(leader_recovery_state=LeaderRecoveryState.RECOVERING)
        recovering = KNOWN._replace(leader_and_isr=state)
        cluster.batch.add_leader_and_isr_request_for_brokers([1], T0, recovering, ASSIGNED, is_new=False)
        cluster.batch.send_requests_to_brokers(EPOCH)
        assert cluster.leader_and_isr()[1, T0].leaderRecoveryState == int(design.leader_recovery)
