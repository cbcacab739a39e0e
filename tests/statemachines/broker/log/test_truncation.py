"""What each release truncates, over all pairs of logs with few epochs; and where the published models differ.

A history is a set of writers, one for each leader epoch. A writer starts from an earlier writer's log, or from a
beginning of one, and appends records. A replica has a beginning of some such log. So two replicas share no epoch
after the point where their logs part. The tests go through every pair with this property; one test enumerates the
histories, to show that these are all the pairs. The id of a record is its offset: with its epoch, it is unique.

These are the logs of followers that are fenced (KIP-320). Without fencing other pairs are possible, and a test at
the end of `TestScenarios` shows one.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations_with_replacement, pairwise, product
from typing import Any, NamedTuple

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from spec.systems.replication.kip_101 import published_kip_101
from spec.systems.replication.kip_279 import in_rounds, published_kip_279
from spec.systems.replication.replica_log import Record, ReplicaLog
from statemachines.broker.log import truncation
from statemachines.broker.log.leader_epochs import (
    UNDEFINED,
    UNDEFINED_EPOCH,
    UNDEFINED_EPOCH_OFFSET,
    EpochEndOffset,
    LeaderEpochs,
)
from statemachines.broker.log.truncation import (
    Truncation,
    check_leader_epoch,
    diverging_epoch,
    kip_101,
    kip_279,
    to_high_watermark,
)
from statemachines.changes.truncating import LOG_START_FIRST
from statemachines.messages.errors import Errors
from tests.rows import rows

Records = tuple[Record, ...]


def common_prefix(one: ReplicaLog, other: ReplicaLog) -> int:
    """The first offset at which two logs differ, or one of them ends."""
    pairs = enumerate(zip(one.records, other.records, strict=False))
    return next((offset for offset, (ones, others) in pairs if ones != others), min(one.end_offset, other.end_offset))


class Pair(NamedTuple):
    """A follower, and the leader that it begins to follow in the leader's epoch."""

    follower: ReplicaLog
    leader: ReplicaLog
    leader_epoch: int

    @property
    def common(self) -> int:
        """The offset where the two logs part."""
        return common_prefix(self.follower, self.leader)

    @property
    def epochs(self) -> LeaderEpochs:
        """The leader's cache since 2.0.1: it has the leader's own epoch, even without records [KAFKA-7415]."""
        return self.leader.epochs.assign(self.leader_epoch, self.leader.end_offset)

    def end_offset_for(self, epoch: int) -> EpochEndOffset:
        return self.epochs.end_offset_for(epoch, self.leader.end_offset)

    def __str__(self) -> str:
        return f"{self.follower} follows {self.leader} in epoch {self.leader_epoch}"


# Few epochs: all pairs.


def every_log(size: int, epochs: int) -> Iterator[Records]:
    """Yield each log of up to `size` records, as its epochs, which never decrease."""
    for length in range(size + 1):
        for written in combinations_with_replacement(range(epochs), length):
            yield tuple(Record(offset, epoch) for offset, epoch in enumerate(written))


def can_coexist(one: Records, other: Records) -> bool:
    """Whether two replicas can have these logs: they share no epoch after the point where they part."""
    common = common_prefix(ReplicaLog(one), ReplicaLog(other))
    return not {record.leader_epoch for record in one[common:]} & {record.leader_epoch for record in other[common:]}


@cache
def logs_of_two(size: int, epochs: int) -> tuple[tuple[ReplicaLog, ReplicaLog], ...]:
    """All pairs of logs that two replicas can have, the first log with each high watermark."""
    return tuple(
        (ReplicaLog(one, high_watermark), ReplicaLog(other))
        for one, other in product(every_log(size, epochs), repeat=2)
        if can_coexist(one, other)
        for high_watermark in range(len(one) + 1)
    )


def can_lead(leader: ReplicaLog, epoch: int, follower: ReplicaLog) -> bool:
    """Whether this leader can be in this epoch beside this follower: all records of the epoch are the leader's."""
    own = UNDEFINED_EPOCH if leader.latest_epoch is None else leader.latest_epoch
    others = UNDEFINED_EPOCH if follower.latest_epoch is None else follower.latest_epoch
    if others == epoch:
        return own == epoch and follower.end_offset <= leader.end_offset
    return max(own, others) <= epoch


@cache
def pairs(size: int, epochs: int) -> tuple[Pair, ...]:
    """All followers with all leaders; the newest leader has records of its epoch, or none."""
    return tuple(
        Pair(follower, leader, epoch)
        for follower, leader in logs_of_two(size, epochs - 1)
        for epoch in range(epochs)
        if can_lead(leader, epoch, follower)
    )


def histories(size: int, epochs: int) -> Iterator[tuple[Records, ...]]:
    """Yield the final logs of the writers of so many epochs, each with up to `size` records."""
    if epochs == 0:
        yield ((),)  # no leader has written, so every log is empty
        return
    for logs in histories(size, epochs - 1):
        beginnings = {log[:end] for log in logs for end in range(len(log) + 1)}
        for start in beginnings:
            for length in range(len(start), size + 1):
                written = (Record(offset, epochs - 1) for offset in range(len(start), length))
                yield (*logs, (*start, *written))


