"""The leader-epoch cache against its log: each answer of the cache is also computed, slowly, from the records."""

import pickle
from collections.abc import Iterable
from itertools import pairwise, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from statemachines.broker.log.leader_epochs import (
    UNDEFINED,
    UNDEFINED_EPOCH,
    UNDEFINED_EPOCH_OFFSET,
    EpochEndOffset,
    EpochEntry,
    LeaderEpochs,
)
from tests.rows import rows

LogEpochs = list[int]
"""The leader epochs of the records of a log that starts at offset 0."""

logs: st.SearchStrategy[LogEpochs] = st.lists(st.integers(0, 9), max_size=12).map(sorted)
offsets = st.integers(0, 15)
questions = st.integers(-1, 11)
hostile = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=12)
"""Assignments in any order, as no correct log makes them."""


def cache(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(tuple(EpochEntry(*entry) for entry in entries))


def assigned(entries: Iterable[tuple[int, int]]) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for entry in entries:
        epochs = epochs.assign(*entry)
    return epochs


def well_shaped(epochs: LeaderEpochs) -> bool:
    """Epochs and start offsets are never negative and strictly increase."""
    nothing = EpochEntry(-1, -1)
    return all(
        before.epoch < after.epoch and before.start_offset < after.start_offset
        for before, after in pairwise((nothing, *epochs.entries))
    )


# The answers of a log by itself, computed from its records alone.


def end_by_the_log(log: LogEpochs, epoch: int) -> EpochEndOffset:
    """The end of an epoch is the number of records whose epoch is not later."""
    if epoch == -1 or not log or epoch > max(log):
        return UNDEFINED
    return EpochEndOffset(
        epoch=max((known for known in log if known <= epoch), default=epoch),
        end_offset=sum(known <= epoch for known in log),
    )


def shared(one: LogEpochs, other: LogEpochs) -> LogEpochs:
    """The common part of two logs: an epoch has one leader, so at one offset it has one record."""
    return [epoch for epoch, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))]


@st.composite
def two_replicas(draw: st.DrawFn) -> tuple[LogEpochs, LogEpochs]:
    """The logs of two replicas that led in turn; after each turn the other one followed or did not."""
    one: LogEpochs = []
    other: LogEpochs = []
    for epoch in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            one, other = other, one
        one = one + [epoch] * draw(st.integers(0, 2))
        if draw(st.booleans()):
            other = one[: draw(st.integers(len(shared(one, other)), len(one)))]
    return one, other


class TestOf:
    def test_has_an_entry_where_the_epoch_changes(self) -> None:
        assert LeaderEpochs.of([0, 0, 2, 2, 5]) == cache((0, 0), (2, 2), (5, 4))

    def test_is_empty_for_an_empty_log(self) -> None:
        assert LeaderEpochs.of([]) == LeaderEpochs() == cache()

    def test_takes_any_iterable_once(self) -> None:
        assert LeaderEpochs.of(iter([1, 1, 2])) == cache((1, 0), (2, 2))

    def test_a_negative_epoch_is_refused(self) -> None:
        with pytest.raises(ValueError, match="leader epoch -1 from offset 1: neither may be negative"):
            LeaderEpochs.of([0, -1])

    @given(logs)
    def test_each_record_finds_its_epoch(self, log: LogEpochs) -> None:
        epochs = LeaderEpochs.of(log)
        assert [epochs.epoch_at(offset) for offset in range(len(log))] == log

    @given(logs)
    def test_has_the_shape_and_no_entry_too_many(self, log: LogEpochs) -> None:
        epochs = LeaderEpochs.of(log)
        assert well_shaped(epochs)
        assert [entry.epoch for entry in epochs.entries] == sorted(set(log))

    @given(st.lists(st.integers(0, 9), max_size=12))
    def test_keeps_its_shape_when_the_epochs_of_a_log_decrease(self, log: LogEpochs) -> None:
        """Such a log is broken, but the cache believes its last record."""
        epochs = LeaderEpochs.of(log)
        assert well_shaped(epochs)
        assert epochs.latest_epoch == (log[-1] if log else UNDEFINED_EPOCH)


