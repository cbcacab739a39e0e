"""Since 2.8: the answer to a fetch says where the logs diverge."""

from __future__ import annotations

from election.ids import BrokerId
from spec.language import action, require, say, switch, view, where
from spec.systems.replication.replicas import Diverging, Fetch, Leadership, Replicas
from spec.systems.replication.replication import Replication, several_epochs
from spec.systems.replication.under_one_epoch import UnderOneEpoch, answers_late
from statemachines.broker.in_sync_replicas import UNKNOWN_OFFSET
from statemachines.broker.log import truncation
from statemachines.broker.log.leader_epochs import EpochEndOffset, Offset
from statemachines.changes.truncating import MATCH_FETCH_EPOCH, SKIP_DIVERGING_FETCH
from statemachines.messages.errors import Errors


class TruncateOnFetch(UnderOneEpoch, Replication, truncation="truncate-on-fetch"):
    """2.8 and later: the answer to a follower's fetch says where the logs diverge. [KAFKA-10554]

    A follower fetches at the end of its log, and names the epoch of its last record. If the leader's log does not
    continue from there, the leader answers with an epoch and an offset in place of records. The follower truncates
    and fetches again, round by round. Until the last round its log may have any contents, so the leader must not
    count it (KAFKA-13141).

    An answer is valid in the leader epoch of its fetch, whenever it arrives. Until 3.9.0 a follower obeys it in a
    later epoch, too, if the same broker leads again and the follower's log still ends at the same offset
    (KAFKA-18991).

    Left out: an epoch that a former leader noted without a write, which costs one more round; and that until 3.4.0 a
    follower adopts the leader's high watermark before it truncates, which only its own consumers see (KAFKA-14704).

    `Replication` is named as a base again so that `of` finds this version, since `of` skips classes that fix nothing.
    """

    skip_diverging_fetch: bool = switch(SKIP_DIVERGING_FETCH.now, str(SKIP_DIVERGING_FETCH))
    match_fetch_epoch: bool = switch(MATCH_FETCH_EPOCH.now, str(MATCH_FETCH_EPOCH))

    @property
    def answers_may_be_late(self) -> bool:
        """Whether an answer is also obeyed in a later leader epoch: until 3.9.0."""
        return not self.match_fetch_epoch

    def answer(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> EpochEndOffset | Errors | None:
        """The leader's answer to a fetch at the end of the follower's log; None if the logs do not diverge there."""
        log = s.log[follower]
        if log.latest_epoch is None:
            return None
        epochs, end_offset = self.epochs_of(s, leader), s.log[leader].end_offset
        return truncation.diverging_epoch(epochs, end_offset, log.end_offset, log.latest_epoch)

    def truncate(self, s: Replicas, follower: BrokerId, request: Leadership) -> None:
        """A new follower does not truncate its log yet."""

    def truncation_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> Offset:
        """One round. A leader that does not know the epoch refuses the fetch, and the follower asks for its log end.

        [AbstractFetcherThread.truncateOnFetchResponse, fetchOffsetAndTruncate, 2.8 to 3.9]
        """
        log, answer = s.log[follower], self.answer(s, follower, leader)
        if answer is None:
            return log.end_offset
        if isinstance(answer, Errors):
            return min(log.end_offset, s.log[leader].end_offset)
        return truncation.kip_279(log, answer).offset

    def awaits_answer(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a follower has fetched and waits for the answer. One thread makes its fetches, one by one."""
        return self.answers_may_be_late and Fetch(follower, leader) in s.late_answers

    def may_fetch_again(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a follower may fetch."""
        return not self.awaits_answer(s, follower, leader) and super().may_fetch(s, follower, leader)

    def may_fetch(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> bool:
        """Whether a follower may fetch, and the logs do not diverge before the end of its log."""
        return self.may_fetch_again(s, follower, leader) and self.answer(s, follower, leader) is None

    def known_end_offset(self, s: Replicas, follower: BrokerId, leader: BrokerId, offset: Offset) -> Offset:
        """Unknown after a refused fetch and, since KAFKA-13141, after one that finds diverging logs."""
        answer = self.answer(s, follower, leader)
        if isinstance(answer, Errors) or (answer is not None and self.skip_diverging_fetch):
            return UNKNOWN_OFFSET
        if self.awaits_answer(s, follower, leader):
            return UNKNOWN_OFFSET
        return super().known_end_offset(s, follower, leader, offset)

    @action(when=several_epochs, receiver="leader")
    def follower_truncate(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> None:
        """A follower fetches, learns that the logs diverge before the end of its own, and truncates its log."""
        require(follower != leader and self.may_fetch_again(s, follower, leader))
        offset = self.truncation_offset(s, follower, leader)
        require(offset < s.log[follower].end_offset)
        s.log[follower] = s.log[follower].truncate_to(offset)

    @action(when=answers_late, receiver="follower")
    def leader_answer(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> None:
        """A leader answers a follower's fetch that their logs diverge; the answer is on its way."""
        require(follower != leader and self.may_fetch_again(s, follower, leader))
        answer = self.answer(s, follower, leader)
        require(isinstance(answer, EpochEndOffset))
        assert isinstance(answer, EpochEndOffset)
        s.late_answers[Fetch(follower, leader)] = Diverging(s.log[follower].end_offset, answer)

    @action(when=answers_late)
    def follower_handle_answer(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> None:
        """The answer arrives. A follower truncates its log if it follows that leader, in whichever leader epoch.

        [AbstractFetcherThread.processFetchRequest, 2.8 to 3.9.0]
        """
        late, log = s.late_answers.get(Fetch(follower, leader)), s.log[follower]
        require(late is not None)
        assert late is not None
        del s.late_answers[Fetch(follower, leader)]
        if not self.follows(s, follower, leader) or late.fetch_offset != log.end_offset:
            say("the follower ignores it")
            return
        s.log[follower] = log.truncate_to(truncation.kip_279(log, late.answer).offset)

    @view(when=answers_late)
    def answered(self, s: Replicas, follower: BrokerId, leader: BrokerId) -> str:
        """An answer on its way to a follower."""
        late = s.late_answers.get(Fetch(follower, leader))
        where(late is not None)
        assert late is not None
        end, at = late.answer.end_offset, late.fetch_offset
        return f"broker {leader} has answered broker {follower}'s fetch at {at}: the logs diverge at {end}"
