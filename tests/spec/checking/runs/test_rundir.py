"""The run directory: a level is complete or absent, and a file that differs from its commit is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.checking.runs.rundir import Commit, LevelFile, RunDirectory, difference, digest_of, locked
from spec.checking.states.packed import Words, bucket_of, buckets_of, bytes_of, in_code_order, words_of
from spec.language import UsageError

IDENTITY = {"system": {"name": "toy"}, "constants": {"top": "3", "sides": "2"}, "source": {"toys": "ab12"}}


def packed(*words: int) -> bytes:
    """A packed state with these words."""
    return b"".join(word.to_bytes(8, "big") for word in words)


LEVELS = [[packed(0)], [packed(1), packed(7), packed(256)], [packed(2), packed(2**64 - 1)]]
STRANGER = packed(9)


def committed(run: RunDirectory, level: int, states: list[bytes], distinct: int) -> Commit:
    """Write and commit a level with these states."""
    commit = Commit(level, tuple(run.write(level, states)), distinct + 1, distinct, 0.5, {}, {})
    run.commit(commit)
    return commit


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run with three levels."""
    made = RunDirectory.create(tmp_path, IDENTITY, 8, buckets=2)
    distinct = 0
    for level, states in enumerate(LEVELS, 1):
        distinct += len(states)
        committed(made, level, states, distinct)
    return made


def tree(path: Path) -> dict[str, str]:
    """Each file with a digest of its content, and each directory."""
    return {
        str(each.relative_to(path)): hashlib.sha256(each.read_bytes()).hexdigest() if each.is_file() else ""
        for each in path.rglob("*")
    }


def states_of(run: RunDirectory, level: int) -> list[bytes]:
    return sorted(state for file in run.committed(level) for state in run.read(level, file.bucket))


def test_committed_levels_are_read_back(run: RunDirectory) -> None:
    """Their states, their figures, and the identity of the run."""
    again, commits = RunDirectory.resume(run.path, IDENTITY)
    assert again == run
    assert [commit.level for commit in commits] == [1, 2, 3]
    assert [commit.distinct for commit in commits] == [1, 4, 6]
    assert [states_of(again, level) for level in (1, 2, 3)] == LEVELS


def test_a_bucket_holds_the_states_that_hash_to_it(run: RunDirectory) -> None:
    """In code order. The hash function must never change, or old runs could not be resumed."""
    for file in run.committed(2):
        states = run.read(2, file.bucket)
        assert states == sorted(states)
        assert {bucket_of(state, 2) for state in states} == {file.bucket}
    assert [bucket_of(state, 16) for state in (*LEVELS[1], packed(1, 2), packed(2, 1))] == [1, 7, 15, 11, 5]
    assert bucket_of(packed(0), 2**64) == 0xE220A8397B1DCDAF  # the first number of SplitMix64 for seed 0


def test_neighbours_are_spread_over_the_buckets() -> None:
    """These states differ in a few bits of any word, as real ones do."""
    near = [packed(high << 40, low << 56) for high in range(64) for low in range(64)]
    sizes = np.bincount(buckets_of(words_of(near, 16), 16))
    assert len(sizes) == 16
    assert 200 < min(sizes) <= max(sizes) < 320


# States as words.


def some_states() -> st.SearchStrategy[list[bytes]]:
    """Different states of one width, in any order; many share words."""
    word = st.one_of(st.integers(0, 3), st.sampled_from([2**63, 2**64 - 1, 256]), st.integers(0, 2**64 - 1))
    return st.integers(1, 3).flatmap(
        lambda words: st.lists(st.tuples(*[word] * words).map(lambda state: packed(*state)), min_size=1, unique=True)
    )


@given(some_states(), st.integers(1, 300))
def test_arrays_and_states_share_a_file_format(states: list[bytes], buckets: int) -> None:
    """Bytes and words give the same buckets and order, and each form gives back the other."""
    array = words_of(states, len(states[0]))
    assert [packed(*row) for row in array.tolist()] == bytes_of(array) == states
    assert buckets_of(array, buckets).tolist() == [bucket_of(state, buckets) for state in states]
    assert bytes_of(in_code_order(array)) == sorted(states)


