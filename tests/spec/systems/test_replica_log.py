"""A replica's log as a value: appending, truncating and comparing, checked against its records one by one."""

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.systems.replication.replica_log import Record, ReplicaLog
from statemachines.broker.log.leader_epochs import LeaderEpochs
from tests.rows import rows

records = st.builds(Record, id=st.integers(0, 3), leader_epoch=st.integers(0, 3))
offsets = st.integers(0, 12)


@st.composite
def replica_logs(draw: st.DrawFn) -> ReplicaLog:
    """A log, whose epochs may decrease, with any high watermark that it can have."""
    written = tuple(draw(st.lists(records, max_size=8)))
    return ReplicaLog(written, draw(st.integers(0, len(written))))


in_order = st.lists(st.integers(0, 5), max_size=8).map(
    lambda epochs: ReplicaLog(tuple(Record(offset, epoch) for offset, epoch in enumerate(sorted(epochs))))
)
"""Logs whose epochs do not decrease."""

M0, M1, M2 = Record(0, 0), Record(1, 0), Record(2, 3)
LOG = ReplicaLog((M0, M1, M2), high_watermark=2)


class TestReading:
    def test_an_empty_log_has_nothing(self) -> None:
        empty = ReplicaLog()
        assert (empty.records, empty.high_watermark, empty.end_offset) == ((), 0, 0)
        assert empty.latest_epoch is None
        assert empty.at(0) is None
        assert empty.epochs == LeaderEpochs()

    def test_its_end_is_after_its_last_record(self) -> None:
        assert LOG.end_offset == 3
        assert LOG.at(LOG.end_offset - 1) == M2
        assert LOG.at(LOG.end_offset) is None

    def test_a_negative_offset_has_no_record(self) -> None:
        """Python would count from the end."""
        assert [LOG.at(offset) for offset in range(-4, 5)] == [None, None, None, None, M0, M1, M2, None, None]

    def test_the_latest_epoch_is_that_of_the_last_record(self) -> None:
        """Not the highest: the epoch of a log whose epochs decrease is that of its last record."""
        assert LOG.latest_epoch == 3
        assert LOG.append(Record(9, 1)).latest_epoch == 1

    @given(in_order)
    def test_its_epochs_begin_where_its_records_change_epoch(self, log: ReplicaLog) -> None:
        runs = groupby(enumerate(log.records), key=lambda numbered: numbered[1].leader_epoch)
        assert log.epochs.entries == tuple((epoch, next(run)[0]) for epoch, run in runs)
        assert log.epochs.latest_epoch == (-1 if log.latest_epoch is None else log.latest_epoch)

    def test_is_a_value(self) -> None:
        assert {LOG: 1}[ReplicaLog((M0, M1, M2), 2)] == 1
        assert ReplicaLog((M0, M1, M2), 1) != LOG
        with pytest.raises(AttributeError):
            LOG.high_watermark = 3  # type: ignore[misc]

    @pytest.mark.parametrize(
        ("log", "text"),
        [
            (ReplicaLog(), "[] 0/0"),
            (LOG, "[m0@0 m1@0 m2@3] 3/2"),
            (ReplicaLog((Record(12, 4),)), "[m12@4] 1/0"),
        ],
        ids=str,
    )
    def test_prints_its_records_its_end_and_its_high_watermark(self, log: ReplicaLog, text: str) -> None:
        assert str(log) == text


class TestAppending:
    @given(replica_logs(), records)
    def test_puts_a_record_at_the_end_and_commits_nothing(self, log: ReplicaLog, record: Record) -> None:
        longer = log.append(record)
        assert longer.at(log.end_offset) == record
        assert longer.end_offset == log.end_offset + 1
        assert longer.records[:-1] == log.records
        assert longer.high_watermark == log.high_watermark

    def test_does_not_change_the_old_log(self) -> None:
        LOG.append(M0)
        assert (LOG.records, LOG.high_watermark) == ((M0, M1, M2), 2)


class TestTruncating:
    @rows(
        "offset, left",
        [
            (4, LOG),
            (3, LOG),
            (2, ReplicaLog((M0, M1), 2)),
            (1, ReplicaLog((M0,), 1)),
            (0, ReplicaLog()),
        ],
    )
    def test_cuts_off_the_record_at_the_offset_and_all_later_ones(self, offset: int, left: ReplicaLog) -> None:
        assert LOG.truncate_to(offset) == left

    @given(replica_logs(), offsets)
    def test_keeps_the_records_below_and_adds_none(self, log: ReplicaLog, offset: int) -> None:
        left = log.truncate_to(offset)
        assert left.end_offset == min(offset, log.end_offset)
        assert left.records == log.records[:offset]

    @given(replica_logs(), offsets)
    def test_lowers_the_high_watermark_only_to_the_end(self, log: ReplicaLog, offset: int) -> None:
        left = log.truncate_to(offset)
        assert left.high_watermark == (log.high_watermark if log.high_watermark <= offset else left.end_offset)

    @given(replica_logs(), offsets, offsets)
    def test_two_truncations_equal_one_at_the_lower_offset(self, log: ReplicaLog, first: int, second: int) -> None:
        assert log.truncate_to(first).truncate_to(second) == log.truncate_to(min(first, second))

    @given(in_order, offsets)
    def test_truncates_its_epochs(self, log: ReplicaLog, offset: int) -> None:
        assert log.truncate_to(offset).epochs == log.epochs.truncate_from_end(offset)

    def test_a_negative_offset_is_refused(self) -> None:
        """An undefined answer is not an offset, and must not truncate the last record."""
        for log in (LOG, ReplicaLog()):
            with pytest.raises(ValueError, match="cannot truncate to offset -1: it must not be negative"):
                log.truncate_to(-1)


class TestHighWatermark:
    @rows("offset, expected", [(-1, 0), (0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (99, 3)])
    def test_stays_between_the_start_and_the_end(self, offset: int, expected: int) -> None:
        assert LOG.with_high_watermark(offset) == ReplicaLog((M0, M1, M2), expected)

    def test_may_decrease(self) -> None:
        """A leader's never decreases, but that is a property of the protocol, not of the log."""
        assert LOG.with_high_watermark(0).high_watermark < LOG.high_watermark

    def test_is_the_start_of_an_empty_log(self) -> None:
        assert ReplicaLog().with_high_watermark(1) == ReplicaLog()
