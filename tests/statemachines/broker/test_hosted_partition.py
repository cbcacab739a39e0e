"""The ISRs of a partition while its leader changes them."""

from __future__ import annotations

from statemachines.broker.hosted_partition import CommittedPartitionState, PendingExpandIsr, PendingShrinkIsr
from statemachines.messages.leader_and_isr import LeaderAndIsr


def test_while_a_change_is_pending_the_larger_isr_counts() -> None:
    """For the high watermark: a joining replica may have joined already, and a leaving one may not have left."""
    both, all_of_them = (1, 2), (1, 2, 3)
    committed, sent = CommittedPartitionState(both), LeaderAndIsr(1, 3, ())
    expand = PendingExpandIsr(3, sent, committed)
    shrink = PendingShrinkIsr(frozenset({2}), sent, committed)
    assert (committed.isr, committed.maximal_isr) == (both, both)
    assert (expand.isr, expand.maximal_isr) == (both, all_of_them)
    assert (shrink.isr, shrink.maximal_isr) == (both, both)