ARRAYS: dict[str, Callable[[Words], Words]] = {
    "as it is": lambda array: array,
    "column by column": np.asfortranarray,
    "backwards": lambda array: array[::-1],
    "of a wider one": lambda array: np.hstack([array, array])[:, : array.shape[1]],
    "of other bytes": lambda array: array.astype(">u8"),
}


@pytest.mark.parametrize("words", [1, 2, 3])
@pytest.mark.parametrize("laid", ARRAYS)
def test_an_array_is_written_as_its_states_are(tmp_path: Path, words: int, laid: str) -> None:
    """The files are equal byte by byte, for any order of the states and any memory layout of the array."""
    array = np.random.default_rng(words).integers(0, 2**64, (1000, words), dtype=np.uint64)
    array[:, 0] %= 5
    states = sorted(bytes_of(array))
    ways: dict[str, Callable[[RunDirectory], list[LevelFile]]] = {
        "bytes": lambda run: run.write(1, states),
        "words": lambda run: run.write_array(1, ARRAYS[laid](array)),
    }
    contents = []
    for name, write in ways.items():
        (tmp_path / name).mkdir()
        run = RunDirectory.create(tmp_path / name, IDENTITY, 8 * words, buckets=3)
        run.commit(Commit(1, tuple(write(run)), 1000, 1000, 0.5, {}, {}))
        contents.append([run.file(1, bucket).read_bytes() for bucket in range(3)])
        assert states_of(run, 1) == states
        for bucket in range(3):
            back = run.read_array(1, bucket)
            assert back.dtype == np.dtype(np.uint64)
            assert back.shape[1] == words
            assert bytes_of(back) == run.read(1, bucket)
    assert contents[0] == contents[1]


def test_an_array_without_states_is_no_file(run: RunDirectory) -> None:
    """Neither is an empty list."""
    assert run.write_array(4, np.empty((0, 1), np.uint64)) == run.write(4, []) == []


def test_a_state_of_another_width_is_refused(run: RunDirectory) -> None:
    """Even if its bytes divide into whole words."""
    for state in (b"\x00\x00", packed(1, 2)):
        with pytest.raises(ValueError, match="and 8 were expected"):
            run.write(4, [state])


# Tasks and levels.


def test_a_task_done_twice_counts_once(tmp_path: Path) -> None:
    """Only the attempt named in the commit is read, whichever was written first. The other is removed."""
    run = RunDirectory.create(tmp_path, IDENTITY, 8, buckets=1)
    run.write(1, LEVELS[1][:1])
    whole = run.write(1, LEVELS[1])
    run.write(1, LEVELS[1][:2])
    run.commit(Commit(1, tuple(whole), 4, 3, 0.5, {}, {}))
    assert states_of(run, 1) == LEVELS[1]
    names = [path.name for path in tmp_path.glob("level=*/*/*")]
    assert names == ["states.parquet"]


def test_a_late_attempt_is_never_read(run: RunDirectory) -> None:
    """A slow task may still write after the commit. The next resume removes its files."""
    before = tree(run.path)
    run.write(3, [STRANGER])
    assert tree(run.path) != before
    RunDirectory.resume(run.path, IDENTITY)
    assert states_of(run, 3) == LEVELS[2]
    assert tree(run.path) == before


def test_a_level_without_a_commit_is_removed(run: RunDirectory) -> None:
    """Whether or not its files already have their final names."""
    before = tree(run.path)
    files = run.write(4, LEVELS[1])
    shutil.move(run.file(4, files[0].bucket).with_name(files[0].attempt), run.file(4, files[0].bucket))
    (run.path / "_commits" / "0004.unfinished").write_text("{")
    _, commits = RunDirectory.resume(run.path, IDENTITY)
    assert len(commits) == 3
    assert tree(run.path) == before


def test_an_empty_level_is_a_commit_without_files(run: RunDirectory) -> None:
    """The run is then complete."""
    assert committed(run, 4, [], 6).rows == 0
    _, commits = RunDirectory.resume(run.path, IDENTITY)
    assert commits[-1].rows == 0


