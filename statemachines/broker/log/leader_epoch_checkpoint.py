"""The file `leader-epoch-checkpoint`: the leader-epoch cache of a replica, in the directory of its log.

    0           the version of the format; there is no other
    2           the number of entries
    0 0         an entry: a leader epoch, and the offset at which it began
    3 42

Brokers have written this, byte for byte, since 0.11 [LeaderEpochCheckpointFile and CheckpointFile, 0.11.0.0 to
3.9]. They read a little more than they write:

- lines end in LF, CR or both; the last line end is optional;
- ASCII white space of any length stands between the two numbers of an entry, and may follow them; none may precede
  them, and none may appear in the first two lines;
- numbers are those of Java's parseInt and parseLong: 32 bits for version, count and epoch, 64 for an offset, with an
  optional sign and leading zeros;
- an empty file, or a version alone, is an empty cache.

One exception: Java also accepts the digits of other scripts. No broker writes them, and here they are refused.

A broker does not open a log whose file has any other content or, since 2.7, a negative number. Since 1.0 it takes the
whole log directory offline in that case [KIP-112]. Since 3.1 two errors escape that handling: a bad number in an
entry, and an impossible count (-1 is an IllegalArgumentException, 2147483647 may be an OutOfMemoryError)
[CheckpointFile.java, 3.1]. Here, all of these are MalformedCheckpoint.
"""

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Final

from statemachines.broker.log.leader_epochs import EpochEntry, LeaderEpochs

__all__ = ["NAME", "MalformedCheckpoint", "parse", "parse_as_it_stands", "read", "render", "write"]

NAME: Final = "leader-epoch-checkpoint"
"""The file's name in the directory of a partition."""

VERSION: Final = 0

INT_MAX: Final = 2**31 - 1
INT_MIN: Final = -(2**31)
LONG_MIN: Final = -(2**63)
LONG_MAX: Final = 2**63 - 1

LINE_END: Final = re.compile(r"\r\n|\r|\n")
ENTRY: Final = re.compile(r"(\S+)\s+(\S+)\s*", re.ASCII)
NUMBER: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")
"""Leading zeros match apart, and the rest fits a long: int() refuses thousands of digits, Java does not."""


class MalformedCheckpoint(ValueError):
    """A checkpoint that no broker would load.

    `name` is the file, `line` the number of the line, from 1; `found` is the line's text and `allowed` the permitted
    form.
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
    """The cache that a broker since 2.7 has after loading this text; `name` is for the error.

    The entries pass through `LeaderEpochs.assign`, line by line, so a later line overrules earlier ones that
    contradict it [LeaderEpochFileCache.scala, 2.7]. In a file written before 2.0.1, the later of two epochs with one
    start offset overrules the earlier in the same way.

    Raises MalformedCheckpoint.
    """
    epochs = LeaderEpochs()
    for epoch, start_offset in _entries(text, name):
        epochs = epochs.assign(epoch, start_offset)
    return epochs


def parse_as_it_stands(text: str, name: str = NAME) -> LeaderEpochs:
    """The cache that a broker up to 2.6 has: the entries as written, negative ones included.

    [LeaderEpochFileCache.scala, 0.11.0.0 to 2.6]

    Raises MalformedCheckpoint.
    """
    return LeaderEpochs(_entries(text, name, negative=True))


def _entries(text: str, name: str, *, negative: bool = False) -> tuple[EpochEntry, ...]:
    lines = LINE_END.split(text)
    if not lines[-1]:
        del lines[-1]  # text after the last line end is a line only if it is not empty

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
        raise MalformedCheckpoint(name, 2, lines[1], f"{len(entries)}, the number of entries that follow")
    return tuple(entries)


def render(epochs: LeaderEpochs) -> str:
    """The text that a broker writes for this cache.

    Raises ValueError for a value that is no cache of any release: Java's types bound the numbers, and its cache keeps
    its entries in order; Python needs this check.
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
    """The cache in the file `path`, as `parse` reads it.

    A broker creates an empty file if it is missing [CheckpointFile, 0.11.0.0 to 3.9]. So here a missing file in an
    existing directory is an empty cache; but reading creates no file.

    Raises MalformedCheckpoint, and OSError as reading does.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise
        return LeaderEpochs()
    # Bytes that are not UTF-8 become backslash escapes. No line may contain those, so it is refused, and shows them.
    return parse(content.decode("utf-8", errors="backslashreplace"), str(path))


def write(path: Path, epochs: LeaderEpochs) -> None:
    """Write the cache to the file `path`, replacing its content.

    Whatever happens meanwhile, the file has either the old content or the new. The new content is written and flushed
    to `<path>.tmp`, which then replaces the file in one step [CheckpointFile.write, 0.11.0.0]. Flushing the directory
    makes that step outlast a crash [Utils.atomicMoveWithFallback, 3.0; KAFKA-3968].
    Kafka goes on without atomicity on a file system that has none; here that is an error.

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
