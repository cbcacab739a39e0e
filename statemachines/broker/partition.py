"""Partition: a replica's log on a broker and, where the broker leads, what it knows of its followers.

The role, the epochs and the ISR are in `HostedPartition`; both are one class in Kafka. Values are immutable.

A leader appends what producers send, and answers its followers' fetches. A fetch at an offset says that the follower
has all records below. So each fetch tells the leader a log end offset (LEO), and may move the high watermark (HW):

    a leader that has m0, m1 at HW 0     2 fetches at 0: it gets m0, m1, and HW 0
                                         2 fetches at 2: the HW becomes 2, and the answer still says 0
                                         2 fetches at 2 again, and learns that the HW is 2

A response says what the HW was before its fetch: a follower learns of a committed record one fetch later. A producer
with acks=all hears nothing before its record is committed. `DelayedProduces` has those of a broker that wait.

[Partition.scala, Replica.scala, ReplicaManager.readFromLocalLog, DelayedProduce.scala, DelayedOperationPurgatory,
0.10.1 to 3.9]
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import chain
from typing import Annotated, Any, Final, NamedTuple

from election.ids import BrokerId
from statemachines.broker.hosted_partition import HostedPartition
from statemachines.broker.in_sync_replicas import UNKNOWN_OFFSET, high_watermark, may_join, must_leave
from statemachines.broker.log.leader_epochs import UNDEFINED_EPOCH
from statemachines.broker.log.truncation import check_leader_epoch, diverging_epoch
from statemachines.broker.log.unified_log import UnifiedLog
from statemachines.changes.replicating import ReplicationDesign
from statemachines.messages.errors import Errors
from statemachines.messages.records import (
    UNDEFINED_EPOCH_OFFSET,
    EpochAnswer,
    EpochEndOffset,
    EpochQuestion,
    FetchedPartition,
    FetchPartition,
    Offset,
    OffsetAnswer,
    OffsetQuestion,
    Produced,
    Record,
)
from statemachines.messages.topic_partition import TopicPartition

Milliseconds = Annotated[int, "a time in milliseconds"]
NEVER: Final[Milliseconds] = 0
"""Kafka's number for no time."""


class Environment(NamedTuple):
    """What a partition takes from its broker."""

    broker: BrokerId
    design: ReplicationDesign
    now: Milliseconds
    min_insync_replicas: int = 1
    alive: Container[BrokerId] = ()
    """The brokers that the metadata cache lists."""


class RemoteReplica(NamedTuple):
    """What a leader knows of a follower [Replica.scala]."""

    broker: BrokerId
    end_offset: Offset = UNKNOWN_OFFSET
    """Its LEO, by its last fetch."""
    leader_end_offset: Offset = UNKNOWN_OFFSET
    """The leader's LEO at that time."""
    last_fetch: Milliseconds = NEVER
    last_caught_up: Milliseconds = NEVER
    """When its fetches last showed that it had the leader's whole log."""

    def fetched(self, offset: Offset, leader_end_offset: Offset, now: Milliseconds) -> RemoteReplica:
        """It has fetched at this offset [updateFetchState, updateLogReadResult]."""
        if offset >= leader_end_offset:
            caught_up = max(self.last_caught_up, now)
        elif offset >= self.leader_end_offset:
            caught_up = max(self.last_caught_up, self.last_fetch)
        else:
            caught_up = self.last_caught_up
        return RemoteReplica(self.broker, offset, leader_end_offset, now, caught_up)

    def reset(self, leader_end_offset: Offset, its: Environment, in_sync: bool, forgets: bool) -> RemoteReplica:
        """Another epoch has begun. A new leader forgets the LEO; one that leads on keeps it [resetReplicaState]."""
        since = its.now if in_sync else NEVER
        if forgets:
            return RemoteReplica(self.broker, last_caught_up=since)
        fetched = since if its.design.fetch_time_in_sync_only else its.now
        return RemoteReplica(self.broker, self.end_offset, leader_end_offset, fetched, since)

    def lags(self, now: Milliseconds, longest: Milliseconds) -> bool:
        """Whether it has not been caught up for longer than this."""
        return now - self.last_caught_up > longest


