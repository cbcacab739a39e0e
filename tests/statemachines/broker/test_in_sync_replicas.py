"""A leader's conclusions from its followers' log end offsets, against a plain restatement, and by release."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from statemachines.broker.in_sync_replicas import UNKNOWN_OFFSET, high_watermark, may_join, must_leave
from tests.rows import rows

OFFSETS = st.integers(0, 6)
END_OFFSETS = st.lists(st.integers(UNKNOWN_OFFSET, 6), min_size=1, max_size=4)


@given(OFFSETS, END_OFFSETS)
def test_the_high_watermark_is_the_least_leo_and_never_goes_back(current: int, end_offsets: list[int]) -> None:
    """In any order of the replicas."""
    assert high_watermark(current, end_offsets) == max(current, min(end_offsets))
    assert high_watermark(current, end_offsets) == high_watermark(current, reversed(end_offsets))


@given(OFFSETS, END_OFFSETS, st.integers(UNKNOWN_OFFSET, 6))
def test_one_more_replica_never_raises_the_high_watermark(current: int, end_offsets: list[int], another: int) -> None:
    """So Kafka also waits for replicas that are about to join, and for those whose removal is pending."""
    assert high_watermark(current, [*end_offsets, another]) <= high_watermark(current, end_offsets)


def test_a_new_leader_commits_after_every_member_has_fetched() -> None:
    """A new leader knows only its own LEO."""
    assert high_watermark(2, [5, UNKNOWN_OFFSET, 5]) == 2


JOINS = {
    "behind": (may_join(0, 1), False),
    "at the high watermark": (may_join(1, 1), True),
    "at a high watermark that is older than the epoch": (may_join(1, 1, epoch_start=2), False),
    "at the epoch's start": (may_join(2, 1, epoch_start=2), True),
    "after the epoch's start, behind": (may_join(2, 3, epoch_start=2), False),
}
LEAVES = {
    "it has not lagged": (must_leave(1, 2, lagged=False), False),
    "it has lagged": (must_leave(1, 2, lagged=True), True),
    "it idles": (must_leave(2, 2, lagged=True), False),
    "it idles, until 2.0": (must_leave(2, 2, lagged=True, may_idle=False), True),
    "it is ahead": (must_leave(3, 2, lagged=True), True),
}


@rows("answer", {**JOINS, **LEAVES})
def test_joining_leaving_and_counting_members(answer: tuple[bool, bool]) -> None:
    """Case by case, as in Kafka."""
    said, expected = answer
    assert said == expected