# More epochs, at random.


@st.composite
def followings(draw: st.DrawFn) -> Pair:
    """A follower of the last writer of a history, with any high watermark."""
    logs: list[Records] = [()]
    for epoch in range(draw(st.integers(1, 8))):
        start = draw(st.sampled_from(logs))
        start = start[: draw(st.integers(0, len(start)))]
        appended = range(len(start), len(start) + draw(st.integers(0, 3)))
        logs.append((*start, *(Record(offset, epoch) for offset in appended)))
    followers = draw(st.sampled_from(logs))
    followers = followers[: draw(st.integers(0, len(followers)))]
    high_watermark = draw(st.integers(0, len(followers)))
    return Pair(ReplicaLog(followers, high_watermark), ReplicaLog(logs[-1]), len(logs) - 2)


# Logs for examples.


def logs(
    follower: tuple[int, ...], leader: tuple[int, ...], *, high_watermark: int = 0
) -> tuple[ReplicaLog, ReplicaLog]:
    """Two logs by their epochs."""
    one, other = (tuple(Record(at, epoch) for at, epoch in enumerate(epochs)) for epochs in (follower, leader))
    return ReplicaLog(one, high_watermark), ReplicaLog(other)


def asking(leader: ReplicaLog) -> Callable[[int], EpochEndOffset]:
    """A leader that knows only the epochs of its records, with the answers of 2.0.1."""
    return lambda epoch: leader.epochs.end_offset_for(epoch, leader.end_offset)


def asking_in_2_0_0(leader: ReplicaLog) -> Callable[[int], EpochEndOffset]:
    """The same with the answers of 2.0.0."""
    return lambda epoch: leader.epochs.end_offset_for_kip_279(epoch, leader.end_offset)


# The follower's rounds, until it has nothing more to truncate.


class Asked(Exception):
    """A follower asks about an epoch that is not below the epoch of its previous question."""


def truncated(pair: Pair) -> tuple[ReplicaLog, int]:
    """The follower's log after the rounds of KIP-279, and their number."""
    asked: list[int] = []

    def ask(epoch: int) -> EpochEndOffset:
        if asked and epoch >= asked[-1]:
            raise Asked(f"{pair}: asks about {epoch} after {asked}")
        asked.append(epoch)
        return pair.end_offset_for(epoch)

    return in_rounds(pair.follower, ask), len(asked)


def fetched(pair: Pair) -> tuple[ReplicaLog, int] | None:
    """The follower's log when its fetch returns records, and the number of fetches, by IBP 2.7.

    A log without records has no last epoch to send. None if it takes too many fetches.
    """
    log = pair.follower
    for fetches in range(1, len(pair.follower.epochs.entries) + 2):
        latest = log.latest_epoch
        if latest is None:
            return log, fetches
        answer = truncation.diverging_epoch(pair.epochs, pair.leader.end_offset, log.end_offset, latest)
        if answer is None:
            return log, fetches
        assert isinstance(answer, EpochEndOffset)
        log = log.truncate_to(truncation.kip_279(log, answer).offset)
    return None


# Properties.

Property = Callable[[Pair], bool]


def no_rule_leaves_the_log(pair: Pair) -> bool:
    """Each rule gives an offset of the follower's log, its end included."""
    log, latest = pair.follower, pair.follower.epochs.latest_epoch
    offsets = (
        truncation.to_high_watermark(log),
        truncation.kip_101(log, pair.epochs.end_offset_for_kip_101(latest, pair.leader.end_offset)),
        truncation.kip_279(log, pair.end_offset_for(latest)).offset,
    )
    return all(0 <= offset <= log.end_offset for offset in offsets)


def the_rounds_end(pair: Pair) -> bool:
    """The follower asks at most once for each of its epochs, later epochs first."""
    try:
        _, rounds = truncated(pair)
    except Asked:
        return False
    return rounds <= len(pair.follower.epochs.entries)


def the_rounds_leave_the_common_part(pair: Pair) -> bool:
    """The result is a beginning of the leader's log, and has every record that both logs share."""
    try:
        left, _ = truncated(pair)
    except Asked:
        return False
    return left == pair.follower.truncate_to(pair.common)


def the_rounds_are_over(pair: Pair) -> bool:
    """A second run truncates nothing."""
    try:
        left, _ = truncated(pair)
        return truncated(pair._replace(follower=left))[0] == left
    except Asked:
        return False


def fetching_leaves_the_common_part(pair: Pair) -> bool:
    """Truncation on fetch gives the same log, with one fetch for each epoch and the one that returns records."""
    found = fetched(pair)
    return found is not None and found[0] == pair.follower.truncate_to(pair.common)


