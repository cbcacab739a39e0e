"""The variables of `Replication`: the replicas of one partition, their logs, and the requests on the way to them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from election.ids import BrokerId, LeaderEpoch
from spec.language import Partial, State, Total, variable
from spec.systems.replication.replica_log import Record, RecordId, ReplicaLog
from statemachines.broker.log.leader_epochs import EpochEndOffset, Offset


class Leadership(NamedTuple):
    """A leader, its leader epoch and its ISR: in ZooKeeper, or as a broker received them.

    As in the published models, the order of an ISR and the version of ZooKeeper's node are left out. Kafka's own
    record has both: `statemachines.messages.leader_and_isr.LeaderAndIsr`.
    """

    leader_epoch: Literal[-1] | LeaderEpoch = -1
    """-1 before the first election, whose epoch is 0."""
    leader: BrokerId | None = None
    isr: frozenset[BrokerId] = frozenset()


class Committed(NamedTuple):
    """A record that was once below a leader's high watermark, and its offset."""

    offset: Offset
    record: Record

    def __str__(self) -> str:
        return f"{self.record} at {self.offset}"


class Fetch(NamedTuple):
    """The follower that fetches, and its leader."""

    follower: BrokerId
    leader: BrokerId


class Diverging(NamedTuple):
    """The answer to a fetch at this offset that the logs diverge."""

    fetch_offset: Offset
    answer: EpochEndOffset


class Replicas(State):
    """One partition: its replicas, its state in ZooKeeper, and the requests."""

    log: Total[BrokerId, ReplicaLog] = variable("The log of each replica, with its high watermark.")
    replica: Total[BrokerId, Leadership] = variable(
        "The last LeaderAndIsr request that each broker accepted; a leader also keeps its later ISR here."
    )
    partition_state: Leadership = variable(
        "The partition's state node in ZooKeeper. Left out: its version, since a writer reads it in the same step."
    )
    leader_and_isr: Partial[LeaderEpoch, Leadership] = variable(
        "The LeaderAndIsr request of each epoch, once it is sent. It may be delivered late, twice or never.",
        of=lambda self, epoch: self.domain_of(Leadership, leader_epoch=[epoch]),
    )
    next_record_id: RecordId = variable("The id of the next record, so that no two records are the same.")
    committed: frozenset[Committed] = variable(
        "History, which no broker keeps: the records that were below the high watermark of a presumed leader.",
        when=lambda self: self.history,
    )
    late_answers: Partial[Fetch, Diverging] = variable(
        "The last answer to a follower that the logs diverge, which arrives at some time or never. Left out: other "
        "late answers.",
        when=lambda self: self.answers_may_be_late,
    )
