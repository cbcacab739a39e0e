"""The leader-epoch checkpoint: what brokers write, what they read, and what they refuse."""

import os
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachines.broker.log.checkpoint_file import MalformedCheckpoint
from statemachines.broker.log.leader_epoch_checkpoint import NAME, parse, parse_as_it_stands, read, render, write
from statemachines.broker.log.leader_epochs import EpochEntry, LeaderEpochs
from tests.rows import rows

EPOCH = "a leader epoch from 0 to 2147483647, white space, and an offset from 0 to 9223372036854775807"
COUNT = "the number of entries, from 0 to 2147483647"
VERSION = "the version, 0"


def cache(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(tuple(EpochEntry(*entry) for entry in entries))


def increasing(highest: int) -> st.SearchStrategy[list[int]]:
    numbers = st.one_of(st.integers(0, 9), st.integers(0, highest))
    return st.lists(numbers, max_size=8, unique=True).map(sorted)


caches = st.builds(
    lambda epochs, offsets: cache(*zip(epochs, offsets, strict=False)), increasing(2**31 - 1), increasing(2**63 - 1)
)


class TestRender:
    def test_writes_what_a_broker_writes(self) -> None:
        assert render(cache((0, 0), (3, 42), (2**31 - 1, 2**63 - 1))) == (
            "0\n3\n0 0\n3 42\n2147483647 9223372036854775807\n"
        )

    def test_an_empty_cache_has_its_two_lines(self) -> None:
        assert render(LeaderEpochs()) == "0\n0\n"

    @rows(
        "entries, reason",
        [
            ([(2**31, 0)], "line 3: found '2147483648 0', allowed is a leader epoch"),
            ([(0, 2**63)], "line 3: found '0 9223372036854775808', allowed is a leader epoch"),
            ([(0, 0), (-1, 5)], "line 4: found '-1 5', allowed is a leader epoch"),
            ([(0, 5), (1, 4)], "epochs do not increase, or start offsets decrease"),
            ([(1, 0), (1, 5)], "epochs do not increase, or start offsets decrease"),
        ],
    )
    def test_an_invalid_cache_is_not_written(self, entries: list[tuple[int, int]], reason: str) -> None:
        with pytest.raises(ValueError, match=reason):
            render(cache(*entries))

    def test_two_epochs_with_one_start_offset_are_written(self) -> None:
        """Brokers do so until 2.0.0. Brokers since 2.7 read only the later one."""
        written = cache((0, 0), (1, 1), (2, 1))
        assert render(written) == "0\n3\n0 0\n1 1\n2 1\n"
        assert parse_as_it_stands(render(written)) == written
        assert parse(render(written)) == cache((0, 0), (2, 1))


class TestParse:
    @given(caches)
    def test_reads_back_what_it_writes(self, epochs: LeaderEpochs) -> None:
        assert parse(render(epochs)) == epochs

    @rows("text", ["", "0", "0\n", "+0\r\n", "-000", "0\n0", "0\n0\n", "0\n-0\n"])
    def test_an_empty_file_is_an_empty_cache(self, text: str) -> None:
        assert parse(text) == LeaderEpochs()

    @rows(
        "text",
        [
            "0\n2\n0 0\n3 42\n",
            "0\n2\n0 0\n3 42",
            "0\r\n2\r\n0 0\r\n3 42\r\n",
            "0\r2\r0 0\r3 42\r",
            "0\n2\r\n0 0\r3 42\n",
            "0\n2\n0\t0\n3 \x0b\x0c\t 42  \n",
            "+00\n+2\n-0 +0\n0003 +042\n",
            "0\n2\n0 0\n3 " + "0" * 5000 + "42\n",
        ],
    )
    def test_reads_other_line_ends_and_white_space(self, text: str) -> None:
        assert parse(text) == cache((0, 0), (3, 42))

    def test_reads_the_largest_numbers(self) -> None:
        assert parse("0\n1\n2147483647 9223372036854775807") == cache((2**31 - 1, 2**63 - 1))

    def test_a_later_line_overrules_the_earlier_ones(self) -> None:
        """The entries go through `assign` [2.7 and later]."""
        assert parse("0\n4\n0 0\n3 42\n2 40\n2 50\n") == cache((0, 0), (2, 40))

    def test_up_to_2_6_lines_are_taken_as_they_stand(self) -> None:
        """In any order, negative ones too, but within the bounds of Java's numbers."""
        assert parse_as_it_stands("0\n3\n3 42\n2 40\n-1 -9\n") == cache((3, 42), (2, 40), (-1, -9))
        with pytest.raises(MalformedCheckpoint, match="allowed is a leader epoch from -2147483648 to 2147483647, "):
            parse_as_it_stands("0\n1\n-2147483649 0\n")
        with pytest.raises(MalformedCheckpoint, match="and an offset from -9223372036854775808 to "):
            parse_as_it_stands("0\n1\n0 -9223372036854775809\n")

    @rows(
        "text, line, found, allowed",
        {
            "another version": ("1\n0\n", 1, "1", VERSION),
            "a negative version": ("-1", 1, "-1", VERSION),
            "a version that only wraps to 0": ("4294967296\n0\n", 1, "4294967296", VERSION),
            "an empty first line": ("\n", 1, "", VERSION),
            "a version of letters": ("v0\n", 1, "v0", VERSION),
            "a space after the version": ("0 \n0\n", 1, "0 ", VERSION),
            "a byte order mark": ("\ufeff0\n0\n", 1, "\ufeff0", VERSION),
            "an empty second line": ("0\n\n", 2, "", COUNT),
            "no count": ("0\nx\n", 2, "x", COUNT),
            "a space after the count": ("0\n1 \n0 0\n", 2, "1 ", COUNT),
            "a negative count": ("0\n-1\n", 2, "-1", COUNT),
            "a count beyond 32 bits": ("0\n2147483648\n", 2, "2147483648", COUNT),
            "a missing count": ("0\n0 0\n", 2, "0 0", COUNT),
            "no entries": ("0\n1\n", 2, "1", "0, the number of entries that follow"),
            "too few entries": ("0\n3\n0 0\n1 5\n", 2, "3", "2, the number of entries that follow"),
            "too many entries": ("0\n1\n0 0\n1 5\n", 2, "1", "2, the number of entries that follow"),
            "an empty line at the end": ("0\n1\n0 0\n\n", 4, "", EPOCH),
            "an empty line between": ("0\n2\n0 0\n\n1 5\n", 4, "", EPOCH),
            "a blank line": ("0\n1\n \n", 3, " ", EPOCH),
            "one number": ("0\n1\n0\n", 3, "0", EPOCH),
            "three numbers": ("0\n1\n0 0 0\n", 3, "0 0 0", EPOCH),
            "white space in front": ("0\n1\n 0 0\n", 3, " 0 0", EPOCH),
            "white space for an epoch": ("0\n1\n 0\n", 3, " 0", EPOCH),
            "white space beyond ASCII": ("0\n1\n0\xa00\n", 3, "0\xa00", EPOCH),
            "a separator that only Python takes for space": ("0\n1\n0\x1c0\n", 3, "0\x1c0", EPOCH),
            "a line end that only Python knows": ("0\n2\n0 0\x851 5\n", 3, "0 0\x851 5", EPOCH),
            "an epoch beyond 32 bits": ("0\n1\n2147483648 0\n", 3, "2147483648 0", EPOCH),
            "beyond 64 bits": ("0\n1\n0 9223372036854775808", 3, "0 9223372036854775808", EPOCH),
            "far beyond 64 bits": ("0\n1\n0 99999999999999999999", 3, "0 99999999999999999999", EPOCH),
            "a negative epoch": ("0\n1\n-1 0\n", 3, "-1 0", EPOCH),
            "a negative offset": ("0\n1\n0 -1\n", 3, "0 -1", EPOCH),
            "underscores": ("0\n1\n0 1_0\n", 3, "0 1_0", EPOCH),
            "hexadecimal": ("0\n1\n0 0x1\n", 3, "0 0x1", EPOCH),
            "an exponent": ("0\n1\n0 1e3\n", 3, "0 1e3", EPOCH),
            "a sign alone": ("0\n1\n0 +\n", 3, "0 +", EPOCH),
            "two signs": ("0\n1\n0 +-1\n", 3, "0 +-1", EPOCH),
            "digits of another script": ("0\n1\n0 ٣\n", 3, "0 ٣", EPOCH),
            "a bad entry before a bad count": ("0\n3\n0 0\nx\n", 4, "x", EPOCH),
        },
    )
    def test_malformed_files_are_refused_with_the_line(self, text: str, line: int, found: str, allowed: str) -> None:
        with pytest.raises(MalformedCheckpoint) as caught:
            parse(text, "t-0/leader-epoch-checkpoint")
        error = caught.value
        assert (error.name, error.line, error.found, error.allowed) == (
            "t-0/leader-epoch-checkpoint", line, found, allowed,
        )  # fmt: skip
        assert str(error) == f"t-0/leader-epoch-checkpoint, line {line}: found {found!r}, allowed is {allowed}"

    def test_digits_by_the_thousand_are_refused_like_any_others(self) -> None:
        with pytest.raises(MalformedCheckpoint, match=r"line 3: found '0 9{77}…', allowed is a leader epoch"):
            parse("0\n1\n0 " + "9" * 5000)

    @given(st.text(st.sampled_from("0123- \t\n\r+x"), max_size=20))
    def test_a_text_is_refused_or_read_back_unchanged(self, text: str) -> None:
        """Whatever can be read can be written, with the same meaning."""
        try:
            epochs = parse(text)
        except MalformedCheckpoint as refused:
            number, found = refused.line, refused.found
            assert re.split("\r\n|\r|\n", text)[number - 1] == found
        else:
            assert parse(render(epochs)) == epochs

    @given(caches, st.integers(0, 9))
    def test_lost_lines_are_missed(self, epochs: LeaderEpochs, kept: int) -> None:
        """Only the loss of all entries together with their number goes unnoticed."""
        lines = render(epochs).splitlines(keepends=True)
        if 2 <= kept < len(lines):
            with pytest.raises(
                MalformedCheckpoint, match=f"line 2: found '{len(lines) - 2}', allowed is {kept - 2}, "
            ):
                parse("".join(lines[:kept]))
        else:
            assert parse("".join(lines[:kept])) == (LeaderEpochs() if kept < 2 else epochs)

    def test_lost_digits_are_not_missed(self) -> None:
        """No checksum guards the last number, so no reader may ever see the file half written."""
        assert parse("0\n2\n0 0\n3 42\n"[:-2]) == cache((0, 0), (3, 4))

    def test_the_error_is_short_and_can_be_pickled(self) -> None:
        error = MalformedCheckpoint(NAME, 1, "x" * 1000, VERSION)
        assert str(error) == f"{NAME}, line 1: found '{'x' * 79}…', allowed is the version, 0"
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


class TestFile:
    def test_holds_the_bytes_that_a_broker_writes(self, tmp_path: Path) -> None:
        path = tmp_path / NAME
        write(path, cache((0, 0), (3, 42)))
        assert path.read_bytes() == b"0\n2\n0 0\n3 42\n"
        assert path.name == "leader-epoch-checkpoint"

    def test_is_read_as_it_was_written_last(self, tmp_path: Path) -> None:
        path = tmp_path / NAME
        for epochs in (LeaderEpochs.of([0, 0, 1]), LeaderEpochs.of([5]), LeaderEpochs()):
            write(path, epochs)
            assert read(path) == epochs
        assert os.listdir(tmp_path) == [NAME]

    def test_a_relative_path_without_directory_works(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        write(Path(NAME), LeaderEpochs.of([7]))
        assert read(Path(NAME)) == LeaderEpochs.of([7])

    def test_missing_is_empty_and_stays_missing(self, tmp_path: Path) -> None:
        assert read(tmp_path / NAME) == LeaderEpochs()
        assert os.listdir(tmp_path) == []

    def test_in_a_missing_directory_is_neither_read_nor_written(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "t-0" / NAME)
        with pytest.raises(FileNotFoundError):
            write(tmp_path / "t-0" / NAME, LeaderEpochs())

    def test_an_error_names_it(self, tmp_path: Path) -> None:
        path = tmp_path / NAME
        path.write_text("0\n1\nx\n")
        with pytest.raises(MalformedCheckpoint) as caught:
            read(path)
        assert str(caught.value) == f"{path}, line 3: found 'x', allowed is {EPOCH}"

    @pytest.mark.parametrize(
        ("content", "line", "found"),
        [(b"\xff\n", 1, "\\xff"), (b"0\n\xc3\n", 2, "\\xc3"), (b"0\n1\n0 \x8042", 3, "0 \\x8042")],
    )
    def test_bytes_that_are_no_text_are_refused_with_their_line(
        self, tmp_path: Path, content: bytes, line: int, found: str
    ) -> None:
        path = tmp_path / NAME
        path.write_bytes(content)
        with pytest.raises(MalformedCheckpoint) as caught:
            read(path)
        assert (caught.value.line, caught.value.found) == (line, found)

    def test_is_flushed_before_it_replaces_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A crash at any moment leaves the old content or the new, never a part."""
        path, flushed = tmp_path / NAME, list[tuple[str, bytes, bytes]]()
        fsync = os.fsync

        def look(descriptor: int) -> None:
            fsync(descriptor)
            status = os.fstat(descriptor)
            (target,) = (one for one in (tmp_path, *tmp_path.iterdir()) if os.path.samestat(one.stat(), status))
            content = target.read_bytes() if target.is_file() else b""
            flushed.append((target.name, content, path.read_bytes()))

        old, new = b"0\n1\n0 0\n", b"0\n2\n0 0\n1 1\n"
        write(path, LeaderEpochs.of([0]))
        monkeypatch.setattr(os, "fsync", look)
        write(path, LeaderEpochs.of([0, 1]))
        assert flushed == [(f"{NAME}.tmp", new, old), (tmp_path.name, b"", new)]

    def test_stays_as_it_was_if_the_new_one_cannot_be_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        path = tmp_path / NAME
        write(path, LeaderEpochs.of([0]))
        with pytest.raises(ValueError, match="do not increase"):
            write(path, cache((1, 1), (0, 0)))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            with pytest.raises(OSError, match="No space left"):
                write(path, LeaderEpochs.of([0, 1]))
        assert read(path) == LeaderEpochs.of([0])
        write(path, LeaderEpochs.of([0, 1]))  # the leftovers of the failure do not hinder it
        assert read(path) == LeaderEpochs.of([0, 1])
        assert os.listdir(tmp_path) == [NAME]