def a_fetch_gets_records_if_the_log_is_a_beginning(pair: Pair) -> bool:
    """The leader accepts the beginnings of its own log, and no other log."""
    log, latest = pair.follower, pair.follower.latest_epoch
    if latest is None:
        return True
    answer = truncation.diverging_epoch(pair.epochs, pair.leader.end_offset, log.end_offset, latest)
    return (answer is None) == (pair.common == log.end_offset)


def kip_101_is_right_about_an_epoch_of_the_leader(pair: Pair) -> bool:
    """If the leader has records of the follower's last epoch, the logs part where that epoch ends in one of them."""
    latest = pair.follower.latest_epoch
    if all(record.leader_epoch != latest for record in pair.leader.records):
        return True
    answer = pair.epochs.end_offset_for_kip_101(pair.follower.epochs.latest_epoch, pair.leader.end_offset)
    return truncation.kip_101(pair.follower, answer) == pair.common


PROPERTIES: tuple[Property, ...] = (
    no_rule_leaves_the_log,
    the_rounds_end,
    the_rounds_leave_the_common_part,
    the_rounds_are_over,
    fetching_leaves_the_common_part,
    a_fetch_gets_records_if_the_log_is_a_beginning,
    kip_101_is_right_about_an_epoch_of_the_leader,
)


# Rules with one mistake each, and the property that must detect it.


class Mutant(NamedTuple):
    """A wrong rule."""

    mistake: str
    rule: str
    noticed_by: Property
    wrong: Callable[..., Any]


def takes_its_own_end(follower: ReplicaLog, answer: EpochEndOffset, fetch_offset: int | None = None) -> Truncation:
    own = follower.epochs.end_offset_for(answer.epoch, follower.end_offset)
    if own.epoch == answer.epoch:
        return Truncation(own.end_offset, done=True)
    return kip_279(follower, answer, fetch_offset)


def cuts_to_the_answer(follower: ReplicaLog, answer: EpochEndOffset, fetch_offset: int | None = None) -> Truncation:
    if answer.end_offset == UNDEFINED_EPOCH_OFFSET:
        return kip_279(follower, answer, fetch_offset)
    return Truncation(min(answer.end_offset, follower.end_offset), done=True)


def stays_where_epochs_differ(
    follower: ReplicaLog, answer: EpochEndOffset, fetch_offset: int | None = None
) -> Truncation:
    offset, done = kip_279(follower, answer, fetch_offset)
    return Truncation(offset if done else follower.end_offset, done=False)


def looks_at_the_epoch_alone(
    leader: LeaderEpochs, leader_end_offset: int, fetch_offset: int, last_fetched_epoch: int
) -> EpochEndOffset | Errors | None:
    return diverging_epoch(leader, leader_end_offset, 0, last_fetched_epoch)


def looks_at_the_offset_alone(
    leader: LeaderEpochs, leader_end_offset: int, fetch_offset: int, last_fetched_epoch: int
) -> EpochEndOffset | Errors | None:
    found = leader.end_offset_for(last_fetched_epoch, leader_end_offset)
    return found if found.end_offset < fetch_offset else None


def finds_a_full_log_diverging(
    leader: LeaderEpochs, leader_end_offset: int, fetch_offset: int, last_fetched_epoch: int
) -> EpochEndOffset | Errors | None:
    found = leader.end_offset_for(last_fetched_epoch, leader_end_offset)
    return found if found.epoch < last_fetched_epoch or found.end_offset <= fetch_offset else None


MUTANTS = (
    Mutant(
        "KIP-101 takes an answer beyond the end",
        "kip_101",
        no_rule_leaves_the_log,
        lambda log, answer: log.high_watermark if answer == UNDEFINED_EPOCH_OFFSET else answer,
    ),
    Mutant(
        "KIP-101 always goes to the high watermark",
        "kip_101",
        kip_101_is_right_about_an_epoch_of_the_leader,
        lambda log, answer: to_high_watermark(log),
    ),
    Mutant(
        "KIP-279 lets the leader's end alone decide",
        "kip_279",
        the_rounds_leave_the_common_part,
        cuts_to_the_answer,
    ),
    Mutant(
        "KIP-279 lets the follower's end alone decide",
        "kip_279",
        the_rounds_leave_the_common_part,
        takes_its_own_end,
    ),
    Mutant(
        "KIP-279 lets the follower's end alone decide, and fetches",
        "kip_279",
        fetching_leaves_the_common_part,
        takes_its_own_end,
    ),
    Mutant(
        "KIP-279 is done after one round",
        "kip_279",
        the_rounds_are_over,
        lambda *arguments: kip_279(*arguments)._replace(done=True),
    ),
    Mutant(
        "KIP-279 is never done",
        "kip_279",
        the_rounds_end,
        lambda *arguments: kip_279(*arguments)._replace(done=False),
    ),
    Mutant(
        "KIP-279 cuts nothing before it asks again",
        "kip_279",
        the_rounds_end,
        stays_where_epochs_differ,
    ),
    Mutant(
        "KIP-279 goes to the high watermark where it does not have the epoch",
        "kip_279",
        the_rounds_leave_the_common_part,
        lambda log, *rest: (
            kip_279(log, *rest) if kip_279(log, *rest).done else Truncation(to_high_watermark(log), done=True)
        ),
    ),
    Mutant(
        "a leader looks at the epoch of a fetch alone",
        "diverging_epoch",
        a_fetch_gets_records_if_the_log_is_a_beginning,
        looks_at_the_epoch_alone,
    ),
    Mutant(
        "a leader looks at the offset of a fetch alone",
        "diverging_epoch",
        a_fetch_gets_records_if_the_log_is_a_beginning,
        looks_at_the_offset_alone,
    ),
    Mutant(
        "a leader finds a follower with all of an epoch diverging",
        "diverging_epoch",
        fetching_leaves_the_common_part,
        finds_a_full_log_diverging,
    ),
)


