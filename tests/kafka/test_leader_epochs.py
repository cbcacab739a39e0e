"""The leader-epoch cache and its file beside Kafka's LeaderEpochFileCache, each release by its own rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.kafka.pure import PureCalls
from statemachines.broker.log.checkpoint_file import MalformedCheckpoint
from statemachines.broker.log.leader_epoch_checkpoint import parse, parse_as_it_stands, render
from statemachines.broker.log.leader_epochs import LeaderEpochs
from statemachines.releases import Release
from tests.kafka.conftest import RELEASE, WITH_FUNCTIONS, calling

Operation: TypeAlias = tuple[Any, ...]
"""A method of the cache and its arguments."""


class Rules(NamedTuple):
    """The rules of a release."""

    assign: Callable[[LeaderEpochs, int, int], LeaderEpochs]
    truncate_from_start: Callable[[LeaderEpochs, int], LeaderEpochs]
    end_offset_for: Callable[[LeaderEpochs, int, int], Any]
    load: Callable[[str], LeaderEpochs]

    def perform(self, epochs: LeaderEpochs, operation: Operation) -> LeaderEpochs:
        """The cache after an operation."""
        name, *numbers = operation
        rules: dict[str, Callable[..., LeaderEpochs]] = {
            "assign": self.assign,
            "truncate_from_start": self.truncate_from_start,
            "truncate_from_end": LeaderEpochs.truncate_from_end,
        }
        return rules[name](epochs, *numbers)


def end_alone(epochs: LeaderEpochs, epoch: int, log_end_offset: int) -> tuple[int]:
    """An epoch's end without the epoch itself."""
    return (epochs.end_offset_for_kip_101(epoch, log_end_offset),)


UNTIL_1_1 = Rules(
    LeaderEpochs.assign_kip_101, LeaderEpochs.truncate_from_start_kip_101, end_alone, parse_as_it_stands
)
UNTIL_2_6 = Rules(
    LeaderEpochs.assign, LeaderEpochs.truncate_from_start, LeaderEpochs.end_offset_for, parse_as_it_stands
)
NEWEST = UNTIL_2_6._replace(load=parse)


def rules_of(release: str) -> Rules:
    """The rules of a release; the line 2.0 is represented by 2.0.1."""
    if Release(release) < Release("2.0.0"):
        return UNTIL_1_1
    return UNTIL_2_6 if Release(release) < Release("2.7.0") else NEWEST


class History(NamedTuple):
    """The operations on a cache, after the initial content of its file."""

    operations: Sequence[Operation]
    log_end_offset: int = 5
    file: str | None = None

    def asked(self) -> dict[str, Any]:
        """The case as Kafka takes it."""
        return {**self._asdict(), "operations": list(self.operations), "asked": list(ASKED)}

    def expected(self, rules: Rules) -> dict[str, Any]:
        """The final observation by these rules."""
        try:
            epochs = rules.load(self.file or "")
        except MalformedCheckpoint:
            return {"error": "refused"}
        for operation in self.operations:
            epochs = rules.perform(epochs, operation)
        return {
            "entries": [list(entry) for entry in epochs.entries],
            "ends": [list(rules.end_offset_for(epochs, epoch, self.log_end_offset)) for epoch in ASKED],
            "file": render(epochs) if self.operations and epochs.entries else None,
        }


ASKED = range(-2, 10)
OPERATIONS: list[Operation] = [
    *(("assign", epoch, offset) for epoch in range(3) for offset in range(4)),
    *(("truncate_from_end", offset) for offset in range(-1, 5)),
    *(("truncate_from_start", offset) for offset in range(-1, 5)),
]


def sequences(longest: int) -> Iterator[History]:
    """Every sequence of up to so many operations."""
    for length in range(longest + 1):
        yield from map(History, product(OPERATIONS, repeat=length))


class Contradiction(NamedTuple):
    """A history that ends differently in Kafka."""

    history: History
    kafka: dict[str, Any]
    ours: dict[str, Any]


Observed: TypeAlias = Sequence[tuple[History, dict[str, Any]]]
"""Histories with Kafka's final observations."""


def seen(pure: PureCalls, histories: Iterable[History]) -> Observed:
    """A release's final observations of these.

    A file is compared only if it has entries: releases differ in whether they write an empty one. They also differ in
    the error that refuses a file, so the error is not compared.
    """
    histories = list(histories)
    answers = pure.of("LeaderEpochCaches", (history.asked() for history in histories))
    return [(history, comparable(history, kafka)) for history, (_, kafka) in zip(histories, answers, strict=True)]


def comparable(history: History, kafka: dict[str, Any]) -> dict[str, Any]:
    """The comparable parts of an answer."""
    if "error" in kafka:
        return {"error": "refused"}
    return kafka if history.operations and kafka["entries"] else {**kafka, "file": None}


def contradictions(seen: Observed, rules: Rules) -> list[Contradiction]:
    """The histories that these rules end differently."""
    both = ((history, kafka, history.expected(rules)) for history, kafka in seen)
    return [Contradiction(*each) for each in both if each[1] != each[2]]


@pytest.fixture(scope="module")
def two_operations(pure: PureCalls) -> Observed:
    """Every sequence of two operations, on the newest release."""
    return seen(pure, sequences(2))


