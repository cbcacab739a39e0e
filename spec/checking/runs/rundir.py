"""The run directory: the levels of an exploration on disk, each of them complete or not there.

    _run.json                                what is explored, in how many buckets
    level=0007/bucket=0003/states.parquet    the states of level 7 that hash to bucket 3, in code order
    _commits/0007.json                       level 7 is complete: its files, all figures up to it, and a digest

A level is committed in four steps. Each bucket's states are written to an attempt, a file with a name of its own
that begins with `_`. When all are there, the attempts that count get their final names and others are removed.
Then the commit is written beside its place and moved there, which is what makes the level exist. A process that dies
in between leaves files that no commit names: no engine reads them, and `resume` removes them.

The digest of a commit is over what it says and the digest before it, that of the first over the digest of
`_run.json`; so what was damaged since is noticed, wherever it lies. A digest finds damage, not a forger, who writes
it anew. Links and other special files are refused: what a received directory has is read and written in it alone.

States are packed (see `packed`), and their bucket is that of `packed.bucket_of`.
Names that begin with `_` are passed over by what reads Parquet, so a run that is complete is also a table with
the columns `state`, `level` and `bucket`: `spark.read.parquet(DIR)`, `pyarrow.dataset.dataset(DIR, ...)`.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from spec.checking.machine.interrupts import DeferredSignals
from spec.checking.states.packed import Words, buckets_of, bytes_of, from_column, in_code_order, stored, words_of
from spec.language.errors import UsageError, safe_repr

FORMAT: Final = 6
"""Version of the directory's format. A run of another one is refused."""
BUCKETS: Final = 16
"""Buckets of a run; as many tasks can settle a level at once."""

GROUP: Final = 16_384
"""States of a row group, the least that is read of a file at once."""

ParallelMap = Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]
"""Calls a function with each of some numbers, as `map` does, or with several of them at once."""

Identity = Mapping[str, Mapping[str, Any]]
"""What a run explores, part by part (system, constants, source, ...), each part by name; plain JSON."""


def reached(point: str) -> None:
    """Mark a point at which a run may die and be resumed; tests let it die here.

    The points of a level are `before files`, `after files`, `before commit`, `after commit`.
    """


@dataclass(frozen=True)
class LevelFile:
    """The states of one bucket in one level, as they were written."""

    bucket: int
    rows: int
    size: int
    """In bytes."""
    sha256: str
    attempt: str = ""
    """The name under which it was written; it means nothing once the level is committed."""


@dataclass(frozen=True)
class Commit:
    """A level that is complete, and the run up to it."""

    level: int
    files: tuple[LevelFile, ...]
    generated: int
    distinct: int
    seconds: float
    coverage: Mapping[str, Mapping[str, int]]
    """By action: enabled, taken, new_states, changing."""
    findings: Mapping[str, Mapping[str, Any]]
    """By property: `length`; `state`, in hexadecimal, the end; and of a property of steps the last step, `before`
    in hexadecimal, `action` and `instance` by number. A step that leaves a domain has an empty `state`."""
    job_levels: int = 0
    """Levels before this one that a Spark job expanded."""
    job_workers: int = 0
    """Worker processes that took part in one of these jobs, at most."""
    opaque_rules: tuple[str, ...] = ()
    """See `Model.opaque_rules`: what was known when the level was expanded."""
    compared_states: int = 0
    by_permutations: Sequence[str] = ()
    """Under symmetry, what was compared: see `spec.checking.symmetry.renamings`."""

    @property
    def rows(self) -> int:
        """How many states the level has."""
        return sum(file.rows for file in self.files)

    def to_json(self) -> dict[str, Any]:
        """As it stands in its file."""
        files = [{name: value for name, value in asdict(file).items() if name != "attempt"} for file in self.files]
        return {**asdict(self), "files": files}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Commit:
        """What `to_json` gave."""
        files = tuple(LevelFile(**file) for file in found["files"])
        return cls(**{**found, "files": files, "opaque_rules": tuple(found["opaque_rules"])})


def _arrow() -> Any:
    """The library of the files. It is loaded when there is a run to keep, as loading it takes a while."""
    import pyarrow as pa
    import pyarrow.parquet

    return pa