# Damage that is refused.


def _truncate(run: RunDirectory) -> None:
    file = run.file(2, run.committed(2)[0].bucket)
    file.write_bytes(file.read_bytes()[:-7])


def _flip(run: RunDirectory) -> None:
    file = run.file(2, run.committed(2)[0].bucket)
    content = bytearray(file.read_bytes())
    content[9] ^= 1
    file.write_bytes(content)


def _remove(run: RunDirectory) -> None:
    run.file(2, run.committed(2)[0].bucket).unlink()


def _write(name: str, content: str) -> Callable[[RunDirectory], object]:
    return lambda run: (run.path / name).write_text(content)


def _change_json(name: str, change: Callable[[dict[str, object]], object]) -> Callable[[RunDirectory], None]:
    def changed(run: RunDirectory) -> None:
        content = json.loads((run.path / name).read_text())
        change(content)
        (run.path / name).write_text(json.dumps(content))

    return changed


def _miscount(commit: dict[str, object]) -> None:
    files = commit["files"]
    assert isinstance(files, list)
    files[0]["rows"] += 1


def _forge(name: str, change: Callable[[dict[str, object]], object]) -> Callable[[RunDirectory], None]:
    """As by someone who recomputes the digests."""

    def forged(run: RunDirectory) -> None:
        _change_json(name, change)(run)
        before = run.digest
        for place in sorted((run.path / "_commits").glob("*.json")):
            content = json.loads(place.read_text())
            del content["digest"]
            before = digest_of(content, before)
            place.write_text(json.dumps({**content, "digest": before}))

    return forged


def _swap(run: RunDirectory) -> None:
    one, other = (run.path / "_commits" / f"000{level}.json" for level in (2, 3))
    one_content = one.read_text()
    one.write_text(other.read_text())
    other.write_text(one_content)


def _link(name: str) -> Callable[[RunDirectory], None]:
    """Replace a file by a link to it, or to a person's file."""

    def linked(run: RunDirectory) -> None:
        place, elsewhere = run.path / name, run.path.with_name(f"{run.path.name} elsewhere")
        place.parent.mkdir(exist_ok=True)
        if place.exists():
            place.rename(elsewhere)
        place.symlink_to(elsewhere)

    return linked


