"""The common part of all versions of the protocol, and their properties."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any

from election import leader_for_preferred_replica
from election.ids import BrokerId, LeaderEpoch
from spec.by_release import ByRelease
from spec.language import (
    Cells,
    Grid,
    Look,
    Size,
    Specification,
    Step,
    Tag,
    Tags,
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
    view,
    where,
)
from spec.systems.replication.replica_log import Record, RecordId, ReplicaLog
from spec.systems.replication.replicas import Committed, Leadership, Replicas
from statemachines.broker import in_sync_replicas
from statemachines.broker.hosted_partition import is_newer_leader_epoch
from statemachines.broker.in_sync_replicas import UNKNOWN_OFFSET
from statemachines.broker.log.leader_epochs import Offset
from statemachines.changes.truncating import MATCH_FETCH_EPOCH, REFUSE_SAME_EPOCH, SKIP_DIVERGING_FETCH, TRUNCATION


def of_release(release: str) -> Mapping[str, str | bool]:
    """The version of a release, and the changes within that version."""
    constants = {"truncation": TRUNCATION.at(release)}
    if constants["truncation"] != TRUNCATION.now:
        return constants
    return {
        **constants,
        "skip_diverging_fetch": SKIP_DIVERGING_FETCH.at(release),
        "match_fetch_epoch": MATCH_FETCH_EPOCH.at(release),
    }


def several_brokers(self: Replication) -> bool:
    """Whether there are several brokers."""
    return self.brokers > 1


def several_epochs(self: Replication) -> bool:
    """Whether leadership passes among several brokers."""
    return self.brokers > 1 and self.max_leader_epoch > 0


class Replication(Specification[Replicas]):
    """The replicas of one partition, whose controller may elect any ISR member at any time.

    The abstraction is that of Jason Gustafson's TLA+ models of this protocol; with `history` off the states are
    exactly theirs. ZooKeeper is one value. A LeaderAndIsr request, once sent, may be delivered late, twice or never.
    A broker that asks another reads the other's log at that moment. So more can happen here than in a cluster: the
    controller elects without a reason, and a fetch and the leader's knowledge of it are two steps at any times. A
    property that holds here does not depend on a schedule.

    Left out: crashes and their losses, restarts, fetches and their answers on the way (but for one answer until
    3.9.0, see `TruncateOnFetch`), the high watermark's way to the followers (it comes with each record), unclean
    elections, reassignment, retention. A log is never lost, so a finding is never the fault of a disk.

    Three statements are called "no high-watermark regression". `no_hw_regression` is about a leader within its epoch,
    and holds in every release. The two others hold in none: a consumer sees less at a new leader
    (`a_new_leader_exposes_less`), and the high watermark of a follower goes back (`a_high_watermark_goes_back`).
    docs/findings.md has a table by release.

    This class is the common part of all versions. Each version is a class in another file of this folder, and
    `truncation` names it.
    """

    name = "replication"
    leaves_out = "crashes, lost flushes, fetches on their way, unclean elections, retention"
    releases = ByRelease(of_release)

    brokers: int = constant(3, "Brokers, each with a replica of the partition.", at_least=1, at_most=5)
    log_size: int = constant(2, "Bound: records in a log.", at_least=1, at_most=9)
    max_records: int = constant(2, "Bound: records ever written.", at_least=1, at_most=9)
    max_leader_epoch: int = constant(1, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=9)
    history: bool = constant(False, "The model remembers every record that was ever committed. No broker does.")

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
        False, "A broker obeys a request that names no leader, and follows none; real brokers keep their old role."
    )
    refuse_same_epoch: bool = switch(REFUSE_SAME_EPOCH.now, str(REFUSE_SAME_EPOCH))

    @property
    def answers_may_be_late(self) -> bool:
        """Whether the arrival time of a fetch's answer makes a difference."""
        return False

    @assumption
    def is_a_version(self) -> bool:
        """`Replication` is only the common part of the versions: `Replication.of(truncation=...)` is a version."""
        return type(self) is not Replication

    def sizes(self) -> Mapping[Any, Size]:
        """As many offsets and record ids as records."""
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
        """Nothing is written, no broker leads, and all brokers are in sync."""
        s.partition_state = Leadership(isr=frozenset(self.domain_of(BrokerId)))

    # The controller.

    def send(self, s: Replicas, leader: BrokerId | None, isr: frozenset[BrokerId]) -> None:
        """The controller writes a leadership under the next epoch to ZooKeeper, and sends it to every replica."""
        epoch = s.partition_state.leader_epoch + 1
        bound(epoch <= self.max_leader_epoch)
        s.partition_state = s.leader_and_isr[epoch] = Leadership(epoch, leader, isr)

    @action(actor="controller", receiver="ZooKeeper")
    def controller_shrink_isr(self, s: Replicas, broker: BrokerId) -> None:
        """The controller removes a broker from the ISR, unless it is the last member. A leader loses its leadership.

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

        Any member, at any time: this coarse rule covers every clean strategy of `election`. The broker counts as the
        preferred one, since the order of assigned replicas is left open here. Other strategies also remove brokers
        from the ISR, which is a step of its own here. [PartitionStateMachine, 3.9]
        """
        state = s.partition_state
        require(broker != state.leader)
        elected = leader_for_preferred_replica(replicas=(broker,), isr=tuple(state.isr), live=(broker,))
        require(elected.leader is not None)
        self.send(s, elected.leader, state.isr)

    # A broker that receives a request.

    def later_request(
        self, s: Replicas, broker: BrokerId, epoch: LeaderEpoch, leaders: Collection[BrokerId | None]
    ) -> Leadership:
        """The request of an epoch. Requires one of these leaders, and a later epoch than the broker's own."""
        request = s.leader_and_isr.get(epoch)
        require(request is not None and request.leader in leaders)
        mine = s.replica[broker].leader_epoch
        require(is_newer_leader_epoch(mine, epoch) or (epoch == mine and not self.refuse_same_epoch))
        assert request is not None
        return request

    # A broker that believes that it leads.

    def presumes_leadership(self, s: Replicas, broker: BrokerId) -> bool:
        """Whether a broker believes that it leads, rightly or not."""
        return s.replica[broker].leader == broker

    def is_true_leader(self, s: Replicas, broker: BrokerId) -> bool:
        """Whether a broker believes that it leads, and ZooKeeper agrees under the same epoch."""
        mine, state = s.replica[broker], s.partition_state
        return mine.leader == broker == state.leader and mine.leader_epoch == state.leader_epoch

    @action
    def become_leader(self, s: Replicas, broker: BrokerId, epoch: LeaderEpoch) -> None:
        """A broker accepts a request of a later epoch that makes it leader. It keeps its log.

        [Partition.makeLeader, 3.9]
        """
        request = self.later_request(s, broker, epoch, {broker})
        if not self.refuse_same_epoch and epoch == s.replica[broker].leader_epoch:
            # It begins as after a restart, from a checkpoint of its high watermark, at worst from 0. Source:
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
        """A leader commits the next record that its whole ISR has. [Partition.maybeIncrementLeaderHW, 3.9]"""
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
        """The true leader removes a lagging replica from the ISR. [Partition.maybeShrinkIsr, 3.9]"""
        require(self.is_true_leader(s, leader))
        mine = s.replica[leader]
        require(replica in mine.isr and replica != leader)
        require(self.must_leave(s, replica, leader))
        self.write_isr(s, leader, mine.isr - {replica})

    @action(when=several_brokers, receiver="ZooKeeper")
    def leader_expand_isr(self, s: Replicas, leader: BrokerId, replica: BrokerId) -> None:
        """The true leader adds a replica that has caught up to the ISR. [Partition.maybeExpandIsr, 3.9]"""
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
        """The records below a leader's high watermark are committed."""
        if self.history:
            log = s.log[leader]
            s.committed |= {Committed(offset, log.records[offset]) for offset in range(log.high_watermark)}

    # A broker that follows.

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """The offset to which a follower truncates its log before it fetches from a leader."""
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
        """A broker truncates its log before it follows a request's leader."""
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
        """A follower fetches the next record and the high watermark. [ReplicaFetcherThread, 3.9]"""
        require(follower != leader and self.presumes_leadership(s, leader))
        require(self.may_fetch(s, follower, leader))
        log, its = s.log[follower], s.log[leader]
        require(log.end_offset < its.end_offset)
        bound(log.end_offset < self.log_size)
        s.log[follower] = log.append(its.records[log.end_offset]).with_high_watermark(its.high_watermark)

    # One broker's knowledge of another, in which the versions differ.

    def follows(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a replica believes that this broker leads."""
        return s.replica[follower].leader == leader

    def known_end_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """The follower's LEO as the leader learns it from a fetch, in regard to an offset.

        A fetch beyond the end of the leader's log is refused.
        """
        return min(s.log[follower].end_offset, s.log[leader].end_offset)

    def may_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether the leader answers a fetch at the end of the follower's log."""
        return self.follows(s, follower, leader)

    def acknowledged_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """The LEO of an ISR member that counts for the high watermark, in regard to an offset."""
        return (
            self.known_end_offset(s, follower, leader, offset)
            if self.follows(s, follower, leader)
            else UNKNOWN_OFFSET
        )

    def must_leave(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a member may be removed from the ISR. There is no clock, so it may have lagged at any time."""
        if not self.follows(s, follower, leader):
            return True
        end_offset = s.log[leader].end_offset
        known = self.known_end_offset(s, follower, leader, end_offset)
        return in_sync_replicas.must_leave(known, end_offset, lagged=True)

    def may_join(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a replica outside the ISR has all records that the leader has committed."""
        high_watermark = s.log[leader].high_watermark
        return self.follows(s, follower, leader) and in_sync_replicas.may_join(
            self.known_end_offset(s, follower, leader, high_watermark), high_watermark
        )

    # Properties.

    def has_same_committed(self, s: Replicas, leader: BrokerId, replica: BrokerId) -> bool:
        """Whether a replica has the leader's record at every offset below the leader's high watermark."""
        mine, offset = s.log[leader], s.log[leader].high_watermark
        return offset <= mine.end_offset and mine.records[:offset] == s.log[replica].records[:offset]

    @invariant
    def weak_isr(self, s: Replicas, leader: BrokerId, member: BrokerId) -> bool:
        """R4: each member of the ISR in which a leader believes has every record that this leader committed."""
        mine = s.replica[leader]
        if mine.leader != leader or member not in mine.isr:
            return True
        return self.has_same_committed(s, leader, member)

    @invariant
    def strong_isr(self, s: Replicas, leader: BrokerId, member: BrokerId) -> bool:
        """R3: each member of the ISR in ZooKeeper may be elected, and has every record that any leader committed."""
        if member not in s.partition_state.isr or not self.presumes_leadership(s, leader):
            return True
        return self.has_same_committed(s, leader, member)

    @invariant
    def leader_in_isr(self, s: Replicas) -> bool:
        """P1: the leader in ZooKeeper is in the ISR, if there is a leader."""
        return s.partition_state.leader is None or s.partition_state.leader in s.partition_state.isr

    @invariant(when=lambda self: self.history)
    def leader_completeness(self, s: Replicas, leader: BrokerId) -> bool:
        """R5: a true leader has every record that was ever committed, at its offset."""
        if not self.is_true_leader(s, leader):
            return True
        return all(s.log[leader].at(each.offset) == each.record for each in s.committed)

    @invariant(when=lambda self: self.history)
    def committed_once(self, s: Replicas) -> bool:
        """R6: no two records are ever committed at one offset."""
        return len({each.offset for each in s.committed}) == len(s.committed)

    @transition_invariant
    def no_hw_regression(self, before: Replicas, step: Step, after: Replicas, leader: BrokerId) -> bool:
        """R9: a leader's high watermark never goes back within its epoch."""
        then, now = before.replica[leader], after.replica[leader]
        if not (then.leader == now.leader == leader and then.leader_epoch == now.leader_epoch):
            return True
        return before.log[leader].high_watermark <= after.log[leader].high_watermark

    # Witnesses: what must be possible.

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
        """Another leader is elected while the former one has uncommitted records."""
        old, new = before.partition_state, after.partition_state
        if old.leader is None or new.leader in (None, old.leader):
            return False
        log = before.log[old.leader]
        return self.is_true_leader(before, old.leader) and log.high_watermark < log.end_offset

    @sometimes(when=lambda self: self.history and several_epochs(self))
    def a_new_leader_exposes_less(self, s: Replicas, leader: BrokerId) -> bool:
        """A true leader's high watermark is below an older leader's: consumers see it go back."""
        if not self.is_true_leader(s, leader):
            return False
        return any(each.offset >= s.log[leader].high_watermark for each in s.committed)

    @sometimes(when=lambda self: several_epochs(self) and min(self.log_size, self.max_records) > 1)
    def a_high_watermark_goes_back(self, before: Replicas, step: Step, after: Replicas, broker: BrokerId) -> bool:
        """A replica's high watermark goes back: a follower adopts its leader's lower one."""
        return after.log[broker].high_watermark < before.log[broker].high_watermark

    @sometimes(when=several_epochs)
    def a_truncation_cuts_something(self, before: Replicas, step: Step, after: Replicas) -> bool:
        """A replica loses a record."""
        return any(
            after.log[broker].end_offset < before.log[broker].end_offset for broker in self.domain_of(BrokerId)
        )

    # Views: a state in sentences, for the reader of a trace.

    @view
    def leadership(self, s: Replicas) -> str:
        """The leader and the ISR in ZooKeeper."""
        state = s.partition_state
        leads = "no broker leads" if state.leader is None else f"broker {state.leader} leads"
        under = f" under epoch {state.leader_epoch}" if state.leader_epoch >= 0 else ""
        return f"in ZooKeeper {leads}{under}, and the ISR is {listed(state.isr)}"

    @view
    def role(self, s: Replicas, broker: BrokerId) -> str:
        """A broker's belief about its role, and whether it is true."""
        mine = s.replica[broker]
        where(mine.leader_epoch >= 0)
        now = mine.leader_epoch == s.partition_state.leader_epoch
        under = f"under epoch {mine.leader_epoch}{'' if now else ', which is over'}"
        if mine.leader == broker:
            return f"broker {broker} {'leads' if now else 'still believes that it leads'} {under}"
        return f"broker {broker} follows {'none' if mine.leader is None else f'broker {mine.leader}'} {under}"

    @view
    def counted(self, s: Replicas, leader: BrokerId) -> str:
        """The brokers that a leader counts as in sync although they do not follow it, or not under its epoch."""
        mine = s.replica[leader]
        where(mine.leader == leader)
        others = [each for each in sorted(mine.isr - {leader}) if s.replica[each][:2] != mine[:2]]
        where(others)
        none = "which does not follow it" if len(others) == 1 else "none of which follows it"
        return f"broker {leader} counts {listed(others)} as in sync, {none} under its epoch"

    @view
    def contents(self, s: Replicas, broker: BrokerId) -> str:
        """A log's records, each with its leader epoch, and its high watermark."""
        where(any(log.records for log in s.log.values()))
        records, high_watermark = s.log[broker]
        holds = ", ".join(map(str, records)) or "empty"
        return f"the log of broker {broker}: {holds}; high watermark {high_watermark}"

    @view(when=lambda self: self.history)
    def held(self, s: Replicas, offset: Offset, record: RecordId) -> str:
        """The logs that have a committed record."""
        there = [each.record for each in s.committed if (each.offset, each.record.id) == (offset, record)]
        where(there)
        holders = [broker for broker, log in sorted(s.log.items()) if log.at(offset) in there]
        only = f"in the log of {listed(holders)} only" if holders else "in no log"
        is_in = "in every log" if len(holders) == self.brokers else only
        return f"record {record}, committed at offset {offset}, is {is_in}"

    # Pictures.

    @picture
    def logs(self, s: Replicas) -> Grid:
        """Each log: its records (m1@2 is record 1, of epoch 2), its high watermark (HW) and its end (LEO)."""
        return Grid(
            ("broker", "log", "believes it is"),
            [(f"broker {broker}", self._log(s, broker), self._role(s, broker)) for broker in sorted(s.log)],
        )

    def _log(self, s: Replicas, broker: BrokerId) -> Cells:
        log = s.log[broker]
        records = [Tag(each, self._standing(s, broker, offset)) for offset, each in enumerate(log.records)]
        return Cells(records, {"HW": log.high_watermark, "LEO": log.end_offset}, room=self.log_size)

    def _standing(self, s: Replicas, broker: BrokerId, offset: Offset) -> Look:
        """A record below the high watermark is committed; a record that differs from the committed one is wrong."""
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
        """Leader and ISR in ZooKeeper, according to each broker, and in the sent requests."""
        shown = [("ZooKeeper", s.partition_state)]
        shown += [(f"broker {broker}", mine) for broker, mine in sorted(s.replica.items())]
        shown += [(f"LeaderAndIsr {epoch}", request) for epoch, request in sorted(s.leader_and_isr.items())]
        return Grid(("", "leader epoch", "leader", "ISR"), [(name, *self._leadership(each)) for name, each in shown])

    def _leadership(self, leadership: Leadership) -> tuple[object, object, Tags]:
        if leadership.leader_epoch < 0 and not leadership.isr:
            return "", "", Tags(())
        leader = Tag("none", Look.faint) if leadership.leader is None else leadership.leader
        isr = Tags(
            Tag(each, Look.strong if each == leadership.leader else Look.plain) for each in sorted(leadership.isr)
        )
        return leadership.leader_epoch if leadership.leader_epoch >= 0 else "", leader, isr


def listed(brokers: Collection[BrokerId]) -> str:
    """Brokers in words: 0 and 2.

    >>> listed({2, 0}), listed([1]), listed([0, 1, 2])
    ('0 and 2', '1', '0, 1 and 2')
    """
    *most, last = [str(each) for each in sorted(brokers)] or ["empty"]
    return f"{', '.join(most)} and {last}" if most else last
