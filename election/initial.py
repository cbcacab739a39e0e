"""The first leader and ISR of a new partition."""

from collections.abc import Collection, Sequence

from election.brokers import in_order, up_and_leaving
from election.ids import Id
from election.result import NO_ELIGIBLE_LEADER, ElectionResult


def initialize_leader_and_isr(
    replicas: Sequence[Id],
    live: Collection[Id],
    *,
    shutting_down: Collection[Id] = (),
) -> ElectionResult[Id]:
    """Elect for a new partition, which never had a leader [PartitionStateMachine.scala, 3.9].

    Every log is empty, so each online replica is in sync. The online replicas form the ISR and receive the result,
    and the first of them leads. If none is online the partition stays new: NO_ELIGIBLE_LEADER.

    Raises InvalidBrokers when the arguments are malformed.

    >>> initialize_leader_and_isr(replicas=(3, 1, 2), live={1, 2})
    ElectionResult(leader=1, isr=(1, 2), recipients=(1, 2), unclean=False)
    """
    assigned = in_order("replicas", replicas)
    up, leaving = up_and_leaving(live, shutting_down)
    online = up - leaving

    online_replicas = tuple(broker for broker in assigned if broker in online)
    if not online_replicas:
        return NO_ELIGIBLE_LEADER
    return ElectionResult(online_replicas[0], online_replicas, online_replicas, unclean=False)
