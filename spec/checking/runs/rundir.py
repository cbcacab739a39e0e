"""The run directory: the levels of an exploration on disk, each of them complete or absent.

    _run.json                                the run's identity, and its number of buckets
    level=0007/bucket=0003/states.parquet    the states of level 7 that hash to bucket 3, in code order
    _commits/0007.json                       level 7 is complete: its files, all figures up to it, and a digest

A level is committed in four steps. Each bucket's states are written to an attempt, a file with a unique name that
begins with `_`. When all are written, the attempts that count get their final names, and the others are removed. Then
the commit is written beside its place and moved there; the move makes the level exist. A process that dies earlier
leaves files that no commit names: no engine reads them, and `resume` removes them.

The digest of a commit covers its content and the previous digest; the first covers the digest of `_run.json`. So
later damage is noticed, wherever it is. A digest finds damage, not a forger, who can recompute it. Links and special
files are rejected: reading or writing a directory from someone else must not lead out of it.

States are packed (see `packed`), and `packed.bucket_of` gives their bucket. Readers of Parquet skip names that begin
with `_`, so a complete run is also a table with the columns `state`, `level` and `bucket`:
`spark.read.parquet(DIR)`, `pyarrow.dataset.dataset(DIR, ...)`.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from spec.checking.machine.interrupts import DeferredSignals
from spec.checking.states.packed import (
    ManyStates,
    Words,
    buckets_of,
    bytes_of,
    from_column,
    in_code_order,
    stored,
    words_of,
)
from spec.language.errors import UsageError, safe_repr

FORMAT: Final = 8
"""Version of the directory's format. A run of another version is rejected."""
BUCKETS: Final = 16
"""Buckets of a run; as many tasks can settle a level at once."""

GROUP: Final = 16_384
"""States of a row group, the least that can be read from a file."""

ParallelMap = Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]
"""Calls a function with each of some numbers, one after the other like `map`, or several at once."""

Identity = Mapping[str, Mapping[str, Any]]
"""The identity of a run, part by part (system, constants, source, ...), each part by name; plain JSON."""


def reached(point: str) -> None:
    """Mark a point at which a run may die and be resumed; tests make it die here.

    The points of a level are `before files`, `after files`, `before commit`, `after commit`.
    """


@dataclass(frozen=True)
class LevelFile:
    """The file with the states of one bucket in one level."""

    bucket: int
    rows: int
    size: int
    """In bytes."""
    sha256: str
    attempt: str = ""
    """The name under which it was written; meaningless once the level is committed."""


@dataclass(frozen=True)
class Commit:
    """A complete level, and the run up to it."""

    level: int
    files: tuple[LevelFile, ...]
    generated: int
    distinct: int
    seconds: float
    coverage: Mapping[str, Mapping[str, int]]
    """By action: enabled, taken, new_states, changing, bounded."""
    findings: Mapping[str, Mapping[str, Any]]
    """By property: `length`; `state`, the end, in hexadecimal; and for a property of steps the last step: `before` in
    hexadecimal, `action` and `instance` by number. A step that leaves a domain has an empty `state`."""
    job_levels: int = 0
    """Earlier levels that a Spark job expanded."""
    job_workers: int = 0
    """The most worker processes that took part in one of these jobs."""
    opaque_rules: tuple[str, ...] = ()
    """`Model.opaque_rules` when the level was expanded."""
    compared_states: int = 0
    by_permutations: Sequence[str] = ()
    left_out: int = 0
    """The comparisons under symmetry: see `spec.checking.symmetry.renamings`."""
    interned: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """By cell, the values that first occur in this level, as JSON: see `spec.checking.runs.interned_values`."""

    @property
    def rows(self) -> int:
        """The number of states in the level."""
        return sum(file.rows for file in self.files)

    def to_json(self) -> dict[str, Any]:
        """Its content in the file."""
        files = [{name: value for name, value in asdict(file).items() if name != "attempt"} for file in self.files]
        return {**asdict(self), "files": files}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Commit:
        """The inverse of `to_json`."""
        files = tuple(LevelFile(**file) for file in found["files"])
        return cls(**{**found, "files": files, "opaque_rules": tuple(found["opaque_rules"])})


def _arrow() -> Any:
    """The library of the files. It is imported only if a run is kept, since that takes a while."""
    import pyarrow as pa
    import pyarrow.parquet

    return pa