class TestHistories:
    """The explored pairs are exactly those of the histories."""

    def test_every_explored_pair_of_logs_is_reachable(self) -> None:
        """One replica has any beginning of any log, and the other has any other."""
        given_by_histories = {
            (one[:one_end], other[:other_end])
            for logs in histories(size=3, epochs=3)
            for one, other in product(logs, repeat=2)
            for one_end in range(len(one) + 1)
            for other_end in range(len(other) + 1)
        }
        gone_through = {(one.records, other.records) for one, other in logs_of_two(size=3, epochs=3)}
        assert given_by_histories == gone_through

    def test_every_explored_leader_is_reachable(self) -> None:
        """The last writer leads; the follower has any beginning of any log."""
        given_by_histories = {
            (log[:end], logs[-1], epochs - 1)
            for epochs in (1, 2, 3)
            for logs in histories(size=3, epochs=epochs)
            for log in logs
            for end in range(len(log) + 1)
        }
        gone_through = {
            (follower.records, leader.records, epoch)
            for follower, leader in logs_of_two(size=3, epochs=3)
            for epoch in range(3)
            if can_lead(leader, epoch, follower)
        }
        assert given_by_histories == gone_through

    @given(followings())
    def test_random_histories_are_reachable(self, pair: Pair) -> None:
        assert can_coexist(pair.follower.records, pair.leader.records)
        assert can_lead(pair.leader, pair.leader_epoch, pair.follower)
        for log in (pair.follower, pair.leader):
            assert all(before.leader_epoch <= after.leader_epoch for before, after in pairwise(log.records))


