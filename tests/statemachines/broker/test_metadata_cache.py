"""A broker's knowledge of the cluster."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from statemachines.broker.metadata_cache import InMemoryMetadata, MetadataCache
from statemachines.messages.control_requests import UpdateMetadataPartitionState, UpdateMetadataRequest
from statemachines.messages.topic_partition import TopicPartition
from tests.statemachines.control import T0, T1


def of_partition(partition: int, leader: int = 1, leader_epoch: int = 0) -> UpdateMetadataPartitionState:
    """UpdateMetadata's state of t-0, t-1, ..."""
    return UpdateMetadataPartitionState(
        TopicPartition("t", partition), 5, leader, leader_epoch, (1, 2), 0, (1, 2), ()
    )


def request(*states: UpdateMetadataPartitionState, live: tuple[int, ...] = (1, 2)) -> UpdateMetadataRequest:
    """A controller's request."""
    return UpdateMetadataRequest(9, 5, 101, states, live)


def test_brokers_are_replaced_and_partitions_join() -> None:
    """A request without partitions leaves the known ones."""
    cache = MetadataCache()
    cache.update_metadata(request(of_partition(0)))
    cache.update_metadata(request(of_partition(1), live=(2, 3)))
    cache.update_metadata(request(live=(3,)))
    assert cache.state == InMemoryMetadata(9, frozenset({3}), {T0: of_partition(0), T1: of_partition(1)})


def test_a_partition_that_is_deleted_is_forgotten() -> None:
    """Leader -2 means deleted; other partitions of the topic stay."""
    cache = MetadataCache()
    cache.update_metadata(request(of_partition(0), of_partition(1)))
    assert cache.update_metadata(request(of_partition(0, leader=-2))) == (T0,)
    assert cache.partition_info(T0) is None
    assert cache.partition_info(T1) == of_partition(1)


def test_leader_epochs_are_ignored() -> None:
    """The last request counts, older or not: the controller epoch has been checked before."""
    cache = MetadataCache()
    cache.update_metadata(request(of_partition(0, leader_epoch=7)))
    cache.update_metadata(request(of_partition(0, leader_epoch=3)))
    assert cache.partition_info(T0) == of_partition(0, leader_epoch=3)


@given(st.lists(st.builds(of_partition, st.integers(0, 3), st.integers(-2, 3)), max_size=8, unique_by=lambda s: s[1]))
def test_the_same_request_twice_equals_once(states: list[UpdateMetadataPartitionState]) -> None:
    """A controller repeats it when the reply was lost."""
    once, twice = MetadataCache(), MetadataCache()
    for cache in (once, twice, twice):
        cache.update_metadata(request(*states))
    assert once.state == twice.state