@dataclass(frozen=True)
class RunDirectory:
    """One run on disk. It can be sent to other processes that see the same files."""

    path: Path
    run: str
    """A unique name of the run."""
    width: int
    """Bytes of a packed state, eight for each of its words."""
    buckets: int
    durable: bool
    """Whether a committed level survives a crash of the machine, and not only of the process."""
    digest: str
    """The digest of `_run.json`."""

    @classmethod
    def create(
        cls, path: Path, identity: Identity, width: int, *, buckets: int = BUCKETS, durable: bool = True
    ) -> RunDirectory:
        """Begin a run in a directory that is empty or does not exist; UsageError if it is not empty, or cannot be
        written.
        """
        _arrow()
        run = uuid.uuid4().hex
        head = {"format": FORMAT, "run": run, "width": width, "buckets": buckets, **identity}
        made = cls(path, run, width, buckets, durable, digest_of(head))
        try:
            if any(path.iterdir()):
                raise UsageError(f"the run directory {path} is not empty: resume the run in it, or name another")
            (path / "_commits").mkdir()
            made._write_json(path / "_run.json", {"digest": made.digest, **head})
        except OSError as failure:
            raise UsageError(f"{path} cannot be written: {failure.strerror}") from None
        return made

    @classmethod
    def resume(cls, path: Path, identity: Identity, *, durable: bool = True) -> tuple[RunDirectory, list[Commit]]:
        """Resume a run: its commits, after all files are verified and uncommitted files removed. UsageError if there
        is no run, it has another identity, or a file differs from its commit; then the directory is unchanged.
        """
        found = cls.open(path, identity, durable=durable)
        commits = found.verified_commits()
        try:
            (path / "_commits").mkdir(exist_ok=True)  # missing if the process died in `begin_again`
            found._sweep(commits)
        except OSError as failure:
            raise UsageError(f"{path} cannot be written: {failure.strerror}") from None
        return found, commits

    @classmethod
    def open(cls, path: Path, identity: Identity | None = None, *, durable: bool = True) -> RunDirectory:
        """An existing run, for reading. Parts of the identity that are not given are not compared. UsageError if
        there is no run, or it has another identity.
        """
        identity = json.loads(json.dumps(identity or {}))  # as read back from a file, where tuples are lists
        _require_own_files(path)
        head = _read_json(path / "_run.json", f"{path} holds no run")
        if head.get("format") != FORMAT:
            raise UsageError(
                f"{path} has format {safe_repr(head.get('format'))}, and only format {FORMAT} can be read"
            )
        digest = head.pop("digest", None)
        if digest != digest_of(head):
            raise UsageError(f"{path / '_run.json'} was changed since the run began: it does not match its digest")
        if different := difference({part: head.get(part, {}) for part in identity}, identity):
            raise UsageError(f"{path} holds another run: {different}")
        return cls(path, head["run"], head["width"], head["buckets"], durable, digest)

    def verified_commits(self) -> list[Commit]:
        """The committed levels, after all files are verified; UsageError if a file differs from its commit."""
        commits, distinct = self.commits(), 0
        for commit in commits:
            self._verify(commit)
            distinct += commit.rows
            if commit.distinct != distinct:
                raise UsageError(f"{self._place(commit.level)} has {commit.distinct} states, its files {distinct}")
        return commits

    # States.

    def file(self, level: int, bucket: int) -> Path:
        """The file with the states of a bucket in a level, once they are committed."""
        return self._bucket(level, bucket) / "states.parquet"

    def write(self, level: int, states: Iterable[bytes]) -> list[LevelFile]:
        """Write states of a level to attempts of their buckets, each in code order."""
        return self.write_array(level, words_of(states, self.width))

    def write_array(self, level: int, states: Words) -> list[LevelFile]:
        """Write states of a level to attempts of their buckets, see `write`."""
        return self.write_parts(level, [states])

    def write_parts(
        self, level: int, parts: Sequence[ManyStates], each: ParallelMap = map, at_once: int = BUCKETS
    ) -> list[LevelFile]:
        """Write states of a level, given in parts, see `write`; `each` may write up to `at_once` buckets at once.

        `writing` gives the memory that this takes besides the states.
        """
        buckets_in = [buckets_of(part[:], self.buckets).astype(np.uint16) for part in parts]

        def write(bucket: int) -> LevelFile:
            chosen = [part[its == bucket] for part, its in zip(parts, buckets_in, strict=True)]
            states = chosen[0] if len(chosen) == 1 else np.concatenate(chosen)
            del chosen
            return self._write_bucket(level, bucket, states)

        there = np.flatnonzero(sum(np.bincount(its, minlength=self.buckets) for its in buckets_in)).tolist()
        return [
            file for first in range(0, len(there), at_once) for file in each(write, there[first : first + at_once])
        ]

    def _write_bucket(self, level: int, bucket: int, states: Words) -> LevelFile:
        pa = _arrow()
        words = pa.py_buffer(stored(in_code_order(states)))
        column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(self.width), len(states), [None, words])
        sink = pa.BufferOutputStream()
        pa.parquet.write_table(
            pa.table({"state": column}), sink, row_group_size=GROUP, compression="zstd", use_dictionary=False
        )
        content = sink.getvalue()
        attempt = f"_{uuid.uuid4().hex}.parquet"
        folder = self._bucket(level, bucket)
        folder.parent.mkdir(exist_ok=True)  # no parents: a removed run must not seem to exist
        folder.mkdir(exist_ok=True)
        try:
            (folder / attempt).write_bytes(content)
        except OSError:
            with suppress(OSError):  # leave no useless file on a full disk
                (folder / attempt).unlink(missing_ok=True)
            raise
        return LevelFile(bucket, len(states), content.size, hashlib.sha256(content).hexdigest(), attempt)

    def read(self, level: int, bucket: int) -> list[bytes]:
        """The states of a bucket in a committed level, in code order; its file must exist."""
        return bytes_of(self.read_array(level, bucket))

    def read_array(self, level: int, bucket: int, start: int = 0, stop: int | None = None) -> Words:
        """The states of a bucket in a level, see `read`; or a slice of them."""
        with _arrow().parquet.ParquetFile(self.file(level, bucket)) as file:
            rows = file.metadata.num_rows if stop is None else stop
            groups = range(start // GROUP, -(-rows // GROUP))
            table = file.read_row_groups(list(groups), use_threads=False)  # a task has one core
        first = groups.start * GROUP
        return from_column(table.column("state").combine_chunks())[start - first : rows - first]

    def pieces(self, level: int, bucket: int | None = None, most: int = 16 * GROUP) -> Iterator[Words]:
        """The states of a committed level, at most so many at a time, bucket by bucket; or those of one bucket."""
        for file in self.committed(level):
            if bucket in (None, file.bucket):
                for start in range(0, file.rows, most):
                    yield self.read_array(level, file.bucket, start, min(start + most, file.rows))

    def committed(self, level: int) -> tuple[LevelFile, ...]:
        """The files of a committed level; FileNotFoundError if the run was removed."""
        if not self._place(level).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.path))
        return Commit.from_json(self._read(level)[0]).files

    # Commits.

    def commit(self, commit: Commit) -> None:
        """Commit a level whose attempts are written."""
        reached("after files")
        self._publish(commit)
        reached("before commit")
        before = self._read(commit.level - 1)[1] if commit.level > 1 else self.digest
        content = commit.to_json()
        self._write_json(self._place(commit.level), {**content, "digest": digest_of(content, before)})
        reached("after commit")

    def _publish(self, commit: Commit) -> None:
        """Give the attempts that count their final names; the others are of tasks that another worker repeated."""
        level, final = self._level(commit.level), [self.file(commit.level, file.bucket) for file in commit.files]
        for file, place in zip(commit.files, final, strict=True):
            place.with_name(file.attempt).replace(place)
        _remove_attempts(level)
        if final:
            self._sync(*final, *(place.parent for place in final), level, self.path)

    def begin_again(self) -> None:
        """Remove all levels: they were explored with evaluations that are void."""
        commits, void = self.path / "_commits", self.path / "_void"
        shutil.rmtree(void, ignore_errors=True)
        commits.replace(void)  # atomically: no void level may remain
        commits.mkdir()
        shutil.rmtree(void, ignore_errors=True)
        self._sweep([])

    def commits(self) -> list[Commit]:
        """The committed levels, in order; UsageError if one differs from its digest."""
        levels = [int(place.stem) for place in (self.path / "_commits").glob("*.json") if place.stem.isdecimal()]
        found, before = list[Commit](), self.digest
        for level in range(1, max(levels, default=0) + 1):
            content, digest = self._read(level)
            if digest != digest_of(content, before):
                raise UsageError(f"{self._place(level)} is damaged: it does not match its digest")
            try:
                found.append(Commit.from_json(content))
            except (TypeError, KeyError):
                raise UsageError(f"{self._place(level)} is not a commit that can be resumed") from None
            before = digest
        return found

    def _read(self, level: int) -> tuple[dict[str, Any], str]:
        """The content of a level's commit, and its digest; the digest is empty if there is none."""
        content = _read_json(self._place(level), f"{self._place(level)} is missing")
        return content, content.pop("digest", "")

    def _verify(self, commit: Commit) -> None:
        for file in commit.files:
            path = self.file(commit.level, file.bucket)
            try:
                size = path.stat().st_size
                if size != file.size:
                    raise UsageError(f"{path} is damaged: it has {size} bytes, and {file.size} were committed")
                with path.open("rb") as content:
                    if hashlib.file_digest(content, "sha256").hexdigest() != file.sha256:
                        raise UsageError(f"{path} is damaged: it differs from the committed file")
                rows = _arrow().parquet.read_metadata(path).num_rows
            except (OSError, _arrow().ArrowInvalid) as failure:
                raise UsageError(f"{path} cannot be read: {failure}") from None
            if rows != file.rows:
                raise UsageError(f"{path} has {rows} states, and {file.rows} were committed")

    def _sweep(self, commits: list[Commit]) -> None:
        """Remove files that were never committed."""
        whole = {self._level(commit.level) for commit in commits}
        for level in self.path.glob("level=*"):
            if level in whole:
                _remove_attempts(level)
            else:
                shutil.rmtree(level, ignore_errors=True)  # a task that outlived its run may still write here
        for unfinished in (self.path / "_commits").glob("*.unfinished"):
            unfinished.unlink()

    # Files.

    def _level(self, level: int) -> Path:
        return self.path / f"level={level:04}"

    def _bucket(self, level: int, bucket: int) -> Path:
        return self._level(level) / f"bucket={bucket:04}"

    def _place(self, level: int) -> Path:
        return self.path / "_commits" / f"{level:04}.json"

    def _write_json(self, path: Path, content: Mapping[str, Any]) -> None:
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")
        self._sync(unfinished)
        unfinished.replace(path)
        self._sync(path.parent)

    def _sync(self, *paths: Path) -> None:
        """Flush these files and directories to disk together, so that they survive a crash of the machine."""
        if self.durable:
            with DeferredSignals(), ThreadPoolExecutor(len(paths)) as pool:
                list(pool.map(_sync, paths))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path, *, make: bool) -> Iterator[None]:
    """Lock a directory, so that no other process explores in it; with `make`, create it if necessary. UsageError if
    another process has locked it, or it is not a directory.
    """
    try:
        if make:
            path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as failure:
        raise UsageError(f"{path} cannot be a run directory: {failure.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{path}: another process explores in it") from None
        except OSError:
            pass  # some network file systems have no locks
        yield
    finally:
        os.close(descriptor)