class TestRules:
    """Kafka's rules, with a leader that can answer for its own epoch."""

    @pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
    def test_every_pair_of_small_logs(self, holds: Property) -> None:
        for pair in pairs(size=3, epochs=5):
            assert holds(pair), f"{pair}"

    @given(followings())
    def test_longer_histories(self, pair: Pair) -> None:
        assert [holds.__name__ for holds in PROPERTIES if not holds(pair)] == []

    @pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.mistake)
    def test_mutants_are_detected(self, mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
        """A rule with this one mistake breaks the property beside it."""
        monkeypatch.setattr(truncation, mutant.rule, mutant.wrong)
        assert not all(mutant.noticed_by(pair) for pair in pairs(size=3, epochs=5))

    def test_each_property_detects_a_mutant(self) -> None:
        """Each property has a mutant."""
        assert set(PROPERTIES) == {mutant.noticed_by for mutant in MUTANTS}

    def test_several_rounds_can_be_needed(self) -> None:
        """One for each of the follower's epochs, if the leader has others in between."""
        follower = ReplicaLog(tuple(Record(offset, epoch) for offset, epoch in enumerate((0, 1, 3, 5))))
        leader = ReplicaLog(tuple(Record(offset, epoch) for offset, epoch in enumerate((0, 2, 4, 6))))
        pair = Pair(follower, leader, leader_epoch=6)
        assert truncated(pair) == (follower.truncate_to(1), 3)
        assert fetched(pair) == (follower.truncate_to(1), 4)


answers = st.builds(EpochEndOffset, epoch=st.integers(-1, 9), end_offset=st.integers(-1, 30))


class TestHighWatermark:
    @given(followings())
    def test_0_10_cuts_there_whatever_the_leader_has(self, pair: Pair) -> None:
        """A second time, it truncates nothing."""
        offset = to_high_watermark(pair.follower)
        assert offset == pair.follower.high_watermark
        assert to_high_watermark(pair.follower.truncate_to(offset)) == offset


class TestKip101:
    FOLLOWER = ReplicaLog((Record(0, 0), Record(1, 0), Record(2, 1)), high_watermark=1)

    @rows("answer, offset", [(UNDEFINED_EPOCH_OFFSET, 1), (0, 0), (1, 1), (2, 2), (3, 3), (4, 3)])
    def test_truncates_to_the_answer_or_the_high_watermark(self, answer: int, offset: int) -> None:
        assert kip_101(self.FOLLOWER, answer) == offset

    def test_a_second_request_would_truncate_more(self) -> None:
        """It asks once, and the remaining log may end in another epoch that the leader never had."""
        follower, leader = logs((0, 1, 3, 3), (0, 2, 4))
        offset = kip_101(follower, leader.epochs.end_offset_for_kip_101(3, leader.end_offset))
        assert offset == 2
        follower = follower.truncate_to(offset)
        assert kip_101(follower, leader.epochs.end_offset_for_kip_101(1, leader.end_offset)) == 1


class TestKip279:
    FOLLOWER = ReplicaLog((Record(0, 1), Record(1, 1), Record(2, 3), Record(3, 3), Record(4, 5)), high_watermark=1)

    @rows(
        "answer, expected",
        [
            (UNDEFINED, Truncation(1, done=True)),  # to the high watermark
            (EpochEndOffset(4, UNDEFINED_EPOCH_OFFSET), Truncation(1, done=True)),
            (EpochEndOffset(UNDEFINED_EPOCH, 2), Truncation(2, done=True)),  # a leader before 2.0: as KIP-101
            (EpochEndOffset(UNDEFINED_EPOCH, 9), Truncation(5, done=True)),
            (EpochEndOffset(6, 3), Truncation(3, done=True)),  # an epoch above all of the follower's
            (EpochEndOffset(6, 9), Truncation(5, done=True)),
            (EpochEndOffset(5, 9), Truncation(5, done=True)),  # both have it: the earlier end
            (EpochEndOffset(5, 4), Truncation(4, done=True)),
            (EpochEndOffset(3, 9), Truncation(4, done=True)),
            (EpochEndOffset(3, 3), Truncation(3, done=True)),
            (EpochEndOffset(1, 1), Truncation(1, done=True)),
            (EpochEndOffset(4, 9), Truncation(4, done=False)),  # to the end of the last epoch below, then ask again
            (EpochEndOffset(4, 1), Truncation(4, done=False)),
            (EpochEndOffset(2, 2), Truncation(2, done=False)),
            (EpochEndOffset(0, 1), Truncation(0, done=True)),  # below all of the follower's, nothing is common
        ],
    )
    def test_cuts_to_the_end_of_the_common_epoch(self, answer: EpochEndOffset, expected: Truncation) -> None:
        assert kip_279(self.FOLLOWER, answer) == expected

    @given(followings(), answers)
    def test_stays_in_the_log_whatever_the_answer(self, pair: Pair, answer: EpochEndOffset) -> None:
        assert 0 <= kip_279(pair.follower, answer).offset <= pair.follower.end_offset

    @given(followings(), st.data())
    def test_rounds_end_for_any_answers(self, pair: Pair, data: st.DataObject) -> None:
        """Each round but the last removes an older epoch of the log even if the leader's answers are inconsistent."""
        asked: list[int] = []

        def ask(epoch: int) -> EpochEndOffset:
            asked.append(epoch)
            return data.draw(answers)

        left = in_rounds(pair.follower, ask)
        assert left == pair.follower.truncate_to(left.end_offset)
        epochs = {record.leader_epoch for record in pair.follower.records}
        assert asked[:1] == sorted(epochs)[-1:]
        assert set(asked) <= epochs
        assert all(later < earlier for earlier, later in pairwise(asked))

    def test_a_log_without_records_asks_no_leader(self) -> None:
        def ask(epoch: int) -> EpochEndOffset:
            raise AssertionError(f"asked about {epoch}")

        assert in_rounds(ReplicaLog(), ask) == ReplicaLog()

    def test_after_cutting_to_the_high_watermark_another_round_may_cut_more(self) -> None:
        """A leader that did not know the last epoch may know the one before it."""
        follower, leader = logs((1, 2, 4), (1, 3), high_watermark=2)
        once = in_rounds(follower, asking(leader))
        assert once.end_offset == 2
        assert in_rounds(once, asking(leader)).end_offset == 1


class TestCheckLeaderEpoch:
    @rows(
        "current, leader_epoch, error",
        [
            (0, 0, None),
            (5, 5, None),
            (4, 5, Errors.FENCED_LEADER_EPOCH),
            (0, 5, Errors.FENCED_LEADER_EPOCH),
            (6, 5, Errors.UNKNOWN_LEADER_EPOCH),
            (9, 5, Errors.UNKNOWN_LEADER_EPOCH),
        ],
    )
    def test_fences_followers_of_another_epoch(self, current: int, leader_epoch: int, error: Errors | None) -> None:
        assert check_leader_epoch(current, leader_epoch) is error


class TestDivergingEpoch:
    LEADER = LeaderEpochs.of([1, 1, 3, 3])

    @rows(
        "fetch_offset, last_fetched_epoch, answer",
        [
            (4, 3, None),  # the whole of it
            (3, 3, None),
            (2, 1, None),
            (1, 1, None),
            (5, 3, EpochEndOffset(3, 4)),  # more of an epoch than the leader has
            (3, 1, EpochEndOffset(1, 2)),
            (2, 2, EpochEndOffset(1, 2)),  # an epoch that it does not have
            (1, 2, EpochEndOffset(1, 2)),  # and it makes no difference where
            (1, 0, EpochEndOffset(0, 0)),  # an epoch below all of the leader's
            (4, 4, Errors.OFFSET_OUT_OF_RANGE),  # an epoch above them
            (1, 9, Errors.OFFSET_OUT_OF_RANGE),
            (1, UNDEFINED_EPOCH, Errors.OFFSET_OUT_OF_RANGE),
        ],
    )
    def test_reports_where_the_logs_diverge(
        self, fetch_offset: int, last_fetched_epoch: int, answer: EpochEndOffset | Errors | None
    ) -> None:
        assert diverging_epoch(self.LEADER, 4, fetch_offset, last_fetched_epoch) == answer

    @rows(
        "fetch_offset, last_fetched_epoch, answer, until_2_8_0",
        [
            (2, 0, None, None),
            (1, 0, Errors.OFFSET_OUT_OF_RANGE, Errors.OFFSET_OUT_OF_RANGE),
            (1, 1, Errors.OFFSET_OUT_OF_RANGE, EpochEndOffset(0, 3)),  # the logs part, too
            (2, 1, EpochEndOffset(0, 3), EpochEndOffset(0, 3)),
        ],
    )
    def test_a_fetch_below_the_log_start_is_out_of_range(
        self,
        fetch_offset: int,
        last_fetched_epoch: int,
        answer: EpochEndOffset | Errors | None,
        until_2_8_0: EpochEndOffset | Errors | None,
    ) -> None:
        """Whether or not the logs part, since KAFKA-12996. Before it, a follower whose log parts got that answer."""
        leader = LeaderEpochs.of([0, 0, 0, 2, 2]).truncate_from_start(2)
        assert diverging_epoch(leader, 5, fetch_offset, last_fetched_epoch, 2) == answer
        first = LOG_START_FIRST.at("2.8.0")
        assert diverging_epoch(leader, 5, fetch_offset, last_fetched_epoch, 2, first) == until_2_8_0

    def test_an_epoch_is_out_of_range_if_the_leader_knows_only_lower_ones(self) -> None:
        """For no other reason; a leader that knows no epoch gives this answer to every follower."""
        for records in every_log(size=3, epochs=3):
            leader = ReplicaLog(records)
            for fetch_offset, epoch in product(range(5), range(4)):
                answer = diverging_epoch(leader.epochs, leader.end_offset, fetch_offset, epoch)
                known = leader.latest_epoch is not None and epoch <= leader.latest_epoch
                assert (answer is Errors.OFFSET_OUT_OF_RANGE) == (not known)

    def test_no_follower_is_out_of_range_to_a_leader_that_knows_its_epoch(self) -> None:
        for pair in pairs(size=3, epochs=5):
            for epoch in range(pair.leader_epoch + 1):
                answer = diverging_epoch(pair.epochs, pair.leader.end_offset, pair.follower.end_offset, epoch)
                assert answer is not Errors.OFFSET_OUT_OF_RANGE

    @given(followings())
    def test_each_answer_cuts_a_record(self, pair: Pair) -> None:
        """So fetching ends, whether or not KIP-279's rounds came first."""
        latest = pair.follower.latest_epoch
        if latest is None:
            reject()
        end_offset = pair.follower.end_offset
        answer = diverging_epoch(pair.epochs, pair.leader.end_offset, end_offset, latest)
        if isinstance(answer, EpochEndOffset):
            assert kip_279(pair.follower, answer).offset < end_offset


class TestScenarios:
    """The failure of each release, and the next release's correction; numbered as in the replication system."""

    def test_t1_the_high_watermark_cuts_a_committed_record(self) -> None:
        """B restarts before it hears that m1 is committed, and drops the only other copy."""
        m0, m1 = Record(0, 0), Record(1, 0)
        a, b = ReplicaLog((m0, m1), high_watermark=2), ReplicaLog((m0, m1), high_watermark=1)
        assert to_high_watermark(b) < a.high_watermark == common_prefix(b, a)
        assert kip_101(b, a.epochs.end_offset_for_kip_101(0, a.end_offset)) == 2

    def test_t2_the_high_watermark_keeps_a_record_the_leader_never_had(self) -> None:
        """B lost m1, led, and committed m2 in its place; A returns with m1 below its high watermark."""
        m0, m1, m2 = Record(0, 0), Record(1, 0), Record(2, 1)
        a, b = ReplicaLog((m0, m1), high_watermark=2), ReplicaLog((m0, m2), high_watermark=2)
        assert to_high_watermark(a) == 2 > common_prefix(a, b)
        assert kip_101(a, b.epochs.end_offset_for_kip_101(0, b.end_offset)) == 1

    def test_t3_kip_101_takes_the_end_of_another_epoch_for_its_own(self) -> None:
        """Leadership alternates; KIP-279 needs two rounds to find where the logs part."""
        m0, x1, x2 = Record(0, 0), Record(1, 1), Record(4, 3)
        y1, y2, y3 = Record(2, 2), Record(3, 2), Record(5, 4)
        a, b = ReplicaLog((m0, y1, y2, y3), 1), ReplicaLog((m0, x1, x2), 1)
        assert kip_101(b, a.epochs.end_offset_for_kip_101(3, a.end_offset)) == 3
        assert a.epochs.end_offset_for_kip_279(3, a.end_offset) == EpochEndOffset(2, 3)
        assert kip_279(b, EpochEndOffset(2, 3)) == Truncation(2, done=False)
        assert in_rounds(b, asking(a)) == ReplicaLog((m0,), 1)

    def test_t3_prime_kip_101_leaves_a_record_that_differs_below_the_high_watermark(self) -> None:
        """B fetches a2 after its b1, and joins the ISR of A, which has a1 at that offset."""
        a0, a1, b1, a2 = Record(0, 1), Record(1, 1), Record(2, 2), Record(3, 3)
        a, b = ReplicaLog((a0, a1, a2), high_watermark=3), ReplicaLog((a0, b1), high_watermark=1)
        assert kip_101(b, a.epochs.end_offset_for_kip_101(2, a.end_offset)) == b.end_offset
        joined = b.append(a2).with_high_watermark(a.high_watermark)
        assert common_prefix(joined, a) == 1 < joined.high_watermark == a.high_watermark
        assert in_rounds(b, asking(a)) == ReplicaLog((a0,), 1)
        assert to_high_watermark(b) == 1

    def test_t7_a_leader_that_does_not_know_its_own_epoch_has_the_follower_cut_too_much(self) -> None:
        """A leads again and has written nothing; a is committed, but B does not know that yet [KAFKA-7415]."""
        a1, c2 = Record(0, 1), Record(1, 2)
        a, b = ReplicaLog((a1,), high_watermark=1), ReplicaLog((a1, c2), high_watermark=0)
        assert a.epochs.end_offset_for(2, a.end_offset) == UNDEFINED
        assert in_rounds(b, asking(a)).end_offset == 0 < a.high_watermark == common_prefix(b, a)
        assert diverging_epoch(a.epochs, a.end_offset, b.end_offset, 2) is Errors.OFFSET_OUT_OF_RANGE

        pair = Pair(b, a, leader_epoch=3)
        assert pair.end_offset_for(2) == EpochEndOffset(1, 1)
        assert truncated(pair) == (ReplicaLog((a1,), 0), 1)
        assert diverging_epoch(pair.epochs, a.end_offset, b.end_offset, 2) == EpochEndOffset(1, 1)

    def test_t19_two_histories_in_one_epoch_are_not_distinguished(self) -> None:
        """A led, lost its log, and led again in the same epoch; the rules compare only epochs."""
        a, b = ReplicaLog((Record(1, 0),)), ReplicaLog((Record(0, 0),), high_watermark=1)
        assert common_prefix(a, b) == 0
        assert in_rounds(b, asking(a)) == b
        assert diverging_epoch(a.epochs, a.end_offset, b.end_offset, 0) is None

    def test_t5_a_wrong_record_below_one_fetched_unfenced_is_not_found(self) -> None:
        """Before KIP-320, F kept b because of an answer from a past leadership, and fetched d."""
        a, b, c, d = Record(0, 1), Record(1, 1), Record(2, 2), Record(3, 3)
        follower, leader = ReplicaLog((a, b, d), high_watermark=1), ReplicaLog((a, c, d))
        assert common_prefix(follower, leader) == 1
        assert in_rounds(follower, asking(leader)) == follower
        assert diverging_epoch(leader.epochs, leader.end_offset, follower.end_offset, 3) is None
        assert published_kip_279(follower, leader) == 3

    def test_unfenced_the_epochs_of_a_log_can_decrease(self) -> None:
        """Before KIP-320, a broker fetched records of epoch 2, then heard that it led in epoch 1, and wrote.

        Its cache cannot hold that, and it truncates common records; the published model compares records.
        """
        m0, m1, m2 = Record(0, 0), Record(1, 2), Record(2, 1)
        follower, leader = ReplicaLog((m0, m1, m2), high_watermark=2), ReplicaLog((m0, m1), high_watermark=2)
        assert published_kip_279(follower, leader) == common_prefix(follower, leader) == 2
        assert in_rounds(follower, asking(leader)).end_offset == 1


# Where the published models' offsets equal Kafka's.


def has_only_later_epochs(leader: ReplicaLog, follower: ReplicaLog) -> bool:
    """Both have records, and all of the leader's epochs are later than the follower's last one."""
    latest = follower.latest_epoch
    return bool(latest is not None and leader.records and leader.records[0].leader_epoch > latest)


def is_still_in_the_epoch(leader: ReplicaLog, follower: ReplicaLog) -> bool:
    """The leader's record at the follower's end is not of a later epoch than the follower's last one.

    Also, the leader has a record of that epoch or of a later one.
    """
    latest, there = follower.latest_epoch, leader.at(follower.end_offset)
    if latest is None or there is None or leader.latest_epoch is None:
        return False
    return there.leader_epoch <= latest <= leader.latest_epoch


def has_come_as_far(leader: ReplicaLog, follower: ReplicaLog) -> bool:
    """The leader has a record of the follower's last epoch or of a later one, or the follower has no record."""
    if follower.latest_epoch is None:
        return True
    return leader.latest_epoch is not None and leader.latest_epoch >= follower.latest_epoch


def began_as_early(leader: ReplicaLog, follower: ReplicaLog) -> bool:
    """The leader has a record of the follower's first epoch or of an earlier one, or the follower has no record."""
    if not follower.records:
        return True
    return bool(leader.records) and leader.records[0].leader_epoch <= follower.records[0].leader_epoch


class TestPublished:
    """The published models against Kafka, with a leader that knows only the epochs of its records."""

    SIZE, EPOCHS = 4, 4

    def kafka_kip_101(self, follower: ReplicaLog, leader: ReplicaLog) -> int:
        asked = follower.epochs.latest_epoch
        return kip_101(follower, leader.epochs.end_offset_for_kip_101(asked, leader.end_offset))

    def test_kip_101_lies_beyond_the_end_if_the_leader_is_still_in_the_epoch(self) -> None:
        """The model then does not let the follower follow, and Kafka truncates nothing."""
        met = set()
        for follower, leader in logs_of_two(self.SIZE, self.EPOCHS):
            beyond = published_kip_101(follower, leader) > follower.end_offset
            assert beyond == is_still_in_the_epoch(leader, follower)
            if beyond:
                assert self.kafka_kip_101(follower, leader) == follower.end_offset
            met.add(beyond)
        assert met == {True, False}

    def test_kip_101_otherwise_equals_kafkas_unless_the_leader_has_only_later_epochs(self) -> None:
        """It is then 0, and Kafka's is the high watermark. So they differ unless the high watermark is 0 too."""
        met = set()
        for follower, leader in logs_of_two(self.SIZE, self.EPOCHS):
            published, kafkas = published_kip_101(follower, leader), self.kafka_kip_101(follower, leader)
            if is_still_in_the_epoch(leader, follower):
                assert published != kafkas
                continue
            differs = has_only_later_epochs(leader, follower) and follower.high_watermark > 0
            assert (published != kafkas) == differs
            if differs:
                assert (published, kafkas) == (0, follower.high_watermark)
            met.add(differs)
        assert met == {True, False}

    def test_kip_279_is_where_the_logs_part(self) -> None:
        """In a history, a search from either end finds the last common record where the logs part."""
        for follower, leader in logs_of_two(self.SIZE, self.EPOCHS):
            assert published_kip_279(follower, leader) == common_prefix(follower, leader)

    def test_kip_279_equals_2_0_1_if_the_leader_has_come_as_far(self) -> None:
        """Otherwise Kafka's is the high watermark, and both agree only if the logs part there."""
        met = set()
        for follower, leader in logs_of_two(self.SIZE, self.EPOCHS):
            published, kafkas = published_kip_279(follower, leader), in_rounds(follower, asking(leader)).end_offset
            knows = has_come_as_far(leader, follower)
            assert (published == kafkas) == (knows or follower.high_watermark == published)
            if not knows:
                assert kafkas == follower.high_watermark
            met.add((knows, published == kafkas))
        assert met == {(True, True), (False, True), (False, False)}

    def test_kip_279_equals_2_0_0_if_the_leader_also_began_as_early(self) -> None:
        """Otherwise Kafka's is the high watermark after an undefined first answer, and else the end of that round."""
        met = set()
        for follower, leader in logs_of_two(self.SIZE, self.EPOCHS):
            published = published_kip_279(follower, leader)
            kafkas = in_rounds(follower, asking_in_2_0_0(leader)).end_offset
            asked_for = follower.epochs.latest_epoch
            undefined = bool(follower.records) and asking_in_2_0_0(leader)(asked_for) == UNDEFINED
            as_far_and_as_early = has_come_as_far(leader, follower) and began_as_early(leader, follower)
            expected = follower.high_watermark == published if undefined else as_far_and_as_early
            assert (published == kafkas) == expected
            if undefined:
                assert kafkas == follower.high_watermark
            met.add((undefined, published == kafkas))
        assert met == {(True, True), (True, False), (False, True), (False, False)}

    def test_undefined_in_a_later_round_cuts_nothing_more(self) -> None:
        """The follower then continues from its fetch offset, where the previous round has left it."""
        follower = ReplicaLog((Record(0, 0), Record(1, 2)), 0)
        leader = ReplicaLog((Record(2, 1), Record(3, 3)), 0)
        assert in_rounds(follower, asking_in_2_0_0(leader)) == follower.truncate_to(1)

    def test_a_leader_that_knows_its_own_epoch_gives_the_published_kip_279(self) -> None:
        """KAFKA-7415 corrected that, for every question of a fenced follower."""
        for pair in pairs(size=3, epochs=5):
            assert truncated(pair)[0].end_offset == published_kip_279(pair.follower, pair.leader)