class FetchNoted(NamedTuple):
    """A leader's partition after a follower's fetch, and what the fetch permits [updateFollowerFetchState]."""

    partition: Partition
    may_join: bool = False
    """The follower may join the ISR. If it does, it does so before the high watermark advances."""
    may_advance: bool = False
    """The high watermark may advance."""


class Partition(NamedTuple):
    """A replica of a partition, on the broker of an `Environment`."""

    log: UnifiedLog = UnifiedLog()
    epoch_start: Offset | None = None
    """The LEO when the broker began to lead in this epoch; None if it does not lead."""
    followers: tuple[RemoteReplica, ...] = ()
    """The other replicas, if the broker leads."""
    unassigned: tuple[RemoteReplica, ...] = ()
    """The members of the ISR that are no replicas, if the broker leads: as a reassignment leaves them for a while."""
    default_changes: int = 0
    """How often a default has changed since the log took its topic's configuration over."""

    def follower(self, broker: BrokerId) -> RemoteReplica | None:
        """What the leader knows of a follower; None if that is no replica."""
        for each in self.followers:
            if each.broker == broker:
                return each
        return None

    # Roles.

    def make_leader(self, hosted: HostedPartition, its: Environment, before: HostedPartition) -> Partition:
        """The broker leads in a newer epoch, with this role and ISR.

        One that has led until now keeps what it knows of its followers, even if it has missed an epoch in which they
        have truncated their logs (K11).
        """
        log, design, new_leader = self.log, its.design, not before.is_led_by(its.broker)
        if log.high_watermark > log.end_offset and new_leader:
            log = log._replace(high_watermark=design.unknown_high_watermark)
        if design.note_epoch_on_lead:
            log = log.note_epoch(hosted.leader_epoch, design)
        known = {each.broker: each for each in self.followers}
        missed = hosted.leader_epoch > before.leader_epoch + 1
        forgets = new_leader or (missed and design.forget_after_missed_epoch)
        followers = tuple(
            known.get(each, RemoteReplica(each)).reset(log.end_offset, its, each in hosted.state.isr, forgets)
            for each in hosted.assignment.replicas
            if each != its.broker
        )
        others = sorted({*hosted.state.isr} - {its.broker, *hosted.assignment.replicas})
        unassigned = tuple(known.get(each, RemoteReplica(each)) for each in others)
        led = self._replace(log=log, epoch_start=log.end_offset, followers=followers, unassigned=unassigned)
        return led.advance_high_watermark(hosted, its)

    def make_follower(self) -> Partition:
        """The broker follows, or has no leader to follow."""
        return self._replace(epoch_start=None, followers=(), unassigned=())

    # What a leader does.

    def append(
        self, hosted: HostedPartition, its: Environment, values: Sequence[Any], all_in_sync: bool
    ) -> Partition | Errors:
        """A leader appends what a producer sends, or refuses it [appendRecordsToLeader].

        With acks=all (`all_in_sync`) the ISR must be large enough.
        """
        if not hosted.is_led_by(its.broker):
            return Errors.NOT_LEADER_OR_FOLLOWER
        if all_in_sync and len(hosted.state.isr) < self._min_isr(its):
            return Errors.NOT_ENOUGH_REPLICAS
        epoch = hosted.leader_epoch if its.design.epochs_in_records else UNDEFINED_EPOCH
        log = self.log.append([Record(each, epoch) for each in values], its.design)
        return self._replace(log=log).advance_high_watermark(hosted, its)

    def outcome(self, hosted: HostedPartition, its: Environment, required: Offset) -> Errors | None:
        """What a producer with acks=all hears; None: it waits [checkEnoughReplicasReachOffset].

        Its records are committed once the HW is at the required offset.
        """
        if not hosted.is_led_by(its.broker):
            return Errors.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark < required:
            return None
        enough = len(hosted.state.maximal_isr) >= self._min_isr(its)
        return Errors.NONE if enough else Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def read(
        self, hosted: HostedPartition, its: Environment, replica: BrokerId, asked: FetchPartition
    ) -> FetchedPartition:
        """The response to a follower's fetch, which changes nothing yet [fetchRecords, readRecords]."""
        log, is_stranger = self.log, replica not in hosted.assignment.replicas
        if is_stranger and its.design.stranger == "fails":
            return FetchedPartition(Errors.UNKNOWN_SERVER_ERROR)
        error = self._refusal(hosted, its, asked.current_leader_epoch)
        if error is None and is_stranger and its.design.stranger == "refused":
            error = Errors.UNKNOWN_LEADER_EPOCH
        if error is not None:
            return FetchedPartition(error)
        if asked.last_fetched_epoch is not None:
            found = diverging_epoch(log.epochs, log.end_offset, asked.fetch_offset, asked.last_fetched_epoch)
            if isinstance(found, Errors):
                return FetchedPartition(found)
            if found is not None:
                return FetchedPartition(high_watermark=log.high_watermark, diverging_epoch=found)
        if asked.fetch_offset > log.end_offset:
            return FetchedPartition(Errors.OFFSET_OUT_OF_RANGE)
        records = () if is_stranger else log.records[asked.fetch_offset :]
        return FetchedPartition(Errors.NONE, records, log.high_watermark)

    def note_fetch(
        self, replica: BrokerId, asked: FetchPartition, answer: FetchedPartition, its: Environment
    ) -> FetchNoted:
        """The leader has answered a fetch, and knows the follower's LEO [updateFollowerFetchState].

        Until 2.3 it forgets the LEO after an error. Until 2.8.0 it learns from a fetch that finds the logs diverging,
        too [Partition.fetchRecords, ReplicaManager.readFromLocalLog].
        """
        design, known = its.design, self.follower(replica)
        if known is None:
            return FetchNoted(self, may_advance=answer.error is Errors.NONE and design.advance_at_each_fetch)
        if answer.diverging_epoch is not None and design.skip_diverging_fetch:
            return FetchNoted(self)
        if answer.error is not Errors.NONE:
            forgotten = RemoteReplica(replica, last_caught_up=known.last_caught_up)
            return FetchNoted(self._knowing(forgotten) if design.forget_on_error else self)
        after = self._knowing(known.fetched(asked.fetch_offset, self.log.end_offset, its.now))
        moved = asked.fetch_offset != known.end_offset
        return FetchNoted(after, after.may_join(replica, design), moved or design.advance_at_each_fetch)

    def _knowing(self, follower: RemoteReplica) -> Partition:
        """The partition with this knowledge of a follower."""
        if self.follower(follower.broker) == follower:
            return self
        others = self.followers
        return self._replace(followers=tuple(follower if each.broker == follower.broker else each for each in others))

    def end_of_epoch(self, hosted: HostedPartition, its: Environment, asked: EpochQuestion) -> EpochAnswer:
        """The answer where an epoch ends in the leader's log [lastOffsetForLeaderEpoch]."""
        error = self._refusal(hosted, its, asked.current_leader_epoch)
        if error is not None:
            return EpochAnswer(error, EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET))
        epochs, end_offset = self.log.epochs, self.log.end_offset
        if asked.leader_epoch == UNDEFINED_EPOCH and not epochs.entries and its.design.end_of_no_epoch:
            return EpochAnswer(Errors.NONE, EpochEndOffset(UNDEFINED_EPOCH, end_offset))
        if its.design.truncation == "kip-101":
            offset = epochs.end_offset_for_kip_101(asked.leader_epoch, end_offset)
            return EpochAnswer(Errors.NONE, EpochEndOffset(UNDEFINED_EPOCH, offset))
        rule = epochs.end_offset_for if its.design.newest_epoch_wins else epochs.end_offset_for_kip_279
        return EpochAnswer(Errors.NONE, rule(asked.leader_epoch, end_offset))

    def end_of_log(self, hosted: HostedPartition, its: Environment, asked: OffsetQuestion) -> OffsetAnswer:
        """The answer where the leader's log ends, or begins [fetchOffsetForTimestamp]."""
        error = self._refusal(hosted, its, asked.current_leader_epoch)
        if error is not None:
            return OffsetAnswer(error, UNDEFINED_EPOCH_OFFSET)
        return OffsetAnswer(Errors.NONE, 0 if asked.earliest else self.log.end_offset)

    def advance_high_watermark(self, hosted: HostedPartition, its: Environment) -> Partition:
        """Raise the HW to where all replicas are that it waits for (`in_sync_replicas`) [maybeIncrementLeaderHW]."""
        design, log, isr = its.design, self.log, hosted.state.maximal_isr
        if log.high_watermark >= log.end_offset:
            return self
        if design.wait_for_min_isr and len(hosted.state.isr) < self._min_isr(its):
            return self

        def is_waited_for(replica: RemoteReplica) -> bool:
            if replica.broker in isr:
                return True
            if not design.wait_for_caught_up or replica.lags(its.now, design.replica_lag_time_max_ms):
                return False
            return not design.wait_for_eligible_only or replica.broker in its.alive

        waits_for = (each.end_offset for each in self.followers if is_waited_for(each))
        new = high_watermark(log.high_watermark, (log.end_offset, *waits_for))
        return self if new == log.high_watermark else self._replace(log=log.with_high_watermark(new))

    # The ISR.

    def may_join(self, replica: BrokerId, design: ReplicationDesign) -> bool:
        """Whether a follower has all that it needs to join the ISR [isFollowerInSync]."""
        known = self.follower(replica)
        start = self.epoch_start if design.join_at_epoch_start else None
        return known is not None and may_join(known.end_offset, self.log.high_watermark, start)

    def out_of_sync(self, hosted: HostedPartition, its: Environment) -> tuple[BrokerId, ...]:
        """The members of the ISR that have lagged behind for too long [getOutOfSyncReplicas]."""
        design, isr, log_end = its.design, hosted.state.isr, self.log.end_offset

        def has_lagged(replica: RemoteReplica) -> bool:
            if design.drop_unassigned and replica in self.unassigned:
                return True
            lags = replica.lags(its.now, design.replica_lag_time_max_ms)
            return must_leave(replica.end_offset, log_end, lags, design.members_may_idle)

        members = (each for each in (*self.followers, *self.unassigned) if each.broker in isr)
        return tuple(each.broker for each in members if has_lagged(each))

    def _refusal(self, hosted: HostedPartition, its: Environment, current: int | None) -> Errors | None:
        """Why a follower gets no answer [localLogWithEpochOrThrow]."""
        if current is not None and (error := check_leader_epoch(current, hosted.leader_epoch)):
            return error
        return None if hosted.is_led_by(its.broker) else Errors.NOT_LEADER_OR_FOLLOWER

    def _min_isr(self, its: Environment) -> int:
        least = its.min_insync_replicas
        return min(least, len(self.followers) + 1) if its.design.cap_min_isr else least