@dataclass(frozen=True)
class RunDirectory:
    """One run on disk. It can be sent to other processes, which see the same files."""

    path: Path
    run: str
    """A name that no other run has."""
    width: int
    """Bytes of a packed state, eight for each of its words."""
    buckets: int
    durable: bool
    """Whether a level that is committed survives the machine, and not only the process."""
    digest: str
    """Of what `_run.json` says."""

    @classmethod
    def create(
        cls, path: Path, identity: Identity, width: int, *, buckets: int = BUCKETS, durable: bool = True
    ) -> RunDirectory:
        """Begin a run in a directory that is empty or not there.

        Raises:
            UsageError: it is not empty, or cannot be written.
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
        """Resume a run: its commits, once all files proved complete and what was never committed is removed.

        Raises:
            UsageError: there is no run, it is of something else, or a file is not what was committed. Then the
                directory is as it was.
        """
        found = cls.open(path, identity, durable=durable)
        commits = found.verified_commits()
        try:
            (path / "_commits").mkdir(exist_ok=True)  # it died while it began again
            found._sweep(commits)
        except OSError as failure:
            raise UsageError(f"{path} cannot be written: {failure.strerror}") from None
        return found, commits

    @classmethod
    def open(cls, path: Path, identity: Identity | None = None, *, durable: bool = True) -> RunDirectory:
        """A run that is there, to be read.

        Args:
            path: its directory.
            identity: what it must be of, part by part; parts that are not given are not looked at.
            durable: see the field.

        Raises:
            UsageError: there is no run, or it is of something else.
        """
        identity = _plain(identity or {})
        _require_own_files(path)
        head = _read_json(path / "_run.json", f"{path} holds no run")
        if head.get("format") != FORMAT:
            raise UsageError(
                f"{path} has format {safe_repr(head.get('format'))}, and only format {FORMAT} can be read"
            )
        digest = head.pop("digest", None)
        if digest != digest_of(head):
            raise UsageError(f"{path / '_run.json'} was changed since the run began: it does not fit its digest")
        if different := difference({part: head.get(part, {}) for part in identity}, identity):
            raise UsageError(f"{path} holds another run: {different}")
        return cls(path, head["run"], head["width"], head["buckets"], durable, digest)

    def verified_commits(self) -> list[Commit]:
        """The levels that are committed, once all files proved complete.

        Raises:
            UsageError: a file is not what was committed.
        """
        commits, distinct = self.commits(), 0
        for commit in commits:
            self._verify(commit)
            distinct += commit.rows
            if commit.distinct != distinct:
                raise UsageError(f"{self._place(commit.level)} has {commit.distinct} states, its files {distinct}")
        return commits

    # States.

    def file(self, level: int, bucket: int) -> Path:
        """Where the states of a bucket in a level are, once they are committed."""
        return self._bucket(level, bucket) / "states.parquet"

    def write(self, level: int, states: Iterable[bytes]) -> list[LevelFile]:
        """Write states of a level to attempts of their buckets, each in code order."""
        return self.write_array(level, words_of(states, self.width))

    def write_array(self, level: int, states: Words) -> list[LevelFile]:
        """Write states of a level to attempts of their buckets, see `write`."""
        return self.write_parts(level, [states])

    def write_parts(
        self, level: int, parts: Sequence[Words], each: ParallelMap = map, at_once: int = BUCKETS
    ) -> list[LevelFile]:
        """Write states of a level, given in parts, see `write`; `each` may write so many buckets at once.

        `writing` gives the memory that this takes beside the states.
        """
        buckets_in = [buckets_of(part, self.buckets).astype(np.uint16) for part in parts]

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
        folder.parent.mkdir(exist_ok=True)  # not what lies above: a run that was removed must not seem to be there
        folder.mkdir(exist_ok=True)
        try:
            (folder / attempt).write_bytes(content)
        except OSError:
            with suppress(OSError):  # a full disk should not be full of what will never be read
                (folder / attempt).unlink(missing_ok=True)
            raise
        return LevelFile(bucket, len(states), content.size, hashlib.sha256(content).hexdigest(), attempt)

    def read(self, level: int, bucket: int) -> list[bytes]:
        """The states of a bucket in a level that is committed, in code order; its file must be there."""
        return bytes_of(self.read_array(level, bucket))

    def read_array(self, level: int, bucket: int, start: int = 0, stop: int | None = None) -> Words:
        """The states of a bucket in a level, see `read`; or from one of them up to another."""
        with _arrow().parquet.ParquetFile(self.file(level, bucket)) as file:
            rows = file.metadata.num_rows if stop is None else stop
            groups = range(start // GROUP, -(-rows // GROUP))
            table = file.read_row_groups(list(groups), use_threads=False)  # a task has one core
        first = groups.start * GROUP
        return from_column(table.column("state").combine_chunks())[start - first : rows - first]

    def pieces(self, level: int, bucket: int | None = None, most: int = 16 * GROUP) -> Iterator[Words]:
        """The states of a level that is committed, so many at a time at most, bucket by bucket; or of one bucket."""
        for file in self.committed(level):
            if bucket in (None, file.bucket):
                for start in range(0, file.rows, most):
                    yield self.read_array(level, file.bucket, start, min(start + most, file.rows))

    def committed(self, level: int) -> tuple[LevelFile, ...]:
        """The files of a level that is committed.

        Raises:
            FileNotFoundError: the run was removed.
        """
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
        """Forget all levels: what they were explored with is void."""
        commits, void = self.path / "_commits", self.path / "_void"
        shutil.rmtree(void, ignore_errors=True)
        commits.replace(void)  # all at once: of levels that are void none may stay
        commits.mkdir()
        shutil.rmtree(void, ignore_errors=True)
        self._sweep([])

    def commits(self) -> list[Commit]:
        """The levels that are committed, in order.

        Raises:
            UsageError: one is not what was committed.
        """
        levels = [int(place.stem) for place in (self.path / "_commits").glob("*.json") if place.stem.isdecimal()]
        found, before = list[Commit](), self.digest
        for level in range(1, max(levels, default=0) + 1):
            content, digest = self._read(level)
            if digest != digest_of(content, before):
                raise UsageError(f"{self._place(level)} is damaged: it does not fit its digest")
            try:
                found.append(Commit.from_json(content))
            except (TypeError, KeyError):
                raise UsageError(f"{self._place(level)} is no commit that could be resumed") from None
            before = digest
        return found

    def _read(self, level: int) -> tuple[dict[str, Any], str]:
        """What the commit of a level says, and its digest; empty if it has none."""
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
                        raise UsageError(f"{path} is damaged: it is not what was committed")
                rows = _arrow().parquet.read_metadata(path).num_rows
            except (OSError, _arrow().ArrowInvalid) as failure:
                raise UsageError(f"{path} cannot be read: {failure}") from None
            if rows != file.rows:
                raise UsageError(f"{path} has {rows} states, and {file.rows} were committed")

    def _sweep(self, commits: list[Commit]) -> None:
        """Remove what was never committed."""
        whole = {self._level(commit.level) for commit in commits}
        for level in self.path.glob("level=*"):
            if level in whole:
                _remove_attempts(level)
            else:
                shutil.rmtree(level, ignore_errors=True)  # a task that outlived its run may still write into it
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
        """Flush these files and directories to disk, all together, so that they survive the machine."""
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
    """Lock a directory, so that no other process explores in it; with `make`, create it if it is not there.

    Raises:
        UsageError: another process has locked it, or it is no directory.
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
            pass  # some network file systems know no locks
        yield
    finally:
        os.close(descriptor)


