"""Kafka's partition leader elections as pure functions.

A partition lives on its assigned replicas (AR), a list of broker ids in order of preference: the first one is the
*preferred* leader. The replicas that keep up with the leader form the in-sync replicas (ISR). A record is committed
once the whole ISR has it, so a leader from the ISR loses no committed record. An election answers three questions:

- who leads: the search follows the order of the AR, never that of the ISR;
- which ISR the partition has afterwards;
- which brokers receive the result.

Kafka's controller answers them differently for each reason to elect. Each reason has its *strategy*:

>>> from election import STRATEGIES
>>> list(STRATEGIES)
['offline', 'reassign', 'preferred', 'controlled-shutdown']
>>> offline = STRATEGIES["offline"]
>>> offline(replicas=(1, 2, 3), isr=(3, 2), live={2, 3})
ElectionResult(leader=2, isr=(3, 2), recipients=(2, 3), unclean=False)

All strategies take the same arguments and return the same kind of result:

- `replicas` and `isr` are ordered and name each broker once; the ISR may hold brokers outside the AR;
- `live` holds the brokers that are up for this partition, including those that are shutting down. A broker whose log
  directory for the partition has failed is not live for it;
- `shutting_down` holds the brokers that have asked for a controlled shutdown. It applies to all partitions, so it may
  contain a broker with a failed log directory;
- `unclean` permits a leader from outside the ISR, at the price of committed records.

A broker id is an integer from 0 on, or a stand-in for one (`election.ids.Id`). Arguments that break these rules raise
`InvalidBrokers`; no argument is changed in place. Left out: the epochs and versions that fence the write of a result,
which belong to its writer, and the last thing Kafka's controller does, which is to drop recipients that are not up.

Two more functions: `initialize_leader_and_isr` elects for a partition that never had a leader, and
`rebalance_candidates` finds the partitions to return to their preferred leader. The strategies are those of 1.1 to
3.9, except that 1.1 to 2.0 use `leader_for_controlled_shutdown_1_1` for controlled shutdowns.

Replicas are assigned before any election: `assign_replicas_to_brokers` places the replicas of a new topic,
`create_new_partitions_assignment` those of partitions added later.
"""

from election.brokers import InvalidBrokers
from election.initial import initialize_leader_and_isr
from election.rebalance import Partition, imbalance_ratio, rebalance_candidates
from election.replica_placement import (
    InvalidPartitions,
    InvalidReplicationFactor,
    RackAwareMode,
    assign_replicas_to_brokers,
    create_new_partitions_assignment,
)
from election.result import NO_ELIGIBLE_LEADER, ElectionResult
from election.strategies import (
    STRATEGIES,
    UNCLEAN,
    Strategy,
    leader_for_controlled_shutdown,
    leader_for_controlled_shutdown_1_1,
    leader_for_offline,
    leader_for_preferred_replica,
    leader_for_reassign,
)

__all__ = [
    "NO_ELIGIBLE_LEADER",
    "STRATEGIES",
    "UNCLEAN",
    "ElectionResult",
    "InvalidBrokers",
    "InvalidPartitions",
    "InvalidReplicationFactor",
    "Partition",
    "RackAwareMode",
    "Strategy",
    "assign_replicas_to_brokers",
    "create_new_partitions_assignment",
    "imbalance_ratio",
    "initialize_leader_and_isr",
    "leader_for_controlled_shutdown",
    "leader_for_controlled_shutdown_1_1",
    "leader_for_offline",
    "leader_for_preferred_replica",
    "leader_for_reassign",
    "rebalance_candidates",
]
