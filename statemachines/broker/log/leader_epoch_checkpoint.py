"""The file `leader-epoch-checkpoint`: the leader-epoch cache of a replica, in the directory of its log.

    0           the version
    2           the number of entries
    0 0         an entry: a leader epoch, and the offset at which it began
    3 42

Its format is that of every checkpoint (`checkpoint_file`), since 0.11. An epoch has 32 bits, an offset 64. Since 2.7
a broker opens no log whose file has a negative number. [LeaderEpochCheckpointFile, 0.11.0.0 to 3.9]
"""

from itertools import pairwise
from pathlib import Path
from typing import Final

from statemachines.broker.log.checkpoint_file import (
    INT,
    LONG,
    MalformedCheckpoint,
    entries_of,
    fields_of,
    integer,
    read_text,
    text_of,
    write_text,
)
from statemachines.broker.log.leader_epochs import EpochEntry, LeaderEpochs

NAME: Final = "leader-epoch-checkpoint"
"""The file's name in the directory of a partition."""


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
    epochs, offsets = (INT, LONG) if negative else (range(INT.stop), range(LONG.stop))
    entries = []
    for line, entry in entries_of(text, name):
        match fields_of(entry):
            case [epoch_field, offset_field]:
                epoch, start_offset = integer(epoch_field, epochs), integer(offset_field, offsets)
            case _:
                epoch = start_offset = None
        if epoch is None or start_offset is None:
            allowed = (
                f"a leader epoch from {epochs[0]} to {epochs[-1]}, white space, "
                f"and an offset from {offsets[0]} to {offsets[-1]}"
            )
            raise MalformedCheckpoint(name, line, entry, allowed)
        entries.append(EpochEntry(epoch, start_offset))
    return tuple(entries)


def render(epochs: LeaderEpochs) -> str:
    """The text that a broker writes for this cache.

    Raises ValueError for a value that is no cache of any release: Java's types bound the numbers, and its cache keeps
    its entries in order; Python needs this check.
    """
    text = text_of(f"{entry.epoch} {entry.start_offset}" for entry in epochs.entries)
    for before, after in pairwise(_entries(text, NAME)):
        if before.epoch >= after.epoch or before.start_offset > after.start_offset:
            raise ValueError(
                f"not a leader-epoch cache: in {epochs.entries} epochs do not increase, or start offsets decrease"
            )
    return text


def read(path: Path) -> LeaderEpochs:
    """The cache in a file, as `parse` reads it; a missing file is an empty cache.

    Raises MalformedCheckpoint, and OSError as reading does.
    """
    return parse(read_text(path), str(path))


def write(path: Path, epochs: LeaderEpochs) -> None:
    """Write the cache to a file, replacing its content in one step.

    Raises ValueError as `render` does, and OSError as writing does; then the file holds what it held.
    """
    write_text(path, render(epochs))
