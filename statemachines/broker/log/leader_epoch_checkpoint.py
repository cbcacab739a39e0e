"""The file `leader-epoch-checkpoint`: the leader-epoch cache of a replica, in the directory of its log.

    0           the version of the format, and there is no other
    2           the number of entries
    0 0         an entry: a leader epoch, and the offset at which it began
    3 42

Brokers have written this, byte for byte, since 0.11 [LeaderEpochCheckpointFile and CheckpointFile, 0.11.0.0 to
3.9]. They read a little more than they write:

- lines end in LF, CR or both, and the last one need not;
- between the two numbers of an entry, and after them, stands white space of any length, ASCII's; before them none,
  and none in the first two lines;
- numbers are those of Java's parseInt and parseLong: 32 bits for version, count and epoch, 64 for an offset, a
  sign of either kind, and leading zeros;
- nothing, or a version alone, is an empty cache.

The one exception: Java takes the digits of other scripts, too. No broker writes them, and here they are refused.

A broker does not open a log whose file says anything else, or since 2.7 something negative; since 1.0 it takes the
whole log directory offline for it [KIP-112]. Since 3.1 two things escape that handling, a bad number in an entry and
a count for which there can be no list: -1 is an IllegalArgumentException, 2147483647 may be an OutOfMemoryError
[CheckpointFile.java, 3.1]. Here, all of that is MalformedCheckpoint.
"""

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Final

from statemachines.broker.log.leader_epochs import EpochEntry, LeaderEpochs

__all__ = ["NAME", "MalformedCheckpoint", "parse", "parse_as_it_stands", "read", "render", "write"]

NAME: Final = "leader-epoch-checkpoint"
"""What the file is called in the directory of a partition."""

VERSION: Final = 0

INT_MAX: Final = 2**31 - 1
INT_MIN: Final = -(2**31)
LONG_MIN: Final = -(2**63)
LONG_MAX: Final = 2**63 - 1

LINE_END: Final = re.compile(r"\r\n|\r|\n")
ENTRY: Final = re.compile(r"(\S+)\s+(\S+)\s*", re.ASCII)
NUMBER: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")
"""Zeros stand apart, and the rest is not longer than a long: int() refuses digits by the thousand, Java does not."""


class MalformedCheckpoint(ValueError):
    """A checkpoint that no broker would load.

    `name` says which file, `line` the number of the line, from 1; `found` is what stands there and `allowed`
    what may.
    """

    def __init__(self, name: str, line: int, found: str, allowed: str) -> None:
        super().__init__(name, line, found, allowed)
        self.name = name
        self.line = line
        self.found = found
        self.allowed = allowed

    def __str__(self) -> str:
        found = self.found if len(self.found) <= 80 else self.found[:79] + "…"
        return f"{self.name}, line {self.line}: found {found!r}, allowed is {self.allowed}"


def parse(text: str, name: str = NAME) -> LeaderEpochs:
    """The cache that a broker since 2.7 has after it has loaded this text; `name` is for the error.

    The entries pass through `LeaderEpochs.assign`, line by line, so that a later line overrules the earlier ones that
    contradict it [LeaderEpochFileCache.scala, 2.7]. So does, in a file that a broker before 2.0.1 wrote, the later of
    two epochs with one start offset.

    Raises MalformedCheckpoint.
    """
    epochs = LeaderEpochs()
    for epoch, start_offset in _entries(text, name):
        epochs = epochs.assign(epoch, start_offset)
    return epochs


def parse_as_it_stands(text: str, name: str = NAME) -> LeaderEpochs:
    """The cache that a broker up to 2.6 has: the entries as they stand, negative ones as well.

    [LeaderEpochFileCache.scala, 0.11.0.0 to 2.6]

    Raises MalformedCheckpoint.
    """
    return LeaderEpochs(_entries(text, name, negative=True))


def _entries(text: str, name: str, *, negative: bool = False) -> tuple[EpochEntry, ...]:
    lines = LINE_END.split(text)
    if not lines[-1]:
        del lines[-1]  # what follows the last line end is a line only if something stands there

    if lines and _number(lines[0]) != VERSION:
        raise MalformedCheckpoint(name, 1, lines[0], f"the version, {VERSION}")
    if len(lines) < 2:
        return ()

    count = _number(lines[1])
    if count is None or not 0 <= count <= INT_MAX:
        raise MalformedCheckpoint(name, 2, lines[1], f"the number of entries, from 0 to {INT_MAX}")
    least_epoch, least_offset = (INT_MIN, LONG_MIN) if negative else (0, 0)
    entries = []
    for number, line in enumerate(lines[2:], start=3):
        entry = _entry(line)
        if entry is None or entry.epoch < least_epoch or entry.start_offset < least_offset:
            allowed = (
                f"a leader epoch from {least_epoch} to {INT_MAX}, white space, "
                f"and an offset from {least_offset} to {LONG_MAX}"
            )
            raise MalformedCheckpoint(name, number, line, allowed)
        entries.append(entry)
    if count != len(entries):
        raise MalformedCheckpoint(name, 2, lines[1], f"{len(entries)}, because so many entries follow")
    return tuple(entries)


def render(epochs: LeaderEpochs) -> str:
    """The text that a broker writes for this cache.

    Raises ValueError for what is no cache of any release: where Java has types that keep numbers in their bounds, and
    a cache that keeps its entries in order, Python has this question.
    """
    entries = [f"{entry.epoch} {entry.start_offset}" for entry in epochs.entries]
    text = "".join(f"{line}\n" for line in (VERSION, len(entries), *entries))
    for before, after in pairwise(_entries(text, NAME)):
        if before.epoch >= after.epoch or before.start_offset > after.start_offset:
            raise ValueError(
                f"not a leader-epoch cache: in {epochs.entries} epochs do not increase, or start offsets decrease"
            )
    return text


def read(path: Path) -> LeaderEpochs:
    """The cache that is kept in the file `path`, as `parse` has it.

    A broker that misses the file makes an empty one [CheckpointFile, 0.11.0.0 to 3.9]. So a missing file is an
    empty cache, in a directory that exists; but to read is not to write, and none is made.

    Raises MalformedCheckpoint, and OSError as reading does.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise
        return LeaderEpochs()
    # Bytes that are not UTF-8 come through as backslashes. No line may have those, so it is refused, and shows them.
    return parse(content.decode("utf-8", errors="backslashreplace"), str(path))


def write(path: Path, epochs: LeaderEpochs) -> None:
    """Keep the cache in the file `path`, in place of what it held.

    Whatever happens meanwhile, the file has either the old content or the new: that is written and flushed to
    `<path>.tmp`, which then takes the other's place in one step [CheckpointFile.write, 0.11.0.0]; and the
    directory is flushed, so that the step outlasts a crash [Utils.atomicMoveWithFallback, 3.0; KAFKA-3968].
    Kafka goes on without atomicity if the file system has none; here that is an error.

    Raises ValueError as `render` does, and OSError as writing does; then the file holds what it held.
    """
    text = render(epochs)
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _number(text: str) -> int | None:
    digits = NUMBER.fullmatch(text)
    return int(digits[1] + digits[2]) if digits else None


def _entry(line: str) -> EpochEntry | None:
    fields = ENTRY.fullmatch(line)
    if fields is None:
        return None
    epoch, start_offset = _number(fields[1]), _number(fields[2])
    if epoch is None or not INT_MIN <= epoch <= INT_MAX:
        return None
    if start_offset is None or not LONG_MIN <= start_offset <= LONG_MAX:
        return None
    return EpochEntry(epoch, start_offset)