def writing(states: int, words: int, buckets: int = BUCKETS) -> tuple[int, int]:
    """Approximate bytes needed to write a level of so many states: for all of it, and for each bucket at once."""
    return 2 * states, -(-states // buckets) * (32 * words + 24)


def digest_of(content: Mapping[str, Any], before: str = "") -> str:
    """A digest of a JSON file's content, and of the previous digest."""
    return hashlib.sha256(json.dumps([before, content], sort_keys=True).encode()).hexdigest()


def difference(earlier: Identity, now: Identity) -> str:
    """The first difference between the identity of a run and the present one, in words; empty if there is none."""
    for part, given in now.items():
        before = earlier[part]
        for name in [*before, *(name for name in given if name not in before)]:
            was, is_ = before.get(name, "not there"), given.get(name, "not there")
            if was != is_:
                if part in _CHANGES:
                    values = f", from {was} to {is_}" if part == "values" and "sha256:" not in was + is_ else ""
                    return f"{_CHANGES[part].format(name)} has changed since{values}"
                return f"{part} {name} was {was}, and is now {is_}"
    return ""


_CHANGES: Final = {"source": "the source of {}", "values": "the value of {}", "ranges": "the range of {}"}
"""Parts of an identity that are digests, or may be, and their names in messages."""


def _require_own_files(path: Path) -> None:
    """Reject links and other special files in a run directory: they lead out of it, or nowhere."""
    for folder, names, files in os.walk(path):
        for place in (Path(folder, name) for name in (*names, *files)):
            mode = place.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                kind = "a link" if stat.S_ISLNK(mode) else "no file"
                raise UsageError(f"{place} is {kind}: a run directory has only its own files and directories")


def _read_json(path: Path, otherwise: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(otherwise) from None
    except (OSError, ValueError, RecursionError):
        raise UsageError(f"{path} cannot be read") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path} cannot be read")
    return found


def _remove_attempts(level: Path) -> None:
    for attempt in level.glob("bucket=*/_*.parquet"):
        attempt.unlink(missing_ok=True)
