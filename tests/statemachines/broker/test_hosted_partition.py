"""How a replica begins to lead or to follow."""

from __future__ import annotations

from statemachines.broker.hosted_partition import (
    OFFLINE_PARTITION,
    CommittedPartitionState,
    HostedPartition,
    PendingExpandIsr,
    PendingShrinkIsr,
)
from statemachines.messages.control_requests import LeaderAndIsrPartitionState
from statemachines.messages.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicPartition

RECOVERING = LeaderRecoveryState.RECOVERING
STATE = LeaderAndIsrPartitionState(
    TopicPartition("t", 0), 5, 1, 3, (1, 2), 7, (1, 2, 3), (3,), (2,), False, RECOVERING
)
MOVING = ReplicaAssignment((1, 2, 3), (3,), (2,))


def test_a_leader_has_the_isr_and_recovers_at_once() -> None:
    """Its next change of the ISR shows that."""
    made = HostedPartition().make_leader(STATE)
    assert made == HostedPartition(
        leader=1,
        leader_epoch=3,
        partition_epoch=7,
        controller_epoch=5,
        assignment=MOVING,
        state=CommittedPartitionState((1, 2), LeaderRecoveryState.RECOVERED),
        has_log=True,
    )
    assert (made.is_led_by(1), made.is_led_by(2), OFFLINE_PARTITION.is_led_by(1)) == (True, False, False)


def test_a_follower_forgets_the_isr() -> None:
    """And knows whether its leader must recover."""
    leader = HostedPartition().make_leader(STATE)
    made = leader.make_follower(STATE._replace(leader=2, leaderEpoch=4, partitionEpoch=8))
    assert made == HostedPartition(
        leader=2,
        leader_epoch=4,
        partition_epoch=8,
        controller_epoch=5,
        assignment=MOVING,
        state=CommittedPartitionState((), RECOVERING),
        has_log=True,
    )


def test_without_its_log_a_leader_has_the_isr_but_not_the_epoch() -> None:
    """So the request can come again."""
    made = HostedPartition().make_leader(STATE, has_log=False)
    assert (made.leader, made.leader_epoch, made.partition_epoch, made.has_log) == (None, -1, 0, False)
    assert made.state.isr == (1, 2)


def test_without_its_log_a_follower_has_the_epoch_too() -> None:
    """Since 3.6; the repeated request is then stale. [#14138]"""
    epochs = [
        HostedPartition().make_follower(STATE, has_log=False, epoch_after_log=after).leader_epoch
        for after in (True, False)
    ]
    assert epochs == [-1, 3]


def test_while_a_change_is_pending_the_larger_isr_counts() -> None:
    """For the high watermark: a joining replica may have joined already, and a leaving one may not have left."""
    both, all_of_them = (1, 2), (1, 2, 3)
    committed, sent = CommittedPartitionState(both), LeaderAndIsr(1, 3, ())
    expand = PendingExpandIsr(3, sent, committed)
    shrink = PendingShrinkIsr(frozenset({2}), sent, committed)
    assert (committed.isr, committed.maximal_isr) == (both, both)
    assert (expand.isr, expand.maximal_isr) == (both, all_of_them)
    assert (shrink.isr, shrink.maximal_isr) == (both, both)
