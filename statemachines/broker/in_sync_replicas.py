"""In-sync replicas of a leader: which ones its high watermark waits for, which may join, which must leave.

A leader knows the log end offset (LEO) of a follower from its fetches: the follower has all records below the offset
that it asks for. The high watermark (HW) is the least LEO of all replicas that the leader waits for, itself included.
Consumers read up to there.

    releases        the HW waits for             a replica joins at        a replica leaves that has lagged
    0.10.1          the ISR                      the HW                    always
    0.10.2 to 2.0   and replicas caught up       the HW                    always                  (KAFKA-4485)
    2.1 to 3.5      the same                     and the epoch's start     unless at the LEO       (KAFKA-7128, 7152)
    3.6             and of these, the alive      the same                  the same
    3.7 to 3.9      the same, if the ISR is not  the same                  the same                (KAFKA-15583)
                    under min.insync.replicas

2.0.1 has the epoch's start as well. Since 2.7 the ISR is the maximal one: it includes replicas that the leader has
asked the controller to add, and still those that it has asked to remove (KIP-497).

A member that is none of the leader's replicas leaves like others until 2.3, and at once since 3.0. From 2.4 to 2.8
the leader cannot check for lagging replicas while there is one (`may_expire`, KAFKA-9672).

These functions need neither clock nor release: a leader's `Partition` says which replicas are caught up, alive and
waited for. Offsets count from 0; `UNKNOWN_OFFSET` is the LEO of a replica that has not fetched from this leader yet.
[maybeIncrementLeaderHW, maybeExpandIsr, getOutOfSyncReplicas in Partition.scala, 0.10.1 to 3.9]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from election.ids import BrokerId
from statemachines.broker.log.leader_epochs import Offset

UNKNOWN_OFFSET: Final = -1
"""The LEO of a replica without a known one; it holds the high watermark back. [LogOffsetMetadata, 3.9]"""


def high_watermark(current: Offset, end_offsets: Iterable[Offset]) -> Offset:
    """The high watermark of a leader: the least LEO, but never less than the current one.

    Args:
        current: the high watermark so far.
        end_offsets: the LEOs of the leader and of each replica that it waits for (see the table).

    [Partition.maybeIncrementLeaderHW, 0.10.1 to 3.9; UnifiedLog.maybeIncrementHighWatermark, 3.9]

    >>> high_watermark(0, [8, 4, 6]), high_watermark(5, [8, 4, 6]), high_watermark(0, [8, UNKNOWN_OFFSET])
    (4, 5, 0)
    """
    least: Offset | None = None
    for end_offset in end_offsets:
        if end_offset <= current:  # this replica decides, whatever the others' LEOs
            return current
        least = end_offset if least is None else min(least, end_offset)
    return current if least is None else least


def may_join(end_offset: Offset, high_watermark: Offset, epoch_start: Offset | None = None) -> bool:
    """Whether a replica has all that is committed, so that the leader may take it into the ISR.

    Args:
        end_offset: its LEO.
        high_watermark: the leader's.
        epoch_start: the leader's LEO when it began to lead. A new leader's high watermark may be too low, so that a
            replica which has reached it lacks committed records (KAFKA-7128). None up to 2.0.0, which do not check.

    [Partition.maybeExpandIsr, 0.10.1; isFollowerInSync, 2.1 to 3.9]

    >>> may_join(1, high_watermark=1), may_join(1, high_watermark=1, epoch_start=2)
    (True, False)
    """
    return end_offset >= high_watermark and (epoch_start is None or end_offset >= epoch_start)


def must_leave(end_offset: Offset, leader_end_offset: Offset, lagged: bool, may_idle: bool = True) -> bool:
    """Whether the leader takes a member out of the ISR.

    Args:
        end_offset: the member's LEO.
        leader_end_offset: the leader's.
        lagged: it has not had all of the leader's log for longer than replica.lag.time.max.ms.
        may_idle: a member at the leader's LEO stays, even without a fetch for that long (KAFKA-7152).
            False until 2.0.

    [Partition.getOutOfSyncReplicas, 0.10.1; isFollowerOutOfSync, 2.1 to 3.9]

    >>> must_leave(1, 2, lagged=True), must_leave(2, 2, lagged=True), must_leave(2, 2, lagged=True, may_idle=False)
    (True, False, True)
    """
    return lagged and not (may_idle and end_offset == leader_end_offset)


def may_expire(
    isr: Iterable[BrokerId], leader: BrokerId, replicas: Collection[BrokerId], shrink_with_unassigned: bool = True
) -> bool:
    """Whether a leader can check which members of its ISR have fallen behind.

    Args:
        isr: the ISR.
        leader: the leader, which the check skips.
        replicas: the assignment in the leader's last LeaderAndIsr. In each reassignment a controller takes a replica
            out of the assignment before the ISR.
        shrink_with_unassigned: False from 2.4 to 2.8: the check fails at a member that is none of the replicas. The
            failure ends the scheduled task, and so skips the partitions after this one (KAFKA-9672).

    [Partition.isFollowerOutOfSync, ReplicaManager.maybeShrinkIsr, 2.4 to 3.9]

    >>> may_expire([1, 2], 1, [1, 2], False), may_expire([1, 3], 1, [1, 2], False), may_expire([1, 3], 1, [1, 2])
    (True, False, True)
    """
    return shrink_with_unassigned or all(member == leader or member in replicas for member in isr)