class TestLookup:
    def test_an_empty_cache_knows_nothing(self) -> None:
        assert LeaderEpochs().latest_epoch == LeaderEpochs().epoch_at(0) == UNDEFINED_EPOCH == -1

    def test_below_the_first_entry_nothing_is_known(self) -> None:
        epochs = cache((3, 10), (4, 20))
        assert [epochs.epoch_at(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 3, 3, 4, 4]

    def test_is_a_value(self) -> None:
        epochs = LeaderEpochs.of([0, 1])
        assert {epochs: 1}[LeaderEpochs.of([0, 1])] == 1
        assert pickle.loads(pickle.dumps(epochs)) == epochs
        with pytest.raises(AttributeError):
            epochs.entries = ()  # type: ignore[misc]


class TestAssign:
    """[LeaderEpochFileCache.assign, 2.0.1 to 3.9]"""

    START = cache((1, 0), (3, 5), (4, 8))

    @rows(
        "epoch, start_offset, entries",
        [
            (5, 9, [(1, 0), (3, 5), (4, 8), (5, 9)]),
            (9, 100, [(1, 0), (3, 5), (4, 8), (9, 100)]),
            (4, 8, [(1, 0), (3, 5), (4, 8)]),  # the latest epoch goes on
            (4, 50, [(1, 0), (3, 5), (4, 8)]),
            (4, 7, [(1, 0), (3, 5), (4, 7)]),  # it began earlier than the cache had
            (4, 5, [(1, 0), (4, 5)]),
            (5, 8, [(1, 0), (3, 5), (5, 8)]),  # a leader that wrote nothing is followed by another
            (5, 6, [(1, 0), (3, 5), (5, 6)]),
            (5, 0, [(5, 0)]),
            (3, 9, [(1, 0), (3, 9)]),  # back to an earlier epoch
            (2, 9, [(1, 0), (2, 9)]),
            (2, 3, [(1, 0), (2, 3)]),
            (0, 9, [(0, 9)]),
            (0, 0, [(0, 0)]),
        ],
    )
    def test_drops_conflicting_entries(self, epoch: int, start_offset: int, entries: list[tuple[int, int]]) -> None:
        assert self.START.assign(epoch, start_offset) == cache(*entries)

    def test_the_old_value_stays(self) -> None:
        before = cache((1, 0), (3, 5))
        before.assign(2, 2)
        before.truncate_from_end(2)
        before.truncate_from_start(2)
        assert before.entries == ((1, 0), (3, 5))

    def test_the_first_entry_may_start_anywhere(self) -> None:
        assert LeaderEpochs().assign(7, 42) == cache((7, 42))

    @pytest.mark.parametrize(("epoch", "start_offset"), [(-1, 9), (9, -1), (-1, -1)])
    def test_negative_numbers_are_refused(self, epoch: int, start_offset: int) -> None:
        for refuse in (self.START.assign, self.START.assign_kip_101, LeaderEpochs().assign):
            with pytest.raises(
                ValueError, match=f"epoch {epoch} from offset {start_offset}: neither may be negative"
            ):
                refuse(epoch, start_offset)

    @given(hostile)
    def test_keeps_its_shape_whatever_is_assigned(self, entries: list[tuple[int, int]]) -> None:
        epochs = assigned(entries)
        assert well_shaped(epochs)
        assert set(epochs.entries) <= set(entries)

    @given(hostile, st.integers(0, 6), offsets)
    def test_afterwards_the_latest_epoch_is_the_one_assigned(
        self, entries: list[tuple[int, int]], epoch: int, start_offset: int
    ) -> None:
        epochs = assigned(entries).assign(epoch, start_offset)
        assert epochs.latest_epoch == epochs.epoch_at(start_offset) == epoch
        assert epochs.assign(epoch, start_offset) == epochs


class TestAssignBefore201:
    """[LeaderEpochFileCache.assign, 0.11.0.0 to 2.0.0]"""

    START = cache((1, 0), (3, 5))

    @rows("epoch, start_offset", [(3, 9), (3, 5), (3, 2), (2, 9), (0, 0), (4, 4)])
    def test_an_entry_that_is_not_later_is_ignored(self, epoch: int, start_offset: int) -> None:
        assert self.START.assign_kip_101(epoch, start_offset) == self.START

    def test_a_later_epoch_is_appended(self) -> None:
        assert self.START.assign_kip_101(4, 6) == cache((1, 0), (3, 5), (4, 6))
        assert LeaderEpochs().assign_kip_101(4, 6) == cache((4, 6))

    def test_two_epochs_may_start_at_one_offset(self) -> None:
        """Start offsets increase strictly only since 2.0.1."""
        assert self.START.assign_kip_101(4, 5) == cache((1, 0), (3, 5), (4, 5))
        assert self.START.assign(4, 5) == cache((1, 0), (4, 5))

    @given(logs)
    def test_equals_the_later_rule_where_epochs_do_not_decrease(self, log: LogEpochs) -> None:
        epochs = LeaderEpochs()
        for offset, epoch in enumerate(log):
            epochs = epochs.assign_kip_101(epoch, offset)
        assert epochs == LeaderEpochs.of(log)


class TestEndOffset:
    """[LeaderEpochFileCache.endOffsetFor]"""

    KNOWN = cache((2, 5), (4, 8), (7, 11))  # the log goes from 5 to 20

    @rows(
        "epoch, since_2_0_1, in_2_0_0, before_2_0",
        [
            (-1, (-1, -1), (-1, -1), -1),
            (0, (0, 5), (-1, -1), -1),
            (1, (1, 5), (-1, -1), -1),
            (2, (2, 8), (2, 8), 8),
            (3, (2, 8), (2, 8), 8),
            (4, (4, 11), (4, 11), 11),
            (6, (4, 11), (4, 11), 11),
            (7, (7, 20), (7, 20), 20),
            (8, (-1, -1), (-1, -1), -1),
        ],
    )
    def test_each_release_has_its_answer(
        self, epoch: int, since_2_0_1: tuple[int, int], in_2_0_0: tuple[int, int], before_2_0: int
    ) -> None:
        assert self.KNOWN.end_offset_for(epoch, 20) == EpochEndOffset(*since_2_0_1)
        assert self.KNOWN.end_offset_for_kip_279(epoch, 20) == EpochEndOffset(*in_2_0_0)
        assert self.KNOWN.end_offset_for_kip_101(epoch, 20) == before_2_0

    @given(questions, offsets)
    def test_an_empty_cache_never_knows(self, epoch: int, log_end_offset: int) -> None:
        assert LeaderEpochs().end_offset_for(epoch, log_end_offset) == UNDEFINED
        assert LeaderEpochs().end_offset_for_kip_279(epoch, log_end_offset) == UNDEFINED
        assert LeaderEpochs().end_offset_for_kip_101(epoch, log_end_offset) == UNDEFINED_EPOCH_OFFSET

    @given(logs, questions)
    def test_the_answer_can_be_read_off_the_log(self, log: LogEpochs, epoch: int) -> None:
        assert LeaderEpochs.of(log).end_offset_for(epoch, len(log)) == end_by_the_log(log, epoch)

    @given(logs, questions)
    def test_older_releases_know_nothing_below_the_first_epoch(self, log: LogEpochs, epoch: int) -> None:
        epochs, end = LeaderEpochs.of(log), end_by_the_log(log, epoch)
        expected = end if end.epoch in log else UNDEFINED
        assert epochs.end_offset_for_kip_279(epoch, len(log)) == expected
        assert epochs.end_offset_for_kip_101(epoch, len(log)) == expected.end_offset

    def test_a_new_leader_without_records_knows_the_end_of_its_predecessor(self) -> None:
        """The follower's records of epoch 2 never reached this leader, and its answer shows that [KAFKA-7415]."""
        log = [1]
        assert LeaderEpochs.of(log).end_offset_for(2, len(log)) == UNDEFINED
        assert LeaderEpochs.of(log).assign(3, len(log)).end_offset_for(2, len(log)) == EpochEndOffset(1, 1)

    def test_an_offset_without_its_epoch_misleads(self) -> None:
        """Offset 2 ends epoch 1 at the leader, but the follower has a record of epoch 2 below it [KAFKA-6361]."""
        leader, follower = [1, 1, 3], [1, 2]
        asked = LeaderEpochs.of(follower).latest_epoch
        assert LeaderEpochs.of(leader).end_offset_for_kip_101(asked, len(leader)) == len(follower)
        assert LeaderEpochs.of(leader).end_offset_for_kip_279(asked, len(leader)) == EpochEndOffset(1, 2)
        assert LeaderEpochs.of(follower).end_offset_for(1, len(follower)).end_offset == 1

    @given(two_replicas())
    def test_asking_again_and_again_finds_where_two_logs_part(self, replicas: tuple[LogEpochs, LogEpochs]) -> None:
        """A follower that truncates by its leader's answers and by its own cache keeps the common part: KIP-279."""
        leader, follower = replicas
        theirs = LeaderEpochs.of(leader).assign(10, len(leader))
        kept = list(follower)
        epoch = own_epoch = None
        while kept and (epoch is None or epoch != own_epoch):
            own = LeaderEpochs.of(kept)
            epoch, end_offset = theirs.end_offset_for(own.latest_epoch, len(leader))
            own_epoch, own_end_offset = own.end_offset_for(epoch, len(kept))
            kept = kept[: min(own_end_offset, end_offset if epoch == own_epoch else own_end_offset)]
        assert kept == shared(leader, follower)


class TestTruncation:
    START = cache((1, 2), (3, 5), (4, 8))

    @rows(
        "end_offset, entries",
        [
            (9, [(1, 2), (3, 5), (4, 8)]),
            (8, [(1, 2), (3, 5)]),
            (6, [(1, 2), (3, 5)]),
            (5, [(1, 2)]),
            (2, []),
            (0, []),
            (-1, [(1, 2), (3, 5), (4, 8)]),
        ],
    )
    def test_from_the_end_drops_entries_at_or_after_the_offset(
        self, end_offset: int, entries: list[tuple[int, int]]
    ) -> None:
        assert self.START.truncate_from_end(end_offset) == cache(*entries)

    @rows(
        "start_offset, entries",
        [
            (-1, [(1, 2), (3, 5), (4, 8)]),
            (1, [(1, 2), (3, 5), (4, 8)]),
            (2, [(1, 2), (3, 5), (4, 8)]),
            (3, [(1, 3), (3, 5), (4, 8)]),
            (5, [(3, 5), (4, 8)]),
            (7, [(3, 7), (4, 8)]),
            (8, [(4, 8)]),
            (99, [(4, 99)]),
        ],
    )
    def test_from_the_start_moves_the_epoch_in_force_up(
        self, start_offset: int, entries: list[tuple[int, int]]
    ) -> None:
        assert self.START.truncate_from_start(start_offset) == cache(*entries)

    def test_from_the_start_keeps_all_that_begin_there_before_2_0_1(self) -> None:
        """Of two epochs with one start offset, the later rule keeps the last, and only when it truncates."""
        double = cache((0, 0), (1, 1), (2, 1), (3, 4))
        assert double.truncate_from_start_kip_101(1) == cache((1, 1), (2, 1), (3, 4))
        assert double.truncate_from_start(1) == cache((2, 1), (3, 4))
        assert double.truncate_from_start_kip_101(2) == cache((2, 2), (3, 4))
        assert cache((0, 0), (1, 0)).truncate_from_start_kip_101(0) == cache((0, 0), (1, 0))

    @given(hostile, offsets)
    def test_from_the_start_both_rules_agree_where_start_offsets_increase(
        self, entries: list[tuple[int, int]], start_offset: int
    ) -> None:
        epochs = assigned(entries)
        assert epochs.truncate_from_start_kip_101(start_offset) == epochs.truncate_from_start(start_offset)

    @given(offsets)
    def test_an_empty_cache_stays_empty(self, offset: int) -> None:
        assert (
            LeaderEpochs().truncate_from_end(offset) == LeaderEpochs().truncate_from_start(offset) == LeaderEpochs()
        )

    @given(logs, offsets)
    def test_from_the_end_leaves_the_cache_of_the_shorter_log(self, log: LogEpochs, end_offset: int) -> None:
        assert LeaderEpochs.of(log).truncate_from_end(end_offset) == LeaderEpochs.of(log[:end_offset])

    @given(logs, offsets)
    def test_from_the_start_forgets_only_deleted_records(self, log: LogEpochs, start_offset: int) -> None:
        before = LeaderEpochs.of(log)
        after = before.truncate_from_start(start_offset)
        assert well_shaped(after)
        if log:
            assert after.entries[0].start_offset == start_offset
        for offset in range(20):
            assert after.epoch_at(offset) == (before.epoch_at(offset) if offset >= start_offset else -1)

    @given(hostile, offsets, offsets)
    def test_truncating_again_changes_nothing(self, entries: list[tuple[int, int]], first: int, second: int) -> None:
        epochs = assigned(entries)
        end, start = LeaderEpochs.truncate_from_end, LeaderEpochs.truncate_from_start
        assert end(end(epochs, first), second) == end(epochs, min(first, second))
        assert start(start(epochs, first), max(first, second)) == start(epochs, max(first, second))


def test_a_leader_that_wrote_nothing_must_forget_its_epoch() -> None:
    """It follows again, truncates nothing, and gets more records of the epoch before its own [KAFKA-10706]."""
    log = [4, 4]
    led = LeaderEpochs.of(log).assign(5, len(log))
    assert led.truncate_from_end(len(log)).assign(4, len(log)) == LeaderEpochs.of([4, 4, 4])
    assert led.assign(4, len(log)) == cache((4, 2))  # up to 2.6.0: the epoch of the first two records is lost


class Replica(RuleBasedStateMachine):
    """A log and its cache side by side, through appends, elections, truncations and deletions."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[int, int] = {}
        self.start = 0
        self.end = 0
        self.epochs = LeaderEpochs()
        self.highest = 0

    def keep(self, start: int, end: int) -> None:
        self.start, self.end = start, end
        self.records = {offset: epoch for offset, epoch in self.records.items() if start <= offset < end}

    @rule(higher=st.integers(0, 2))
    def append_what_a_leader_wrote(self, higher: int) -> None:
        self.highest += higher
        self.records[self.end] = self.highest
        self.epochs = self.epochs.assign(self.highest, self.end)
        self.end += 1

    @rule(higher=st.integers(1, 2))
    def become_leader(self, higher: int) -> None:
        self.highest += higher
        self.epochs = self.epochs.assign(self.highest, self.end)

    @rule(data=st.data())
    def become_follower(self, data: st.DataObject) -> None:
        self.keep(self.start, data.draw(st.integers(self.start, self.end)))
        self.epochs = self.epochs.truncate_from_end(self.end)
        self.highest = max(self.records.values(), default=self.highest)

    @precondition(lambda self: self.records)
    @rule(data=st.data())
    def delete_old_records(self, data: st.DataObject) -> None:
        self.keep(data.draw(st.integers(self.start, self.end)), self.end)
        self.epochs = self.epochs.truncate_from_start(self.start)

    @rule(offset=st.integers(0, 20))
    def start_anew(self, offset: int) -> None:
        self.keep(offset, offset)
        self.epochs = LeaderEpochs()

    @invariant()
    def epochs_and_start_offsets_strictly_increase(self) -> None:
        assert well_shaped(self.epochs)

    @invariant()
    def each_record_finds_its_epoch(self) -> None:
        assert {offset: self.epochs.epoch_at(offset) for offset in self.records} == self.records

    @invariant()
    def no_entry_starts_outside_of_the_log(self) -> None:
        assert all(self.start <= entry.start_offset <= self.end for entry in self.epochs.entries)

    @invariant()
    def each_epoch_ends_where_a_later_one_begins(self) -> None:
        for epoch in set(self.records.values()):
            answer = self.epochs.end_offset_for(epoch, self.end)
            assert answer.epoch == epoch
            assert answer.end_offset == 1 + max(offset for offset, known in self.records.items() if known <= epoch)


TestReplica = Replica.TestCase
