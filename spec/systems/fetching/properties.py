"""The properties and witnesses of `Fetching`.

Properties have the letter R, and those that `Replication` has as well have the same numbers. Left out: R8,
what is promised to consumers, which R5 and R6 imply here; R14, that a stale leader changes nothing, which the actions
make true.
"""

from __future__ import annotations

from itertools import pairwise

from election.ids import BrokerId
from spec.language import Step, invariant, sometimes, transition_invariant, where
from spec.systems.fetching.actions import FetchingActions
from spec.systems.fetching.state import RUNNING, Asks, Life, Pair, S, Written, brokers_die, several_brokers
from statemachines.broker.in_sync_replicas import may_join
from statemachines.broker.log.truncation import diverging_epoch
from statemachines.broker.replica_fetcher_thread import ON_FETCH, TO_HIGH_WATERMARK


class FetchingProperties(FetchingActions):
    """Properties of logs, of leaders and of ISRs."""

    def leads(self, s: S, broker: BrokerId) -> bool:
        """Whether a broker believes that it leads, rightly or not."""
        return s.replica[broker].leader == broker

    def is_true_leader(self, s: S, broker: BrokerId) -> bool:
        """Whether a broker believes that it leads, and ZooKeeper agrees under the same epoch."""
        return self.leads(s, broker) and s.replica[broker][:2] == s.partition_state[:2]

    # Logs.

    @invariant(when=lambda self: self.design.truncate_high_watermark)
    def bounds(self, s: S, broker: BrokerId) -> bool:
        """R1: a high watermark is at most the end of its log. [since 2.4]"""
        return 0 <= s.log[broker].high_watermark <= s.log[broker].end_offset

    @invariant(when=several_brokers)
    def log_matching(self, s: S, one: BrokerId, other: BrokerId) -> bool:
        """R2: two logs have the same records below both high watermarks."""
        mine, its = s.log[one], s.log[other]
        least = min(mine.high_watermark, its.high_watermark)
        return mine.records[:least] == its.records[:least]

    @invariant(when=lambda self: self.design.epochs_in_records)
    def epochs_describe_the_log(self, s: S, broker: BrokerId) -> bool:
        """R13: in a leader-epoch cache epochs increase, and each record has the epoch that the cache says."""
        log = s.log[broker]
        entries = log.epochs.entries
        if any(one.epoch >= next_.epoch for one, next_ in pairwise(entries)):
            return False
        return all(log.epochs.epoch_at(at) == each.leader_epoch for at, each in enumerate(log.records))

    # Leaders and their ISRs.

    def has_same_committed(self, s: S, leader: BrokerId, replica: BrokerId) -> bool:
        """Whether a replica has the leader's record at every offset below the leader's high watermark."""
        mine, offset = s.log[leader], s.log[leader].high_watermark
        return offset <= mine.end_offset and mine.records[:offset] == s.log[replica].records[:offset]

    @invariant(when=several_brokers)
    def strong_isr(self, s: S, leader: BrokerId, member: BrokerId) -> bool:
        """R3: each member of the ISR in ZooKeeper may be elected, and has every record that any leader committed."""
        if member not in s.partition_state.isr or not self.leads(s, leader):
            return True
        return self.has_same_committed(s, leader, member)

    @invariant(when=several_brokers)
    def weak_isr(self, s: S, leader: BrokerId, member: BrokerId) -> bool:
        """R4: each member of the ISR in which a leader believes has every record that this leader committed."""
        if not self.leads(s, leader) or member not in s.replica[leader].isr:
            return True
        return self.has_same_committed(s, leader, member)

    @invariant(when=lambda self: self.history)
    def leader_completeness(self, s: S, leader: BrokerId) -> bool:
        """R5: a true leader has every record that was ever committed, at its offset."""
        if not self.is_true_leader(s, leader):
            return True
        return s.log[leader].records[: len(s.committed)] == s.committed

    @invariant(when=lambda self: self.acknowledges())
    def acknowledged_kept(self, s: S, leader: BrokerId) -> bool:
        """R7: a true leader has every record that was acknowledged with acks=all. With one in sync that is R5."""
        if not self.is_true_leader(s, leader):
            return True
        records = s.log[leader].records
        return all(records[at : at + 1] == s.committed[at : at + 1] for at in s.acknowledged)

    @invariant(when=lambda self: self.history)
    def committed_once(self, s: S, leader: BrokerId) -> bool:
        """R6: no two records are ever committed at one offset."""
        if not self.leads(s, leader):
            return True
        offset = s.log[leader].high_watermark
        return s.log[leader].records[:offset] == s.committed[:offset]

    @transition_invariant
    def no_hw_regression(self, before: S, step: Step, after: S, leader: BrokerId) -> bool:
        """R9: a leader's high watermark never goes back within its epoch."""
        then, now = before.replica[leader], after.replica[leader]
        if not (then.leader == now.leader == leader and then.leader_epoch == now.leader_epoch):
            return True
        return before.log[leader].high_watermark <= after.log[leader].high_watermark

    @invariant(when=lambda self: self.history and several_brokers(self))
    def follower_lags(self, s: S, follower: BrokerId) -> bool:
        """R10: a follower's high watermark is at most the highest that a leader ever had."""
        return self.leads(s, follower) or s.log[follower].high_watermark <= len(s.committed)

    @invariant(when=lambda self: self.isr_in_two_steps)
    def maximal_isr_covers(self, s: S, leader: BrokerId) -> bool:
        """R11: a true leader's high watermark waits for every member of the ISR in ZooKeeper."""
        if not self.is_true_leader(s, leader):
            return True
        return s.partition_state.isr <= {*self.hosted(s, leader).state.maximal_isr}

    @transition_invariant(when=several_brokers)
    def joins_with_all(self, before: S, step: Step, after: S, leader: BrokerId, replica: BrokerId) -> bool:
        """R12: a replica that joins the ISR has its leader's log up to the high watermark and the epoch's start."""
        old, new = before.partition_state, after.partition_state
        if old.leader_epoch != new.leader_epoch or replica in old.isr or replica not in new.isr:
            return True
        if not self.is_true_leader(before, leader):
            return True
        return may_join(before.log[replica].end_offset, before.log[leader].high_watermark, before.epoch_start[leader])

    @transition_invariant(when=lambda self: self.history)
    def truncates_safely(self, before: S, step: Step, after: S, broker: BrokerId) -> bool:
        """R15: a member of the ISR that runs cuts no record that was ever committed."""
        if step.action == "die" or broker not in before.partition_state.isr:
            return True
        return after.log[broker].end_offset >= min(before.log[broker].end_offset, len(before.committed))

    @transition_invariant(when=lambda self: self.min_insync_replicas > 1)
    def commits_with_enough(self, before: S, step: Step, after: S, leader: BrokerId) -> bool:
        """R16: a leader commits only while its ISR is as large as min.insync.replicas. [since 3.7]"""
        if not (self.leads(before, leader) and self.leads(after, leader)):
            return True
        if after.log[leader].high_watermark <= before.log[leader].high_watermark:
            return True
        return len(after.replica[leader].isr) >= min(self.min_insync_replicas, self.brokers)

    @invariant(when=lambda self: self.design.truncation == ON_FETCH and several_brokers(self))
    def follower_is_prefix(self, s: S, leader: BrokerId, follower: BrokerId) -> bool:
        """R17: a follower's log is the beginning of its leader's, unless its next fetch will be told that they part.

        Both are in one leader epoch.
        """
        mine, its, log = s.replica[follower], s.replica[leader], s.log[follower]
        if leader == follower or mine[:2] != its[:2] or its.leader != leader or follower not in s.fetching:
            return True
        state = s.fetching[follower]
        if state.is_truncating:
            return True
        if state.last_fetched_epoch is not None and diverging_epoch(
            s.log[leader].epochs, s.log[leader].end_offset, state.fetch_offset, state.last_fetched_epoch
        ):
            return True
        return log.records == s.log[leader].records[: log.end_offset]

    @transition_invariant(of="drop")
    def idle_member_stays(self, before: S, after: S, leader: BrokerId, replica: BrokerId) -> bool:
        """A member that has all of its leader's log stays in the ISR, however long it has not fetched. [since 2.1]"""
        return before.end_offsets[Pair(replica, leader)] != before.log[leader].end_offset

    # Witnesses: what must be possible.

    @sometimes
    def a_record_is_committed(self, s: S) -> bool:
        """A leader has moved its high watermark over a record."""
        return any(self.leads(s, each) and s.log[each].high_watermark > 0 for each in self.replicas())

    @sometimes(when=several_brokers)
    def an_isr_shrinks_and_grows_back(self, before: S, step: Step, after: S) -> bool:
        """The ISR in ZooKeeper grows; every broker was in it at first, so it has shrunk before."""
        return before.partition_state.isr < after.partition_state.isr

    @sometimes(when=lambda self: several_brokers(self) and self.design.truncation != TO_HIGH_WATERMARK)
    def a_follower_truncates_first(self, s: S, follower: BrokerId) -> bool:
        """A follower has to truncate before it fetches."""
        return follower in s.fetching and s.fetching[follower].is_truncating

    @sometimes(when=several_brokers)
    def a_follower_fetches(self, s: S, follower: BrokerId) -> bool:
        """A follower fetches records."""
        return follower in s.fetching and not s.fetching[follower].is_truncating

    @sometimes(when=lambda self: several_brokers(self) and self.design.fence_fetch and self.max_leader_epoch > 0)
    def a_follower_fails(self, s: S, follower: BrokerId) -> bool:
        """A follower fetches no longer: its leader is in a later epoch."""
        mine = s.replica[follower]
        return mine.leader not in (None, follower) and follower not in s.fetching

    def changes_leaders(self) -> bool:
        """Whether leadership passes among several brokers."""
        return self.brokers > 1 and self.max_leader_epoch > 0

    @sometimes(when=changes_leaders)
    def a_truncation_cuts_something(self, before: S, step: Step, after: S) -> bool:
        """A replica that runs loses a record."""
        return step.action != "die" and any(
            after.log[each].end_offset < before.log[each].end_offset for each in self.replicas()
        )

    @sometimes(when=lambda self: self.changes_leaders() and self.log_size > 1)
    def a_high_watermark_goes_back(self, before: S, step: Step, after: S, broker: BrokerId) -> bool:
        """A follower adopts its leader's lower high watermark, and keeps its log."""
        where(step.action == "take_response")
        then, now = before.log[broker], after.log[broker]
        return now.high_watermark < then.high_watermark and now.end_offset >= then.end_offset

    @sometimes(when=lambda self: self.history and self.changes_leaders())
    def a_new_leader_exposes_less(self, s: S, leader: BrokerId) -> bool:
        """A true leader's high watermark is below an older leader's: consumers see it go back."""
        return self.is_true_leader(s, leader) and s.log[leader].high_watermark < len(s.committed)

    @sometimes(when=brokers_die)
    def a_broker_returns(self, before: S, step: Step, after: S, broker: BrokerId) -> bool:
        """A broker that has died hears of its role again."""
        return before.life[broker] is Life.Started and after.life[broker] is Life.Runs

    @sometimes(when=lambda self: brokers_die(self) and self.lossy)
    def a_death_loses_a_record(self, before: S, step: Step, after: S, broker: BrokerId) -> bool:
        """A broker that dies loses a record."""
        return step.action == "die" and after.log[broker].end_offset < before.log[broker].end_offset

    @sometimes(when=lambda self: brokers_die(self) and self.checkpoints and self.changes_leaders())
    def a_checkpoint_is_ahead(self, s: S, broker: BrokerId) -> bool:
        """The high watermark on a broker's disk is above its own: it has truncated its log since."""
        return s.life[broker] in RUNNING and s.checkpoint[broker] > s.log[broker].high_watermark

    @sometimes(when=lambda self: self.max_leader_epoch > 1 and not self.design.drop_fetch_while_truncating)
    def a_log_is_too_long(self, s: S) -> bool:
        """A follower's log ends after its leader's, and its thread asks where that ends. [until 1.0]"""
        return any(request.asks is Asks.EndOfLog for request in s.requests.values())

    @sometimes(when=lambda self: several_brokers(self) and self.isr_in_two_steps)
    def a_proposal_is_written(self, s: S) -> bool:
        """An ISR is in ZooKeeper, and the leader that has asked for it does not know yet."""
        return any(each.written is Written.Written for each in s.proposals.values())
