"""What no transcript of a broker shows: impossible requests, and any requests in any order, each of them twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachines.messages.control_requests import LeaderAndIsrRequest, StopReplicaPartitionState, StopReplicaRequest
from statemachines.messages.topic_partition import TopicPartition
from tests.statemachines.control import T0, T1
from tests.statemachines.receiving import BROKER_EPOCH, EPOCH, Broker, leader_and_isr_state


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