# The producers that wait.


TIMEOUT_MS: Final[Milliseconds] = 30_000
"""How long a producer waits, by default [request.timeout.ms of Kafka's producer]."""


class DelayedProduce(NamedTuple):
    """A producer that waits."""

    required: Offset
    """The high watermark that it waits for."""
    produced: Produced
    expires: Milliseconds


class DelayedProduces:
    """The producers that wait at one broker."""

    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, list[DelayedProduce]] = {}

    def watch(self, partition: TopicPartition, required: Offset, produced: Produced, now: Milliseconds) -> None:
        """A producer begins to wait until the high watermark is at this offset."""
        self._waiting.setdefault(partition, []).append(DelayedProduce(required, produced, now + TIMEOUT_MS))

    def complete(
        self, partition: TopicPartition, outcome: Callable[[TopicPartition, DelayedProduce], Errors | None]
    ) -> None:
        """Answer the producers of a partition [checkAndComplete]; one without an outcome waits on."""
        for each in self._waiting.pop(partition, ()):
            error = outcome(partition, each)
            if error is None:
                self._waiting.setdefault(partition, []).append(each)
            elif error is Errors.NONE:
                each.produced.offset = each.required - 1
            else:
                each.produced.error = error

    def forget(self) -> None:
        """The process ends without an answer."""
        for each in chain.from_iterable(self._waiting.values()):
            each.produced.error = Errors.NETWORK_EXCEPTION

    # Time.

    @property
    def next_expiration(self) -> Milliseconds | None:
        """When the first of them hears that its time is over; None if none waits."""
        return min((each.expires for each in chain.from_iterable(self._waiting.values())), default=None)

    def expire(self, now: Milliseconds) -> None:
        """Answer those whose time is over. Their records stay in the log."""
        for partition in tuple(self._waiting):
            self.complete(partition, lambda _, each: Errors.REQUEST_TIMED_OUT if each.expires <= now else None)

    def put_off(self, time: Milliseconds) -> None:
        """They wait so much longer."""
        for partition, waiting in self._waiting.items():
            self._waiting[partition] = [each._replace(expires=each.expires + time) for each in waiting]
