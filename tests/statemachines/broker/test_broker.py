"""A broker's task that removes members of ISRs, where a member is none of the replicas."""

from __future__ import annotations

import pytest

from statemachines.broker.broker import Broker
from statemachines.broker.data_plane import Settings
from statemachines.broker.hosted_partition import CommittedPartitionState
from statemachines.changes.replicating import ReplicationDesign
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.zk_requests import ZkResponse
from statemachines.messages.control_requests import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.records import Produced
from statemachines.messages.topic_partition import TopicPartition
from statemachines.zookeeper.tree import Code

ISRS = ((1, 2), (1, 2, 3), (1, 2))
"""Of three partitions with the replicas 1 and 2. A reassignment has just removed broker 3 from one of them."""


class Clock:
    milliseconds = 1_000_000


def a_leader(release: str, clock: Clock) -> Broker:
    """Broker 1 leads all three."""
    settings = Settings(
        ReplicationDesign(release), lambda: clock.milliseconds, lambda _: 1, lambda _: False, lambda _: None
    )
    broker = Broker(1, ControlDesign(release), lambda: -1, lambda _: (ZkResponse(Code.OK, version=2),), settings)
    broker.start()
    for epoch, replicas in enumerate(((1, 2, 3), (1, 2))):
        states = tuple(
            LeaderAndIsrPartitionState(TopicPartition("t", number), 1, 1, epoch, isr, epoch, replicas)
            for number, isr in enumerate(ISRS)
        )
        broker.handle(UpdateMetadataRequest(0, 1, -1, (), (1, 2, 3)))
        broker.handle(LeaderAndIsrRequest(0, 1, -1, states, (1, 2, 3)))
    return broker


def wanted_isrs(broker: Broker) -> tuple[tuple[int, ...], ...]:
    """The ISRs, as the leader has written them or, since 2.7, asks for them."""
    states = [hosted.state for hosted in broker.replica_manager.state.all_partitions.values()]
    return tuple(
        each.isr if isinstance(each, CommittedPartitionState) else each.sent_leader_and_isr.isr for each in states
    )


@pytest.mark.parametrize(
    ("release", "at_once", "later"),
    [
        ("2.3", ISRS, ((1,), (1,), (1,))),
        ("2.4", ISRS, ((1,), (1, 2, 3), (1, 2))),
        ("2.8", ISRS, ((1,), (1, 2, 3), (1, 2))),
        ("3.0", ((1, 2), (1, 2), (1, 2)), ((1,), (1, 2), (1,))),
    ],
)
def test_a_member_of_the_isr_that_is_no_replica(release: str, at_once: object, later: object) -> None:
    """From 2.4 to 2.8 the task fails there, and does not reach the partitions after it. [KAFKA-9672]"""
    clock = Clock()
    broker = a_leader(release, clock)
    broker.shrink_isrs()
    assert wanted_isrs(broker) == at_once
    for partition in broker.replica_manager.state.all_partitions:
        broker.data_plane.append(partition, Produced("m0", 1))
    clock.milliseconds += 31_000
    broker.shrink_isrs()
    assert wanted_isrs(broker) == later
