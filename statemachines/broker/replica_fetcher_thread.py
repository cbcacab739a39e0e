"""ReplicaFetcherThread: what a follower asks its leader, and what it does with the answers.

One thread of a broker asks one leader, for all partitions that the broker follows there. Each partition is in a
state:

    truncating  its log may have records that the leader never had. From 0.11 to 2.7 the follower asks where an epoch
                of its own ends in the leader's log, and cuts its log there (`truncation`); it may have to ask again
    fetching    it asks for records from its log end on, appends them, and takes the leader's high watermark
    failed      the leader is in a later epoch than the follower: it waits for LeaderAndIsr [since 2.1]

Until 0.10 a follower cuts its log at its high watermark, without asking, and fetches. Since 2.8 one whose log has an
epoch fetches at once, and the leader says where the logs diverge.

A response may be late: the partition follows another leader by then, or is in a later epoch, or has truncated. So a
follower obeys one only if the partition is still there, fetches, and fetches at the offset of the request.

A follower whose log ends after its leader's is out of range. It asks where the leader's log ends, and cuts its own
there; until 2.0.0 the broker halts instead, unless unclean elections are permitted. If the leader's log has become
longer meanwhile, it asks where that begins, and fetches again.

Left out: retries after a while, quotas. Until 0.11 a whole fetch fails if the follower is no replica of one of its
partitions, and it falls behind in the others, too [KAFKA-5758]; here only that partition fails. A leader refuses to
fetch a partition that UpdateMetadata has not yet named [KAFKA-9930], as it refuses clients; here it answers.

[AbstractFetcherThread.scala, ReplicaFetcherThread.scala, 0.10.1 to 3.9]
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final, NamedTuple

from election.ids import LeaderEpoch
from statemachines.broker.log import truncation
from statemachines.broker.log.leader_epochs import UNDEFINED_EPOCH
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
)


class FetchState(NamedTuple):
    """The state of a partition that a thread fetches [PartitionFetchState]."""

    fetch_offset: Offset
    """Where it fetches next; while it truncates, where it would cut its log if the leader does not know."""
    leader_epoch: LeaderEpoch
    is_truncating: bool = False
    last_fetched_epoch: LeaderEpoch | None = None
    """The epoch of the log's last record. From 3.5.1 to 3.6.2 a thread may forget it."""
    is_first: bool = False
    """The leader has not answered a fetch yet."""


class OutOfRange(NamedTuple):
    """The partition's log ends after its leader's: the thread must ask where that ends."""

    question: OffsetQuestion


class Halts(NamedTuple):
    """The broker halts, so as not to lose records [until 2.0.0]."""

    leader_end_offset: Offset