def test_every_sequence_of_two_operations(two_operations: Observed) -> None:
    """The cache, its answers and its file equal Kafka's."""
    assert len(two_operations) == 1 + 24 + 24**2
    assert contradictions(two_operations, NEWEST) == []


@pytest.mark.parametrize(
    "wrong",
    [
        NEWEST._replace(assign=LeaderEpochs.assign_kip_101),
        NEWEST._replace(end_offset_for=LeaderEpochs.end_offset_for_kip_279),
        NEWEST._replace(truncate_from_start=lambda epochs, offset: epochs.truncate_from_end(offset)),
    ],
    ids=["assigns as before 2.0.1", "answers as in 2.0.0", "takes the start for the end"],
)
def test_rules_that_are_wrong(two_operations: Observed, wrong: Rules) -> None:
    """Kafka contradicts them."""
    assert contradictions(two_operations, wrong)


numbers = st.integers(0, 14)
steps = st.one_of(
    st.tuples(st.just("assign"), st.integers(0, 7), numbers),
    st.tuples(st.just("assign"), st.integers(0, 7), numbers),
    st.tuples(st.sampled_from(["truncate_from_end", "truncate_from_start"]), st.integers(-1, 15)),
)
histories = st.builds(History, st.lists(steps, min_size=1, max_size=14), st.integers(0, 16))


@pytest.mark.long
@settings(max_examples=10, deadline=None)
@given(st.lists(histories, min_size=1, max_size=20))
def test_longer_sequences(pure: PureCalls, histories: list[History]) -> None:
    """The cache, its answers and its file equal Kafka's."""
    assert contradictions(seen(pure, histories), NEWEST) == []


FILES = (
    *("", "0", "0\n", "+0\r\n", "-000", "0\n0", "0\n-0\n", "0\n2\n0 0\n3 42\n", "0\r2\r0 0\r3 42\r"),
    *("0\n2\n0\t0\n3 \x0b\x0c\t 42  \n", "+00\n+2\n-0 +0\n0003 +042\n", "0\n1\n2147483647 9223372036854775807"),
    *("0\n4\n0 0\n3 42\n2 40\n2 50\n", "0\n3\n0 0\n1 1\n2 1\n", "1\n0\n", "\n", "v0\n", "0 \n0\n", "0\n\n", "0\nx\n"),
    *("0\n1 \n0 0\n", "0\n-1\n", "0\n2147483648\n", "0\n0 0\n", "0\n1\n", "0\n3\n0 0\n1 5\n", "0\n1\n0 0\n1 5\n"),
    *("0\n1\n0 0\n\n", "0\n1\n \n", "0\n1\n0\n", "0\n1\n0 0 0\n", "0\n1\n 0 0\n", "0\n1\n0\xa00\n"),
    *("0\n1\n0\x1c0\n", "0\n2\n0 0\x851 5\n", "0\n1\n2147483648 0\n", "0\n1\n0 9223372036854775808", "0\n1\n-1 0\n"),
    *("0\n1\n0 -1\n", "0\n1\n0 1_0\n", "0\n1\n0 0x1\n", "0\n1\n0 1e3\n", "0\n1\n0 +\n", "0\n1\n0 +-1\n"),
)
"""Valid and invalid contents of a checkpoint file."""
OF_FILES = [History((), file=text) for text in FILES]


def test_files(pure: PureCalls) -> None:
    """Kafka reads and refuses the same files."""
    assert contradictions(seen(pure, OF_FILES), NEWEST) == []


def test_bad_files_raise_different_errors_since_3_1(pure: PureCalls) -> None:
    """Since 3.1 bad files are not all refused in the same way."""
    texts = {
        "0\nx\n": "KafkaStorageException",
        "0\n-1\n": "IllegalArgumentException",
        "0\n1\nx 0\n": "NumberFormatException",
    }
    answers = pure.of("LeaderEpochCaches", [History((), file=text).asked() for text in texts])
    assert {case["file"]: answer["error"] for case, answer in answers} == texts


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(st.lists(histories, min_size=1, max_size=40))
def test_many_longer_sequences(pure: PureCalls, histories: list[History]) -> None:
    """The cache, its answers and its file equal Kafka's."""
    assert contradictions(seen(pure, histories), NEWEST) == []


@pytest.mark.long
@pytest.mark.parametrize("release", WITH_FUNCTIONS)
def test_every_release(release: str) -> None:
    """By its own rules: every sequence of two operations, and the files."""
    with calling(release) as calls:
        assert contradictions(seen(calls, [*sequences(2), *OF_FILES]), rules_of(release)) == []


@pytest.mark.long
@pytest.mark.parametrize("release", [each for each in WITH_FUNCTIONS if rules_of(each) is UNTIL_1_1])
def test_two_epochs_with_one_start_offset(release: str) -> None:
    """A cache before 2.0.1 keeps both, and the later rule would drop one."""
    both = History((("assign", 0, 0), ("assign", 1, 0), ("truncate_from_start", 0)))
    with calling(release) as calls:
        [(_, kafka)] = histories = seen(calls, [both])
        assert kafka["entries"] == [[0, 0], [1, 0]]
        assert contradictions(histories, UNTIL_1_1) == []
        assert contradictions(histories, UNTIL_1_1._replace(truncate_from_start=LeaderEpochs.truncate_from_start))


def test_the_newest_is_the_one_that_is_always_compared() -> None:
    """So its rules have no last release."""
    assert rules_of(RELEASE) is NEWEST
