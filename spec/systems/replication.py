"""Leaders write, followers truncate and fetch: can a committed record be lost, or differ between replicas?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any, Literal, NamedTuple

from election import leader_for_preferred_replica
from election.ids import BrokerId, LeaderEpoch
from spec.language import (
    Cells,
    Grid,
    Look,
    Partial,
    Size,
    Specification,
    State,
    Step,
    Tag,
    Tags,
    Total,
    action,
    assumption,
    at_most,
    bound,
    constant,
    initial,
    integers,
    interchangeable,
    invariant,
    picture,
    require,
    say,
    sometimes,
    switch,
    transition_invariant,
    variable,
    view,
    where,
)
from spec.releases import ByRelease
from statemachines.broker import in_sync_replicas
from statemachines.broker.hosted_partition import goes_by
from statemachines.broker.in_sync_replicas import UNKNOWN_OFFSET
from statemachines.broker.log import truncation
from statemachines.broker.log.leader_epochs import EpochEndOffset, LeaderEpochs, Offset
from statemachines.broker.log.replica_log import Record, RecordId, ReplicaLog
from statemachines.changes.receiving import TRUNCATE_EVERY_EPOCH
from statemachines.changes.truncating import (
    FENCE_FETCH,
    FENCE_HIGH_WATERMARK,
    FENCE_JOIN,
    FENCE_TRUNCATION,
    JOIN_AT_EPOCH_START,
    MATCH_FETCH_EPOCH,
    PERSIST_EPOCH_ON_LEAD,
    REFUSE_SAME_EPOCH,
    SKIP_DIVERGING_FETCH,
    TRUNCATION,
)
from statemachines.messages.errors import Errors


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


def of_release(release: str) -> Mapping[str, str | bool]:
    """The version that a release has, and what changed while that stayed the same."""
    constants = {"truncation": TRUNCATION.at(release)}
    if constants["truncation"] != TRUNCATION.now:
        return constants
    return {
        **constants,
        "skip_diverging_fetch": SKIP_DIVERGING_FETCH.at(release),
        "match_fetch_epoch": MATCH_FETCH_EPOCH.at(release),
    }


def several_brokers(self: Replication) -> bool:
    """Whether there is a leader to follow."""
    return self.brokers > 1


def several_epochs(self: Replication) -> bool:
    """Whether there are several brokers, and leadership passes from one to another."""
    return self.brokers > 1 and self.max_leader_epoch > 0


class Replication(Specification[Replicas]):
    """The replicas of one partition, under a controller that may elect any member of the ISR at any time.

    At the abstraction of Jason Gustafson's TLA+ models of this protocol, and with `history` off in the very same
    states: ZooKeeper is one value, a LeaderAndIsr request once sent may be delivered late, twice or never, and
    a broker that asks another reads its log as it is at that moment. So there is more here than could happen in
    a cluster (the controller elects without a reason, a fetch and what the leader learns from it are two steps
    at any time), and what holds here is not owed to a schedule.

    Left out: crashes and what is lost in them, restarts, fetches and their answers on the way (but for one answer
    until 3.9.0, see `TruncateOnFetch`), the high watermark's way to the followers (it comes with each record),
    unclean elections, reassignment, retention. A log is never lost, so a finding is never the fault of a disk.

    Three statements are called "no high-watermark regression". `no_hw_regression` is about a leader within its epoch,
    and holds in every release. Two others hold in none: a consumer sees less at a new leader
    (`a_new_leader_exposes_less`), and the high watermark of a follower goes back (`a_high_watermark_goes_back`).
    docs/findings.md has a table by release.

    Here stands what all versions have in common. A version is a class below, and `truncation` names it.
    """

    name = "replication"
    leaves_out = "crashes, lost flushes, fetches on their way, unclean elections, retention"
    releases = ByRelease(of_release)

    brokers: int = constant(3, "Brokers, each with a replica of the partition.", at_least=1, at_most=5)
    log_size: int = constant(2, "Bound: records in a log.", at_least=1, at_most=9)
    max_records: int = constant(2, "Bound: records ever written.", at_least=1, at_most=9)
    max_leader_epoch: int = constant(1, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=9)
    history: bool = constant(False, "Every record that was ever committed is remembered, as no broker does.")

    truncation: str = switch(
        TRUNCATION.now,
        str(TRUNCATION),
        among=[
            "truncate-to-high-watermark",
            "kip-101",
            "kip-279",
            "kip-320-first-try",
            "kip-320",
            "truncate-on-fetch",
        ],
    )
    adopt_leaderless: bool = switch(
        False, "A broker acts on a request that names no leader, and follows none; real ones keep their old role."
    )
    refuse_same_epoch: bool = switch(REFUSE_SAME_EPOCH.now, str(REFUSE_SAME_EPOCH))

    @property
    def answers_may_be_late(self) -> bool:
        """Whether it makes a difference when the answer to a fetch arrives."""
        return False

    @assumption
    def is_a_version(self) -> bool:
        """Replication itself is only what the versions share: `Replication.of(truncation=...)` is one of them."""
        return self.__class__ not in (Replication, UnderOneEpoch)

    def sizes(self) -> Mapping[Any, Size]:
        """Offsets and ids of records as far as there are records."""
        return {
            BrokerId: interchangeable("broker", range(self.brokers)),
            LeaderEpoch: range(self.max_leader_epoch + 1),
            Offset: integers(0, self.log_size),
            RecordId: integers(0, self.max_records),
            ReplicaLog.records: at_most(self.log_size),
            Record.id: range(self.max_records),
            Committed.offset: range(self.log_size),
        }

    @initial
    def a_partition_without_leader(self, s: Replicas) -> None:
        """Nothing is written, no broker leads, and all are in sync."""
        s.partition_state = Leadership(isr=frozenset(self.domain_of(BrokerId)))

    # The controller.

    def send(self, s: Replicas, leader: BrokerId | None, isr: frozenset[BrokerId]) -> None:
        """The controller writes a leadership under the next epoch to ZooKeeper, and sends it to every replica."""
        epoch = s.partition_state.leader_epoch + 1
        bound(epoch <= self.max_leader_epoch)
        s.partition_state = s.leader_and_isr[epoch] = Leadership(epoch, leader, isr)

    @action(actor="controller", receiver="ZooKeeper")
    def controller_shrink_isr(self, s: Replicas, broker: BrokerId) -> None:
        """The controller takes a broker out of the ISR, but for the last one, and its leadership from a leader.

        [ReplicaStateMachine.removeReplicasFromIsr, 3.9]
        """
        state = s.partition_state
        require(broker in state.isr)
        if state.leader != broker:
            self.send(s, state.leader, state.isr - {broker})
        else:
            self.send(s, None, state.isr - {broker} or state.isr)

    @action(actor="controller", receiver="ZooKeeper")
    def controller_elect_leader(self, s: Replicas, broker: BrokerId) -> None:
        """The controller elects a member of the ISR.

        Any member, at any time: a coarse rule, which covers every clean strategy of `election`. The broker is the
        preferred one, since it is open here in which order replicas are assigned. What other strategies take out of
        the ISR with it is a step of its own. [PartitionStateMachine, 3.9]
        """
        state = s.partition_state
        require(broker != state.leader)
        elected = leader_for_preferred_replica(replicas=(broker,), isr=tuple(state.isr), live=(broker,))
        require(elected.leader is not None)
        self.send(s, elected.leader, state.isr)

    # A broker that is sent a request.

    def later_request(
        self, s: Replicas, broker: BrokerId, epoch: LeaderEpoch, leaders: Collection[BrokerId | None]
    ) -> Leadership:
        """The request of an epoch that names one of these leaders, and is later than what the broker goes by."""
        request = s.leader_and_isr.get(epoch)
        require(request is not None and request.leader in leaders)
        mine = s.replica[broker].leader_epoch
        require(goes_by(mine, epoch) or (epoch == mine and not self.refuse_same_epoch))
        assert request is not None
        return request

    # A broker that presumes to lead.

    def presumes_leadership(self, s: Replicas, broker: BrokerId) -> bool:
        """Whether a broker believes that it leads, rightly or not."""
        return s.replica[broker].leader == broker

    def is_true_leader(self, s: Replicas, broker: BrokerId) -> bool:
        """Whether it believes so, and ZooKeeper has it under the same epoch."""
        mine, state = s.replica[broker], s.partition_state
        return mine.leader == broker == state.leader and mine.leader_epoch == state.leader_epoch

    @action
    def become_leader(self, s: Replicas, broker: BrokerId, epoch: LeaderEpoch) -> None:
        """A broker accepts a request of a later epoch that makes it leader. Its log stays.

        [Partition.makeLeader, 3.9]
        """
        request = self.later_request(s, broker, epoch, {broker})
        if not self.refuse_same_epoch and epoch == s.replica[broker].leader_epoch:
            # It begins as after a restart: from a checkpoint of its high watermark, at worst from 0. Source:
            # Partition.getOrCreateReplica, 0.11.
            s.log[broker] = s.log[broker].with_high_watermark(0)
        s.replica[broker] = request
        self.remember_committed(s, broker)

    @action
    def leader_write(self, s: Replicas, leader: BrokerId) -> None:
        """A leader appends a record under its epoch. [Partition.appendRecordsToLeader, 3.9]"""
        require(self.presumes_leadership(s, leader))
        bound(s.next_record_id < self.max_records)
        log = s.log[leader]
        bound(log.end_offset < self.log_size)
        s.log[leader] = log.append(Record(s.next_record_id, s.replica[leader].leader_epoch))
        s.next_record_id += 1

    @action
    def leader_increment_high_watermark(self, s: Replicas, leader: BrokerId) -> None:
        """A leader commits its next record, which its whole ISR has. [Partition.maybeIncrementLeaderHW, 3.9]"""
        require(self.presumes_leadership(s, leader))
        log = s.log[leader]
        offset = log.high_watermark + 1
        require(offset <= log.end_offset)
        acknowledged = (self.acknowledged_offset(s, member, leader, offset) for member in s.replica[leader].isr)
        end_offsets = chain([log.end_offset], acknowledged)
        require(in_sync_replicas.high_watermark(log.high_watermark, end_offsets) >= offset)
        s.log[leader] = log.with_high_watermark(offset)
        self.remember_committed(s, leader)

    @action(when=several_brokers, receiver="ZooKeeper")
    def leader_shrink_isr(self, s: Replicas, leader: BrokerId, replica: BrokerId) -> None:
        """The true leader takes a replica that is behind out of the ISR. [Partition.maybeShrinkIsr, 3.9]"""
        require(self.is_true_leader(s, leader))
        mine = s.replica[leader]
        require(replica in mine.isr and replica != leader)
        require(self.must_leave(s, replica, leader))
        self.write_isr(s, leader, mine.isr - {replica})

    @action(when=several_brokers, receiver="ZooKeeper")
    def leader_expand_isr(self, s: Replicas, leader: BrokerId, replica: BrokerId) -> None:
        """The true leader takes a replica that has caught up into the ISR. [Partition.maybeExpandIsr, 3.9]"""
        require(self.is_true_leader(s, leader))
        mine = s.replica[leader]
        require(replica not in mine.isr)
        require(self.may_join(s, replica, leader))
        self.write_isr(s, leader, mine.isr | {replica})

    def write_isr(self, s: Replicas, leader: BrokerId, isr: frozenset[BrokerId]) -> None:
        """The true leader writes its ISR to ZooKeeper, under the same epoch; no request is sent."""
        s.partition_state = s.partition_state._replace(isr=isr)
        s.replica[leader] = s.replica[leader]._replace(isr=isr)

    def remember_committed(self, s: Replicas, leader: BrokerId) -> None:
        """What is below the high watermark of a leader is committed."""
        if self.history:
            log = s.log[leader]
            s.committed |= {Committed(offset, log.records[offset]) for offset in range(log.high_watermark)}

    # A broker that follows.

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """To where a follower truncates its log before it fetches from a leader."""
        raise NotImplementedError

    @action(when=several_brokers)
    def become_follower(self, s: Replicas, broker: BrokerId, epoch: LeaderEpoch) -> None:
        """A broker accepts a request of a later epoch that names another leader, and truncates its log.

        [ReplicaManager.makeFollowers, Partition.makeFollower, 3.9]
        """
        request = self.later_request(s, broker, epoch, {*self.domain_of(BrokerId)} - {broker})
        self.truncate(s, broker, request)
        s.replica[broker] = request

    def truncate(self, s: Replicas, follower: BrokerId, request: Leadership) -> None:
        """A broker that is about to follow the leader of a request truncates its log."""
        log, leader = s.log[follower], request.leader
        assert leader is not None
        offset = self.truncation_offset(s, follower, leader)
        require(offset <= log.end_offset)
        if offset < log.end_offset:
            say("it truncates its log")
        s.log[follower] = log.truncate_to(offset)

    @action(when=lambda self: self.adopt_leaderless)
    def become_leaderless(self, s: Replicas, broker: BrokerId, epoch: LeaderEpoch) -> None:
        """A broker accepts a request of a later epoch that names no leader."""
        s.replica[broker] = self.later_request(s, broker, epoch, {None})

    @action(when=several_brokers, receiver="leader")
    def follower_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> None:
        """A follower fetches the next record, and the high watermark with it. [ReplicaFetcherThread, 3.9]"""
        require(follower != leader and self.presumes_leadership(s, leader))
        require(self.may_fetch(s, follower, leader))
        log, its = s.log[follower], s.log[leader]
        require(log.end_offset < its.end_offset)
        bound(log.end_offset < self.log_size)
        s.log[follower] = log.append(its.records[log.end_offset]).with_high_watermark(its.high_watermark)

    # What one broker knows of another; here the versions differ.

    def follows(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a replica takes this broker for the leader."""
        return s.replica[follower].leader == leader

    def known_end_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """The follower's LEO as the leader learns it from a fetch, with regard to an offset.

        A fetch beyond the end of the leader's log is refused.
        """
        return min(s.log[follower].end_offset, s.log[leader].end_offset)

    def may_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether the leader answers a fetch at the end of the follower's log."""
        return self.follows(s, follower, leader)

    def acknowledged_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """The LEO of a member of the ISR that counts for the high watermark, with regard to an offset."""
        return (
            self.known_end_offset(s, follower, leader, offset)
            if self.follows(s, follower, leader)
            else UNKNOWN_OFFSET
        )

    def must_leave(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a member of the ISR may be taken out: there is no clock, so it may have lagged at any time."""
        if not self.follows(s, follower, leader):
            return True
        end_offset = s.log[leader].end_offset
        known = self.known_end_offset(s, follower, leader, end_offset)
        return in_sync_replicas.must_leave(known, end_offset, lagged=True)

    def may_join(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a replica that is not in the ISR has all that the leader has committed."""
        high_watermark = s.log[leader].high_watermark
        return self.follows(s, follower, leader) and in_sync_replicas.may_join(
            self.known_end_offset(s, follower, leader, high_watermark), high_watermark
        )

    # Properties.

    def has_the_same_committed(self, s: Replicas, leader: BrokerId, replica: BrokerId) -> bool:
        """Whether a replica has what the leader has at every offset below the leader's high watermark."""
        mine, offset = s.log[leader], s.log[leader].high_watermark
        return offset <= mine.end_offset and mine.records[:offset] == s.log[replica].records[:offset]

    @invariant
    def weak_isr(self, s: Replicas, leader: BrokerId, member: BrokerId) -> bool:
        """R4: each member of the ISR that a leader believes in has what this leader has committed."""
        mine = s.replica[leader]
        if mine.leader != leader or member not in mine.isr:
            return True
        return self.has_the_same_committed(s, leader, member)

    @invariant
    def strong_isr(self, s: Replicas, leader: BrokerId, member: BrokerId) -> bool:
        """R3: each member of the ISR in ZooKeeper, any of whom may be elected, has what any leader has committed."""
        if member not in s.partition_state.isr or not self.presumes_leadership(s, leader):
            return True
        return self.has_the_same_committed(s, leader, member)

    @invariant
    def leader_in_isr(self, s: Replicas) -> bool:
        """P1: in ZooKeeper there is no leader, or the leader is in the ISR."""
        return s.partition_state.leader is None or s.partition_state.leader in s.partition_state.isr

    @invariant(when=lambda self: self.history)
    def leader_completeness(self, s: Replicas, leader: BrokerId) -> bool:
        """R5: a true leader has every record that was ever committed, where it was."""
        if not self.is_true_leader(s, leader):
            return True
        return all(s.log[leader].at(each.offset) == each.record for each in s.committed)

    @invariant(when=lambda self: self.history)
    def committed_once(self, s: Replicas) -> bool:
        """R6: no two records were ever committed at one offset."""
        return len({each.offset for each in s.committed}) == len(s.committed)

    @transition_invariant
    def no_hw_regression(self, before: Replicas, step: Step, after: Replicas, leader: BrokerId) -> bool:
        """R9: the high watermark of a leader never goes back within its epoch."""
        then, now = before.replica[leader], after.replica[leader]
        if not (then.leader == now.leader == leader and then.leader_epoch == now.leader_epoch):
            return True
        return before.log[leader].high_watermark <= after.log[leader].high_watermark

    # What must be able to happen.

    @sometimes
    def a_record_is_committed(self, s: Replicas) -> bool:
        """A leader has moved its high watermark over a record."""
        return any(
            self.presumes_leadership(s, broker) and s.log[broker].high_watermark > 0
            for broker in self.domain_of(BrokerId)
        )

    @sometimes(when=several_brokers)
    def an_isr_shrinks_and_grows_back(self, before: Replicas, step: Step, after: Replicas) -> bool:
        """The ISR in ZooKeeper grows; every broker was in it at first, so it has shrunk before."""
        return before.partition_state.isr < after.partition_state.isr

    @sometimes(when=several_epochs)
    def a_leader_changes_with_records_in_flight(self, before: Replicas, step: Step, after: Replicas) -> bool:
        """Another leader is elected while the one before has records that are not committed."""
        old, new = before.partition_state, after.partition_state
        if old.leader is None or new.leader in (None, old.leader):
            return False
        log = before.log[old.leader]
        return self.is_true_leader(before, old.leader) and log.high_watermark < log.end_offset

    @sometimes(when=lambda self: self.history and several_epochs(self))
    def a_new_leader_exposes_less(self, s: Replicas, leader: BrokerId) -> bool:
        """The high watermark of a true leader is below what an older leader had exposed: consumers see it go back."""
        if not self.is_true_leader(s, leader):
            return False
        return any(each.offset >= s.log[leader].high_watermark for each in s.committed)

    @sometimes(when=lambda self: several_epochs(self) and min(self.log_size, self.max_records) > 1)
    def a_high_watermark_goes_back(self, before: Replicas, step: Step, after: Replicas, broker: BrokerId) -> bool:
        """The high watermark of a replica goes back: a follower takes that of its leader, though it is lower."""
        return after.log[broker].high_watermark < before.log[broker].high_watermark

    @sometimes(when=several_epochs)
    def a_truncation_cuts_something(self, before: Replicas, step: Step, after: Replicas) -> bool:
        """A replica loses a record."""
        return any(
            after.log[broker].end_offset < before.log[broker].end_offset for broker in self.domain_of(BrokerId)
        )

    # What a state means, to the reader of a trace.

    @view
    def leadership(self, s: Replicas) -> str:
        """Which broker leads, and which are in sync, as ZooKeeper has it."""
        state = s.partition_state
        leads = "no broker leads" if state.leader is None else f"broker {state.leader} leads"
        under = f" under epoch {state.leader_epoch}" if state.leader_epoch >= 0 else ""
        return f"in ZooKeeper {leads}{under}, and the ISR is {listed(state.isr)}"

    @view
    def role(self, s: Replicas, broker: BrokerId) -> str:
        """What a broker takes itself for, and whether that is so."""
        mine = s.replica[broker]
        where(mine.leader_epoch >= 0)
        now = mine.leader_epoch == s.partition_state.leader_epoch
        under = f"under epoch {mine.leader_epoch}{'' if now else ', which is over'}"
        if mine.leader == broker:
            return f"broker {broker} {'leads' if now else 'still takes itself for leader'} {under}"
        return f"broker {broker} follows {'none' if mine.leader is None else f'broker {mine.leader}'} {under}"

    @view
    def counted(self, s: Replicas, leader: BrokerId) -> str:
        """A leader counts brokers as in sync that do not follow it, or not under its epoch."""
        mine = s.replica[leader]
        where(mine.leader == leader)
        others = [each for each in sorted(mine.isr - {leader}) if s.replica[each][:2] != mine[:2]]
        where(others)
        none = "which does not follow it" if len(others) == 1 else "none of which follows it"
        return f"broker {leader} counts {listed(others)} as in sync, {none} under its epoch"

    @view
    def contents(self, s: Replicas, broker: BrokerId) -> str:
        """What is in a log, each record with the epoch of its leader, and how much of that is committed."""
        where(any(log.records for log in s.log.values()))
        records, high_watermark = s.log[broker]
        holds = ", ".join(map(str, records)) or "empty"
        return f"the log of broker {broker}: {holds}; high watermark {high_watermark}"

    @view(when=lambda self: self.history)
    def held(self, s: Replicas, offset: Offset, record: RecordId) -> str:
        """Which logs have a record that was committed."""
        there = [each.record for each in s.committed if (each.offset, each.record.id) == (offset, record)]
        where(there)
        holders = [broker for broker, log in sorted(s.log.items()) if log.at(offset) in there]
        only = f"in the log of {listed(holders)} only" if holders else "in no log"
        is_in = "in every log" if len(holders) == self.brokers else only
        return f"record {record}, committed at offset {offset}, is {is_in}"

    # As it is drawn.

    @picture
    def logs(self, s: Replicas) -> Grid:
        """Each log: its records (m1@2 is record 1, of epoch 2), its high watermark (HW) and its end (LEO)."""
        return Grid(
            ("broker", "log", "takes itself for"),
            [(f"broker {broker}", self._log(s, broker), self._role(s, broker)) for broker in sorted(s.log)],
        )

    def _log(self, s: Replicas, broker: BrokerId) -> Cells:
        log = s.log[broker]
        records = [Tag(each, self._standing(s, broker, offset)) for offset, each in enumerate(log.records)]
        return Cells(records, {"HW": log.high_watermark, "LEO": log.end_offset}, room=self.log_size)

    def _standing(self, s: Replicas, broker: BrokerId, offset: Offset) -> Look:
        """A record below the high watermark is committed; another than that which was committed must not be there."""
        log = s.log[broker]
        if self.history and any(each.offset == offset and each.record != log.at(offset) for each in s.committed):
            return Look.wrong
        return Look.strong if offset < log.high_watermark else Look.plain

    def _role(self, s: Replicas, broker: BrokerId) -> Tag | str:
        mine = s.replica[broker]
        if mine.leader != broker:
            return "nothing yet" if mine.leader_epoch < 0 else f"follower of {mine.leader}"
        if mine.leader_epoch == s.partition_state.leader_epoch:
            return Tag("leader", Look.strong)
        return Tag("leader", Look.wrong, "its epoch is over")

    @picture
    def leaderships(self, s: Replicas) -> Grid:
        """Who leads and who is in sync: in ZooKeeper, to each broker, in the requests that were sent."""
        told = [("ZooKeeper", s.partition_state)]
        told += [(f"broker {broker}", mine) for broker, mine in sorted(s.replica.items())]
        told += [(f"LeaderAndIsr {epoch}", request) for epoch, request in sorted(s.leader_and_isr.items())]
        return Grid(("", "leader epoch", "leader", "ISR"), [(name, *self._leadership(each)) for name, each in told])

    def _leadership(self, told: Leadership) -> tuple[object, object, Tags]:
        if told.leader_epoch < 0 and not told.isr:
            return "", "", Tags(())
        leader = Tag("none", Look.faint) if told.leader is None else told.leader
        isr = Tags(Tag(each, Look.strong if each == told.leader else Look.plain) for each in sorted(told.isr))
        return told.leader_epoch if told.leader_epoch >= 0 else "", leader, isr


def listed(brokers: Collection[BrokerId]) -> str:
    """Brokers in words: 0 and 2.

    >>> listed({2, 0}), listed([1]), listed([0, 1, 2])
    ('0 and 2', '1', '0, 1 and 2')
    """
    *most, last = [str(each) for each in sorted(brokers)] or ["empty"]
    return f"{', '.join(most)} and {last}" if most else last


class TruncateToHighWatermark(Replication, truncation="truncate-to-high-watermark"):
    """Up to 0.10: a follower truncates to its own high watermark. [ReplicaManager.makeFollowers, 0.10.2]

    It may be behind the leader's, so that committed records go, and come back only if the leader lives. T1, T2.
    """

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """The follower's own high watermark."""
        return truncation.to_high_watermark(s.log[follower])


class Kip101(TruncateToHighWatermark, truncation="kip-101"):
    """0.11 to 1.1: a follower asks where the epoch of its last record ends at the leader. [KIP-101]

    If the leader never had that epoch, the answer is the start of a later one, and that may lie beyond the point
    where the logs part. T3.
    """

    answers: str = switch(
        "published",
        "To where a follower truncates: as the published models compute it, or as Kafka's leader answers.",
        among=["published", "kafka"],
    )

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """Where the follower's latest epoch ends at the leader."""
        log, its = s.log[follower], s.log[leader]
        if self.answers == "published":
            return truncation.published_kip_101(log, its)
        latest = log.epochs.latest_epoch
        return truncation.kip_101(log, its.epochs.end_offset_for_kip_101(latest, its.end_offset))


class Kip279(Kip101, truncation="kip-279"):
    """2.0: the answer names the epoch that it is about, and a follower asks until both have that. [KIP-279]

    A broker that is asked answers, even if leader and follower go by different leader epochs. T4, T5.
    """

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """Where the latest epoch that both have ends, all rounds in one step."""
        log, its = s.log[follower], s.log[leader]
        if self.answers == "published":
            return truncation.published_kip_279(log, its)
        return truncation.in_rounds(log, lambda epoch: self.end_offset_for(s, leader, epoch)).end_offset

    def end_offset_for(self, s: Replicas, leader: BrokerId, epoch: LeaderEpoch) -> EpochEndOffset:
        """What a leader answers to the question where an epoch ends."""
        its = s.log[leader]
        return its.epochs.end_offset_for_kip_279(epoch, its.end_offset)


def answers_late(self: Replication) -> bool:
    """Whether logs may part, and it makes a difference when a follower hears so."""
    return several_epochs(self) and self.answers_may_be_late


def has_committed_in_its_epoch(s: Replicas, leader: BrokerId) -> bool:
    """Whether the leader's high watermark has come to the first record of its epoch, or to the end of its log."""
    log = s.log[leader]
    here = log.at(log.high_watermark)
    return here is None or here.leader_epoch == s.replica[leader].leader_epoch


class Kip320FirstTry(Kip279, truncation="kip-320-first-try"):
    """How KIP-320 was designed first: what is compared are the epochs of single records. It was not released.

    A follower no longer truncates when it becomes one, but when its last record has another epoch than the leader's
    there; and a fetch tells the leader the epoch of the last record. A record's epoch does not say which leader its
    follower goes by now: strong_isr breaks at three brokers and three epochs.
    """

    def agrees(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> bool:
        """Whether both have a record of one epoch before an offset."""
        if offset == 0:
            return True
        mine, its = s.log[follower].at(offset - 1), s.log[leader].at(offset - 1)
        return mine is not None and its is not None and mine.leader_epoch == its.leader_epoch

    def known_end_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """An offset before which both have a record of one epoch is acknowledged; of another nothing is known."""
        return offset if self.agrees(s, follower, leader, offset) else UNKNOWN_OFFSET

    def may_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Only if the follower's last record has the epoch of the leader's there."""
        end_offset = s.log[follower].end_offset
        return super().may_fetch(s, follower, leader) and self.agrees(s, follower, leader, end_offset)

    def may_join(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Only when something of the leader's epoch can be compared."""
        return super().may_join(s, follower, leader) and has_committed_in_its_epoch(s, leader)

    def truncate(self, s: Replicas, follower: BrokerId, request: Leadership) -> None:
        """Not yet."""

    @action(when=several_epochs, receiver="leader")
    def follower_truncate(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> None:
        """A follower whose last record has another epoch than the leader's there truncates its log."""
        require(self.follows(s, follower, leader) and self.presumes_leadership(s, leader))
        log, its = s.log[follower], s.log[leader]
        require(log.records)
        there = its.at(log.end_offset - 1)
        require(there is None or there.leader_epoch != log.latest_epoch)
        s.log[follower] = log.truncate_to(self.truncation_offset(s, follower, leader))


class UnderOneEpoch(Replication):
    """What versions since 2.1 share: leader and follower deal with each other only under the same leader epoch.

    In Kafka each fetch, and each question where an epoch ends, carries the asker's leader epoch, and the leader
    refuses what is not its own [KIP-320; Partition.checkCurrentLeaderEpoch, 2.1]. Here what a leader makes of a
    fetch, a high watermark or an ISR, is a step of its own later on, and so each has its fence.
    """

    name = Replication.name

    fence_fetch: bool = switch(FENCE_FETCH.now, str(FENCE_FETCH))
    fence_high_watermark: bool = switch(FENCE_HIGH_WATERMARK.now, str(FENCE_HIGH_WATERMARK))
    fence_join: bool = switch(FENCE_JOIN.now, str(FENCE_JOIN))
    join_at_epoch_start: bool = switch(JOIN_AT_EPOCH_START.now, str(JOIN_AT_EPOCH_START))
    persist_epoch_on_lead: bool = switch(PERSIST_EPOCH_ON_LEAD.now, str(PERSIST_EPOCH_ON_LEAD))

    def same_epoch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether both go by one leader epoch, of which this broker is the leader."""
        return self.may_ask(s, s.replica[follower], leader)

    def may_ask(self, s: Replicas, mine: Leadership, leader: BrokerId) -> bool:
        """Whether this broker leads, and under the very leader epoch that the asker goes by."""
        its = s.replica[leader]
        if its.leader != leader:
            return False
        return truncation.check_leader_epoch(mine.leader_epoch, its.leader_epoch) is None

    def epochs_of(self, s: Replicas, leader: BrokerId) -> LeaderEpochs:
        """The leader-epoch cache of a leader, which may know where its own epoch began before it has written."""
        epochs = s.log[leader].epochs
        if self.persist_epoch_on_lead and self.presumes_leadership(s, leader):
            return epochs.assign(s.replica[leader].leader_epoch, s.log[leader].end_offset)
        return epochs

    def may_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Only under the leader's own epoch."""
        fenced_off = self.fence_fetch and not self.same_epoch(s, follower, leader)
        return not fenced_off and super().may_fetch(s, follower, leader)

    def must_leave(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """A member that goes by another epoch than the leader's own counts as behind."""
        return not self.same_epoch(s, follower, leader) or super().must_leave(s, follower, leader)

    def acknowledged_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """Only under the leader's own epoch."""
        if self.fence_high_watermark and not self.same_epoch(s, follower, leader):
            return UNKNOWN_OFFSET
        return super().acknowledged_offset(s, follower, leader, offset)

    def may_join(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Only under the leader's own epoch, and not before that epoch can be told from the records.

        As published: the leader's high watermark has come to the start of its epoch. Kafka asks that of the
        follower's LEO, which is less, see `in_sync_replicas.may_join`.
        """
        if self.fence_join and not self.same_epoch(s, follower, leader):
            return False
        if self.join_at_epoch_start and not has_committed_in_its_epoch(s, leader):
            return False
        return super().may_join(s, follower, leader)


class Kip320(UnderOneEpoch, Kip279, truncation="kip-320"):
    """2.1 to 2.7: the question where an epoch ends is fenced as a fetch is. [KIP-320]"""

    fence_truncation: bool = switch(FENCE_TRUNCATION.now, str(FENCE_TRUNCATION))
    truncate_every_epoch: bool = switch(TRUNCATE_EVERY_EPOCH.now, str(TRUNCATE_EVERY_EPOCH))

    def truncate(self, s: Replicas, follower: BrokerId, request: Leadership) -> None:
        """Only when the leader has accepted the same request."""
        leader = request.leader
        if self.fence_truncation:
            assert leader is not None
            require(self.may_ask(s, request, leader))
        if self.truncate_every_epoch or s.replica[follower].leader != leader:
            super().truncate(s, follower, request)

    def end_offset_for(self, s: Replicas, leader: BrokerId, epoch: LeaderEpoch) -> EpochEndOffset:
        """The answer of a leader that knows where its own epoch began."""
        return self.epochs_of(s, leader).end_offset_for(epoch, s.log[leader].end_offset)


class TruncateOnFetch(UnderOneEpoch, Replication, truncation="truncate-on-fetch"):
    """2.8 and later: a follower asks nothing, since the answer to its fetch says where the logs part. [KAFKA-10554]

    It fetches at the end of its log, and names the epoch of its last record. If the leader's log does not go on from
    there, it answers with an epoch and an offset in place of records. The follower truncates and fetches again, round
    by round. Until the last round its log may be anything, so the leader must not count it (KAFKA-13141).

    An answer holds in the leader epoch of its fetch, whenever it arrives. Until 3.9.0 it is obeyed in a later one as
    well, if that leader leads again and the follower's log ends where it did (KAFKA-18991).

    Left out: an epoch that a former leader noted and never wrote in, which costs one more round; and that until 3.4.0
    a follower takes the leader's high watermark before it truncates, which only its own consumers see (KAFKA-14704).

    `Replication` is a base once more so that `of` finds this version: it passes over classes that fix nothing.
    """

    skip_diverging_fetch: bool = switch(SKIP_DIVERGING_FETCH.now, str(SKIP_DIVERGING_FETCH))
    match_fetch_epoch: bool = switch(MATCH_FETCH_EPOCH.now, str(MATCH_FETCH_EPOCH))

    @property
    def answers_may_be_late(self) -> bool:
        """Until 3.9.0."""
        return not self.match_fetch_epoch

    def answer(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> EpochEndOffset | Errors | None:
        """What the leader says to a fetch at the end of the follower's log; None if the logs do not part before."""
        log = s.log[follower]
        if log.latest_epoch is None:
            return None
        epochs, end_offset = self.epochs_of(s, leader), s.log[leader].end_offset
        return truncation.diverging_epoch(epochs, end_offset, log.end_offset, log.latest_epoch)

    def truncate(self, s: Replicas, follower: BrokerId, request: Leadership) -> None:
        """Not yet."""

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """One round. A leader that cannot tell refuses the fetch, and the follower asks for its log end instead.

        [AbstractFetcherThread.truncateOnFetchResponse, fetchOffsetAndTruncate, 2.8 to 3.9]
        """
        log, answer = s.log[follower], self.answer(s, follower, leader)
        if answer is None:
            return log.end_offset
        if isinstance(answer, Errors):
            return min(log.end_offset, s.log[leader].end_offset)
        return truncation.kip_279(log, answer).offset

    def may_ask_again(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a fetch may be made: one thread makes them one by one, for all that a broker follows another in."""
        waits = self.answers_may_be_late and Fetch(follower, leader) in s.late_answers
        return not waits and super().may_fetch(s, follower, leader)

    def may_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Only from where the logs do not part."""
        return self.may_ask_again(s, follower, leader) and self.answer(s, follower, leader) is None

    def known_end_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """Nothing from a fetch that is refused; nor, since KAFKA-13141, from one that finds that the logs part."""
        answer = self.answer(s, follower, leader)
        if isinstance(answer, Errors) or (answer is not None and self.skip_diverging_fetch):
            return UNKNOWN_OFFSET
        if not self.may_ask_again(s, follower, leader):
            return UNKNOWN_OFFSET
        return super().known_end_offset(s, follower, leader, offset)

    @action(when=several_epochs, receiver="leader")
    def follower_truncate(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> None:
        """A follower fetches, is told that the logs part before the end of its own, and truncates its log."""
        require(follower != leader and self.may_ask_again(s, follower, leader))
        offset = self.truncation_offset(s, follower, leader)
        require(offset < s.log[follower].end_offset)
        s.log[follower] = s.log[follower].truncate_to(offset)

    @action(when=answers_late, receiver="follower")
    def leader_answer(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> None:
        """A leader answers a fetch of a follower that their logs part; the follower does not hear it yet."""
        require(follower != leader and self.may_ask_again(s, follower, leader))
        answer = self.answer(s, follower, leader)
        require(isinstance(answer, EpochEndOffset))
        assert isinstance(answer, EpochEndOffset)
        s.late_answers[Fetch(follower, leader)] = Diverging(s.log[follower].end_offset, answer)

    @action(when=answers_late)
    def follower_hear(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> None:
        """The answer arrives. A follower truncates its log if it goes by that leader, in whichever leader epoch.

        [AbstractFetcherThread.processFetchRequest, 2.8 to 3.9.0]
        """
        late, log = s.late_answers.get(Fetch(follower, leader)), s.log[follower]
        require(late is not None)
        assert late is not None
        del s.late_answers[Fetch(follower, leader)]
        if not self.follows(s, follower, leader) or late.fetch_offset != log.end_offset:
            say("it is passed over")
            return
        s.log[follower] = log.truncate_to(truncation.kip_279(log, late.answer).offset)

    @view(when=answers_late)
    def answered(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> str:
        """An answer that a follower has not heard yet."""
        late = s.late_answers.get(Fetch(follower, leader))
        where(late is not None)
        assert late is not None
        end, at = late.answer.end_offset, late.fetch_offset
        return f"broker {follower} is yet to hear from broker {leader} that the logs part at {end}; it asked at {at}"