class Followed(NamedTuple):
    """A partition that a thread fetches: its log and its state; None once it has failed."""

    log: UnifiedLog
    state: FetchState | None

    @staticmethod
    def begin(log: UnifiedLog, leader_epoch: LeaderEpoch, design: ReplicationDesign) -> Followed:
        """It begins to follow a leader, in this epoch [makeFollowers, addPartitions]."""
        if design.truncation == TO_HIGH_WATERMARK:
            if log.high_watermark < 0:  # a leader's that began with an unknown one; Kafka's handler fails here
                return Followed(log, None)
            log = log.truncate_to(truncation.to_high_watermark(log), design)
            return Followed(log, FetchState(log.end_offset, leader_epoch))
        if design.truncation == ON_FETCH and (latest := _latest(log)) is not None:
            is_first = design.forget_last_fetched_epoch
            return Followed(log, FetchState(log.end_offset, leader_epoch, False, latest, is_first))
        offset = log.high_watermark if design.fetch_from_high_watermark else log.end_offset
        return Followed(log, FetchState(offset, leader_epoch, is_truncating=True))

    # Questions.

    def truncation_question(self, design: ReplicationDesign) -> EpochQuestion | None:
        """The question to ask before truncating; None if there is none [fetchTruncatingPartitions]."""
        if self.state is None or not self.state.is_truncating:
            return None
        latest = _latest(self.log)
        if design.truncation == ON_FETCH or (latest is None and not design.ask_without_epoch):
            return None
        return EpochQuestion(UNDEFINED_EPOCH if latest is None else latest, _current(self.state, design))

    def truncated_without_epoch(self, design: ReplicationDesign) -> Followed:
        """It truncates to its high watermark, since its log has no epoch [truncateToHighWatermark]."""
        if self.state is None or not self.state.is_truncating or self.truncation_question(design) is not None:
            return self
        return self._truncated(self.state.fetch_offset, True, design)

    def fetch_question(self, design: ReplicationDesign) -> FetchPartition | None:
        """What to fetch; None if it has to truncate before, or has failed [buildFetch]."""
        if self.state is None or self.state.is_truncating:
            return None
        return FetchPartition(self.state.fetch_offset, _current(self.state, design), self.state.last_fetched_epoch)

    # Answers.

    def take_end_of_epoch(self, asked: EpochQuestion, answer: EpochAnswer, design: ReplicationDesign) -> Followed:
        """The leader has said where an epoch ends [maybeTruncateToEpochEndOffsets]."""
        state = self.state
        if state is None:
            return self
        if design.match_question_epoch and asked.current_leader_epoch != state.leader_epoch:
            return self
        if answer.error is not Errors.NONE:
            return self._refused(answer.error, asked.current_leader_epoch, design)
        return self.cut(answer.end, design)

    def take_fetched(
        self, asked: FetchPartition, answer: FetchedPartition, design: ReplicationDesign
    ) -> Followed | OutOfRange:
        """The leader has answered a fetch [processFetchRequest, processPartitionData]."""
        state = self.state
        if state is None or asked.fetch_offset != state.fetch_offset:
            return self
        if state.is_truncating and design.drop_fetch_while_truncating:
            return self
        if design.match_fetch_epoch and asked.current_leader_epoch != state.leader_epoch:
            return self
        if answer.error is Errors.OFFSET_OUT_OF_RANGE:
            return OutOfRange(OffsetQuestion(current_leader_epoch=_current(state, design)))
        if answer.error is not Errors.NONE:
            return self._refused(answer.error, asked.current_leader_epoch, design)
        if answer.diverging_epoch is not None:
            raised = self if design.truncate_before_high_watermark else self.at_high_watermark(answer.high_watermark)
            return raised.cut(answer.diverging_epoch, design)
        records = answer.records
        if design.skip_later_epochs:
            records = tuple(takewhile(lambda each: each.leader_epoch <= state.leader_epoch, records))
        log = self.log.append(records, design).with_high_watermark(answer.high_watermark)
        if records:
            last = records[-1].leader_epoch if design.truncation == ON_FETCH else None
            return Followed(log, FetchState(log.end_offset, state.leader_epoch, last_fetched_epoch=last))
        if state.is_first:
            return Followed(log, state._replace(last_fetched_epoch=None, is_first=False))
        return self if log == self.log else self._replace(log=log)

    def take_end_offset(
        self, asked: OffsetQuestion, answer: OffsetAnswer, permits_unclean: bool, design: ReplicationDesign
    ) -> Followed | OutOfRange | Halts:
        """The leader has said where its log ends, or begins [fetchOffsetAndTruncate, handleOffsetOutOfRange]."""
        state = self.state
        if state is None:
            return self
        if answer.error is not Errors.NONE:
            return self._refused(answer.error, asked.current_leader_epoch, design)
        if asked.earliest:
            return Followed(self.log, self._fetching_from(self.log, self.log.end_offset, design))
        if answer.offset < self.log.end_offset:
            if design.halt_out_of_range and not permits_unclean:
                return Halts(answer.offset)
            return self._truncated(answer.offset, True, design)
        return OutOfRange(asked._replace(earliest=True))

    def at_high_watermark(self, offset: Offset) -> Followed:
        """It takes its leader's high watermark."""
        return self._replace(log=self.log.with_high_watermark(offset))

    def cut(self, end: EpochEndOffset, design: ReplicationDesign) -> Followed:
        """Truncate by the leader's end of an epoch."""
        assert self.state is not None
        if design.truncation == KIP_101:
            if end.end_offset == UNDEFINED_EPOCH_OFFSET and design.fetch_from_high_watermark:
                return self._truncated(self.state.fetch_offset, True, design)
            return self._truncated(truncation.kip_101(self.log, end.end_offset), True, design)
        return self._truncated(*truncation.kip_279(self.log, end, self.state.fetch_offset), design)

    def _truncated(self, offset: Offset, done: bool, design: ReplicationDesign) -> Followed:
        assert self.state is not None
        log = self.log.truncate_to(offset, design)
        if done or design.truncation == ON_FETCH:
            return Followed(log, self._fetching_from(log, offset, design))
        return Followed(log, FetchState(offset, self.state.leader_epoch, is_truncating=True))

    def _fetching_from(self, log: UnifiedLog, offset: Offset, design: ReplicationDesign) -> FetchState:
        assert self.state is not None
        last = _latest(log) if design.truncation == ON_FETCH else None
        return FetchState(offset, self.state.leader_epoch, last_fetched_epoch=last)

    def _refused(self, error: Errors, asked_in: LeaderEpoch | None, design: ReplicationDesign) -> Followed:
        """The leader has refused to answer. Once fenced, the partition fails; otherwise it asks again."""
        assert self.state is not None
        if error is not Errors.FENCED_LEADER_EPOCH:
            return self
        return self if design.match_fenced_epoch and asked_in != self.state.leader_epoch else Followed(self.log, None)


TO_HIGH_WATERMARK: Final = "truncate-to-high-watermark"
KIP_101: Final = "kip-101"
ON_FETCH: Final = "truncate-on-fetch"


def _latest(log: UnifiedLog) -> LeaderEpoch | None:
    """The latest epoch of a log; None if it has none."""
    latest = log.epochs.latest_epoch
    return None if latest == UNDEFINED_EPOCH else latest


def _current(state: FetchState, design: ReplicationDesign) -> LeaderEpoch | None:
    """The leader epoch that a question carries; until 2.0 none."""
    return state.leader_epoch if design.fence_fetch else None
