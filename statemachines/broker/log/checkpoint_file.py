"""CheckpointFile: the format that a broker's checkpoint files share, and how they are read and written.

    0           the version of the format; there is no other
    2           the number of entries
    0 0         an entry; its fields are those of the file
    3 42

Brokers write this byte for byte, and read a little more than they write:

- lines end in LF, CR or both; the last line end is optional;
- ASCII white space of any length stands between two fields, and may follow them; none may precede them, and none may
  appear in the first two lines;
- numbers are those of Java's parseInt and parseLong, with an optional sign and leading zeros;
- an empty file, or a version alone, has no entries.

One exception: Java also accepts the digits of other scripts. No broker writes them, and here they are refused.

A broker does not open a log whose file has any other content. Since 1.0 it takes the whole log directory offline in
that case [KIP-112]. Since 3.1 two errors escape that handling: a bad number in an entry, and an impossible count (-1
is an IllegalArgumentException, 2147483647 may be an OutOfMemoryError). Here, all of these are MalformedCheckpoint.

[OffsetCheckpoint.scala, 0.10; CheckpointFile.scala, 0.11 to 3.0; CheckpointFile.java, 3.1 to 3.9]
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

VERSION: Final = 0
INT: Final = range(-(2**31), 2**31)
"""The numbers of Java's parseInt."""
LONG: Final = range(-(2**63), 2**63)
"""The numbers of Java's parseLong."""

LINE_END: Final = re.compile(r"\r\n|\r|\n")
SPACE: Final = re.compile(r"\s+", re.ASCII)
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


# The text.


def entries_of(text: str, name: str) -> Iterator[tuple[int, str]]:
    """The entries of a file, each with the number of its line; `name` is for the error.

    Raises:
        MalformedCheckpoint: another version, or no number of entries; at the end, another number.
    """
    lines = LINE_END.split(text)
    if not lines[-1]:
        del lines[-1]  # text after the last line end is a line only if it is not empty
    if lines and integer(lines[0]) != VERSION:
        raise MalformedCheckpoint(name, 1, lines[0], f"the version, {VERSION}")
    if len(lines) < 2:
        return
    count, most = integer(lines[1]), INT[-1]
    if count is None or not 0 <= count <= most:
        raise MalformedCheckpoint(name, 2, lines[1], f"the number of entries, from 0 to {most}")
    yield from enumerate(lines[2:], start=3)
    if count != len(lines) - 2:
        raise MalformedCheckpoint(name, 2, lines[1], f"{len(lines) - 2}, the number of entries that follow")


def fields_of(entry: str) -> list[str]:
    """The fields of an entry; one that begins with white space has an empty first field."""
    fields = SPACE.split(entry)
    return fields[:-1] if not fields[-1] else fields


def integer(text: str, within: range = INT) -> int | None:
    """A number, as Java reads it; None if it is none, or out of range."""
    digits = NUMBER.fullmatch(text)
    if digits is None:
        return None
    number = int(digits[1] + digits[2])
    return number if number in within else None


def text_of(entries: Iterable[str]) -> str:
    """The text that a broker writes for these entries."""
    lines = [*entries]
    return "".join(f"{line}\n" for line in (VERSION, len(lines), *lines))


# The file.


def read_text(path: Path) -> str:
    """The text of a file.

    A broker creates an empty file if it is missing. So here a missing file in an existing directory is empty; but
    reading creates no file. Bytes that are not UTF-8 become backslash escapes: no line may contain those, so it is
    refused, and shows them.

    Raises:
        OSError: as reading does.
    """
    try:
        return path.read_bytes().decode("utf-8", errors="backslashreplace")
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise
        return ""


def write_text(path: Path, text: str) -> None:
    """Replace the content of a file. Whatever happens meanwhile, the file has either the old content or the new.

    The new content is written and flushed to `<path>.tmp`, which then replaces the file in one step. Flushing the
    directory makes that step outlast a crash [Utils.atomicMoveWithFallback, 3.0; KAFKA-3968]. Kafka goes on without
    atomicity on a file system that has none; here that is an error.

    Raises:
        OSError: as writing does; then the file holds what it held.
    """
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