def writing(states: int, words: int, buckets: int = BUCKETS) -> tuple[int, int]:
    """Bytes that it takes to write a level of so many states, about: for all of it, and for each bucket at once."""
    return 2 * states, -(-states // buckets) * (32 * words + 24)


def digest_of(content: Mapping[str, Any], before: str = "") -> str:
    """A digest of what a file of JSON says, and of the digest before it."""
    return hashlib.sha256(json.dumps([before, content], sort_keys=True).encode()).hexdigest()


def difference(earlier: Identity, now: Identity) -> str:
    """The first difference between what a run explored and what is to be explored, in words; empty without one."""
    for part, given in now.items():
        before = earlier[part]
        for name in [*before, *(name for name in given if name not in before)]:
            was, is_ = before.get(name, "not there"), given.get(name, "not there")
            if was != is_:
                if part in _CHANGES:
                    told = f", from {was} to {is_}" if part == "values" and "sha256:" not in was + is_ else ""
                    return f"{_CHANGES[part].format(name)} has changed since{told}"
                return f"{part} {name} was {was}, and is {is_} now"
    return ""


_CHANGES: Final = {"source": "the source of {}", "values": "the value of {}", "ranges": "what {} ranges over"}
"""Parts of an identity that are digests, or may be, and what a message calls them."""


def _plain(identity: Identity) -> Identity:
    """As it comes back from a file: tuples are lists there."""
    plain: Identity = json.loads(json.dumps(identity))
    return plain


def _require_own_files(path: Path) -> None:
    """Refuse links and other special files in a run directory: they lead out of it, or nowhere."""
    for folder, names, files in os.walk(path):
        for place in (Path(folder, name) for name in (*names, *files)):
            mode = place.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                kind = "a link" if stat.S_ISLNK(mode) else "no file"
                raise UsageError(f"{place} is {kind}: a run directory has files and directories of its own alone")


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