DAMAGES: dict[str, tuple[Callable[[RunDirectory], object], str]] = {
    "a file is too short": (_truncate, r"states\.parquet is damaged: it has \d+ bytes, and \d+ were committed"),
    "a bit is flipped": (_flip, r"states\.parquet is damaged: it differs from the committed file"),
    "a file is gone": (_remove, r"states\.parquet cannot be read: .*No such file"),
    "a figure was changed": (
        _change_json("_commits/0002.json", lambda commit: commit.update(generated=12)),
        r"0002\.json is damaged: it does not match its digest",
    ),
    "a list of files was emptied": (
        _change_json("_commits/0003.json", lambda commit: commit.update(files=[])),
        r"0003\.json is damaged: it does not match its digest",
    ),
    "a key is gone": (
        _change_json("_commits/0001.json", lambda commit: commit.pop("compared_states")),
        r"0001\.json is damaged: it does not match its digest",
    ),
    "a digest is gone": (
        _change_json("_commits/0002.json", lambda commit: commit.pop("digest")),
        r"0002\.json is damaged: it does not match its digest",
    ),
    "two commits were swapped": (_swap, r"0002\.json is damaged: it does not match its digest"),
    "the head is of another run": (
        _change_json("_run.json", lambda head: head.update(run="ab" * 16)),
        r"_run\.json was changed since the run began",
    ),
    "a file is a link": (_link("_commits/0003.json"), r"0003\.json is a link: "),
    "a folder is a link": (_link("level=0002"), "level=0002 is a link: "),
    "a file to be written is a link": (_link("_commits/0009.unfinished"), "0009.unfinished is a link: "),
    "a file is a pipe": (lambda run: os.mkfifo(run.path / "_spark.log"), r"_spark\.log is no file: "),
    "rows do not match": (
        _forge("_commits/0002.json", _miscount),
        r"states\.parquet has \d+ states, and \d+ were committed",
    ),
    "figures do not match": (
        _forge("_commits/0002.json", lambda commit: commit.update(distinct=5)),
        r"0002\.json has 5 states, its files 4",
    ),
    "a commit is gone": (lambda run: (run.path / "_commits/0002.json").unlink(), r"0002\.json is missing"),
    "a commit is no JSON": (
        _write("_commits/0002.json", "{"),
        r"0002\.json cannot be read",
    ),
    "a commit is something else": (
        _forge("_commits/0002.json", lambda commit: commit.pop("files")),
        r"0002\.json is not a commit that can be resumed",
    ),
    "the head is no JSON": (
        _write("_run.json", "level 3"),
        r"_run\.json cannot be read",
    ),
    "the head is nested too deep": (_write("_run.json", "[" * 100_000), r"_run\.json cannot be read"),
    "the head has too long a number": (_write("_run.json", "1" * 5_000), r"_run\.json cannot be read"),
    "the head is a list": (
        _write("_run.json", "[]"),
        r"_run\.json cannot be read",
    ),
    "the head is gone": (lambda run: (run.path / "_run.json").unlink(), "holds no run"),
    "the format is older": (
        _change_json("_run.json", lambda head: head.update(format=1)),
        "has format 1, and only format 8 can be read",
    ),
    "the head was edited": (
        _change_json("_run.json", lambda head: head.update(constants={"top": "4", "sides": "2"})),
        r"_run\.json was changed since the run began",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_refused_and_left_alone(run: RunDirectory, damage: str) -> None:
    """In one line that says what is wrong. Even removable files are still there."""
    harm, message = DAMAGES[damage]
    run.write(4, LEVELS[1])
    harm(run)
    before = tree(run.path)
    with pytest.raises(UsageError, match=message) as refused:
        RunDirectory.resume(run.path, IDENTITY)
    assert "\n" not in str(refused.value)
    assert tree(run.path) == before


OTHERS = {
    "system": ({"system": {"name": "other"}}, "system name was toy, and is now other"),
    "constant": ({"constants": {"top": "4", "sides": "2"}}, "constants top was 3, and is now 4"),
    "constant gone": ({"constants": {"top": "3"}}, "constants sides was 2, and is now not there"),
    "source": ({"source": {"toys": "cd34"}}, "the source of toys has changed since"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_run_is_refused_and_left_alone(run: RunDirectory, other: str) -> None:
    """The error says what differs."""
    changed, message = OTHERS[other]
    before = tree(run.path)
    with pytest.raises(UsageError, match=f"holds another run: {message}"):
        RunDirectory.resume(run.path, {**IDENTITY, **changed})
    assert tree(run.path) == before


def test_a_run_does_not_differ_from_itself() -> None:
    """Also without constants."""
    assert difference(IDENTITY, IDENTITY) == difference({"constants": {}}, {"constants": {}}) == ""


def test_a_directory_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    """Its files may belong to something else."""
    (tmp_path / "letters.txt").write_text("Dear")
    with pytest.raises(UsageError, match="is not empty: resume the run in it, or name another"):
        RunDirectory.create(tmp_path, IDENTITY, 8)
    assert tree(tmp_path).keys() == {"letters.txt"}


def test_a_run_directory_is_locked(tmp_path: Path) -> None:
    """The second process gets an error, and may start when the first has ended."""
    with (
        locked(tmp_path / "run", make=True),
        pytest.raises(UsageError, match="another process explores in it"),
        locked(tmp_path / "run", make=False),
    ):
        pass
    with locked(tmp_path / "run", make=False):
        assert tree(tmp_path) == {"run": ""}


def test_a_file_is_no_run_directory(tmp_path: Path) -> None:
    """A run can neither begin nor resume there."""
    (tmp_path / "file").touch()
    for make in (True, False):
        with (
            pytest.raises(UsageError, match="file cannot be a run directory"),
            locked(tmp_path / "file", make=make),
        ):
            pass
