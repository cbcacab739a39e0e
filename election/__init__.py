"""Kafka's partition leader elections as pure functions.

A partition is kept by its assigned replicas (AR), a list of broker ids whose order is a ranking: the first
one is the *preferred* leader. Those that keep up with the leader form the in-sync replicas (ISR). A record is
committed once all of them have it, so a leader taken from the ISR loses no committed record. To elect is to
answer three questions:

- who leads: the search goes in the order of the AR and never in that of the ISR;
- which ISR the partition has from then on;
- which brokers are to be told.

Kafka's controller answers them differently depending on why it asks, and each reason has its *strategy*:

>>> from election import STRATEGIES
>>> list(STRATEGIES)
['offline', 'reassign', 'preferred', 'controlled-shutdown']
>>> offline = STRATEGIES["offline"]
>>> offline(replicas=(1, 2, 3), isr=(3, 2), live={2, 3})
ElectionResult(leader=2, isr=(3, 2), recipients=(2, 3), unclean=False)

All strategies take the same arguments and give the same kind of result:

- `replicas` and `isr` have an order and name each broker once; the ISR may hold brokers outside the AR;
- `live` holds the brokers that are up, those that are shutting down included. It is said of one partition: a
  broker whose log directory for that partition has failed is not live for it;
- `shutting_down` holds the brokers that have asked for a controlled shutdown. It is said of brokers, so that one
  with a failed log directory may be in it;
- `unclean` permits a leader from outside the ISR, at the price of committed records.

A broker id is an integer from 0 on, or what stands for one (`election.ids.Id`). Arguments that break these
rules raise `InvalidBrokers`; nothing is ever changed in place. Left out are the epochs and versions that fence
the write of a result (they belong to whoever writes it), and what Kafka's controller does last: to drop the
recipients that are not up.

Two functions stand beside the strategies: `initialize_leader_and_isr` elects for a partition that never had a
leader, and `rebalance_candidates` finds the partitions to give back to their preferred leader. The strategies are
those of 1.1 to 3.9; from 1.1 to 2.0 `leader_for_controlled_shutdown_1_1` is in the place of one of them.

Which brokers are assigned to a partition is decided before any election: `assign_replicas_to_brokers` places the
replicas of a new topic, `create_new_partitions_assignment` those of partitions that a topic gets later.
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
