"""The variables of `Replication`: the replicas of one partition, their logs, and the requests on the way to them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from election.ids import BrokerId, LeaderEpoch
from spec.language import Partial, State, Total, variable
from statemachines.broker.log.leader_epochs import EpochEndOffset, Offset
from statemachines.broker.log.replica_log import Record, RecordId, ReplicaLog


class Leadership(NamedTuple):
    """Which broker leads, under which leader epoch, and which are in sync: in ZooKeeper or as a broker was told.

    As published: the order of an ISR is left out, and the version of what ZooKeeper holds. Kafka's own record, with
    both, is `statemachines.messages.leader_and_isr.LeaderAndIsr`.
    """

    leader_epoch: Literal[-1] | LeaderEpoch = -1
    """-1 before the first election, whose epoch is 0."""
    leader: BrokerId | None = None
    isr: frozenset[BrokerId] = frozenset()


class Committed(NamedTuple):
    """A record that lay below the high watermark of a leader once, and where."""

    offset: Offset
    record: Record

    def __str__(self) -> str:
        return f"{self.record} at {self.offset}"


class Fetch(NamedTuple):
    """Who fetches, and from whom."""

    follower: BrokerId
    leader: BrokerId


class Diverging(NamedTuple):
    """The answer that the logs part: to a fetch at this offset."""

    fetch_offset: Offset
    answer: EpochEndOffset


class Replicas(State):
    """One partition: its replicas, ZooKeeper, the requests."""

    log: Total[BrokerId, ReplicaLog] = variable("The log of each replica, with its high watermark.")
    replica: Total[BrokerId, Leadership] = variable(
        "What each broker goes by: the last LeaderAndIsr request that it accepted, and as leader its ISR since."
    )
    partition_state: Leadership = variable(
        "The partition's state node in ZooKeeper. Left out: its version; a writer has read it in that step."
    )
    leader_and_isr: Partial[LeaderEpoch, Leadership] = variable(
        "The LeaderAndIsr request of each epoch, from when it is sent on: each is delivered late, twice or never.",
        of=lambda self, epoch: self.domain_of(Leadership, leader_epoch=[epoch]),
    )
    next_record_id: RecordId = variable("What the next record is called, so that no two are the same.")
    committed: frozenset[Committed] = variable(
        "What lay below the high watermark of a broker that presumed leadership: a history, which no broker has.",
        when=lambda self: self.history,
    )
    late_answers: Partial[Fetch, Diverging] = variable(
        "The last answer to a follower that the logs part, which arrives some time or never. Left out: that other "
        "answers may be late as well.",
        when=lambda self: self.answers_may_be_late,
    )
