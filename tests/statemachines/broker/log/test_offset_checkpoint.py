"""The offset checkpoint: what brokers write, what they read, and what they refuse."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachines.broker.log.checkpoint_file import MalformedCheckpoint
from statemachines.broker.log.offset_checkpoint import NAME, parse, read, render, write
from statemachines.messages.topic_partition import TopicPartition
from tests.rows import rows

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)

partitions = st.builds(TopicPartition, st.from_regex(r"\A[a-zA-Z0-9._-]+\Z"), st.integers(0, 2**31 - 1))


@given(st.dictionaries(partitions, st.integers(-1, 2**63 - 1), max_size=5))
def test_reads_back_what_it_writes(offsets: dict[TopicPartition, int]) -> None:
    assert parse(render(offsets)) == offsets


@rows(
    "text, offsets",
    [
        ("", {}),
        ("0\n0\n", {}),
        ("0\n1\nt 0 42\n", {T0: 42}),
        ("0\r\n2\r\nt\t0 42  \r\nt 1 -1", {T0: 42, T1: -1}),
        ("0\n2\nt 0 1\nt 0 2\n", {T0: 2}),
    ],
)
def test_reads_what_brokers_read(text: str, offsets: dict[TopicPartition, int]) -> None:
    assert parse(text) == offsets


@rows(
    "text, line, found",
    {
        "another version": ("1\n1\nt 0 42\n", 1, "1"),
        "too few entries": ("0\n2\nt 0 42\n", 2, "2"),
        "two fields": ("0\n1\nt 0\n", 3, "t 0"),
        "four fields": ("0\n1\nt 0 42 7\n", 3, "t 0 42 7"),
        "white space in front": ("0\n1\n t 0 42\n", 3, " t 0 42"),
        "no topic": ("0\n1\n 0 42\n", 3, " 0 42"),
        "no partition": ("0\n1\nt x 42\n", 3, "t x 42"),
        "a partition beyond 32 bits": ("0\n1\nt 2147483648 42\n", 3, "t 2147483648 42"),
        "an offset beyond 64 bits": ("0\n1\nt 0 9223372036854775808\n", 3, "t 0 9223372036854775808"),
        "an empty line": ("0\n1\n\n", 3, ""),
    },
)
def test_malformed_files_are_refused_with_the_line(text: str, line: int, found: str) -> None:
    with pytest.raises(MalformedCheckpoint) as caught:
        parse(text)
    assert (caught.value.line, caught.value.found) == (line, found)


def test_a_file_holds_what_was_written_last(tmp_path: Path) -> None:
    path = tmp_path / NAME
    assert read(path) == {}
    for offsets in ({T0: 1}, {T0: 2, T1: 0}):
        write(path, offsets)
        assert read(path) == offsets
    assert [each.name for each in tmp_path.iterdir()] == [NAME]
